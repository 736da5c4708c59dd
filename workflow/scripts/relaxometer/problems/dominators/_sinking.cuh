// Chains of parents with shortcuts, and the look at an arc that uses them (see _tree.cuh and
// iterative_tree.cu).

#pragma once

#include "_tree.cuh"

#define FULL_WARP 0xffffffffu

__device__ const u32 NONE = 0xffffffffu;
__device__ const u32 WARP = 32;

// The tree by number: parents, and an ancestor far up for every vertex.
struct Tree {
    u32* parent;
    u32* jump;
};

// Writes the ends of arcs by number. An arc that moves nothing, since it is not reached or enters the root,
// becomes one of the root to itself.
__device__ __forceinline__ void number_arcs(u64 n_arcs, const u32* tails, const u32* heads, const u32* number,
                                            u32* from, u32* to)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 u = number[tails[i]];
        from[i] = u == NONE ? 0 : u;
        to[i] = u == NONE ? 0 : number[heads[i]];
    }
}

// Goes up from a vertex, not past the other end; adds to the steps, where a jump counts as its `span`.
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

// Lets the arc from u to w, by number, move the parent of w; counts the moves and the longest climb.
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

// Looks at arcs by number; adds what moved to `all_moved` and raises `all_longest`. Jumps lead up `span`
// steps or to the root; without them it is 0.
__device__ __forceinline__ void follow_arcs(const Tree& tree, u64 n_arcs, const u32* from, const u32* to,
                                            u32 span, u64* all_moved, u64* all_longest)
{
    u32 moved = 0;
    u32 longest = 0;
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        follow(tree, from[i], to[i], span, &moved, &longest);
    }
    moved = __reduce_add_sync(FULL_WARP, moved);
    longest = __reduce_max_sync(FULL_WARP, longest);
    if (threadIdx.x % WARP != 0) return;
    if (moved) atomicAdd(all_moved, static_cast<u64>(moved));
    if (longest > load_relaxed(all_longest)) atomicMax(all_longest, static_cast<u64>(longest));
}

// Makes every jump one step, to the parent.
__device__ __forceinline__ void begin_jumps(const Tree& tree, u32 n)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        store_relaxed(&tree.jump[v], load_relaxed(&tree.parent[v]));
    }
}

// Makes every jump twice as long or longer. Threads may see what others have doubled already: an ancestor of
// an ancestor is one too.
__device__ __forceinline__ void double_jumps(const Tree& tree, u32 n)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u32 far = load_relaxed(&tree.jump[v]);
        store_relaxed(&tree.jump[v], load_relaxed(&tree.jump[far]));
    }
}
