// Dominators of one large graph as a tree that sinks to its fixed point (see _tree.cuh), all arcs at once.
//
// Vertices go by the order of the input where that serves (see `lowest_predecessors`), as a compiler's does,
// and else by their breadth-first numbers; the first tree has the lowest predecessors as parents, or is that
// of the search. A round looks at every arc, in place, a thread an arc, so that degrees do not matter; rounds
// go on within one cooperative launch until one moves nothing. On road maps the tree of the search is
// hundreds of vertices deep, but it collapses within the first rounds: what remains of a chain of parents is
// one or two steps, and the many rounds that follow are short. (Working on the tree while the search finds
// it, level by level, needs a barrier more for each level and saves no rounds.)
//
// Where chains stay long, in a deep tree of dominators, `jump` holds an ancestor far up for every vertex,
// made anew before a round by doubling steps. Their number is chosen so that a jump spans about the square
// root of the longest chain that the round before climbed. A jump is taken if it does not lead past the other
// end, and then skips no dominator: what dominates the head of the arc is met by both ends. One that has
// become stale during its round leads to a parent that is too low at worst, which the next round finds.

#include <cooperative_groups.h>

#include "_sinking.cuh"

// Chains up to this are climbed step by step.
__device__ const u32 SHORT_CHAIN = 48;

// How often jumps are doubled for chains of this length; 0 if they are climbed step by step.
__device__ __forceinline__ u32 doublings_for(u32 longest)
{
    return longest <= SHORT_CHAIN ? 0 : (33 - __clz(static_cast<int>(longest))) / 2;
}

// Finds the predecessor of the smallest number of every vertex; `lowest` is preset to `NONE`. If that is
// below each vertex but 0, the order of the input serves as it is: a path of falling numbers leads from any
// vertex back to 0, so that all are reached, and a dominator on it has a smaller number.
extern "C" __global__ void lowest_predecessors(u64 n_arcs, const u32* __restrict__ tails,
                                               const u32* __restrict__ heads, u32* lowest)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        if (tails[i] < load_relaxed(&lowest[heads[i]])) atomicMin(&lowest[heads[i]], tails[i]);
    }
}

extern "C" __global__ void arcs_by_number(u64 n_arcs, const u32* __restrict__ tails,
                                          const u32* __restrict__ heads, const u32* __restrict__ number,
                                          u32* __restrict__ from, u32* __restrict__ to)
{
    number_arcs(n_arcs, tails, heads, number, from, to);
}

// Rounds until nothing moves, or `most_rounds` of them. `parent` holds the first tree, whose chains are no
// longer than `*longest_chain`. `tallies` are six zeros: moves and longest climb of a round. They take turns
// in threes, one that is read, one that is added to and one that is cleared, so that a round needs one
// barrier. `outcome` becomes the rounds, and the moves and the longest climb of the last.
extern "C" __global__ void sink(u64 n_arcs, const u32* __restrict__ from, const u32* __restrict__ to,
                                const u32* __restrict__ reached, const u32* __restrict__ longest_chain,
                                u32* parent, u32* jump, u32 most_rounds, u64* tallies, u64* outcome)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    Tree tree = {parent, jump};
    u32 n = *reached;
    u32 round = 0;
    u64 moved = 1;
    u64 longest = *longest_chain;
    while (moved != 0 && round < most_rounds) {
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

// From numbers to vertices; `idom` is preset to "none".
extern "C" __global__ void name_dominators(const u32* __restrict__ reached, const u32* __restrict__ order,
                                           const u32* __restrict__ parent, u32* __restrict__ idom)
{
    u32 n = *reached;
    for (u32 v = thread_id(); v < n; v += thread_count()) idom[order[v]] = order[parent[v]];
}
