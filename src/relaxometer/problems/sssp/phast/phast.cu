// SSSP on maps by a contraction hierarchy: climb from the source, then sweep down over all vertices once.
//
// A hierarchy orders the vertices and adds shortcuts such that a shortest path to any vertex first ascends
// and then descends (see _cch.py). The vertices that an ascent can reach are the source's ancestors in the
// elimination tree, a few hundred on a map. From there each vertex needs only its arcs from higher ones:
//
//     climb:  for a in ancestors of the source, upwards: for (a, b, w) upward: d(b) = min(d(b), d(a) + w)
//     sweep:  for v, downwards: d(v) = min(d(v), d(u) + w for (u, v, w) downward)
//
// Paper: Delling, Goldberg, Nowatzyk and Werneck, "PHAST: Hardware-Accelerated Shortest Path Trees", JPDC 73,
// 2013. The hierarchy is that of Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", JEA
// 21, 2016. On a GPU, PHAST climbs on the CPU with Dijkstra's algorithm and then launches one kernel per
// level of the whole graph. Deviations:
//
//   - One launch. Nested dissection cuts the hierarchy into independent subtrees below a common top, and the
//     top in the same way, so that there are stages of tasks of a few subtrees: one block sweeps the first
//     task, some blocks the middle ones, all blocks the last ones. Distances of a task stay in shared memory;
//     levels end with block barriers, only stages end with grid barriers.
//   - A task first takes its arcs from earlier stages, in any order, since these are final. Only its other
//     arcs go level by level. A warp loads its next arcs while it relaxes the current ones, across levels
//     too, since their addresses do not depend on distances.
//   - Levels consist of chains of up to 16 vertices of the elimination tree (see _hierarchy.py). After the
//     arcs from the levels above, a warp descends several chains at once, one lane per vertex. The climb
//     takes 32 ancestors per round in the same way. This saves hundreds of barriers.
//   - Rows of arcs lie in slices of 32 lanes, with as many lanes per row as it needs (sliced ELLPACK, after
//     Monakov, Lokhmotov and Avetisyan, "Automatically Tuning Sparse Matrix-Vector Multiplication for GPU
//     Architectures", 2010).
//   - Predecessors come from the graph's own arcs at the end: most arcs of the hierarchy stand for paths.

#include <cooperative_groups.h>

#include "problems/sssp/_tight_arcs.cuh"
#include "device/clock.cuh"
#include "device/warp.cuh"
#include "problems/_saturating.cuh"
#include "problems/sssp/phast/_jumps.cuh"

namespace cg = cooperative_groups;

const u32 AHEAD = 8;  // arcs per lane that are loaded ahead

// Rows of arcs in slices; see _slices.py. The arcs are parameters of the kernel: only for these can the
// compiler move loads past barriers.
struct Slices {
    // Where a slice's arcs begin; then its first row (16 bits), rows less one (5), log of the lanes per row
    // (3), arcs per lane (8). For a slice of chains only the first and the last have a meaning.
    const uint2* table;
    const u32* bounds;
};

// See _hierarchy.py.
struct Hierarchy {
    const u32* order;
    const u32* task_begins;
    const u32* task_steps;
    const u32* stages;  // the first task of each, and the end
    u32 n_stages;
    Slices inside;
    Slices outside;
    const u32* up_offsets;
    const uint2* up_arcs;
    const u32* depth;
    const u32* jumps;
};

// Communication between blocks.
struct Board {
    u32 path_length;
    u32 overflowed;
    u32 changed[3];  // by rounds over arcs of weight zero
};

struct State {
    uint2* path;        // the source's ancestors, itself first, and their distances
    u32* top_distance;  // of all tasks but those of the last stage
    Board* board;
};

// The second word of a slice: its first row, its rows minus one, the logarithm of the lanes of a row, and the
// arcs of a lane; see _slices.py.
__device__ __forceinline__ u32 first_row(uint2 slice)
{
    return slice.y & 0xffffu;
}

__device__ __forceinline__ u32 last_of_rows(uint2 slice)
{
    return slice.y >> 16 & 31;
}

__device__ __forceinline__ u32 log_lanes_of(uint2 slice)
{
    return slice.y >> 21 & 7;
}

__device__ __forceinline__ u32 arcs_per_lane(uint2 slice)
{
    return slice.y >> 24;
}

__device__ __forceinline__ const uint2* arcs_of(const uint2* arcs, uint2 slice)
{
    return arcs + static_cast<size_t>(slice.x) * WARP + lane();
}

