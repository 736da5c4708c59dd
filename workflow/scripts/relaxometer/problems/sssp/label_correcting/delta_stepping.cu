// SSSP by delta-stepping (Meyer and Sanders), algorithm 3 of the survey "Single-source shortest paths in
// parallel with CUDA".
//
// Bucket i holds the vertices that wait with a distance from i * delta up to, not including, (i + 1) * delta.
// The lowest bucket is emptied by light phases, along arcs of at most delta, which may fill it again; once it
// stays empty, one heavy phase follows the heavier arcs of all vertices that were in it. As in the source
//
//   - an array says in which bucket each vertex is, so that moving a vertex or emptying a bucket costs no
//     more than a word; the price is that every phase looks through all vertices;
//   - the arcs to relax, the requests, are numbered by a prefix sum over the vertices that they leave: each
//     thread has a request, whatever the degrees are.
//
// Deviations from the source:
//   - its host launches kernels for every phase and asks for the outcome; here one cooperative launch runs
//     all phases, with a barrier of the grid between their steps. (`phases` limits a launch, for instrumented
//     runs.)
//   - it decides at every relaxation whether an arc is light; here split_arcs puts the light arcs of each
//     vertex first, once.
//   - it stores the requests between two kernels; here a thread finds the arc of its request by a binary
//     search in the prefix sum and relaxes it at once.
//   - the prefix sum runs within blocks; an atomic addition gives each block its place among the others.

#include <cooperative_groups.h>

#include "device/block_scan.cuh"
#include "_labels.cuh"

namespace cg = cooperative_groups;

__device__ const u32 BLOCK = 256;
__device__ const u32 NONE = 0xffffffffu;  // no bucket
__device__ const u32 NEARBY = 1024;       // places of a prefix sum that fit into shared memory

// Places in `control`. BUCKET is the one being emptied, NEXT the lowest one found, LIGHT the sizes of the
// list of two phases in turn, HEAVY those of the list of a bucket.
enum Counter { BUCKET, NEXT, LIGHT, HEAVY = LIGHT + 2, PHASES, RELAXED, FINISHED };

// The sizes of a list in one word, so that one atomic addition raises both: vertices << 33 | their arcs.
const u32 ARC_BITS = 33;
__device__ const u64 ONE_VERTEX = 1ull << ARC_BITS;
__device__ const u64 ARCS = ONE_VERTEX - 1;

// Vertices whose arcs are to be relaxed, with the number of all arcs before theirs.
struct List {
    u32* vertices;
    u64* arcs_before;
    u32* distances;  // when they were listed, or null where they do not change meanwhile

    // Appends the vertices of a block that have arcs; called by all its threads.
    __device__ void append(u64* sizes, u32 v, u64 arcs, u32 distance) const
    {
        __shared__ u64 first;
        u64 own = arcs == 0 ? 0 : ONE_VERTEX | arcs;
        u64 total;
        u64 before = block_exclusive_sum(own, &total);
        if (threadIdx.x == 0) first = atomicAdd(sizes, total);
        __syncthreads();
        if (own == 0) return;
        u64 place = first + before;
        u32 k = static_cast<u32>(place >> ARC_BITS);
        vertices[k] = v;
        arcs_before[k] = place & ARCS;
        if (distances != nullptr) distances[k] = distance;
    }
};

// The lowest bucket that holds a vertex goes to control[NEXT].
__device__ void find_bucket(u32 n, const u32* buckets, u64* control)
{
    u32 lowest = NONE;
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        if (buckets[v] < lowest) lowest = buckets[v];
    }
    lowest = __reduce_min_sync(ALL_LANES, lowest);
    if (threadIdx.x % WARP == 0 && lowest != NONE) atomicMin(&control[NEXT], static_cast<u64>(lowest));
}

// Takes all vertices out of a bucket: their light arcs are due now, and the heavy ones of those that were not
// in this bucket before are due when it stays empty.
__device__ void empty_bucket(u32 n, u32 bucket, const i64* Va, const i64* light_end, u64* labels,
                             u32* buckets, u32* last_bucket, const List& light, u64* light_sizes,
                             const List& heavy, u64* heavy_sizes)
{
    for (u32 start = blockIdx.x * BLOCK; start < n; start += gridDim.x * BLOCK) {
        u32 v = start + threadIdx.x;
        bool here = v < n && buckets[v] == bucket;
        if (!__syncthreads_or(here)) continue;
        u32 distance = 0;
        u64 light_arcs = 0;
        u64 heavy_arcs = 0;
        if (here) {
            buckets[v] = NONE;
            distance = take(&labels[v]);
            light_arcs = static_cast<u64>(light_end[v] - Va[v]);
            if (last_bucket[v] != bucket) heavy_arcs = static_cast<u64>(Va[v + 1] - light_end[v]);
            last_bucket[v] = bucket;
        }
        light.append(light_sizes, v, light_arcs, distance);
        heavy.append(heavy_sizes, v, heavy_arcs, distance);
    }
}

