// Sums over all threads of a launch, with few atomic operations.

#pragma once

#include "device/constants.cuh"

__device__ __forceinline__ u64 sum_of_warp(u64 value)
{
    for (u32 other = WARP / 2; other > 0; other /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, other);
    }
    return value;
}

// Adds what the threads of a block have counted to the totals in global memory, modulo 2^64. For whole
// blocks.
template <u32 COUNT>
__device__ __forceinline__ void add_block_sums(const u64 (&own)[COUNT], u64* totals)
{
    __shared__ u64 of_block[COUNT];
    if (threadIdx.x < COUNT) of_block[threadIdx.x] = 0;
    __syncthreads();
    for (u32 k = 0; k < COUNT; ++k) {
        u64 of_warp = sum_of_warp(own[k]);
        if (threadIdx.x % WARP == 0) atomicAdd(&of_block[k], of_warp);
    }
    __syncthreads();
    if (threadIdx.x < COUNT) atomicAdd(&totals[threadIdx.x], of_block[threadIdx.x]);
}
