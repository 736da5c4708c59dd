// Reads answers to point-to-point queries from shortest-path trees.

#include "device/constants.cuh"

// Predecessors of several trees: those of tree `row` begin at row / k * plane + row % k, in steps of k.
struct Trees {
    const u32* predecessors;
    u64 plane;
    u32 k;
};

// Queries in the order of their trees.
struct Queries {
    u32 count;
    const u32* rows;  // the tree of each
    const u32* targets;
    const u32* distance;
};

__device__ __forceinline__ const u32* tree_of(const Trees& trees, u32 row)
{
    return trees.predecessors + row / trees.k * trees.plane + row % trees.k;
}

// Counts the vertices of all paths; one thread per query.
extern "C" __global__ void count_vertices(const __grid_constant__ Trees trees,
                                          const __grid_constant__ Queries queries, u32* size)
{
    u32 query = thread_id();
    if (query >= queries.count) return;
    u32 count = 0;
    if (queries.distance[query] != UNREACHED) {
        const u32* before = tree_of(trees, queries.rows[query]);
        u32 v = queries.targets[query];
        for (count = 1; before[static_cast<u64>(v) * trees.k] != v; ++count) {
            v = before[static_cast<u64>(v) * trees.k];
        }
    }
    size[query] = count;
}

// Writes the vertices of all paths, each up to its end in `path`; one thread per query.
extern "C" __global__ void write_paths(const __grid_constant__ Trees trees,
                                       const __grid_constant__ Queries queries, const u32* __restrict__ size,
                                       const i64* __restrict__ ends, u32* path)
{
    u32 query = thread_id();
    if (query >= queries.count) return;
    const u32* before = tree_of(trees, queries.rows[query]);
    u32 v = queries.targets[query];
    i64 end = ends[query];
    for (i64 k = end - 1; k >= end - size[query]; --k) {
        path[k] = v;
        v = before[static_cast<u64>(v) * trees.k];
    }
}

// Copies paths to the order of the queries; one warp per path. `places` has the query of each.
extern "C" __global__ void sort_paths(u32 count, const u32* __restrict__ places, const u32* __restrict__ size,
                                      const i64* __restrict__ from_ends, const u32* __restrict__ from,
                                      const i64* __restrict__ to_ends, u32* to)
{
    u32 k = thread_id() / WARP;
    if (k >= count) return;
    const u32* source = from + from_ends[k] - size[k];
    u32* target = to + to_ends[places[k]] - size[k];
    for (u32 i = threadIdx.x % WARP; i < size[k]; i += WARP) target[i] = source[i];
}
