// Dominators by intersecting paths in a tree: the step that all tree variants share.
//
// Every vertex has a parent with a smaller number, and dominators have smaller numbers than the vertices they
// dominate: numbers follow reverse post-order or breadth-first order. The first parent is any predecessor. An
// arc u -> w moves the parent of w up to where the chains of parents of u and w meet (Cooper, Harvey and
// Kennedy's intersection, one arc at a time). When no arc moves a parent, parents are immediate dominators.
//
// Threads do this concurrently and in place. At every moment each strict dominator of v is the parent of v or
// dominates it. This holds for a predecessor. A chain climbs past a vertex c towards b < c only if c is not a
// dominator of w: dominators of w are b or dominate b, so their numbers are not larger. So no dominator is
// ever lost. Parents only move to smaller numbers, hence the atomic minimum. When nothing moves, every arc
// comes from the subtree of the parent of its head, so every parent is a dominator.

#pragma once

#include "device/atomics.cuh"

// Returns the vertex where the chains of parents that begin at a and b meet.
__device__ __forceinline__ u32 meeting(const u32* parent, u32 a, u32 b)
{
    while (a != b) {
        if (a > b) {
            a = load_relaxed(&parent[a]);
        } else {
            b = load_relaxed(&parent[b]);
        }
    }
    return a;
}

// Applies the arc u -> w; returns whether the parent of w moved.
__device__ __forceinline__ bool follow_arc(u32* parent, u32 u, u32 w)
{
    u32 above = load_relaxed(&parent[w]);
    if (above == u) return false;
    u32 meet = meeting(parent, above, u);
    return meet < above && atomicMin(&parent[w], meet) > meet;
}
