// Breadth-first order of the vertices reached from a root, in one cooperative launch.
//
// `order` is the queue: vertices by number, level after level, so a dominator has a smaller number than the
// vertices it dominates. `parent` holds, by number, the number of the vertex that found each. A thread
// expands a short list of arcs, a warp a longer one; the whole grid expands the longest at the end of the
// level. There are three sets of counters: one is read, one is added to, one is cleared, so a level needs one
// barrier, or two if it has lists for the whole grid.

#include <cooperative_groups.h>

#include "device/constants.cuh"

__device__ const u32 CLAIMED = 0xfffffffeu;  // replaces the number of a vertex that is about to get one
__device__ const i64 LONG_LIST = 32;         // arcs from which a warp expands a list
__device__ const i64 HUB_ARCS = 4096;        // from which the whole grid does

struct Search {
    const i64* offsets;
    const u32* targets;
    u32* number;
    u32* order;
    u32* parent;
};

// Numbers the head of an arc from the vertex numbered `from`, unless it has a number.
__device__ __forceinline__ void visit(const Search& search, u32 from, i64 arc, u32 end, u32* found)
{
    u32 w = search.targets[arc];
    if (load_relaxed(&search.number[w]) != UNREACHED) return;
    if (atomicCAS(&search.number[w], UNREACHED, CLAIMED) != UNREACHED) return;
    u32 place = end + atomicAdd(found, 1u);
    search.order[place] = w;
    search.parent[place] = from;
    store_relaxed(&search.number[w], place);
}

// Expands the vertices numbered `begin` to `end` - 1; hubs are only listed.
__device__ __forceinline__ void expand(const Search& search, u32 begin, u32 end, u32* found, u32* hubs,
                                       u32* n_hubs)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 i = begin + thread_id() - lane; i < end; i += thread_count()) {
        u32 from = i + lane;
        i64 first = 0;
        i64 last = 0;
        if (from < end) {
            u32 u = search.order[from];
            first = search.offsets[u];
            last = search.offsets[u + 1];
        }
        if (last - first >= HUB_ARCS) {
            hubs[atomicAdd(n_hubs, 1u)] = from;
            last = first;
        } else if (last - first < LONG_LIST) {
            for (i64 arc = first; arc < last; ++arc) visit(search, from, arc, end, found);
            last = first;
        }
        u32 lists = __ballot_sync(ALL_LANES, first < last);
        for (; lists; lists &= lists - 1) {
            int owner = __ffs(static_cast<int>(lists)) - 1;
            i64 arc = __shfl_sync(ALL_LANES, first, owner) + lane;
            i64 stop = __shfl_sync(ALL_LANES, last, owner);
            for (; arc < stop; arc += WARP) visit(search, i + owner, arc, end, found);
        }
    }
}

struct Extent {
    u32* counters;
    u32* reached;
    u32* levels;
};

// Searches level by level from the first `end` vertices; at most `most_levels` if LIMITED.
template <bool LIMITED>
__device__ __forceinline__ void search_levels(cooperative_groups::grid_group grid, const Search& search,
                                              u32 end, u32 most_levels, u32* hubs, const Extent& extent)
{
    u32* found = extent.counters;
    u32* listed = extent.counters + 3;
    u32 begin = 0;
    u32 level = 0;
    while (begin < end && (!LIMITED || level < most_levels)) {
        u32 now = level % 3;
        u32 cleared = (level + 1) % 3;
        if (thread_id() == 0) {
            store_relaxed(&found[cleared], 0u);
            store_relaxed(&listed[cleared], 0u);
        }
        expand(search, begin, end, &found[now], hubs, &listed[now]);
        grid.sync();
        u32 n_hubs = load_relaxed(&listed[now]);
        if (n_hubs != 0) {
            for (u32 h = 0; h < n_hubs; ++h) {
                u32 u = search.order[hubs[h]];
                i64 stop = search.offsets[u + 1];
                for (i64 arc = search.offsets[u] + thread_id(); arc < stop; arc += thread_count()) {
                    visit(search, hubs[h], arc, end, &found[now]);
                }
            }
            grid.sync();
        }
        begin = end;
        end += load_relaxed(&found[now]);
        ++level;
    }
    if (thread_id() != 0) return;
    *extent.reached = end;
    *extent.levels = LIMITED && begin < end ? level + 1 : level;
}

// Starts from `root`, or from the `numbered` vertices that have numbers if there are any. `counters` are six
// zeros; `reached` and `levels` are set.
extern "C" __global__ void breadth_first(u32 root, u32 numbered, const i64* __restrict__ offsets,
                                         const u32* __restrict__ targets, u32* number, u32* order,
                                         u32* parent, u32* hubs, u32* counters, u32* reached, u32* levels)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    Search search = {offsets, targets, number, order, parent};
    if (numbered == 0 && thread_id() == 0) {
        number[root] = 0;
        order[0] = root;
        parent[0] = 0;
    }
    grid.sync();
    search_levels<false>(grid, search, numbered == 0 ? 1 : numbered, 0, hubs, {counters, reached, levels});
}

// The same from the `numbered` vertices, for at most `most_levels`; `levels` is larger if more are left.
extern "C" __global__ void breadth_first_within(u32 numbered, u32 most_levels,
                                                const i64* __restrict__ offsets,
                                                const u32* __restrict__ targets, u32* number, u32* order,
                                                u32* parent, u32* hubs, u32* counters, u32* reached,
                                                u32* levels)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    Search search = {offsets, targets, number, order, parent};
    search_levels<true>(grid, search, numbered, most_levels, hubs, {counters, reached, levels});
}
