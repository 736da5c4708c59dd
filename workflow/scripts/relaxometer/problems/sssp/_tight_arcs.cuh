// Predecessors from final distances. A vertex takes any tail of an arc of positive weight that is as long as
// the difference of the distances. Vertices that only arcs of weight zero lead to take theirs in rounds, from
// vertices that have one already, so that no cycle can form.

#pragma once

#include <cooperative_groups.h>

#include "device/constants.cuh"

// The graph's own arcs, and a list of those of weight zero.
struct Graph {
    u32 n;
    const i64* offsets;
    const u32* targets;
    const u32* weights;
    const uint2* zero_arcs;
    u32 n_zero_arcs;
};

// Sets `overflowed` if a path is longer than 32 bits hold.
__device__ inline void follow_positive_arcs(const Graph& graph, const u32* distance, u32* predecessor,
                                            u32* overflowed)
{
    for (u32 u = thread_id(); u < graph.n; u += thread_count()) {
        u32 before = distance[u];
        if (before == UNREACHED) continue;
        i64 end = read_only(&graph.offsets[u + 1]);
        for (i64 i = read_only(&graph.offsets[u]); i < end; ++i) {
            u32 weight = read_only(&graph.weights[i]);
            u64 length = static_cast<u64>(before) + weight;
            if (length >= UNREACHED) {
                store_relaxed(overflowed, 1u);
            } else if (weight != 0) {
                u32 v = read_only(&graph.targets[i]);
                if (length == distance[v]) store_relaxed(&predecessor[v], u);
            }
        }
    }
}

// `changed` holds three words, the first of them zero; for the whole grid.
__device__ inline void follow_zero_arcs(const cooperative_groups::grid_group& grid, const Graph& graph,
                                        const u32* distance, u32* predecessor, u32* changed)
{
    for (u32 round = 0;; ++round) {
        if (thread_id() == 0) changed[(round + 1) % 3] = 0;
        for (u32 i = thread_id(); i < graph.n_zero_arcs; i += thread_count()) {
            uint2 arc = read_only(&graph.zero_arcs[i]);
            if (distance[arc.x] != distance[arc.y]) continue;
            if (load_relaxed(&predecessor[arc.x]) == NO_PREDECESSOR) continue;
            if (load_relaxed(&predecessor[arc.y]) != NO_PREDECESSOR) continue;
            atomicCAS(&predecessor[arc.y], NO_PREDECESSOR, arc.x);
            store_relaxed(&changed[round % 3], 1u);
        }
        grid.sync();
        if (load_relaxed(&changed[round % 3]) == 0) return;
    }
}

// `predecessor` holds the source's own, and NO_PREDECESSOR for all other vertices; for the whole grid, with
// `changed` as above.
__device__ inline void find_predecessors(const cooperative_groups::grid_group& grid, const Graph& graph,
                                         const u32* distance, u32* predecessor, u32* overflowed, u32* changed)
{
    follow_positive_arcs(graph, distance, predecessor, overflowed);
    if (graph.n_zero_arcs == 0) return;
    grid.sync();
    follow_zero_arcs(grid, graph, distance, predecessor, changed);
}
