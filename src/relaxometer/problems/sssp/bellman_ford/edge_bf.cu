// Bellman-Ford over a list of edges, as in "GPU SSSP implementation" (an article on a GTX Titan, Kepler).
//
// Every edge of an undirected graph is listed once. A phase is one launch in which each thread relaxes one
// edge both ways. A word holds the last phase that changed anything; the host stops after a phase that
// changed nothing. Only the accesses to distances are scattered. The paper's two optimizations are for them:
// reading through the read-only cache, and sorting the edges by pairs of blocks of vertices, so that the
// distances in use at any time fit a cache.
//
// The races are intended. Several threads may improve a vertex in the same phase, each by a plain store, and
// the last store wins even if another length was shorter. The search still ends with the right answer:
//   - Words are written whole, so each distance is always infinite or the length of a walk from the source.
//   - A thread writes less than it read, and it read a value from the beginning of the phase or later: even
//     the read-only cache is empty when a launch begins. So a phase lowers every distance that it writes,
//     and the search ends.
//   - If the flag is not set, nobody wrote: every thread read the present distances and found no
//     over-stretched arc. With the source at zero, all distances are then the shortest.
// A lost improvement costs one phase, so the number of phases varies from run to run.
//
// Deviations from the paper:
//   - It keeps no predecessors; here the final distances imply them (see _edge_list.cu).
//   - A directed graph, or one whose weights differ between directions, is a list of arcs, relaxed one way.
//   - With the read-only cache off, relaxed loads bypass the first-level cache. Plain loads did so on Kepler;
//     today they share a cache with those of the read-only cache.
//   - A block sets the flag once; in the paper every thread that changed something does.
//   - Edges are loaded with a hint to evict them early.
//   - Four edges per thread (edges_per_thread) and 32-bit distances are additions.
//
// A phase moves at least 16 bytes per edge (12 with 32-bit distances) and every distance once. Its time
// depends on how many distances come from a cache: those of up to 2^22 vertices (32 MB in double) fit the
// second-level cache of a GPU of 2022 or later, those of a block of 2^14 vertices (128 KB) its first level.

#include "_edge_list.cuh"
#include "_fixed_point.cuh"

template <bool CACHED, typename D>
__device__ __forceinline__ D read(const D* distance, u32 v)
{
    if constexpr (CACHED) return __ldg(distance + v);
    return load_relaxed(distance + v);
}

template <typename D, bool CACHED, int EDGES>
__global__ void relax_edges(u32 groups, const u32* __restrict__ starts, const u32* __restrict__ ends,
                            const D* __restrict__ weights, bool both_ways, D* distance, u32 phase,
                            u32* last_phase)
{
    bool changed = false;
    u32 group = thread_id();
    if (group < groups) {
        u32 start[EDGES], end[EDGES];
        D weight[EDGES], from[EDGES], to[EDGES];
        stream(starts, group, start);
        stream(ends, group, end);
        stream(weights, group, weight);
        for (int e = 0; e < EDGES; ++e) {
            from[e] = read<CACHED>(distance, start[e]);
            to[e] = read<CACHED>(distance, end[e]);
        }
        for (int e = 0; e < EDGES; ++e) {
            D forth = extended(from[e], weight[e]);
            D back = extended(to[e], weight[e]);
            if (to[e] > forth) {
                store_relaxed(distance + end[e], forth);
                changed = true;
            } else if (both_ways && from[e] > back) {
                store_relaxed(distance + start[e], back);
                changed = true;
            }
        }
    }
    report_change(changed, phase, last_phase);
}

template __global__ decltype(relax_edges<double, false, 1>) relax_edges<double, false, 1>;
template __global__ decltype(relax_edges<double, true, 1>) relax_edges<double, true, 1>;
template __global__ decltype(relax_edges<double, false, 4>) relax_edges<double, false, 4>;
template __global__ decltype(relax_edges<double, true, 4>) relax_edges<double, true, 4>;
template __global__ decltype(relax_edges<u32, false, 1>) relax_edges<u32, false, 1>;
template __global__ decltype(relax_edges<u32, true, 1>) relax_edges<u32, true, 1>;
template __global__ decltype(relax_edges<u32, false, 4>) relax_edges<u32, false, 4>;
template __global__ decltype(relax_edges<u32, true, 4>) relax_edges<u32, true, 4>;
