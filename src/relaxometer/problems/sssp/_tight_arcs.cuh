// Predecessors from final distances. A vertex takes the tail of any tight arc, one that ends a shortest path,
// from a vertex nearer than itself. Vertices that only flat arcs lead to, tight ones between equal distances,
// take theirs in rounds, from vertices that have one already, so that no cycle can form. Flat arcs have
// weight zero or, where sums are rounded, a weight too small to change the length of the path.

#pragma once

#include <cooperative_groups.h>

#include "problems/sssp/_lengths.cuh"

// The graph's own arcs, and a list of those of weight zero, unless sums are rounded.
struct Graph {
    u32 n;
    const i64* offsets;
    const u32* targets;
    const weight_t* weights;
    const uint2* zero_arcs;
    u32 n_zero_arcs;
};

// A vertex whose arcs are to be followed.
struct Tail {
    length_t distance;
    i64 begin;
    i64 end;
};

__device__ inline Tail load_tail(const Graph& graph, const length_t* distance, u32 u)
{
    if (u >= graph.n) return Tail{NO_PATH, 0, 0};
    return Tail{distance[u], read_only(&graph.offsets[u]), read_only(&graph.offsets[u + 1])};
}

// Whether the head of a tight arc is farther than its tail. Weights tell it where sums are not rounded.
__device__ __forceinline__ bool rises(length_t tail_distance, weight_t weight, length_t head_distance)
{
#if defined(FLOAT_LENGTHS)
    return head_distance > tail_distance;
#else
    return weight != 0;
#endif
}

// Follows up to four arcs of vertex u, from arc `begin` on: all are loaded before any is needed. Where sums
// are rounded, sets `flat` if one of them is.
__device__ inline void follow_four(const Graph& graph, const length_t* distance, u32* predecessor,
                                   u32* overflowed, u32* flat, u32 u, const Tail& tail, i64 begin)
{
    const u32 FOUR = 4;
    u32 head[FOUR];
    weight_t weight[FOUR];
    length_t length[FOUR];
    for (u32 k = 0; k < FOUR; ++k) {
        bool is_arc = begin + k < tail.end;
        head[k] = is_arc ? read_only(&graph.targets[begin + k]) : u;
        weight[k] = is_arc ? read_only(&graph.weights[begin + k]) : 0;
    }
    for (u32 k = 0; k < FOUR; ++k) length[k] = distance[head[k]];
    for (u32 k = 0; k < FOUR; ++k) {
        u64 along = extended_length(tail.distance, weight[k]);
        if (along >= NO_PATH) {
            store_relaxed(overflowed, 1u);
        } else if (rises(tail.distance, weight[k], length[k]) && along == length[k]) {
            store_relaxed(&predecessor[head[k]], u);
        }
#if defined(FLOAT_LENGTHS)
        if (along == tail.distance && along == length[k] && head[k] != u) store_relaxed(flat, 1u);
#endif
    }
}

__device__ const i64 ANY_ROW = 0x7fffffffffffffff;

// Follows the arcs of rows of up to `max_row` arcs. Sets `overflowed` if the type does not hold the length of
// a path.
__device__ inline void follow_rising_arcs(const Graph& graph, const length_t* distance, u32* predecessor,
                                          u32* overflowed, u32* flat, i64 max_row)
{
    Tail next = load_tail(graph, distance, thread_id());
    for (u32 u = thread_id(); u < graph.n; u += thread_count()) {
        Tail tail = next;
        next = load_tail(graph, distance, u + thread_count());
        if (tail.distance == NO_PATH || tail.end - tail.begin > max_row) continue;
        for (i64 i = tail.begin; i < tail.end; i += 4) {
            follow_four(graph, distance, predecessor, overflowed, flat, u, tail, i);
        }
    }
}

// Rows of more than `max_row` arcs, in pieces of up to `max_arcs`: a hub's arcs, four at a time, would keep
// one thread busy for longer than all other rows together. Any warp takes any piece, since hubs may have
// neighbouring ids.
struct Pieces {
    const uint2* row_and_index;
    u32 count;
    u32 max_arcs;
    u32 max_row;
};

