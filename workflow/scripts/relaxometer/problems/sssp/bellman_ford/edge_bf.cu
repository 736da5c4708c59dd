// Bellman-Ford over a list of edges, as in "GPU SSSP implementation" (an article on a GTX Titan, Kepler).
//
// Every edge of an undirected graph is listed once. A phase is one launch in which a thread owns an edge and
// relaxes it both ways; a word holds the last phase that changed anything, and the host stops when a phase
// did not. Nothing is skipped, so that all accesses but those of the distances are to consecutive words; the
// two optimisations of the source are for the distances: to read them through the read-only cache, and to
// sort the edges by pairs of blocks of vertices, so that what the threads of a time ask for fits a cache.
//
// Racy by design. Several threads may improve a vertex in the same phase, each by a plain store of its own
// length, and the last one wins though another was shorter. Yet the search ends, and ends right:
//   - Words are written whole, so each distance is at all times the length of some walk from the source, or
//     infinite, and never too small.
//   - A thread writes less than it read. What it read is the distance at the beginning of the phase or was
//     written in the phase: also through the read-only cache, which a launch begins with empty, so that it
//     may be behind within a phase but not by more than the phase. So at the end of a phase every vertex that
//     was written is nearer than at its beginning: a longer length may replace a shorter one, never the
//     distance from before. Lengths of walks cannot fall for ever, so the search ends.
//   - Whoever writes sets the flag to the same number, so that the race for the flag has one outcome. If the
//     flag is not set, nobody wrote; then every thread saw the distances of now, and found no arc
//     over-stretched. With the source at zero that makes every distance the shortest.
// A lost improvement costs a phase, and how many are lost is up to the order of threads: the number of phases
// changes from run to run.
//
// Deviations from the source:
//   - It keeps no predecessors; here they are found when the distances are (see _edge_list.cu).
//   - A directed graph, or one whose weights differ between the directions, is a list of arcs that are
//   relaxed
//     one way.
//   - Where the read-only cache is off, distances are read past the first-level cache (relaxed loads). That
//   is
//     what plain loads were on Kepler; today plain loads and those of the read-only cache share a cache.
//   - A block sets the flag once, not every thread that changed something.
//   - Edges are read with a hint that they are not needed again. Four edges a thread (edges_per_thread) and
//     32-bit distances are ours. Weights have the type of the distances, as there.
//
// A phase moves at least 16 bytes an edge (12 with 32-bit distances) and every distance once. Which of the
// two distances that an edge needs come from a cache decides its time: the list is in order of its starts, so
// that a warp often reads one start, and 32 ends all over the place. Up to 2^22 vertices (32 MB in double)
// they lie in the second-level cache of a GPU of 2022 or later; a block of 2^14 vertices (128 KB) fits its
// first level.

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

template __global__ void relax_edges<double, false, 1>(u32, const u32*, const u32*, const double*, bool,
                                                       double*, u32, u32*);
template __global__ void relax_edges<double, true, 1>(u32, const u32*, const u32*, const double*, bool,
                                                      double*, u32, u32*);
template __global__ void relax_edges<double, false, 4>(u32, const u32*, const u32*, const double*, bool,
                                                       double*, u32, u32*);
template __global__ void relax_edges<double, true, 4>(u32, const u32*, const u32*, const double*, bool,
                                                      double*, u32, u32*);
template __global__ void relax_edges<u32, false, 1>(u32, const u32*, const u32*, const u32*, bool, u32*, u32,
                                                    u32*);
template __global__ void relax_edges<u32, true, 1>(u32, const u32*, const u32*, const u32*, bool, u32*, u32,
                                                   u32*);
template __global__ void relax_edges<u32, false, 4>(u32, const u32*, const u32*, const u32*, bool, u32*, u32,
                                                    u32*);
template __global__ void relax_edges<u32, true, 4>(u32, const u32*, const u32*, const u32*, bool, u32*, u32,
                                                   u32*);