// A slice and its first arcs, loaded before they are needed. A slice that does not exist has no arcs. These
// loads do not use __ldg: under a condition, the compiler would compute the address of each anew.
struct Loaded {
    uint2 slice;
    uint2 arcs[AHEAD];
};

__device__ __forceinline__ uint2 no_slice()
{
    return make_uint2(0, 0);
}

__device__ __forceinline__ void load(Loaded& loaded, const uint2* all_arcs, uint2 slice)
{
    loaded.slice = slice;
    const uint2* arcs = arcs_of(all_arcs, slice);
    for (u32 k = 0; k < AHEAD; ++k) {
        loaded.arcs[k] = k < arcs_per_lane(slice) ? arcs[k * WARP] : make_uint2(0, UNREACHED);
    }
}

// Lowers the distances of a slice's rows to the best of their lanes.
__device__ __forceinline__ void lower(uint2 slice, u32 best, u32* distance)
{
    u32 log_lanes = log_lanes_of(slice);
    for (u32 other = 1u << log_lanes >> 1; other > 0; other >>= 1) {
        best = min(best, __shfl_xor_sync(ALL_LANES, best, other));
    }
    u32 k = lane() >> log_lanes;
    bool is_first_lane = k << log_lanes == lane() && k <= last_of_rows(slice);
    u32 row = first_row(slice) + k;
    if (is_first_lane && best < distance[row]) distance[row] = best;
}

// Relaxes the arcs of a slice's rows, whose tails have the distances `from`.
__device__ __forceinline__ void relax(const Loaded& loaded, const uint2* all_arcs, const u32* from,
                                      u32* distance)
{
    if (arcs_per_lane(loaded.slice) == 0) return;
    u32 best = UNREACHED;
    for (u32 k = 0; k < AHEAD; ++k) best = min(best, sum(from[loaded.arcs[k].x], loaded.arcs[k].y));
    const uint2* arcs = arcs_of(all_arcs, loaded.slice) + AHEAD * WARP;
    for (u32 k = AHEAD; k < arcs_per_lane(loaded.slice); ++k, arcs += WARP) {
        uint2 arc = read_only(arcs);
        best = min(best, sum(from[arc.x], arc.y));
    }
    lower(loaded.slice, best, distance);
}

// Relaxes an arc from the vertex of lane `from`.
__device__ __forceinline__ u32 relaxed(u32 best, u32 from, u32 weight)
{
    u32 before = __shfl_sync(ALL_LANES, best, from);
    return min(best, sum(before, weight));
}

// Relaxes the arcs within a slice's chains: from the first vertex of each chain to all later ones, then from
// the second, and so on. Each tail is final by then. No chain is longer than what is loaded.
__device__ __forceinline__ void follow(const Loaded& loaded, u32* distance)
{
    if (arcs_per_lane(loaded.slice) == 0) return;
    bool idle = loaded.arcs[0].x == UNREACHED;
    u32 row = loaded.arcs[0].x & 0xffffu, from = loaded.arcs[0].x >> 16;
    u32 before = idle ? UNREACHED : distance[row];
    u32 best = relaxed(before, from, loaded.arcs[0].y);
    for (u32 k = 1; k < AHEAD; ++k) {
        if (k >= arcs_per_lane(loaded.slice)) break;
        best = relaxed(best, from + 2 * k - 1, loaded.arcs[k].x);
        best = relaxed(best, from + 2 * k, loaded.arcs[k].y);
    }
    if (best < before) distance[row] = best;
}

// The upward arcs of an ancestor, the first of each lane loaded before they are needed.
struct Upward {
    u32 begin;  // the lane's first arc
    u32 end;
    uint2 arcs[AHEAD];
};

__device__ __forceinline__ void load(Upward& loaded, const Hierarchy& hierarchy, u32 ancestor)
{
    loaded.begin = read_only(&hierarchy.up_offsets[ancestor]) + lane();
    loaded.end = read_only(&hierarchy.up_offsets[ancestor + 1]);
    for (u32 k = 0; k < AHEAD; ++k) {
        u32 i = loaded.begin + k * WARP;
        loaded.arcs[k] = i < loaded.end ? read_only(&hierarchy.up_arcs[i]) : make_uint2(0, UNREACHED);
    }
}

__device__ __forceinline__ void lower_shared(u32* distance, u32 length)
{
    if (length < load_relaxed(distance)) atomicMin(distance, length);
}

