// Sums over the subtrees of a dominator tree: retained sizes.
//
// Pointers up the tree double their reach in each round. Before round k, a vertex has the sum of its
// descendants less than 2^k steps below it; those exactly 2^k steps below add theirs, so it has twice as many
// levels. A list of millions of links takes as many rounds as its length has bits, a shallow tree a few.
//
// The root is left out, since its sum is that of all vertices: most of a shallow tree would add to one word.
// Where a whole warp adds to one vertex, as below other hubs, one lane does.

#include "device/any_of_grid.cuh"
#include "device/block_sum.cuh"

// Adds what the lanes of a warp have to their targets; NO_PREDECESSOR: to none. For whole warps.
__device__ __forceinline__ void add_up(u64* sums, u32 target, u64 value)
{
    if (__match_any_sync(ALL_LANES, target) != ALL_LANES) {
        if (target != NO_PREDECESSOR) atomicAdd(&sums[target], value);
        return;
    }
    if (target == NO_PREDECESSOR) return;
    value = sum_of_warp(value);
    if (threadIdx.x % WARP == 0) atomicAdd(&sums[target], value);
}

// Turns the sizes in `sums` into sums, for all vertices but the root. `others`, `near` and `far` are scratch,
// `unfinished` are three zeros. `rounds` receives the number of rounds; if it is odd, the sums are in
// `others`.
extern "C" __global__ void retain(u32 n, u32 root, const u32* __restrict__ idom, u64* sums, u64* others,
                                  u32* near, u32* far, u32* unfinished, u32* rounds)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u32 above = idom[v];
        near[v] = v == root || above == root ? NO_PREDECESSOR : above;
    }
    grid.sync();
    u32 round = 0;
    bool goes_on = true;
    // A tree of 32-bit vertices is done after 32 rounds; input that is not a tree must end, too.
    while (goes_on && round < 32) {
        for (u32 v = thread_id(); v < n; v += thread_count()) others[v] = sums[v];
        grid.sync();
        bool is_below = false;
        for (u32 first = thread_id() - threadIdx.x % WARP; first < n; first += thread_count()) {
            u32 v = first + threadIdx.x % WARP;
            u32 above = v < n ? near[v] : NO_PREDECESSOR;
            add_up(others, above, above == NO_PREDECESSOR ? 0 : sums[v]);
            if (v >= n) continue;
            u32 beyond = above == NO_PREDECESSOR ? NO_PREDECESSOR : near[above];
            far[v] = beyond;
            if (beyond != NO_PREDECESSOR) is_below = true;
        }
        goes_on = any_of_grid(grid, unfinished, round++, is_below);
        u64* added = others;
        others = sums;
        sums = added;
        u32* jumped = far;
        far = near;
        near = jumped;
    }
    if (thread_id() == 0) *rounds = round;
}
