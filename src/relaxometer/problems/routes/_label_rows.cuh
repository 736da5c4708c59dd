// Rows of labels in memory.

#pragma once

#include "problems/_saturating.cuh"

const u32 UNIT = 8;  // rows begin at multiples of this many labels: a sector of memory

// A row is its begin, in units, times 2^16, and its number of labels before the cut, one more than its depth.
// Where memory is short, vertices near the leaves of the tree have no row; they are the bit `NO_ROW`, the
// number of their upward arcs times 2^ARCS_BIT, the first of them times 2^16, and the same number of labels.
const u64 NO_ROW = 0x8000000000000000;
const u32 ARCS_BIT = 56;

__device__ __forceinline__ u64 first_quad(u64 row)
{
    return (row >> 16) * (UNIT / 4);
}

__device__ __forceinline__ u32 size_of(u64 row)
{
    return static_cast<u32>(row) & 0xffff;
}

__device__ __forceinline__ uint4 lower(const uint4& best, const uint4& other, u32 length)
{
    return make_uint4(min(best.x, sum(other.x, length)), min(best.y, sum(other.y, length)),
                      min(best.z, sum(other.z, length)), min(best.w, sum(other.w, length)));
}

__device__ __forceinline__ u64 join(u32 low, u32 high)
{
    return static_cast<u64>(high) << 32 | low;
}
