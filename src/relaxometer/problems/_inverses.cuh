// Sums of inverse distances as integers, which are the same in any order of the threads.

#pragma once

#include "device/constants.cuh"

// The unit in which inverse distances from one source to `n` vertices are added up: the largest power of two
// for which the sum always fits in 64 bits. Every term is rounded down to a whole multiple of its inverse.
__device__ __forceinline__ double inverse_unit(u64 n)
{
    return static_cast<double>(1ull << __clzll(static_cast<long long>(n)));
}

// The inverse of a distance in this unit, 0 for a distance of 0.
__device__ __forceinline__ u64 inverse_of(u64 distance, double unit)
{
    return distance ? static_cast<u64>(unit / static_cast<double>(distance)) : 0;
}
