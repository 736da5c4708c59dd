// Proves that distances and predecessors are shortest paths, without a reference solver and in nearly linear
// work (certify.py).
//
// If d[s] = 0, no arc u -> v of weight w has d[v] > d[u] + w, and every reached vertex has a predecessor with
// d[v] = d[p] + w such that the predecessors lead back to s, then each d[v] is the length of a real path and
// no path is shorter (the optimality conditions of linear programming; Ahuja, Magnanti and Orlin, "Network
// Flows", theorem 5.1). Predecessors along arcs of positive weight cannot form a cycle; those along arcs of
// weight zero can, so pointer doubling follows chains of them.
//
// With 64-bit lengths, a sum that would wrap counts as no path, so no length that is made up can be
// tight.
//
// With weights of type float32 or float64, `+` is the rounded sum. It grows with each of its terms, so the
// same argument shows that d[v] is the least sum over all paths, added arc by arc from the source. A small
// weight may leave a length as it is; such arcs count as those of weight zero. How far the least rounded sum
// may be from the shortest length: docs/weights.md.
//
// With weights of type int32, the weights along a cycle of predecessors add up to zero, which negative arcs
// allow. So pointer doubling follows all predecessors, to the source. Where no arc between reached vertices
// is over-stretched, no reachable cycle is negative: along it, w >= d[v] - d[u] adds up to zero. An answer
// that is a negative cycle is checked on the host (certify.py).

#include "problems/_arc_search.cuh"
#include "problems/certificate.cuh"
#include "problems/sssp/_lengths.cuh"

enum Rule { SOURCE, OVERSTRETCHED, PREDECESSOR, LEFT_OUT, TREE };

// Rule SOURCE: d[s] = 0 and s is its own predecessor.
// Rule OVERSTRETCHED: d[v] <= d[u] + w for every arc between reached vertices.
// Rule LEFT_OUT: no arc leads from a reached vertex to an unreached one, or to a length below the type's.
extern "C" __global__ void check_arcs(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                      const weight_t* __restrict__ weights,
                                      const length_t* __restrict__ distance,
                                      const u32* __restrict__ predecessor, u32 source, u64* report)
{
    u32 u = thread_id();
    if (u >= n) return;
    if (u == source && (distance[u] != ZERO_LENGTH || predecessor[u] != u)) {
        broken(report, SOURCE, u);
    }
    if (distance[u] == NO_PATH) return;
    i64 end = offsets[u + 1];
    for (i64 i = offsets[u]; i < end; ++i) {
        u32 v = targets[i];
        if (distance[v] == NO_PATH) {
            broken(report, LEFT_OUT, v);
#if defined(INT32_LENGTHS)
        } else if (exact_length(distance[u], weights[i]) <= TOO_SHORT) {
            broken(report, LEFT_OUT, v);
#endif
        } else if (extended_length(distance[u], weights[i]) < distance[v]) {
            broken(report, OVERSTRETCHED, v);
        }
    }
}

// Rule PREDECESSOR: the arc from a reached vertex's predecessor is as long as the difference of their
// distances; an unreached vertex has no predecessor.
//
// Also prepares the pointers for `double_pointers`: vertices as far as their predecessor point to it (with
// weights of type int32, all do), others to themselves.
extern "C" __global__ void check_predecessors(u32 n, const i64* __restrict__ offsets,
                                              const u32* __restrict__ targets,
                                              const weight_t* __restrict__ weights,
                                              const length_t* __restrict__ distance,
                                              const u32* __restrict__ predecessor, u32 source, u32* pointer,
                                              u64* report)
{
    u32 v = thread_id();
    if (v >= n) return;
    pointer[v] = v;
    u32 u = predecessor[v];
    if (v == source) return;
    if (distance[v] == NO_PATH) {
        if (u != NO_PREDECESSOR) broken(report, PREDECESSOR, v);
        return;
    }
    if (u >= n || distance[u] == NO_PATH) {
        broken(report, PREDECESSOR, v);
        return;
    }
    i64 end = offsets[u + 1];
    for (i64 i = lower_bound(offsets, targets, u, v); i < end && targets[i] == v; ++i) {
        if (extended_length(distance[u], weights[i]) == distance[v]) {
#if defined(INT32_LENGTHS)
            pointer[v] = u;
#else
            if (distance[u] == distance[v]) pointer[v] = u;
#endif
            return;
        }
    }
    broken(report, PREDECESSOR, v);
}

// One round of pointer doubling along these chains; sets `moved` if a pointer moves.
extern "C" __global__ void double_pointers(u32 n, const u32* __restrict__ pointer, u32* __restrict__ doubled,
                                           u32* moved)
{
    u32 v = thread_id();
    if (v >= n) return;
    u32 to = pointer[pointer[v]];
    doubled[v] = to;
    if (to != pointer[v]) store_relaxed(moved, 1u);
}

// Rule TREE: every chain ends, so that none is a cycle.
extern "C" __global__ void check_tree(u32 n, const length_t* __restrict__ distance,
                                      const u32* __restrict__ predecessor, u32 source,
                                      const u32* __restrict__ pointer, u64* report)
{
    u32 v = thread_id();
    if (v >= n || distance[v] == NO_PATH) return;
    u32 end = pointer[v];
    u32 before = predecessor[end];
#if defined(INT32_LENGTHS)
    bool points_on = end != source && before < n && distance[before] != NO_PATH;
#else
    bool points_on = end != source && before < n && distance[before] == distance[end];
#endif
    if (points_on) broken(report, TREE, v);
}
