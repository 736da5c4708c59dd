// Dominators of one large graph: vertices move up a tree until it is the dominator tree (see _tree.cuh).
//
// The first tree comes from a forest of smallest predecessors (_forest.cu) or from a breadth-first search,
// and so do the numbers. If every vertex but 0 has a smaller predecessor, as in a compiler's order, numbers
// are those of the input: a path of falling numbers leads from every vertex to 0, so all are reached, and a
// dominator lies on that path and has a smaller number. A round applies every arc in place, one thread per
// arc, so degrees do not matter. Rounds follow each other in one cooperative launch until one moves nothing.
// On road maps the tree of the search is hundreds of vertices deep but collapses in the first rounds; the
// many rounds that follow climb chains of one or two steps and are short. (Working on the tree during the
// search, level by level, takes one more barrier per level and saves no rounds.)
//
// Where chains stay long, in a deep dominator tree, `jump` holds an ancestor far up for every vertex. It is
// built before a round by doubling; a jump spans about the square root of the longest chain that the last
// round climbed. A jump is taken if it does not lead past the other end, and then it skips no dominator: both
// ends meet every dominator of the head. A jump that became stale during its round leads to a parent that is
// at worst too low, and the next round corrects it.
//
// But where two long chains run next to each other, each jump of one leads past the other end, and both are
// climbed step by step. So while chains are long, rounds know depths and all ancestors at distances of powers
// of two (`lift_arcs`), and find each meeting in a number of steps that is logarithmic.

#include <cooperative_groups.h>

#include "_rounds.cuh"

// Returns how often to double the jumps for chains of this length; 0 to climb them step by step.
__device__ __forceinline__ u32 doublings_for(u32 longest)
{
    return longest <= SHORT_CHAIN ? 0 : (33 - __clz(static_cast<int>(longest))) / 2;
}

// By number: the ancestors at distances 1, 2, 4 and so on, `n` words each, and the depths.
struct Ladder {
    u32 n;
    const u32* up;
    const u32* depth;
};

__device__ __forceinline__ u32 ancestor(const Ladder& ladder, u32 v, u32 power)
{
    return ladder.up[static_cast<u64>(power) * ladder.n + v];
}

// Returns where the chains of parents that begin at a and b meet.
__device__ u32 meeting(const Ladder& ladder, u32 a, u32 b)
{
    u32 depth_a = ladder.depth[a];
    u32 depth_b = ladder.depth[b];
    if (depth_a < depth_b) {
        u32 swapped = a;
        a = b;
        b = swapped;
    }
    u32 surplus = max(depth_a, depth_b) - min(depth_a, depth_b);
    for (; surplus; surplus &= surplus - 1) a = ancestor(ladder, a, __ffs(static_cast<int>(surplus)) - 1);
    if (a == b) return a;
    for (u32 power = 32 - __clz(static_cast<int>(min(depth_a, depth_b))); power-- > 0;) {
        u32 over_a = ancestor(ladder, a, power);
        u32 over_b = ancestor(ladder, b, power);
        if (over_a == over_b) continue;
        a = over_a;
        b = over_b;
    }
    return ancestor(ladder, a, 0);
}

// Writes the ancestors of all vertices, far enough for the longest chain. All threads call it and return the
// same number of doublings; no chain is longer than two to that power.
__device__ u32 build_ladder(Ladder* ladder, u32* up, u32* depth, const u32* parent, u32* unfinished)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    u32 n = ladder->n;
    u32* depths = depth;
    u32* deeper = depth + n;
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        up[v] = parent[v];
        depths[v] = v == 0 ? 0 : 1;
    }
    if (thread_id() == 0) store_relaxed(&unfinished[0], 0u);
    grid.sync();
    u32 power = 0;
    for (bool goes_on = true; goes_on; ++power) {
        const u32* near = up + static_cast<u64>(power) * n;
        u32* far = up + static_cast<u64>(power + 1) * n;
        if (thread_id() == 0) store_relaxed(&unfinished[(power + 1) % 3], 0u);
        bool is_below = false;
        for (u32 v = thread_id(); v < n; v += thread_count()) {
            u32 above = near[v];
            u32 beyond = near[above];
            far[v] = beyond;
            deeper[v] = depths[v] + depths[above];
            if (beyond != 0) is_below = true;
        }
        if (is_below) store_relaxed(&unfinished[power % 3], 1u);
        grid.sync();
        goes_on = load_relaxed(&unfinished[power % 3]) != 0;
        u32* swapped = depths;
        depths = deeper;
        deeper = swapped;
    }
    ladder->up = up;
    ladder->depth = depths;
    return power;
}

