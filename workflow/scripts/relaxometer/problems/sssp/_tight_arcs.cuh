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

// A vertex whose arcs are to be followed.
struct Tail {
    u32 distance;
    i64 begin;
    i64 end;
};

__device__ inline Tail load_tail(const Graph& graph, const u32* distance, u32 u)
{
    if (u >= graph.n) return Tail{UNREACHED, 0, 0};
    return Tail{distance[u], read_only(&graph.offsets[u]), read_only(&graph.offsets[u + 1])};
}

// Follows up to four arcs of vertex u, from arc `begin` on: all are loaded before any is needed.
__device__ inline void follow_four(const Graph& graph, const u32* distance, u32* predecessor, u32* overflowed,
                                   u32 u, const Tail& tail, i64 begin)
{
    const u32 FOUR = 4;
    u32 head[FOUR], weight[FOUR], length[FOUR];
    for (u32 k = 0; k < FOUR; ++k) {
        bool is_arc = begin + k < tail.end;
        head[k] = is_arc ? read_only(&graph.targets[begin + k]) : u;
        weight[k] = is_arc ? read_only(&graph.weights[begin + k]) : 0;
    }
    for (u32 k = 0; k < FOUR; ++k) length[k] = distance[head[k]];
    for (u32 k = 0; k < FOUR; ++k) {
        u64 along = static_cast<u64>(tail.distance) + weight[k];
        if (along >= UNREACHED) {
            store_relaxed(overflowed, 1u);
        } else if (weight[k] != 0 && along == length[k]) {
            store_relaxed(&predecessor[head[k]], u);
        }
    }
}

// Sets `overflowed` if a path is longer than 32 bits hold.
__device__ inline void follow_positive_arcs(const Graph& graph, const u32* distance, u32* predecessor,
                                            u32* overflowed)
{
    Tail next = load_tail(graph, distance, thread_id());
    for (u32 u = thread_id(); u < graph.n; u += thread_count()) {
        Tail tail = next;
        next = load_tail(graph, distance, u + thread_count());
        if (tail.distance == UNREACHED) continue;
        for (i64 i = tail.begin; i < tail.end; i += 4) {
            follow_four(graph, distance, predecessor, overflowed, u, tail, i);
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
