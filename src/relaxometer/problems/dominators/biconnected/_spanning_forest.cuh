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

// By vertex: its link, and the arc that linked it if it is not a root.
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

// Marks the end of a stage in an instrumented run.
__device__ __forceinline__ void stamp(u64* times, u32 stage)
{
    if (times && thread_id() == 0) times[stage + 1] = nanoseconds();
}
