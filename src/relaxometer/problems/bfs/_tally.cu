// Counts for instrumented runs: tally[0] vertices at a level, tally[1] the arcs that leave them.

#include "device/atomics.cuh"

extern "C" __global__ void tally(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ level,
                                 u32 depth, u64* tally)
{
    u32 v = thread_id();
    if (v < n && level[v] == depth) {
        atomicAdd(&tally[0], 1ull);
        atomicAdd(&tally[1], static_cast<u64>(offsets[v + 1] - offsets[v]));
    }
}
