// The time in nanoseconds since some moment, the same for all threads of a device; for instrumented runs.

#pragma once

#include "device/atomics.cuh"

#ifdef __CUDA_ON_HOST__

#include <time.h>

inline u64 nanoseconds()
{
    timespec now;
    timespec_get(&now, TIME_UTC);
    return static_cast<u64>(now.tv_sec) * 1000000000u + static_cast<u64>(now.tv_nsec);
}

#else

__device__ __forceinline__ u64 nanoseconds()
{
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#endif
