// SSSP on maps by a contraction hierarchy: climb from the source, then sweep down over all vertices, once.
//
// A hierarchy (see _hierarchy.py) orders the vertices and adds shortcuts, so that to every vertex leads a
// shortest path that first climbs in the order and then descends. What can be climbed to are the ancestors of
// the source in the elimination tree, on a map a few hundred vertices. From there each vertex needs nothing
// but its arcs from higher ones:
//
//     climb:  for a in ancestors of the source, upwards: for (a, b, w) upward: d(b) = min(d(b), d(a) + w)
//     sweep:  for v, downwards: d(v) = min(d(v), d(u) + w for (u, v, w) downward)
//
// The sweep corrects no distance and reads every arc of the hierarchy exactly once, whatever the weights.
// This is PHAST (Delling, Goldberg, Nowatzyk and Werneck, "PHAST: Hardware-Accelerated Shortest Path Trees",
// JPDC 73, 2013) on the hierarchy of Dibbelt, Strasser and Wagner ("Customizable Contraction Hierarchies",
// JEA 21, 2016). What differs from PHAST on a GPU, which climbs on the CPU, by Dijkstra's algorithm, and then
// launches a kernel for each level of the whole graph:
//
//   - Nested dissection cuts the graph into subtrees that need nothing of each other. The top is swept by one
//     block, then every block sweeps a task of its own, a few subtrees side by side. Distances stay in shared
//     memory, and a level ends with barriers of the block, not of the grid.
//   - Of a task's arcs, those from the top come first, in any order, since the top is finished. Only the
//     others are swept level by level. A warp reads its next arcs while it relaxes those that it has, across
//     levels too: where they lie does not depend on any distance.
//   - Levels are not of vertices but of chains in the elimination tree, of up to 16 vertices each. After the
//     arcs from the levels above, a warp goes down several chains at once, a lane for each vertex. The climb
//     goes by rounds of 32 ancestors likewise. Both save barriers, of which there would be hundreds.
//   - Rows of arcs lie in slices of a warp's width, as many lanes for a row as it needs (sliced ELLPACK;
//     Monakov, Lokhmotov and Avetisyan, "Automatically Tuning Sparse Matrix-Vector Multiplication for GPU
//     Architectures", 2010).
//   - The hierarchy holds no predecessors, since most of its arcs stand for paths. They are found at the end,
//     from the graph's own arcs.

#include <cooperative_groups.h>

#include "problems/sssp/_tight_arcs.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

const u32 AHEAD = 8;  // arcs of a lane that are read ahead: ARCS_A_LANE of _hierarchy.py

// What the blocks share.
struct Board {
    u32 path_length;
    u32 overflowed;
    u32 changed[3];  // by rounds over arcs of weight zero
};

// Rows of arcs in slices; see _hierarchy.py.
struct Slices {
    // Where a slice's arcs begin; its first row (16 bits), rows less one (5), log of its lanes (3), arcs a
    // lane (8). Of these a slice of chains has where its arcs begin, and arcs a lane.
    const uint2* table;
    const uint2* arcs;
    const u32* bounds;
};

__device__ __forceinline__ u32 lane()
{
    return threadIdx.x % WARP;
}

__device__ __forceinline__ u32 warp()
{
    return threadIdx.x / WARP;
}

__device__ __forceinline__ u32 warps()
{
    return blockDim.x / WARP;
}

// A path that 32 bits do not hold is none.
__device__ __forceinline__ u32 sum(u32 distance, u32 weight)
{
    u32 length = distance + weight;
    return length < distance ? UNREACHED : length;
}

__device__ __forceinline__ u32 arcs_a_lane(uint2 slice)
{
    return slice.y >> 24;
}

__device__ __forceinline__ const uint2* arcs_of(const Slices& slices, uint2 slice)
{
    return slices.arcs + static_cast<size_t>(slice.x) * WARP + lane();
}

// The distances of a slice's rows, from the best of each lane.
__device__ __forceinline__ void lower(uint2 slice, u32 best, u32* distance)
{
    u32 log_lanes = slice.y >> 21 & 7;
    for (u32 other = 1u << log_lanes >> 1; other > 0; other >>= 1) {
        best = min(best, __shfl_xor_sync(ALL_LANES, best, other));
    }
    u32 k = lane() >> log_lanes;
    bool speaks = k << log_lanes == lane() && k <= (slice.y >> 16 & 31);
    u32 row = (slice.y & 0xffffu) + k;
    if (speaks && best < distance[row]) distance[row] = best;
}