// Lists the ancestors of the source, itself first.
__device__ __forceinline__ void find_ancestors(const Hierarchy& hierarchy, u32 n, u32 source, u32 depth,
                                               u32* ancestor, u32* distance)
{
    for (u32 k = threadIdx.x; k <= depth; k += blockDim.x) {
        ancestor[k] = ancestor_of(hierarchy.jumps, n, source, k);
        distance[k] = k == 0 ? 0 : UNREACHED;
    }
    __syncthreads();
}

// Finds the distances of the source's ancestors; by one block. A round takes one ancestor per warp, as one
// solves a triangular system in blocks: the arcs between these ancestors form a triangle in shared memory,
// with which one warp finds their distances. Then each warp relaxes the arcs of its ancestor.
__device__ __forceinline__ void climb(const Hierarchy& hierarchy, u32 n, u32 source, u32* memory,
                                      const State& state)
{
    u32 depth = read_only(&hierarchy.depth[source]);
    u32* triangle = memory;
    u32* ancestor = memory + WARP * WARP;
    u32* distance = ancestor + depth + 1;
    find_ancestors(hierarchy, n, source, depth, ancestor, distance);
    Upward next;
    load(next, hierarchy, ancestor[min(warp(), depth)]);
    for (u32 first = 0; first <= depth; first += warps()) {
        Upward loaded = next;
        u32 end = first + warps();
        // The nearest heads come first in a row, so those of this round are among the first 32.
        u32 target = depth - loaded.arcs[0].x;
        u32* row = triangle + warp() * WARP;
        row[lane()] = UNREACHED;
        __syncwarp();
        if (loaded.begin < loaded.end && target < end) row[target - first] = loaded.arcs[0].y;
        load(next, hierarchy, ancestor[min(end + warp(), depth)]);
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
            lower_shared(&distance[depth - loaded.arcs[k].x], sum(before, loaded.arcs[k].y));
        }
        for (u32 i = loaded.begin + AHEAD * WARP; i < loaded.end; i += WARP) {
            uint2 arc = read_only(&hierarchy.up_arcs[i]);
            lower_shared(&distance[depth - arc.x], sum(before, arc.y));
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k <= depth; k += blockDim.x) {
        state.path[k] = make_uint2(ancestor[k], distance[k]);
    }
    if (threadIdx.x == 0) state.board->path_length = depth + 1;
    __syncthreads();
}

// A task in shared memory. Its functions are for whole blocks.
struct Task {
    u32 begin;  // its first position
    u32 size;
    u32 n_steps;
    u32* distance;
    uint2* table;     // of the slices inside
    u32* step_begin;  // the first slice of each step

    // Loads a task without distances. All bounds are loaded first, at once.
    __device__ __forceinline__ void load(const Hierarchy& hierarchy, u32 number, u32* memory)
    {
        const Slices& inside = hierarchy.inside;
        begin = read_only(&hierarchy.task_begins[number]);
        size = read_only(&hierarchy.task_begins[number + 1]) - begin;
        u32 first_step = read_only(&hierarchy.task_steps[number]);
        n_steps = read_only(&hierarchy.task_steps[number + 1]) - first_step;
        u32 first_slice = read_only(&inside.bounds[first_step]);
        u32 n_slices = read_only(&inside.bounds[first_step + n_steps]) - first_slice;
        table = reinterpret_cast<uint2*>(memory);
        distance = memory + 2 * n_slices;
        step_begin = distance + size;
        for (u32 k = threadIdx.x; k <= n_steps; k += blockDim.x) {
            step_begin[k] = read_only(&inside.bounds[first_step + k]) - first_slice;
        }
        for (u32 s = threadIdx.x; s < n_slices; s += blockDim.x) {
            table[s] = read_only(&inside.table[first_slice + s]);
        }
        for (u32 row = threadIdx.x; row < size; row += blockDim.x) distance[row] = UNREACHED;
        __syncthreads();
    }

    // Takes the distances that the climb found.
    __device__ __forceinline__ void take_path(const State& state)
    {
        u32 path_length = state.board->path_length;
        for (u32 k = threadIdx.x; k < path_length; k += blockDim.x) {
            u32 row = state.path[k].x - begin;
            if (row < size) distance[row] = state.path[k].y;
        }
        __syncthreads();
    }

    // Relaxes the arcs from earlier stages, in any order.
    __device__ __forceinline__ void sweep_outside(const Slices& outside, const uint2* arcs, u32 number,
                                                  const u32* top_distance)
    {
        u32 end = read_only(&outside.bounds[number + 1]);
        u32 s = read_only(&outside.bounds[number]) + warp();
        Loaded next;
        ::load(next, arcs, s < end ? read_only(&outside.table[s]) : no_slice());
        for (; s < end; s += warps()) {
            Loaded loaded = next;
            ::load(next, arcs, s + warps() < end ? read_only(&outside.table[s + warps()]) : no_slice());
            relax(loaded, arcs, top_distance, distance);
        }
        __syncthreads();
    }

