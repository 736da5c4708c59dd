// A tree of arcs that reaches what the root reaches, from a forest that is found once for all roots.
//
// In the forest every vertex has its smallest predecessor as parent, if that is smaller; the others are tops
// of trees. The root becomes a top. Pointer jumping finds the top of every vertex. Then each vertex outside
// the root's tree with a predecessor in it moves there, with all that is below it, and the tops of the rest
// are found again, until none moves. So a round reaches whole subtrees, where a breadth-first search reaches
// one level; at worst it takes as many rounds as the search takes levels.
//
// No cycle arises: parents outside the root's tree are smaller than their children, and nothing moves inside
// it.
//
// `extend_tree` goes on where a search has found all but long chains, as the lists of a heap: outside the
// root's tree, a vertex with one predecessor has that as parent, whatever its number, and the others are
// tops. Cycles of such vertices are not reached; they are taken apart.

#include "device/any_of_grid.cuh"

struct Forest {
    u32 n;
    u64 n_arcs;
    const u32* tails;
    const u32* heads;
    const u32* lowest;  // by vertex, the smallest predecessor
    u32* parent;
    u32* top;         // an ancestor, at the end of a round the top of the tree
    u64* paths;       // an ancestor << 32 | arcs to it
    u32* unfinished;  // two sets of three words, for jumps and for moves
};

__device__ const u32 MOST_JUMPS = 33;  // doublings after which a chain of 2^32 vertices has ended

// Makes every ancestor the top of its tree, unless it is on a cycle; vertices of the root's tree have
// arrived. A thread may read one that has jumped already.
__device__ void find_tops(cg::grid_group grid, const Forest& forest, u32 root, u32* round)
{
    bool goes_on = true;
    for (u32 jump = 0; goes_on && jump < MOST_JUMPS; ++jump) {
        bool moved = false;
        for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
            u32 at = load_relaxed(&forest.top[v]);
            if (at == root || at == v) continue;
            u32 above = load_relaxed(&forest.top[at]);
            if (above == at) continue;
            store_relaxed(&forest.top[v], above);
            moved = true;
        }
        goes_on = any_of_grid(grid, forest.unfinished, (*round)++, moved);
    }
}

// Moves vertices outside the root's tree to predecessors in it; returns whether this thread moved one.
__device__ bool attach(const Forest& forest, u32 root)
{
    bool moved = false;
    for (u64 i = thread_id(); i < forest.n_arcs; i += thread_count()) {
        u32 w = forest.heads[i];
        if (forest.top[w] == root || forest.top[forest.tails[i]] != root) continue;
        store_relaxed(&forest.parent[w], forest.tails[i]);
        moved = true;
    }
    return moved;
}

// Finds the depths of all vertices in the root's tree, UNREACHED outside.
__device__ void find_depths(cg::grid_group grid, const Forest& forest, u32 root, u32* round, u32* depth)
{
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        bool is_below = forest.top[v] == root && v != root;
        forest.paths[v] = static_cast<u64>(is_below ? forest.parent[v] : root) << 32 | (is_below ? 1 : 0);
    }
    grid.sync();
    bool goes_on = true;
    while (goes_on) {
        bool unfinished = false;
        for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
            u64 own = load_relaxed(&forest.paths[v]);
            u32 at = static_cast<u32>(own >> 32);
            if (at == root) continue;
            u64 beyond = load_relaxed(&forest.paths[at]);
            u32 length = static_cast<u32>(own) + static_cast<u32>(beyond);
            store_relaxed(&forest.paths[v], (beyond >> 32) << 32 | length);
            if (beyond >> 32 != root) unfinished = true;
        }
        goes_on = any_of_grid(grid, forest.unfinished, (*round)++, unfinished);
    }
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        depth[v] = forest.top[v] == root ? static_cast<u32>(forest.paths[v]) : UNREACHED;
    }
}

// Finds the smallest predecessor of every vertex; `lowest` is filled with UNREACHED.
extern "C" __global__ void lowest_predecessors(u64 n_arcs, const u32* __restrict__ tails,
                                               const u32* __restrict__ heads, u32* lowest)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        if (tails[i] < load_relaxed(&lowest[heads[i]])) atomicMin(&lowest[heads[i]], tails[i]);
    }
}

// Finds the largest predecessor of every vertex; `highest` is filled with 0.
extern "C" __global__ void highest_predecessors(u64 n_arcs, const u32* __restrict__ tails,
                                                const u32* __restrict__ heads, u32* highest)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        if (tails[i] > load_relaxed(&highest[heads[i]])) atomicMax(&highest[heads[i]], tails[i]);
    }
}

// Attaches trees until none moves, when all tops are found; then finds depths. `extent` holds two zeros and
// receives the number of vertices reached, and how many vertices lie on the longest chain.
__device__ void grow(cg::grid_group grid, const Forest& forest, u32 root, u32* jumps, u32* depth, u32* extent)
{
    u32 rounds = 0;
    while (any_of_grid(grid, forest.unfinished + 3, rounds++, attach(forest, root))) {
        for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
            if (forest.top[v] != root) forest.top[v] = load_relaxed(&forest.parent[v]);
        }
        grid.sync();
        find_tops(grid, forest, root, jumps);
    }
    find_depths(grid, forest, root, jumps, depth);
    u32 reached = 0;
    u32 deepest = 0;
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        if (depth[v] == UNREACHED) continue;
        ++reached;
        deepest = max(deepest, depth[v] + 1);
    }
    reached = __reduce_add_sync(ALL_LANES, reached);
    deepest = __reduce_max_sync(ALL_LANES, deepest);
    if (threadIdx.x % WARP != 0) return;
    atomicAdd(&extent[0], reached);
    atomicMax(&extent[1], deepest);
}

// Finds `parent` and `depth` from a root.
extern "C" __global__ void __launch_bounds__(512, 3)
    grow_tree(const __grid_constant__ Forest forest, u32 root, u32* depth, u32* extent)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        u32 above = forest.lowest[v];
        if (v == root || above >= v) above = v;
        forest.parent[v] = above;
        forest.top[v] = above;
    }
    if (thread_id() < 6) forest.unfinished[thread_id()] = 0;
    grid.sync();
    u32 jumps = 0;
    find_tops(grid, forest, root, &jumps);
    grow(grid, forest, root, &jumps, depth, extent);
}

// The same from a tree that a search has found: numbers of its vertices, UNREACHED outside, and by number the
// vertices and their parents' numbers. `lowest` holds the only predecessor, or the vertex if it has several.
extern "C" __global__ void __launch_bounds__(512, 3)
    extend_tree(const __grid_constant__ Forest forest, u32 root, const u32* __restrict__ number,
                const u32* __restrict__ order, const u32* __restrict__ found, u32* depth, u32* extent)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        bool is_found = number[v] != UNREACHED;
        forest.parent[v] = is_found ? order[found[number[v]]] : forest.lowest[v];
        forest.top[v] = is_found ? root : forest.lowest[v];
    }
    if (thread_id() < 6) forest.unfinished[thread_id()] = 0;
    grid.sync();
    u32 jumps = 0;
    find_tops(grid, forest, root, &jumps);
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        u32 at = forest.top[v];
        forest.paths[v] = forest.top[at] != at;
    }
    grid.sync();
    for (u32 v = thread_id(); v < forest.n; v += thread_count()) {
        if (forest.paths[v]) forest.parent[v] = forest.top[v] = v;
    }
    grid.sync();
    grow(grid, forest, root, &jumps, depth, extent);
}
