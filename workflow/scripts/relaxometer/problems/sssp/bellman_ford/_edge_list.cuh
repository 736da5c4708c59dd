// Loads of a list of edges: a thread loads one edge, or four with 128-bit loads. __ldcs marks the lines for
// early eviction, so that they do not displace the distances: no phase reads an edge twice.

#pragma once

#include "device/constants.cuh"

__device__ __forceinline__ void stream(const u32* array, u32 group, u32 (&edges)[1])
{
    edges[0] = __ldcs(array + group);
}

__device__ __forceinline__ void stream(const double* array, u32 group, double (&edges)[1])
{
    edges[0] = __ldcs(array + group);
}

__device__ __forceinline__ void stream(const u64* array, u32 group, u64 (&edges)[1])
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

__device__ __forceinline__ void stream(const u64* array, u32 group, u64 (&edges)[4])
{
    const ulonglong2* pairs = reinterpret_cast<const ulonglong2*>(array) + 2 * static_cast<u64>(group);
    ulonglong2 first = __ldcs(pairs);
    ulonglong2 second = __ldcs(pairs + 1);
    edges[0] = first.x;
    edges[1] = first.y;
    edges[2] = second.x;
    edges[3] = second.y;
}
