/* Immediate dominators of batches of flow graphs or of one large graph: arrays in, dominators out; no Python
 * at run time. C99.
 *
 *     reldom_t* solver;
 *     int code = reldom_open(&solver, 1000000, 2000000, 50000);
 *     if (code == RELDOM_OK) code = reldom_solve(solver, n_graphs, first_vertex, offsets, targets, idom);
 *     if (code != RELDOM_OK) fprintf(stderr, "%s\n", reldom_error(code));
 *     reldom_close(solver);
 *
 * A batch holds small directed graphs, such as the control-flow graphs of a module, end to end in CSR form:
 * graph g has the vertices first_vertex[g] to first_vertex[g + 1] - 1 of the batch; vertex v of the batch has
 * the arcs offsets[v] to offsets[v + 1] - 1; targets[i] is the head of arc i, counted from 0 within its
 * graph. Both first_vertex and offsets begin with 0. The first vertex of a graph is its root. Self-loops,
 * parallel arcs, unreached vertices and graphs without vertices are allowed, and vertices may have any order;
 * numbers in reverse post-order, or any in which each reached vertex but the root has a predecessor with a
 * smaller number and none is unreached, save the host the work of renumbering the graph.
 *
 * Threads: a solver is for one thread at a time; several threads may use solvers of their own at once. Every
 * call with a solver but reldom_device makes the solver's GPU the current one of the calling thread.
 */

#ifndef RELDOM_H
#define RELDOM_H

#include <stdint.h>

#if defined(__GNUC__)
#define RELDOM_API __attribute__((visibility("default")))
#else
#define RELDOM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The immediate dominator of an unreached vertex. A root is its own. */
#define RELDOM_UNREACHED UINT32_C(0xffffffff)

/* What calls return. Codes from RELDOM_CUDA on are RELDOM_CUDA plus the number of an error of CUDA; the
 * solver can only be closed after one. */
enum {
    RELDOM_OK = 0,
    RELDOM_INVALID_ARGUMENT = 1, /* a null pointer or a negative count */
    RELDOM_TOO_LARGE = 2,        /* more vertices, arcs or graphs than the solver was opened for */
    RELDOM_TOO_MANY = 3,         /* a capacity of 2^32 or more, or one graph beyond its limits */
    RELDOM_BAD_FIRST_VERTEX = 4, /* first_vertex does not begin with 0, or falls */
    RELDOM_BAD_OFFSETS = 5,      /* offsets does not begin with 0, or falls */
    RELDOM_BAD_TARGET = 6,       /* a target or dominator is not a vertex of its graph */
    RELDOM_OUT_OF_MEMORY = 7,    /* of the host */
    RELDOM_BAD_ROOT = 8,         /* the root is not a vertex */
    RELDOM_OVERFLOW = 9,         /* the sum of the sizes of reached vertices does not fit 64 bits */
    RELDOM_CUDA = 1000
};

typedef struct reldom reldom_t;

/* Opens a solver for batches of up to this size on the current GPU and allocates all that it needs. On an
 * error, *solver is null. */
RELDOM_API int reldom_open(reldom_t** solver, int64_t max_vertices, int64_t max_arcs, int64_t max_graphs);

/* Solves a batch and waits for the answer.
 *
 *     first_vertex  n_graphs + 1 numbers, the last of which is the number of vertices
 *     offsets       one number more than vertices, the last of which is the number of arcs
 *     targets       one number per arc
 *     idom          receives one number per vertex: its immediate dominator, counted within its graph
 *
 * Arrays are in ordinary memory; idom overlaps none of the others. On an error, the contents of idom are
 * undefined. Arrays that are shorter than this are not noticed. */
RELDOM_API int reldom_solve(reldom_t* solver, int64_t n_graphs, const int64_t* first_vertex,
                            const int64_t* offsets, const uint32_t* targets, uint32_t* idom);

/* Frees a solver; null is allowed. */
RELDOM_API void reldom_close(reldom_t* solver);

/* Solves one graph of up to 2^31 vertices and 2^48 arcs on the current GPU, without a solver, and waits for
 * the answer.
 *
 *     offsets   n_vertices + 1 numbers, as in a batch
 *     targets   one number per arc
 *     sizes     one number per vertex, or null
 *     idom      receives the immediate dominator of each vertex
 *     retained  receives the sum of sizes of each vertex and all that it dominates, 0 if it is unreached;
 *               null if sizes is null
 *
 * A search from the root comes first, unless the root is 0 and each other vertex has a predecessor with a
 * smaller number; it takes time for each of its levels. On an error, the contents of idom and retained are
 * undefined. */
RELDOM_API int reldom_solve_graph(int64_t n_vertices, const int64_t* offsets, const uint32_t* targets,
                                  uint32_t root, const uint64_t* sizes, uint32_t* idom, uint64_t* retained);

/* Says how much memory of the GPU a call of reldom_solve_graph allocates; has_sizes is 0 without sizes. */
RELDOM_API int reldom_graph_bytes(int64_t n_vertices, int64_t n_arcs, int has_sizes, int64_t* bytes);

/* Finds the retained sizes, as reldom_solve_graph does, of a batch that reldom_solve has solved, on the
 * current GPU and without a solver; 28 bytes of its memory per vertex. A batch has up to 2^31 vertices, and
 * the sizes of each graph must add up to less than 2^64. If `idom` is not a dominator tree, the sums are
 * meaningless.
 */
RELDOM_API int reldom_retain(int64_t n_graphs, const int64_t* first_vertex, const uint32_t* idom,
                             const uint64_t* sizes, uint64_t* retained);

/* Says in English what a code means; never null. */
RELDOM_API const char* reldom_error(int code);

/* Names the GPU of a solver, or says that it is emulated; valid until the solver is closed. */
RELDOM_API const char* reldom_device(const reldom_t* solver);

#ifdef __cplusplus
}
#endif

#endif