// Rounds over all arcs while a chain may be longer than `long_chain` and something moves, at most
// `max_rounds`. `up` has room for the ancestors of chains as long as the longest, `depth` for two words per
// vertex, `unfinished` for three. `tallies` are three zeros. `outcome` receives the number of rounds, the
// moves of the last (1 if there was none), and the last bound on chains.
extern "C" __global__ void lift_arcs(u64 n_arcs, const u32* __restrict__ from, const u32* __restrict__ to,
                                     const u32* __restrict__ reached, u32* parent, u32* up, u32* depth,
                                     u32* unfinished, u32 long_chain, u32 max_rounds, u64* tallies,
                                     u64* outcome)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    Ladder ladder = {*reached, nullptr, nullptr};
    u32 round = 0;
    u64 moved = 1;
    u64 longest = 0;
    while (moved != 0 && round < max_rounds) {
        longest = 1ull << build_ladder(&ladder, up, depth, parent, unfinished);
        if (longest <= long_chain) break;
        if (thread_id() == 0) store_relaxed(&tallies[(round + 1) % 3], u64(0));
        u32 mine = 0;
        for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
            u32 u = from[i];
            u32 w = to[i];
            if (w == 0) continue;
            u32 above = up[w];
            if (above == u) continue;
            u32 meet = meeting(ladder, above, u);
            if (meet < above && meet < load_relaxed(&parent[w])) mine += atomicMin(&parent[w], meet) > meet;
        }
        mine = __reduce_add_sync(ALL_LANES, mine);
        if (threadIdx.x % WARP == 0 && mine) atomicAdd(&tallies[round % 3], static_cast<u64>(mine));
        grid.sync();
        moved = load_relaxed(&tallies[round % 3]);
        ++round;
    }
    if (thread_id() == 0) {
        outcome[0] = round;
        outcome[1] = moved;
        outcome[2] = longest;
    }
}

// Runs rounds until nothing moves, at most `max_rounds`. `parent` holds the first tree; no chain is longer
// than `*longest_chain`. `tallies` are six zeros, for the moves and the longest climb of three rounds: one is
// read, one is added to, one is cleared, so a round needs one barrier. `outcome` receives the number of
// rounds, and the moves and the longest climb of the last.
extern "C" __global__ void run_rounds(u64 n_arcs, const u32* __restrict__ from, const u32* __restrict__ to,
                                      const u32* __restrict__ reached, const u32* __restrict__ longest_chain,
                                      u32* parent, u32* jump, u32 max_rounds, u64* tallies, u64* outcome)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    Tree tree = {parent, jump};
    u32 n = *reached;
    u32 round = 0;
    u64 moved = 1;
    u64 longest = *longest_chain;
    while (moved != 0 && round < max_rounds) {
        u32 doublings = doublings_for(static_cast<u32>(longest));
        if (doublings) {
            begin_jumps(tree, n);
            grid.sync();
            for (u32 k = 0; k < doublings; ++k) double_jumps(tree, n);
            grid.sync();
        }
        u32 now = round % 3;
        u32 next = (round + 1) % 3;
        if (thread_id() == 0) {
            store_relaxed(&tallies[next], u64(0));
            store_relaxed(&tallies[3 + next], u64(0));
        }
        follow_arcs(tree, n_arcs, from, to, doublings ? 1u << doublings : 0, &tallies[now],
                    &tallies[3 + now]);
        grid.sync();
        moved = load_relaxed(&tallies[now]);
        longest = load_relaxed(&tallies[3 + now]);
        ++round;
    }
    if (thread_id() == 0) {
        outcome[0] = round;
        outcome[1] = moved;
        outcome[2] = longest;
    }
}

// Converts numbers to vertices; `idom` is filled with NO_DOMINATOR.
extern "C" __global__ void dominators_by_vertex(const u32* __restrict__ reached,
                                                const u32* __restrict__ order, const u32* __restrict__ parent,
                                                u32* __restrict__ idom)
{
    u32 n = *reached;
    for (u32 v = thread_id(); v < n; v += thread_count()) idom[order[v]] = order[parent[v]];
}
