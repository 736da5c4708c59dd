// Rows of labels in memory.

#pragma once

#include "device/constants.cuh"

const u32 UNIT = 8;  // rows begin at multiples of this many labels: a sector of memory

// A row is its begin, in units, times 2^16, and its number of labels before the cut, one more than its depth.
__device__ __forceinline__ u64 first_quad(u64 row)
{
    return (row >> 16) * (UNIT / 4);
}

__device__ __forceinline__ u32 size_of(u64 row)
{
    return static_cast<u32>(row) & 0xffff;
}

__device__ __forceinline__ u64 join(u32 low, u32 high)
{
    return static_cast<u64>(high) << 32 | low;
}
