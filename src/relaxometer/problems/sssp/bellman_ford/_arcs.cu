// The tail of every arc, and whether every arc has a mirror image: for the edge list and the transpose.

#include "problems/_arc_search.cuh"
#include "problems/sssp/_weights.cuh"

// Writes the tail of every arc, one warp per vertex, so that stores are coalesced.
extern "C" __global__ void write_tails(u32 n, const i64* __restrict__ offsets, u32* __restrict__ tails)
{
    u32 v = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (v >= n) return;
    i64 end = offsets[v + 1];
    for (i64 i = offsets[v] + threadIdx.x % 32; i < end; i += 32) {
        tails[i] = v;
    }
}

// Sets `unmirrored` if some arc u -> v has no arc v -> u of the same weight. Targets ascend within a vertex.
extern "C" __global__ void find_unmirrored(i64 m, const i64* __restrict__ offsets,
                                           const u32* __restrict__ targets,
                                           const weight_t* __restrict__ weights,
                                           const u32* __restrict__ tails, u32* unmirrored)
{
    i64 arc = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (arc >= m) return;
    u32 u = tails[arc];
    u32 v = targets[arc];
    i64 low = lower_bound(offsets, targets, v, u);
    i64 end = offsets[v + 1];
    while (low < end && targets[low] == u && weights[low] != weights[arc]) ++low;
    if (low == end || targets[low] != u) store_relaxed(unmirrored, 1u);
}