// Relaxes the arcs of a list; a vertex's begin at first_arc.
__device__ void relax(const List& list, u64 sizes, const i64* first_arc, const u32* __restrict__ Ea,
                      const u32* __restrict__ Wa, u32 delta, u64* labels, u32* buckets, u32* overflow)
{
    __shared__ u64 nearby[NEARBY];
    u32 count = static_cast<u32>(sizes >> ARC_BITS);
    const u64* arcs_before = list.arcs_before;
    if (count <= NEARBY) {
        for (u32 k = threadIdx.x; k < count; k += BLOCK) {
            nearby[k] = list.arcs_before[k];
        }
        arcs_before = nearby;
    }
    __syncthreads();
    for (u64 request = thread_id(); request < (sizes & ARCS); request += thread_count()) {
        u32 k = last_not_above(arcs_before, count, request);
        u32 u = list.vertices[k];
        u32 distance = list.distances == nullptr ? distance_of(load_relaxed(&labels[u])) : list.distances[k];
        i64 i = first_arc[u] + static_cast<i64>(request - arcs_before[k]);
        u32 v = Ea[i];
        u32 length = 0;
        if (offer(&labels[v], u, distance, Wa[i], &length, overflow) != NOT_SHORTER) {
            atomicMin(&buckets[v], length / delta);
        }
    }
}

// Runs up to `phases` phases. Begins with the source in bucket 0, its label waiting, control[BUCKET] and
// control[NEXT] NONE and the rest of `control` zero; a later launch goes on where the one before stopped.
extern "C" __global__ void delta_stepping(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                          const u32* __restrict__ Wa, const i64* __restrict__ light_end,
                                          u32 delta, u64* labels, u32* buckets, u32* last_bucket,
                                          u32* light_vertices, u64* light_before, u32* light_distances,
                                          u32* heavy_vertices, u64* heavy_before, u64* control, u32 phases,
                                          u32* overflow)
{
    cg::grid_group grid = cg::this_grid();
    bool first_thread = thread_id() == 0;
    List light = {light_vertices, light_before, light_distances};
    List heavy = {heavy_vertices, heavy_before, nullptr};
    u32 bucket = static_cast<u32>(control[BUCKET]);
    u64 done = control[PHASES];
    u64 last = done + phases;
    u64 relaxed = 0;
    u32 turn = 0;
    while (done < last) {
        if (bucket == NONE) {
            if (first_thread) control[HEAVY] = 0;
            find_bucket(n, buckets, control);
            grid.sync();
            bucket = static_cast<u32>(control[NEXT]);
            if (bucket == NONE) break;
        }
        turn = 1 - turn;
        empty_bucket(n, bucket, Va, light_end, labels, buckets, last_bucket, light, &control[LIGHT + turn],
                     heavy, &control[HEAVY]);
        grid.sync();
        bool is_light = control[LIGHT + turn] != 0;
        u64 sizes = is_light ? control[LIGHT + turn] : control[HEAVY];
        if (first_thread) {
            control[NEXT] = NONE;
            control[LIGHT + 1 - turn] = 0;
        }
        relax(is_light ? light : heavy, sizes, is_light ? Va : light_end, Ea, Wa, delta, labels, buckets,
              overflow);
        if (sizes != 0) ++done;
        relaxed += sizes & ARCS;
        if (!is_light) bucket = NONE;
        grid.sync();
    }
    if (first_thread) {
        control[BUCKET] = bucket;
        control[LIGHT + turn] = 0;
        control[PHASES] = done;
        control[RELAXED] += relaxed;
        control[FINISHED] = done < last;
    }
}

// Copies the arcs of each vertex so that those of at most delta come first; light_end says where they end. A
// warp a vertex.
extern "C" __global__ void split_arcs(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                      const u32* __restrict__ Wa, u32 delta, u32* __restrict__ targets,
                                      u32* __restrict__ weights, i64* __restrict__ light_end)
{
    u32 lane = threadIdx.x % WARP;
    u32 below = (1u << lane) - 1;
    for (u32 v = thread_id() / WARP; v < n; v += thread_count() / WARP) {
        i64 end = Va[v + 1];
        i64 light = 0;
        for (i64 start = Va[v]; start < end; start += WARP) {
            bool is_light = start + lane < end && Wa[start + lane] <= delta;
            light += __popc(__ballot_sync(ALL_LANES, is_light));
        }
        i64 next_light = Va[v];
        i64 next_heavy = next_light + light;
        if (lane == 0) light_end[v] = next_heavy;
        for (i64 start = Va[v]; start < end; start += WARP) {
            bool inside = start + lane < end;
            u32 weight = inside ? Wa[start + lane] : 0;
            u32 are_light = __ballot_sync(ALL_LANES, inside && weight <= delta);
            u32 are_heavy = __ballot_sync(ALL_LANES, inside && weight > delta);
            if (inside) {
                bool is_light = weight <= delta;
                i64 place = is_light ? next_light + __popc(are_light & below)
                                     : next_heavy + __popc(are_heavy & below);
                targets[place] = Ea[start + lane];
                weights[place] = weight;
            }
            next_light += __popc(are_light);
            next_heavy += __popc(are_heavy);
        }
    }
}
