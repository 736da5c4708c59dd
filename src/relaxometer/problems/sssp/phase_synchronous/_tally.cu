// Counts for instrumented runs: tally[0] the vertices whose mask is set, tally[1] their arcs.

#include "device/atomics.cuh"

extern "C" __global__ void tally(u32 n, const i64* __restrict__ Va, const u8* __restrict__ Ma, u64* tally)
{
    u32 v = thread_id();
    if (v < n && Ma[v]) {
        atomicAdd(&tally[0], 1ull);
        atomicAdd(&tally[1], static_cast<u64>(Va[v + 1] - Va[v]));
    }
}