    // Relaxes the task's own arcs step by step: rows of arcs from the levels above alternate with chains. A
    // warp loads its first slice of the next step before the barrier.
    __device__ __forceinline__ void sweep_inside(const uint2* arcs)
    {
        Loaded next;
        ::load(next, arcs, n_steps != 0 && warp() < step_begin[1] ? table[warp()] : no_slice());
        for (u32 step = 0; step < n_steps; ++step) {
            u32 end = step_begin[step + 1];
            u32 next_end = step + 1 < n_steps ? step_begin[step + 2] : end;
            for (u32 s = step_begin[step] + warp();; s += warps()) {
                Loaded loaded = next;
                bool last = s + warps() >= end;
                u32 following = last ? end + warp() : s + warps();
                ::load(next, arcs, following < (last ? next_end : end) ? table[following] : no_slice());
                if (step % 2 == 0) {
                    relax(loaded, arcs, distance, distance);
                } else {
                    follow(loaded, distance);
                }
                if (last) break;
            }
            __syncthreads();
        }
    }

    // Writes the distances in the order of the graph.
    __device__ __forceinline__ void write(const u32* order, u32* distance_of) const
    {
        for (u32 row = threadIdx.x; row < size; row += blockDim.x) {
            distance_of[read_only(&order[begin + row])] = distance[row];
        }
    }

    // Writes them for later stages too.
    __device__ __forceinline__ void publish(u32* top_distance) const
    {
        for (u32 row = threadIdx.x; row < size; row += blockDim.x) top_distance[begin + row] = distance[row];
    }
};

// Gives the source its predecessor and all others none; for all blocks from `first_block` on.
__device__ __forceinline__ void clear(u32 n, u32 source, u32* predecessor, u32 first_block)
{
    u32 begin = (blockIdx.x - first_block) * blockDim.x + threadIdx.x;
    for (u32 v = begin; v < n; v += (gridDim.x - first_block) * blockDim.x) {
        predecessor[v] = v == source ? source : NO_PREDECESSOR;
    }
}

// Records when a part of the search ended in the last block, in instrumented runs.
__device__ __forceinline__ void record(u64* log, u32 part)
{
    if (log != nullptr && threadIdx.x == 0) atomicMax(&log[part], nanoseconds());
}

// The whole search; a cooperative launch.
extern "C" __global__ void __launch_bounds__(1024, 1)
    phast(const __grid_constant__ Graph graph, const __grid_constant__ Hierarchy hierarchy,
          const __grid_constant__ State state, const uint2* __restrict__ inside_arcs,
          const uint2* __restrict__ outside_arcs, u32 source_position, u32* distance, u32* predecessor,
          u64* log)
{
    extern __shared__ uint4 words[];
    u32* memory = reinterpret_cast<u32*>(words);
    cg::grid_group grid = cg::this_grid();
    Board* board = state.board;
    if (blockIdx.x == 0) {
        record(log, 0);
        if (threadIdx.x == 0) board->overflowed = board->changed[0] = 0;
        climb(hierarchy, graph.n, source_position, memory, state);
        record(log, 1);
    }
    u32 first_block = gridDim.x > 1 ? 1 : 0;  // the first block has enough to do
    if (blockIdx.x >= first_block) {
        clear(graph.n, read_only(&hierarchy.order[source_position]), predecessor, first_block);
    }
    for (u32 stage = 0; stage < hierarchy.n_stages; ++stage) {
        u32 number = read_only(&hierarchy.stages[stage]) + blockIdx.x;
        u32 end = read_only(&hierarchy.stages[stage + 1]);
        bool is_last = stage + 1 == hierarchy.n_stages;
        Task task = {};
        if (number < end) task.load(hierarchy, number, memory);
        if (stage != 0) grid.sync();
        while (number < end) {
            task.take_path(state);
            if (stage != 0) task.sweep_outside(hierarchy.outside, outside_arcs, number, state.top_distance);
            task.sweep_inside(inside_arcs);
            if (!is_last) task.publish(state.top_distance);
            task.write(hierarchy.order, distance);
            number += gridDim.x;
            __syncthreads();
            if (number < end) task.load(hierarchy, number, memory);
        }
        record(log, stage + 2);
    }
    grid.sync();
    find_predecessors(grid, graph, distance, predecessor, &board->overflowed, board->changed);
    record(log, hierarchy.n_stages + 2);
}
