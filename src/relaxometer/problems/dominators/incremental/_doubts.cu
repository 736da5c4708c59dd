// Steps of an update of dominators (see incremental.py): which vertices are in doubt, how they leave the
// tree, and which arcs may move them once a search has found them again.

#include "_doubts.cuh"
#include "device/any_of_grid.cuh"

__device__ const u32 CLAIMED = 0xfffffffeu;

// Marks all vertices below those in doubt in the tree of the search, by doubling. `words` hold an ancestor
// and whether a vertex from here to below that ancestor is in doubt. Ancestors may have jumped already: an
// ancestor and its mark share a word, which one load reads, so they match. `stays` receives 1 for vertices
// that are not marked, 0 for the others, whose number is added to `n_marked`. `votes` are three zeros.
extern "C" __global__ void mark_below(u32 n, Known known, const u32* __restrict__ doubt, u64* words,
                                      u32* votes, u32* __restrict__ stays, u32* n_marked)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        bool marked = (doubt[v] & VERTEX) || (v != 0 && doubt[known.idom[v]] & CHILDREN);
        store_relaxed(&words[v], u64(known.parent[v]) << 1 | (marked ? 1 : 0));
    }
    grid.sync();
    bool goes_on = true;
    for (u32 round = 0; goes_on; ++round) {
        bool unfinished = false;
        for (u32 v = thread_id(); v < n; v += thread_count()) {
            u64 own = load_relaxed(&words[v]);
            if (own <= 1) continue;  // arrived at the root, which is never in doubt
            if (own & 1) continue;
            u64 beyond = load_relaxed(&words[own >> 1]);
            store_relaxed(&words[v], beyond);
            if (beyond > 1 && !(beyond & 1)) unfinished = true;
        }
        goes_on = any_of_grid(grid, votes, round, unfinished);
    }
    u32 marked = 0;
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u32 is_marked = static_cast<u32>(load_relaxed(&words[v])) & 1;
        stays[v] = 1 - is_marked;
        marked += is_marked;
    }
    marked = __reduce_add_sync(ALL_LANES, marked);
    if (threadIdx.x % WARP == 0 && marked) atomicAdd(n_marked, marked);
}

// Writes the tree of the vertices that stay, in their old order; `up_to` counts those up to and
// including each. All numbers are UNREACHED at first.
extern "C" __global__ void leave_tree(u32 n, Known before, const u32* __restrict__ stays,
                                      const u32* __restrict__ up_to, Known after)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        if (!stays[v]) continue;
        u32 own = up_to[v] - 1;
        after.number[before.order[v]] = own;
        after.order[own] = before.order[v];
        after.parent[own] = up_to[before.parent[v]] - 1;
        after.idom[own] = up_to[before.idom[v]] - 1;
    }
}

// Numbers the unreached heads of arcs in spare slots, which the search does not see. One block. `entered`
// receives how many there are.
extern "C" __global__ void enter_by_spare(u32 n_arcs, const u32* __restrict__ tails,
                                          const u32* __restrict__ heads, Known tree, u32* reached,
                                          u32* entered)
{
    __shared__ u32 found;
    u32 end = *reached;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < n_arcs; i += blockDim.x) {
        u32 from = load_relaxed(&tree.number[tails[i]]);
        if (from >= end) continue;
        u32* number = &tree.number[heads[i]];
        if (load_relaxed(number) != UNREACHED || atomicCAS(number, UNREACHED, CLAIMED) != UNREACHED) continue;
        u32 own = end + atomicAdd(&found, 1u);
        tree.order[own] = heads[i];
        tree.parent[own] = from;
        store_relaxed(number, own);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    *entered = found;
    *reached = end + found;
}

// Arcs into vertices that the search reached again, and arcs lost because their tail became unreachable, as
// tail << 32 | head. Both `counts` start at zero. Lost arcs beyond `max_lost` are only counted.
struct Lists {
    u32* tails;
    u32* heads;
    u64* lost;
    u64 max_lost;
    u64* counts;
};

// Whether w, by number, dominates u, as far as MAX_CLIMB steps up the tree show.
__device__ bool dominates(const Known& known, u32 w, u32 u)
{
    for (u32 climbed = 0; u > w && climbed < MAX_CLIMB; ++climbed) u = known.idom[u];
    return u == w;
}

// Lists arcs for a tree whose vertices from number `begin` on were reached again.
extern "C" __global__ void list_arcs(u64 n_arcs, const u32* __restrict__ tails, const u32* __restrict__ heads,
                                     u32 begin, Known before, const u32* __restrict__ number, Lists lists)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 i = thread_id() - lane; i < n_arcs; i += thread_count()) {
        u64 arc = i + lane;
        u32 u = arc < n_arcs ? tails[arc] : 0;
        u32 w = arc < n_arcs ? heads[arc] : 0;
        bool is_arc = u != w && number[w] != UNREACHED;
        bool moves = is_arc && number[u] != UNREACHED && number[w] >= begin;
        u32 movers = __ballot_sync(ALL_LANES, moves);
        u64 first = 0;
        if (lane == 0 && movers) first = atomicAdd(&lists.counts[0], static_cast<u64>(__popc(movers)));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (moves) {
            u64 place = first + __popc(movers & ((1u << lane) - 1));
            lists.tails[place] = u;
            lists.heads[place] = w;
        }
        u32 old = is_arc && number[u] == UNREACHED ? before.number[u] : UNREACHED;
        if (old != UNREACHED && !dominates(before, before.number[w], old)) {
            u64 place = atomicAdd(&lists.counts[1], u64(1));
            if (place < lists.max_lost) lists.lost[place] = static_cast<u64>(u) << 32 | w;
        }
    }
}
