// How the kernels over a list of edges read it.

#pragma once

#include "device/atomics.cuh"

// A thread's one or four edges out of an array, 128 bits at a time where there are four. __ldcs tells the
// caches that nobody will ask for them again in this phase, so that they do not drive out the distances.

__device__ __forceinline__ void stream(const u32* array, u32 group, u32 (&edges)[1])
{
    edges[0] = __ldcs(array + group);
}

__device__ __forceinline__ void stream(const double* array, u32 group, double (&edges)[1])
{
    edges[0] = __ldcs(array + group);
}

__device__ __forceinline__ void stream(const u32* array, u32 group, u32 (&edges)[4])
{
    uint4 four = __ldcs(reinterpret_cast<const uint4*>(array) + group);
    edges[0] = four.x;
    edges[1] = four.y;
    edges[2] = four.z;
    edges[3] = four.w;
}

__device__ __forceinline__ void stream(const double* array, u32 group, double (&edges)[4])
{
    const double2* pairs = reinterpret_cast<const double2*>(array) + 2 * static_cast<u64>(group);
    double2 first = __ldcs(pairs);
    double2 second = __ldcs(pairs + 1);
    edges[0] = first.x;
    edges[1] = first.y;
    edges[2] = second.x;
    edges[3] = second.y;
}
