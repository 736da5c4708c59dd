// Ancestors in the elimination tree, by jumps of 1, 2, 4, ... steps; `n` of each length.

#pragma once

#include "device/atomics.cuh"

// The ancestor `steps` above a vertex.
__device__ __forceinline__ u32 ancestor_of(const u32* jumps, u32 n, u32 vertex, u32 steps)
{
    for (u32 bit = 0; steps >> bit != 0; ++bit) {
        if (steps >> bit & 1) vertex = read_only(&jumps[static_cast<size_t>(bit) * n + vertex]);
    }
    return vertex;
}
