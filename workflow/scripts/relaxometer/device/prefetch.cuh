// Asks for data before it is needed.

#pragma once

#include "device/atomics.cuh"

#ifdef __CUDA_ON_HOST__

inline void prefetch_l2(const void*)
{
}

#else

// Brings a line of global memory into the second-level cache, without waiting.
__device__ __forceinline__ void prefetch_l2(const void* address)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
}

#endif
