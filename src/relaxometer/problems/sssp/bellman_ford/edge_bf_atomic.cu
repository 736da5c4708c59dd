// Bellman-Ford over a list of edges as in edge_bf.cu, but without its races: an atomic minimum replaces a
// distance only by a shorter one.
//
// Most edges improve nothing, so a thread first reads both distances: a load is cheaper than an atomic. The
// loads are relaxed and bypass the first-level cache, which would hide other multiprocessors' atomics. The
// atomic minimum makes up for an outdated value. The number of phases still depends on the order of threads,
// since a phase sees its own improvements.
//
// A phase moves at least 12 bytes per edge and every distance once.

#include "_edge_list.cuh"
#include "_fixed_point.cuh"

__device__ __forceinline__ bool improve(length_t* distance, u32 v, length_t seen, length_t length)
{
    return length < seen && length < atomicMin(distance + v, length);
}

template <int EDGES>
__global__ void relax_edges(u32 groups, const u32* __restrict__ starts, const u32* __restrict__ ends,
                            const weight_t* __restrict__ weights, bool both_ways, length_t* distance,
                            u32 phase, u32* last_phase)
{
    bool changed = false;
    u32 group = thread_id();
    if (group < groups) {
        u32 start[EDGES], end[EDGES];
        weight_t weight[EDGES];
        length_t from[EDGES], to[EDGES];
        stream(starts, group, start);
        stream(ends, group, end);
        stream(weights, group, weight);
        for (int e = 0; e < EDGES; ++e) {
            from[e] = load_relaxed(distance + start[e]);
            to[e] = load_relaxed(distance + end[e]);
        }
        for (int e = 0; e < EDGES; ++e) {
            changed |= improve(distance, end[e], to[e], extended(from[e], weight[e]));
            if (both_ways) changed |= improve(distance, start[e], from[e], extended(to[e], weight[e]));
        }
    }
    report_change(changed, phase, last_phase);
}

template __global__ decltype(relax_edges<1>) relax_edges<1>;
template __global__ decltype(relax_edges<4>) relax_edges<4>;
