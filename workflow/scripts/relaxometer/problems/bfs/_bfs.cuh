// Shared by the BFS kernels: what levels and bitmaps are made of, and the search of a row by a whole warp.
//
// A bitmap holds vertex v at bit v % 32 of word v / 32.

#pragma once

#include "device/atomics.cuh"

__device__ const u32 UNREACHED = 0xffffffffu;
__device__ const u32 NO_PREDECESSOR = 0xffffffffu;
__device__ const u32 ALL_LANES = 0xffffffffu;

__device__ __forceinline__ u32 bit_of(u32 v)
{
    return 1u << (v & 31);
}

__device__ __forceinline__ bool contains(const u32* bitmap, u32 v)
{
    return bitmap[v / 32] & bit_of(v);
}

// The same for a bitmap that other threads change meanwhile. Ahead of `claim` it saves most of the atomics,
// for most arcs lead back to visited vertices.
__device__ __forceinline__ bool contains_now(const u32* bitmap, u32 v)
{
    return load_relaxed(&bitmap[v / 32]) & bit_of(v);
}

// Puts v into a bitmap; returns whether it was this thread that did.
__device__ __forceinline__ bool claim(u32* bitmap, u32 v)
{
    return !(atomicOr(&bitmap[v / 32], bit_of(v)) & bit_of(v));
}

// Looks for a parent in the frontier among `targets[begin]` to `targets[end - 1]`, 32 of them at a time. The
// lanes of a warp call it with the same arguments and get the same answer, NO_PREDECESSOR if there is none.
__device__ __forceinline__ u32 search_row_by_warp(const u32* targets, i64 begin, i64 end, const u32* frontier,
                                                  u32* examined)
{
    u32 lane = threadIdx.x % 32;
    for (i64 i = begin; i < end; i += 32) {
        bool inside = i + lane < end;
        u32 u = inside ? targets[i + lane] : 0;
        *examined += inside;
        u32 hits = __ballot_sync(ALL_LANES, inside && contains(frontier, u));
        if (hits) return __shfl_sync(ALL_LANES, u, __ffs(hits) - 1);
    }
    return NO_PREDECESSOR;
}

// The sum of a value over the lanes of a warp.
__device__ __forceinline__ u64 warp_sum(u64 value)
{
    for (u32 distance = 16; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    }
    return value;
}

// The sum of a value over the lanes below this one.
__device__ __forceinline__ u32 sum_below(u32 value)
{
    u32 lane = threadIdx.x % 32;
    u32 sum = value;
    for (u32 distance = 1; distance < 32; distance *= 2) {
        u32 left = __shfl_up_sync(ALL_LANES, sum, distance);
        if (lane >= distance) sum += left;
    }
    return sum - value;
}
