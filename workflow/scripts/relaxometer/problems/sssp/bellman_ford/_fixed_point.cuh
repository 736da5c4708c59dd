// Shared by the Bellman-Ford variants that look at every arc in every phase, until a phase changes nothing.

#pragma once

#include "device/atomics.cuh"

__device__ const u32 UNREACHED = 0xffffffffu;

// How far the head of an arc is by way of its tail. A length that would wrap is that of an unreached vertex,
// which is no improvement on anything: so a phase needs no check for overflow. What was left out for it shows
// at the end, as an arc that leads from a reached vertex to an unreached one.
__device__ __forceinline__ u32 extended(u32 distance, u32 weight)
{
    u32 length = distance + weight;
    return length < distance ? UNREACHED : length;
}

// In double an unreached vertex is at infinity, and lengths are exact up to 2^53.
__device__ __forceinline__ double extended(double distance, double weight)
{
    return distance + weight;
}

// Let `last_phase` say that this phase changed something; every thread of the block must call it. One store a
// block is few enough that they do not queue up at the one word that all of them write.
__device__ __forceinline__ void report_change(bool changed, u32 phase, u32* last_phase)
{
    if (__syncthreads_or(changed) && threadIdx.x == 0) store_relaxed(last_phase, phase);
}
