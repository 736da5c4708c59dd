// CSR arrays without a list of all arcs: arcs come in batches, twice. The first time they are counted by row;
// the second time each goes behind those that its row has already, in an order that a sort makes definite.

#include "device/atomics.cuh"

// Counts arcs by row.
extern "C" __global__ void count_arcs(u64 size, const u32* __restrict__ rows, u64* counts)
{
    for (u64 i = thread_id(); i < size; i += thread_count()) atomicAdd(&counts[rows[i]], 1ull);
}

// Places arcs in their rows. `ends` are where these end so far; weights may be null.
extern "C" __global__ void place_arcs(u64 size, const u32* __restrict__ rows, const u32* __restrict__ targets,
                                      const u32* __restrict__ weights, u64* ends, u32* placed,
                                      u32* placed_weights)
{
    for (u64 i = thread_id(); i < size; i += thread_count()) {
        u64 at = atomicAdd(&ends[rows[i]], 1ull);
        placed[at] = targets[i];
        if (weights) placed_weights[at] = weights[i];
    }
}

// The same of arcs that are packed with their weights.
extern "C" __global__ void place_packed(u64 size, const u32* __restrict__ rows, const u64* __restrict__ arcs,
                                        u64* ends, u64* placed)
{
    for (u64 i = thread_id(); i < size; i += thread_count())
        placed[atomicAdd(&ends[rows[i]], 1ull)] = arcs[i];
}
