// The layout of arcs that needs the fewest dependent reads; see _packed_arcs.py.

#pragma once

#include "device/constants.cuh"
#include "problems/sssp/_weights.cuh"

const u32 FIRST = 4;                // arcs of a vertex stored at an address that its number gives
const u32 NO_ARC = 0xffffffffu;     // replaces the target of a missing arc
const u32 MORE_ARCS = 0xfffffffeu;  // replaces the last target if the vertex has more arcs

// Head and weight of an arc, x and y, and of two arcs, the second z and w.
template <typename Weight>
struct ArcsOf {
    typedef uint2 one;
    typedef uint4 two;
};

struct __align__(16) WideArc {
    u32 x;
    u32 zero;
    u64 y;

    WideArc() = default;
    __device__ WideArc(u32 x, u64 y) : x(x), zero(0), y(y)
    {
    }
};

struct __align__(16) WideArcs {
    u32 x;
    u32 zero;
    u64 y;
    u32 z;
    u32 another_zero;
    u64 w;

    WideArcs() = default;
    __device__ WideArcs(u32 x, u64 y, u32 z, u64 w) : x(x), zero(0), y(y), z(z), another_zero(0), w(w)
    {
    }
};

template <>
struct ArcsOf<u64> {
    typedef WideArc one;
    typedef WideArcs two;
};

typedef ArcsOf<weight_t>::one Arc;
typedef ArcsOf<weight_t>::two ArcPair;

#ifndef __CUDA_ON_HOST__

__device__ __forceinline__ WideArc read_only(const WideArc* address)
{
    uint4 words = read_only(reinterpret_cast<const uint4*>(address));
    return {words.x, static_cast<u64>(words.w) << 32 | words.z};
}

__device__ __forceinline__ WideArcs read_only(const WideArcs* address)
{
    WideArc one = read_only(reinterpret_cast<const WideArc*>(address));
    WideArc other = read_only(reinterpret_cast<const WideArc*>(address) + 1);
    return {one.x, one.y, other.x, other.y};
}

#endif