// Follows the arcs of all pieces, each with a warp; in blocks of whole warps.
__device__ inline void follow_rising_arcs_of(const Pieces& pieces, const Graph& graph,
                                             const length_t* distance, u32* predecessor, u32* overflowed,
                                             u32* flat)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 i = thread_id() / WARP; i < pieces.count; i += thread_count() / WARP) {
        uint2 piece = read_only(&pieces.row_and_index[i]);
        Tail tail = load_tail(graph, distance, piece.x);
        if (tail.distance == NO_PATH) continue;
        tail.begin += static_cast<i64>(piece.y) * pieces.max_arcs;
        if (tail.end > tail.begin + pieces.max_arcs) tail.end = tail.begin + pieces.max_arcs;
        for (i64 arc = tail.begin + 4 * lane; arc < tail.end; arc += 4 * WARP) {
            follow_four(graph, distance, predecessor, overflowed, flat, piece.x, tail, arc);
        }
    }
}

#if defined(FLOAT_LENGTHS)

// Gives predecessors to heads of flat arcs of vertex u, which has one, and continues from the last of them,
// so that a chain takes one round. Returns whether there was any.
__device__ inline bool follow_flat_arcs_of(const Graph& graph, const length_t* distance, u32* predecessor,
                                           u32 u)
{
    bool any = false;
    while (u != NO_PREDECESSOR) {
        Tail tail = load_tail(graph, distance, u);
        u32 next = NO_PREDECESSOR;
        for (i64 i = tail.begin; i < tail.end; ++i) {
            u32 head = read_only(&graph.targets[i]);
            if (distance[head] != tail.distance || load_relaxed(&predecessor[head]) != NO_PREDECESSOR)
                continue;
            if (extended_length(tail.distance, read_only(&graph.weights[i])) != tail.distance) continue;
            if (atomicCAS(&predecessor[head], NO_PREDECESSOR, u) == NO_PREDECESSOR) next = head;
        }
        any |= next != NO_PREDECESSOR;
        u = next;
    }
    return any;
}

// `changed` holds three words, the second of them zero; for the whole grid.
__device__ inline void follow_flat_arcs(const cooperative_groups::grid_group& grid, const Graph& graph,
                                        const length_t* distance, u32* predecessor, u32* changed)
{
    for (u32 round = 1;; ++round) {
        if (thread_id() == 0) changed[(round + 1) % 3] = 0;
        for (u32 u = thread_id(); u < graph.n; u += thread_count()) {
            if (load_relaxed(&predecessor[u]) == NO_PREDECESSOR) continue;
            if (follow_flat_arcs_of(graph, distance, predecessor, u)) {
                store_relaxed(&changed[round % 3], 1u);
            }
        }
        grid.sync();
        if (load_relaxed(&changed[round % 3]) == 0) return;
    }
}

#else

// `changed` holds three words, the first of them zero; for the whole grid.
__device__ inline void follow_zero_arcs(const cooperative_groups::grid_group& grid, const Graph& graph,
                                        const length_t* distance, u32* predecessor, u32* changed)
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

#endif

// `predecessor` holds the source's own, and NO_PREDECESSOR for all other vertices. `changed` holds three
// words, the first of them zero. For the whole grid. Long rows are followed in pieces if these are given.
__device__ inline void find_predecessors(const cooperative_groups::grid_group& grid, const Graph& graph,
                                         const length_t* distance, u32* predecessor, u32* overflowed,
                                         u32* changed, const Pieces* pieces = nullptr)
{
#if defined(FLOAT_LENGTHS)
    if (thread_id() == 0) changed[1] = 0;
    u32* flat = &changed[0];
#else
    u32* flat = nullptr;
#endif
    i64 max_row = pieces == nullptr ? ANY_ROW : pieces->max_row;
    follow_rising_arcs(graph, distance, predecessor, overflowed, flat, max_row);
    if (pieces != nullptr) {
        follow_rising_arcs_of(*pieces, graph, distance, predecessor, overflowed, flat);
    }
#if defined(FLOAT_LENGTHS)
    grid.sync();
    if (load_relaxed(flat) != 0) follow_flat_arcs(grid, graph, distance, predecessor, changed);
#else
    if (graph.n_zero_arcs == 0) return;
    grid.sync();
    follow_zero_arcs(grid, graph, distance, predecessor, changed);
#endif
}
