// Connected components by a forest of links, which all threads change at once.
//
// After "A High-Performance Connected Components Implementation for GPUs" (Jaiganesh and Burtscher, HPDC 2018):
// a root is linked to a smaller root by compare-and-swap, and who climbs a path halves it. The root of a finished
// component is its smallest member.

#pragma once

#include "device/constants.cuh"

// Returns the root above `v`; links that it passes are shortened, which only skips vertices.
__device__ __forceinline__ u32 find_root(u32* link, u32 v)
{
    u32 below = v;
    u32 at = load_relaxed(&link[v]);
    while (true) {
        u32 above = load_relaxed(&link[at]);
        if (above == at) return at;
        if (below != at) store_relaxed(&link[below], above);
        below = at;
        at = above;
    }
}

// Unites the components of `a` and `b`. Returns the root that is one no longer, UNREACHED if they were united.
__device__ __forceinline__ u32 unite(u32* link, u32 a, u32 b)
{
    a = find_root(link, a);
    b = find_root(link, b);
    while (a != b) {
        u32 high = max(a, b);
        u32 low = min(a, b);
        u32 seen = atomicCAS(&link[high], high, low);
        if (seen == high) return high;
        a = find_root(link, seen);
        b = low;
    }
    return UNREACHED;
}
