// The tree of _tree.cuh with shortcuts up long chains of parents, and a round over all arcs.

#pragma once

#include "_tree.cuh"
#include "device/constants.cuh"

__device__ const u32 SHORT_CHAIN = 48;  // chains of parents up to this length are climbed step by step

// By number: the parent of every vertex, and an ancestor far up.
struct Tree {
    u32* parent;
    u32* jump;
};

// Writes the ends of arcs by number. The arcs of tails that are not reached become loops at the root; the
// rounds skip all arcs into the root.
extern "C" __global__ void arcs_by_number(u64 n_arcs, const u32* __restrict__ tails,
                                          const u32* __restrict__ heads, const u32* __restrict__ number,
                                          u32* __restrict__ from, u32* __restrict__ to)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 u = number[tails[i]];
        from[i] = u == UNREACHED ? 0 : u;
        to[i] = u == UNREACHED ? 0 : number[heads[i]];
    }
}

// Climbs from a vertex, not past the other end. Adds to the steps; a jump counts as `span` steps.
__device__ __forceinline__ u32 climb(const Tree& tree, u32 from, u32 other, u32 span, u32* steps)
{
    if (span) {
        u32 far = load_relaxed(&tree.jump[from]);
        if (far >= other) {
            *steps += span;
            return far;
        }
    }
    *steps += 1;
    return load_relaxed(&tree.parent[from]);
}

// Applies the arc from u to w, by number; updates the number of moves and the longest climb.
__device__ __forceinline__ void follow(const Tree& tree, u32 u, u32 w, u32 span, u32* moved, u32* longest)
{
    if (w == 0) return;
    u32 above = load_relaxed(&tree.parent[w]);
    u32 a = above;
    u32 b = u;
    u32 steps = 0;
    while (a != b) {
        if (a > b) {
            a = climb(tree, a, b, span, &steps);
        } else {
            b = climb(tree, b, a, span, &steps);
        }
    }
    *longest = max(*longest, steps);
    if (a < above && atomicMin(&tree.parent[w], a) > a) ++*moved;
}

// Applies all arcs, given by number; adds to `all_moved` and raises `all_longest`. Jumps lead about `span`
// steps up, or to the root; 0 means no jumps.
__device__ __forceinline__ void follow_arcs(const Tree& tree, u64 n_arcs, const u32* from, const u32* to,
                                            u32 span, u64* all_moved, u64* all_longest)
{
    u32 moved = 0;
    u32 longest = 0;
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        follow(tree, from[i], to[i], span, &moved, &longest);
    }
    moved = __reduce_add_sync(ALL_LANES, moved);
    longest = __reduce_max_sync(ALL_LANES, longest);
    if (threadIdx.x % WARP != 0) return;
    if (moved) atomicAdd(all_moved, static_cast<u64>(moved));
    if (longest > load_relaxed(all_longest)) atomicMax(all_longest, static_cast<u64>(longest));
}

// Makes every jump one step long.
__device__ __forceinline__ void begin_jumps(const Tree& tree, u32 n)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        store_relaxed(&tree.jump[v], load_relaxed(&tree.parent[v]));
    }
}

// Extends every jump by that of the vertex it leads to, which doubles it. Another thread may be a pass behind
// or ahead; then the jump becomes shorter or longer, but an ancestor of an ancestor is an ancestor.
__device__ __forceinline__ void double_jumps(const Tree& tree, u32 n)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u32 far = load_relaxed(&tree.jump[v]);
        store_relaxed(&tree.jump[v], load_relaxed(&tree.jump[far]));
    }
}
