// Loads of a list of edges: a thread loads one edge, or four with 128-bit loads. __ldcs marks the lines for
// early eviction, so that they do not displace the distances: no phase reads an edge twice.

#pragma once

#include "device/constants.cuh"

template <typename Word>
__device__ __forceinline__ void stream(const Word* array, u32 group, Word (&edges)[1])
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

template <typename Pair, typename Word>
__device__ __forceinline__ void stream_pairs(const Word* array, u32 group, Word (&edges)[4])
{
    const Pair* pairs = reinterpret_cast<const Pair*>(array) + 2 * static_cast<u64>(group);
    Pair first = __ldcs(pairs);
    Pair second = __ldcs(pairs + 1);
    edges[0] = first.x;
    edges[1] = first.y;
    edges[2] = second.x;
    edges[3] = second.y;
}

__device__ __forceinline__ void stream(const double* array, u32 group, double (&edges)[4])
{
    stream_pairs<double2>(array, group, edges);
}

__device__ __forceinline__ void stream(const u64* array, u32 group, u64 (&edges)[4])
{
    stream_pairs<ulonglong2>(array, group, edges);
}
