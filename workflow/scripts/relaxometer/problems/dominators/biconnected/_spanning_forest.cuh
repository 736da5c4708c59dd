// A spanning forest of a graph whose arcs lead both ways, without the arcs that `skips(u, w)` names.
//
// The arc that links a root belongs to the forest; it is stored in the place of that root, so no list is
// needed. First two arcs of every vertex are united, then the arcs of vertices that this has not joined to
// the anchor; `root` may have arcs without reverse, so its arcs are always looked at.

#pragma once

#include "_union_find.cuh"
#include "device/clock.cuh"

__device__ const u32 SAMPLED = 2;  // arcs of a vertex that are united first

struct Graph {
    u32 n;
    u64 n_arcs;
    const i64* offsets;
    const u32* tails;
    const u32* heads;
};

// By vertex: its link, and the arc that linked it if it is no root.
struct Links {
    u32* link;
    u32* from;
    u32* to;

    // Unites the ends of an arc.
    __device__ __forceinline__ void connect(u32 u, u32 w) const
    {
        u32 linked = unite(link, u, w);
        if (linked == UNREACHED) return;
        from[linked] = u;
        to[linked] = w;
    }
};

template <typename Skips>
__device__ void span(cg::grid_group grid, const Graph& graph, const Links& links, const Skips& skips,
                     u32 anchor, u32 root)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) links.link[v] = v;
    grid.sync();
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        i64 begin = graph.offsets[v];
        i64 end = min(graph.offsets[v + 1], begin + SAMPLED);
        for (i64 i = begin; i < end; ++i) {
            if (!skips(v, graph.heads[i])) links.connect(v, graph.heads[i]);
        }
    }
    grid.sync();
    compress(links.link, graph.n);
    grid.sync();
    u32 joined = load_relaxed(&links.link[anchor]);
    grid.sync();
    for (u64 i = thread_id(); i < graph.n_arcs; i += thread_count()) {
        u32 u = graph.tails[i];
        if (u != root && load_relaxed(&links.link[u]) == joined) continue;
        u32 w = graph.heads[i];
        if (!skips(u, w)) links.connect(u, w);
    }
    grid.sync();
    compress(links.link, graph.n);
    grid.sync();
}

const u32 LONG_LIST = 32;  // arcs that a warp looks at together

// Returns the link that most of 32 heads of arcs have; a block of whole warps calls it between barriers of
// the grid.
__device__ u32 most_frequent_link(const Graph& graph, const u32* link)
{
    __shared__ u32 found;
    if (threadIdx.x < WARP) {
        u32 mine = 0;
        if (graph.n_arcs) mine = load_relaxed(&link[graph.heads[graph.n_arcs * threadIdx.x / WARP]]);
        u32 votes = __popc(__match_any_sync(ALL_LANES, mine));
        u32 most = __reduce_max_sync(ALL_LANES, votes);
        u32 winner = __ffs(static_cast<int>(__ballot_sync(ALL_LANES, votes == most))) - 1;
        mine = __shfl_sync(ALL_LANES, mine, winner);
        if (threadIdx.x == 0) found = mine;
    }
    __syncthreads();
    return found;
}

// The same as `span`, but the component that is left alone is found by a vote, and the arcs of other vertices
// are found by vertex, so the tails of arcs are not read. `skips` must name all arcs of `root`, since a hub
// takes long.
template <typename Skips>
__device__ void span_by_vertex(cg::grid_group grid, const Graph& graph, const Links& links,
                               const Skips& skips, u32 root)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) links.link[v] = v;
    grid.sync();
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        i64 begin = graph.offsets[v];
        i64 end = min(graph.offsets[v + 1], begin + SAMPLED);
        for (i64 i = begin; i < end; ++i) {
            if (!skips(v, graph.heads[i])) links.connect(v, graph.heads[i]);
        }
    }
    grid.sync();
    compress(links.link, graph.n);
    grid.sync();
    u32 joined = most_frequent_link(graph, links.link);
    grid.sync();
    u32 lane = threadIdx.x % WARP;
    for (u32 first = thread_id() - lane; first < graph.n; first += thread_count()) {
        u32 v = first + lane;
        i64 begin = 0;
        i64 end = 0;
        if (v < graph.n && v != root && load_relaxed(&links.link[v]) != joined) {
            begin = graph.offsets[v] + SAMPLED;
            end = graph.offsets[v + 1];
        }
        bool is_long = end - begin > LONG_LIST;
        u32 lists = __ballot_sync(ALL_LANES, is_long);
        for (i64 i = begin; i < end && !is_long; ++i) {
            if (!skips(v, graph.heads[i])) links.connect(v, graph.heads[i]);
        }
        for (; lists; lists &= lists - 1) {
            int owner = __ffs(static_cast<int>(lists)) - 1;
            i64 stop = __shfl_sync(ALL_LANES, end, owner);
            for (i64 i = __shfl_sync(ALL_LANES, begin, owner) + lane; i < stop; i += WARP) {
                if (!skips(first + owner, graph.heads[i])) links.connect(first + owner, graph.heads[i]);
            }
        }
    }
    grid.sync();
    compress(links.link, graph.n);
    grid.sync();
}

// Marks the end of a stage in an instrumented run.
__device__ __forceinline__ void stamp(u64* times, u32 stage)
{
    if (times && thread_id() == 0) times[stage + 1] = nanoseconds();
}
