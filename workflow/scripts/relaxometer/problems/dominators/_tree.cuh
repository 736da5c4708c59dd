// Dominators as a tree that sinks to its fixed point: the step that all tree variants share.
//
// Every vertex has a parent with a smaller number, and numbers are such that what dominates a vertex has a
// smaller number than it: reverse post-order, or breadth-first order. To begin with a parent is any
// predecessor. For an arc u -> w, the parent of w moves up to where the chains of parents of u and of w meet
// (Cooper, Harvey and Kennedy's intersection, an arc at a time). When no arc moves anything, parents are
// immediate dominators.
//
// Threads may do this all at once and in place. At every moment each strict dominator of v is the parent of v
// or dominates it: this holds of a predecessor, and a chain only climbs past a vertex c towards b < c if c is
// no dominator of w, since those are b or dominate b and have no larger number. So no dominator is ever lost.
// Parents only move to smaller numbers, hence the atomic minimum, and at rest every arc comes from below the
// parent of its head, so that every parent is a dominator.

#pragma once

#include "device/atomics.cuh"

// Where the chains of parents that begin at a and at b meet.
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

// Lets the arc u -> w move the parent of w; returns whether it did.
__device__ __forceinline__ bool follow_arc(u32* parent, u32 u, u32 w)
{
    u32 above = load_relaxed(&parent[w]);
    if (above == u) return false;
    u32 meet = meeting(parent, above, u);
    return meet < above && atomicMin(&parent[w], meet) > meet;
}