// A slice, and its first arcs, before they are needed. A slice that is not there has no arcs.
struct Held {
    uint2 slice;
    uint2 arcs[AHEAD];
};

__device__ __forceinline__ void hold(Held& held, const Slices& slices, const uint2* table, u32 index, u32 end)
{
    held.slice = index < end ? table[index] : make_uint2(0, 0);
    const uint2* arcs = arcs_of(slices, held.slice);
    for (u32 k = 0; k < AHEAD; ++k) {
        held.arcs[k] = k < arcs_a_lane(held.slice) ? arcs[k * WARP] : make_uint2(0, UNREACHED);
    }
}

// Lowers the distances of a held slice's rows by arcs from `from`, if it is there.
__device__ __forceinline__ void relax(const Held& held, const Slices& slices, const u32* from, u32* distance)
{
    if (arcs_a_lane(held.slice) == 0) return;
    u32 best = UNREACHED;
    for (u32 k = 0; k < AHEAD; ++k) best = min(best, sum(from[held.arcs[k].x], held.arcs[k].y));
    const uint2* arcs = arcs_of(slices, held.slice);
    for (u32 k = AHEAD; k < arcs_a_lane(held.slice); ++k) {
        uint2 arc = arcs[k * WARP];
        best = min(best, sum(from[arc.x], arc.y));
    }
    lower(held.slice, best, distance);
}

// What `best` becomes by an arc from what lane `from` holds.
__device__ __forceinline__ u32 relaxed(u32 best, u32 from, u32 weight)
{
    u32 before = __shfl_sync(ALL_LANES, best, from);
    return min(best, sum(before, weight));
}

// Lowers the distances of a held slice's chains, if it is there. Each lane's vertex is relaxed from the
// first, second, ... of its chain, whose distance is final by then. No chain is longer than what is held.
__device__ __forceinline__ void follow(const Held& held, u32* distance)
{
    if (arcs_a_lane(held.slice) == 0) return;
    bool idle = held.arcs[0].x == UNREACHED;
    u32 row = held.arcs[0].x & 0xffffu, from = held.arcs[0].x >> 16;
    u32 before = idle ? UNREACHED : distance[row];
    u32 best = relaxed(before, from, held.arcs[0].y);
    for (u32 k = 1; k < AHEAD; ++k) {
        if (k >= arcs_a_lane(held.slice)) break;
        best = relaxed(best, from + 2 * k - 1, held.arcs[k].x);
        best = relaxed(best, from + 2 * k, held.arcs[k].y);
    }
    if (best < before) distance[row] = best;
}

// The arcs upward of an ancestor, the first of each lane before they are needed.
struct Upward {
    u32 begin;  // the lane's own first one
    u32 end;
    uint2 arcs[AHEAD];
};

__device__ __forceinline__ void hold(Upward& held, const u32* up_offsets, const uint2* up_arcs, u32 ancestor)
{
    held.begin = up_offsets[ancestor] + lane();
    held.end = up_offsets[ancestor + 1];
    for (u32 k = 0; k < AHEAD; ++k) {
        u32 i = held.begin + k * WARP;
        held.arcs[k] = i < held.end ? up_arcs[i] : make_uint2(0, UNREACHED);
    }
}

__device__ __forceinline__ void lower_shared(u32* distance, u32 length)
{
    if (length < load_relaxed(distance)) atomicMin(distance, length);
}

