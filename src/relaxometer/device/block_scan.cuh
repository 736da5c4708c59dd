// Prefix sums over the threads of a block, and a search in a prefix sum.

#pragma once

#include "device/constants.cuh"

__device__ __forceinline__ u64 warp_inclusive_sum(u64 value)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        u64 before = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// The sum of the values of all threads before this one; for blocks of whole warps. `total` receives the sum
// of all.
__device__ u64 block_exclusive_sum(u64 value, u64* total)
{
    __shared__ u64 sums[WARP];
    u32 lane = threadIdx.x % WARP;
    u32 warp = threadIdx.x / WARP;
    u64 inclusive = warp_inclusive_sum(value);
    if (lane == WARP - 1) sums[warp] = inclusive;
    __syncthreads();
    u64 of_warps = warp_inclusive_sum(lane < blockDim.x / WARP ? sums[lane] : 0);
    u64 before = __shfl_sync(ALL_LANES, of_warps, warp == 0 ? 0 : warp - 1);
    *total = __shfl_sync(ALL_LANES, of_warps, WARP - 1);
    __syncthreads();  // sums may be written again
    return (warp == 0 ? 0 : before) + inclusive - value;
}

// The index of the last of `count` ascending numbers that is at most x; the first one is.
__device__ __forceinline__ u32 last_not_above(const u64* numbers, u32 count, u64 x)
{
    u32 low = 0;
    u32 high = count;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (numbers[middle] <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
