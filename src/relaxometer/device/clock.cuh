// A clock for kernels of instrumented runs.

#pragma once

#include "device/atomics.cuh"

#ifdef __CUDA_ON_HOST__

#include <chrono>

inline u64 nanoseconds()
{
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

#else

// All multiprocessors share this clock; on an H200 it advances about every 32 ns.
__device__ __forceinline__ u64 nanoseconds()
{
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#endif
