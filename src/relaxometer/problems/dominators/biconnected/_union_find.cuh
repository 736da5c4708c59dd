// Connected components by a forest of links, which all threads change at once.
//
// After "A High-Performance Connected Components Implementation for GPUs" (Jaiganesh and Burtscher, HPDC
// 2018): a root is linked to a smaller root by compare-and-swap, and threads that climb a path halve it. The
// root of a finished component is its smallest member.

#pragma once

#include "device/any_of_grid.cuh"

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

// Unites the components of `a` and `b`. Returns the root that this has linked to another, or UNREACHED if the
// two were one component already.
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

// The same for pairs that mostly share the link above them, so that no root need be looked for.
__device__ __forceinline__ void unite_if_apart(u32* link, u32 a, u32 b)
{
    if (load_relaxed(&link[a]) != load_relaxed(&link[b])) unite(link, a, b);
}

// Makes every link lead to the root of its component, where threads have shortened long chains already. Each
// thread writes its own links alone: one that also shortened those of others, as find_root does, could undo
// with a link that it read before what another has written meanwhile.
__device__ __forceinline__ void compress(u32* link, u32 count)
{
    for (u32 v = thread_id(); v < count; v += thread_count()) {
        u32 at = load_relaxed(&link[v]);
        for (u32 above; (above = load_relaxed(&link[at])) != at;) at = above;
        store_relaxed(&link[v], at);
    }
}

// The same for links that may be long chains: pointer jumping halves them in each pass.
__device__ __forceinline__ void shorten(cg::grid_group grid, u32* link, u32 count, u32* words, u32* round)
{
    bool goes_on = true;
    while (goes_on) {
        bool moved = false;
        for (u32 v = thread_id(); v < count; v += thread_count()) {
            u32 at = load_relaxed(&link[v]);
            u32 above = load_relaxed(&link[at]);
            if (above == at) continue;
            store_relaxed(&link[v], above);
            moved = true;
        }
        goes_on = any_of_grid(grid, words, (*round)++, moved);
    }
}
