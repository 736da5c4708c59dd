// Dominators of one large graph: vertices move up a tree until it is the dominator tree (see _tree.cuh).
//
// Vertices are numbered as in the input if that order serves (see `lowest_predecessors`), as a compiler's
// does, otherwise in breadth-first order. The first tree has the lowest predecessors as parents, or is the
// tree of the search. A round applies every arc in place, one thread per arc, so degrees do not matter.
// Rounds follow each other in one cooperative launch until one moves nothing. On road maps the tree of the
// search is hundreds of vertices deep but collapses in the first rounds; the many rounds that follow climb
// chains of one or two steps and are short. (Working on the tree during the search, level by level, takes one
// more barrier per level and saves no rounds.)
//
// Where chains stay long, in a deep dominator tree, `jump` holds an ancestor far up for every vertex. It is
// built before a round by doubling; a jump spans about the square root of the longest chain that the last
// round climbed. A jump is taken if it does not lead past the other end, and then it skips no dominator: both
// ends meet every dominator of the head. A jump that became stale during its round leads to a parent that is
// at worst too low, and the next round corrects it.

#include <cooperative_groups.h>

#include "_rounds.cuh"

// Returns how often to double the jumps for chains of this length; 0 to climb them step by step.
__device__ __forceinline__ u32 doublings_for(u32 longest)
{
    return longest <= SHORT_CHAIN ? 0 : (33 - __clz(static_cast<int>(longest))) / 2;
}

// Finds the smallest predecessor of every vertex; `lowest` is filled with UNREACHED. If it is smaller than
// the vertex everywhere except at 0, the order of the input serves: a path of falling numbers leads from
// every vertex back to 0, so all are reached, and a dominator lies on that path and has a smaller number.
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