// The climb, by one block: `path` gets the source's ancestors, itself first, and their distances. A round
// takes as many ancestors as there are warps, as one solves a triangular system in blocks: the arcs between
// them form a triangle of shared memory, along which one warp finds their distances; then each warp relaxes
// the arcs of its ancestor.
__device__ void climb(u32 source, const u32* up_offsets, const uint2* up_arcs, const u32* depth_of,
                      const u32* jumps, u32 n, u32* memory, uint2* path, Board* board)
{
    u32 depth = depth_of[source];
    u32* triangle = memory;
    u32* ancestor = memory + WARP * WARP;
    u32* distance = ancestor + depth + 1;
    for (u32 k = threadIdx.x; k <= depth; k += blockDim.x) {
        u32 above = source;
        for (u32 bit = 0; k >> bit != 0; ++bit) {
            if (k >> bit & 1) above = jumps[static_cast<size_t>(bit) * n + above];
        }
        ancestor[k] = above;
        distance[k] = k == 0 ? 0 : UNREACHED;
    }
    __syncthreads();
    Upward next;
    hold(next, up_offsets, up_arcs, ancestor[min(warp(), depth)]);
    for (u32 first = 0; first <= depth; first += warps()) {
        Upward held = next;
        u32 end = first + warps();
        // Arcs to ancestors of this round are the first ones of a row, since the nearest come first.
        u32 target = depth - held.arcs[0].x;
        u32* row = triangle + warp() * WARP;
        row[lane()] = UNREACHED;
        __syncwarp();
        if (held.begin < held.end && target < end) row[target - first] = held.arcs[0].y;
        hold(next, up_offsets, up_arcs, ancestor[min(end + warp(), depth)]);
        __syncthreads();
        if (warp() == 0) {
            u32 own = first + lane();
            bool is_one = lane() < warps() && own <= depth;
            u32 best = is_one ? distance[own] : UNREACHED;
            for (u32 k = 0; k < warps(); ++k) best = relaxed(best, k, triangle[k * WARP + lane()]);
            if (is_one) distance[own] = best;
        }
        __syncthreads();
        u32 before = distance[min(first + warp(), depth)];
        for (u32 k = 0; k < AHEAD; ++k) {
            lower_shared(&distance[depth - held.arcs[k].x], sum(before, held.arcs[k].y));
        }
        for (u32 i = held.begin + AHEAD * WARP; i < held.end; i += WARP) {
            uint2 arc = up_arcs[i];
            lower_shared(&distance[depth - arc.x], sum(before, arc.y));
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k <= depth; k += blockDim.x) path[k] = make_uint2(ancestor[k], distance[k]);
    if (threadIdx.x == 0) board->path_length = depth + 1;
    __syncthreads();
}

// One task in shared memory.
struct Task {
    u32 begin;  // its first position
    u32 size;
    u32 first_slice;
    u32 n_steps;
    u32* distance;
    uint2* table;     // of the slices inside
    u32* step_begin;  // their first slices, numbered from 0
};

// Brings a task into shared memory; its distances are those of the climb. For whole blocks.
__device__ Task load(const u32* task_begins, const u32* task_steps, const Slices& inside, u32 number,
                     u32* memory, u32 most_slices, u32 most_rows, const uint2* path, u32 path_length)
{
    Task task;
    task.begin = task_begins[number];
    task.size = task_begins[number + 1] - task.begin;
    u32 first_step = task_steps[number];
    task.n_steps = task_steps[number + 1] - first_step;
    task.first_slice = inside.bounds[first_step];
    task.table = reinterpret_cast<uint2*>(memory);
    task.distance = memory + 2 * most_slices;
    task.step_begin = task.distance + most_rows;
    for (u32 k = threadIdx.x; k <= task.n_steps; k += blockDim.x) {
        task.step_begin[k] = inside.bounds[first_step + k] - task.first_slice;
    }
    u32 n_slices = inside.bounds[first_step + task.n_steps] - task.first_slice;
    for (u32 s = threadIdx.x; s < n_slices; s += blockDim.x) {
        task.table[s] = inside.table[task.first_slice + s];
    }
    for (u32 row = threadIdx.x; row < task.size; row += blockDim.x) task.distance[row] = UNREACHED;
    __syncthreads();
    for (u32 k = threadIdx.x; k < path_length; k += blockDim.x) {
        u32 row = path[k].x - task.begin;
        if (row < task.size) task.distance[row] = path[k].y;
    }
    __syncthreads();
    return task;
}

// Sweeps the arcs from the top, all at once. For whole blocks.
__device__ void sweep_outside(const Task& task, const Slices& outside, u32 number, const u32* top_distance)
{
    u32 end = outside.bounds[number + 1];
    Held next;
    hold(next, outside, outside.table, outside.bounds[number] + warp(), end);
    for (u32 s = outside.bounds[number] + warp(); s < end; s += warps()) {
        Held held = next;
        hold(next, outside, outside.table, s + warps(), end);
        relax(held, outside, top_distance, task.distance);
    }
    __syncthreads();
}

// Sweeps a task's own arcs step by step: rows of arcs from the levels above, and chains, by turns. The first
// slice of a warp's next step is read before the barrier. For whole blocks.
__device__ void sweep_inside(const Task& task, const Slices& inside)
{
    Held next;
    hold(next, inside, task.table, warp(), task.n_steps != 0 ? task.step_begin[1] : 0);
    for (u32 step = 0; step < task.n_steps; ++step) {
        u32 end = task.step_begin[step + 1];
        u32 next_end = step + 1 < task.n_steps ? task.step_begin[step + 2] : end;
        for (u32 s = task.step_begin[step] + warp();; s += warps()) {
            Held held = next;
            bool last = s + warps() >= end;
            hold(next, inside, task.table, last ? end + warp() : s + warps(), last ? next_end : end);
            if (step % 2 == 0) {
                relax(held, inside, task.distance, task.distance);
            } else {
                follow(held, task.distance);
            }
            if (last) break;
        }
        __syncthreads();
    }
}

// Writes the distances of a task in the order of the graph.
__device__ void write(const Task& task, const u32* order, u32 source_position, u32* distance,
                      u32* predecessor)
{
    for (u32 row = threadIdx.x; row < task.size; row += blockDim.x) {
        u32 position = task.begin + row, vertex = order[position];
        distance[vertex] = task.distance[row];
        predecessor[vertex] = position == source_position ? vertex : UNREACHED;
    }
    __syncthreads();
}

// Notes the time at which a part of the search had ended, if it is recorded. The last block counts.
__device__ __forceinline__ void note(u64* log, u32 part)
{
    if (log != nullptr && threadIdx.x == 0) atomicMax(&log[part], nanoseconds());
}

// The whole search. Arguments after the graph's own are the hierarchy's; see _hierarchy.py.
extern "C" __global__ void __launch_bounds__(1024, 1)
    phast(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
          const u32* __restrict__ weights, const uint2* __restrict__ zero_arcs, u32 n_zero_arcs,
          const u32* __restrict__ order, const u32* __restrict__ task_begins,
          const u32* __restrict__ task_steps, u32 n_tasks, const uint2* __restrict__ inside_table,
          const uint2* __restrict__ inside_arcs, const u32* __restrict__ inside_bounds,
          const uint2* __restrict__ outside_table, const uint2* __restrict__ outside_arcs,
          const u32* __restrict__ outside_bounds, const u32* __restrict__ up_offsets,
          const uint2* __restrict__ up_arcs, const u32* __restrict__ depth_of, const u32* __restrict__ jumps,
          u32 most_slices, u32 most_rows, u32 source_position, uint2* path, u32* top_distance,
          u32* board_words, u32* distance, u32* predecessor, u64* log)
{
    extern __shared__ uint4 words[];
    u32* memory = reinterpret_cast<u32*>(words);
    cg::grid_group grid = cg::this_grid();
    Board* board = reinterpret_cast<Board*>(board_words);
    Slices inside = {inside_table, inside_arcs, inside_bounds};
    Slices outside = {outside_table, outside_arcs, outside_bounds};
    if (blockIdx.x == 0) {
        note(log, 0);
        if (threadIdx.x == 0) board->overflowed = board->changed[0] = 0;
        climb(source_position, up_offsets, up_arcs, depth_of, jumps, n, memory, path, board);
        note(log, 1);
        Task top = load(task_begins, task_steps, inside, 0, memory, most_slices, most_rows, path,
                        board->path_length);
        sweep_inside(top, inside);
        for (u32 row = threadIdx.x; row < top.size; row += blockDim.x) top_distance[row] = top.distance[row];
        write(top, order, source_position, distance, predecessor);
        note(log, 2);
    }
    grid.sync();
    for (u32 number = 1 + blockIdx.x; number < n_tasks; number += gridDim.x) {
        Task task = load(task_begins, task_steps, inside, number, memory, most_slices, most_rows, path,
                         board->path_length);
        sweep_outside(task, outside, number, top_distance);
        sweep_inside(task, inside);
        write(task, order, source_position, distance, predecessor);
    }
    note(log, 3);
    grid.sync();
    find_predecessors(n, offsets, targets, weights, distance, predecessor, &board->overflowed);
    if (n_zero_arcs != 0) {
        grid.sync();
        follow_zero_arcs(grid, zero_arcs, n_zero_arcs, distance, predecessor, board->changed);
    }
    note(log, 4);
}
