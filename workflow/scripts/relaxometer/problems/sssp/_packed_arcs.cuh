// Arcs in the layout that costs the fewest dependent reads (see _packed_arcs.py), and a clock.

#pragma once

#include "device/atomics.cuh"

const u32 UNREACHED = 0xffffffffu;

// In place of the target of an arc that is not there.
const u32 NO_ARC = 0xffffffffu;
// In place of the last of the first four arcs of a vertex that has more than four.
const u32 MORE_ARCS = 0xfffffffeu;

#ifdef __CUDA_ON_HOST__

#include <time.h>

__device__ inline u64 clock_ns()
{
    timespec now;
    timespec_get(&now, TIME_UTC);
    return static_cast<u64>(now.tv_sec) * 1000000000u + static_cast<u64>(now.tv_nsec);
}

#else

__device__ __forceinline__ u64 clock_ns()
{
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

#endif
