// SSSP by delta-stepping (Meyer and Sanders), algorithm 3 of the survey "Single-source shortest paths in
// parallel with CUDA".
//
// Bucket i holds the waiting vertices at distances from i * delta to (i + 1) * delta - 1. Light phases empty
// the lowest bucket along arcs of at most delta, which may fill it again. Once it stays empty, one heavy
// phase follows the heavier arcs of all vertices that were in it. As in the survey,
//
//   - an array holds each vertex's bucket, so moving a vertex or emptying a bucket costs one word; but every
//     phase examines all vertices;
//   - a prefix sum over the vertices to relax numbers their arcs, the requests; each thread has a request,
//     whatever the degrees are.
//
// Deviations from the survey:
//   - Its host launches kernels for every phase and reads the result. Here one cooperative launch runs all
//     phases, with a grid barrier between their steps. (`phases` limits a launch for instrumented runs.)
//   - It classifies an arc as light or heavy at every relaxation. Here split_arcs puts the light arcs of each
//     vertex first, once.
//   - It stores the requests between two kernels. Here a thread finds its request's arc by binary search in
//     the prefix sum and relaxes it at once.
//   - The prefix sum runs within blocks; an atomic addition gives each block its place.
//   - Where sums are rounded, or in the last bucket, which is unbounded, a heavy arc may lead back into its
//     own bucket. So a vertex whose heavy arcs have been followed may be listed again. If it came nearer
//     before they were followed, they wait until then: only a vertex that was taken keeps its predecessor
//     (_labels.cuh), else two that arcs without effect join could become each other's.

#include <cooperative_groups.h>

#include "device/block_scan.cuh"
#include "_labels.cuh"

namespace cg = cooperative_groups;

__device__ const u32 BLOCK = 256;
__device__ const u32 NO_BUCKET = 0xffffffffu;
__device__ const u32 NEARBY = 1024;  // elements of a prefix sum kept in shared memory

// Places in `control`: the bucket being emptied, the lowest bucket found, the sizes of the light lists of two
// alternating phases, those of the heavy list of the bucket, and counts of the search.
const u32 CURRENT = 0, NEXT = 1, LIGHT = 2, HEAVY = 4, PHASES = 5, RELAXED = 6, FINISHED = 7;
const u32 CONTROL_WORDS = 8;

// The sizes of a list in one word, so that one atomic addition raises both: vertices << ARC_BITS | arcs.
const u32 ARC_BITS = 33;
__device__ const u64 ONE_VERTEX = 1ull << ARC_BITS;
__device__ const u64 ARCS = ONE_VERTEX - 1;

// Vertices whose arcs are to be relaxed.
struct List {
    u32* vertices;
    u64* arcs_before;     // in the list
    length_t* distances;  // when they were listed; null if they do not change meanwhile

    // Appends those vertices of a block that have arcs. For whole blocks.
    __device__ void append(u64* sizes, u32 v, u64 arcs, length_t distance) const
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

struct Problem {
    u32 n;
    weight_t delta;
    u64* labels;
    u32* buckets;
    u32* last_bucket;  // that each vertex was taken from
    List light;
    List heavy;
    u64* control;
    u32* overflow;
};

// Puts the lowest bucket that holds a vertex into control[NEXT].
__device__ void find_bucket(const Problem& p)
{
    u32 lowest = NO_BUCKET;
    for (u32 v = thread_id(); v < p.n; v += thread_count()) {
        if (p.buckets[v] < lowest) lowest = p.buckets[v];
    }
    lowest = __reduce_min_sync(ALL_LANES, lowest);
    if (threadIdx.x % WARP == 0 && lowest != NO_BUCKET) atomicMin(&p.control[NEXT], static_cast<u64>(lowest));
}

// The last bucket takes all that is farther.
__device__ u32 bucket_of(length_t distance, weight_t delta)
{
#if defined(FLOAT_LENGTHS)
    return whole_buckets(as_number(distance) / as_number(delta));
#else
    length_t buckets = distance / delta;
    return static_cast<u32>(WIDE_LENGTHS ? min(buckets, static_cast<length_t>(NO_BUCKET - 1)) : buckets);
#endif
}

// Takes all vertices out of a bucket and lists their light arcs. Lists the heavy arcs of those that the
// bucket did not hold before.
__device__ void empty_bucket(const Problem& p, const i64* Va, const i64* light_end, u32 bucket,
                             u64* light_sizes)
{
    for (u32 start = blockIdx.x * BLOCK; start < p.n; start += gridDim.x * BLOCK) {
        u32 v = start + threadIdx.x;
        bool here = v < p.n && p.buckets[v] == bucket;
        if (!__syncthreads_or(here)) continue;
        length_t distance = 0;
        u64 light_arcs = 0;
        u64 heavy_arcs = 0;
        if (here) {
            p.buckets[v] = NO_BUCKET;
            distance = take(&p.labels[v]);
            light_arcs = static_cast<u64>(light_end[v] - Va[v]);
            if (p.last_bucket[v] != bucket) heavy_arcs = static_cast<u64>(Va[v + 1] - light_end[v]);
            p.last_bucket[v] = bucket;
        }
        p.light.append(light_sizes, v, light_arcs, distance);
        p.heavy.append(&p.control[HEAVY], v, heavy_arcs, distance);
    }
}

// Relaxes the arcs of a list; those of vertex v begin at first_arc[v].
__device__ void relax(const Problem& p, List list, u64 sizes, const i64* first_arc,
                      const u32* __restrict__ Ea, const weight_t* __restrict__ Wa)
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
#if defined(FLOAT_LENGTHS)
        if (list.distances == nullptr) store_relaxed(&p.last_bucket[u], NO_BUCKET);
#else
        if (WIDE_LENGTHS && list.distances == nullptr) store_relaxed(&p.last_bucket[u], NO_BUCKET);
#endif
        length_t distance = 0;
        if (list.distances == nullptr) {
            u64 label = load_relaxed(&p.labels[u]);
            if (label & WAITS) continue;  // came nearer meanwhile; its predecessor may still change
            distance = distance_of(label);
        } else {
            distance = list.distances[k];
        }
        i64 i = first_arc[u] + static_cast<i64>(request - arcs_before[k]);
        u32 v = Ea[i];
        length_t length = 0;
        if (offer(&p.labels[v], u, distance, Wa[i], &length, p.overflow) != NOT_SHORTER) {
            atomicMin(&p.buckets[v], bucket_of(length, p.delta));
        }
    }
}

// Runs at most `phases` phases. Before the first launch the source waits in bucket 0, control[CURRENT] and
// control[NEXT] are NO_BUCKET, and the rest of `control` is zero. A later launch continues the search. The
// light arcs of each vertex come first. The graph is not in the struct: only loads through `__restrict__`
// parameters may move above atomics.
extern "C" __global__ void delta_stepping(const __grid_constant__ Problem p, const i64* __restrict__ Va,
                                          const u32* __restrict__ Ea, const weight_t* __restrict__ Wa,
                                          const i64* __restrict__ light_end, u32 phases)
{
    cg::grid_group grid = cg::this_grid();
    bool first_thread = thread_id() == 0;
    u64* control = p.control;
    u32 bucket = static_cast<u32>(control[CURRENT]);
    u64 done = control[PHASES];
    u64 last = done + phases;
    u64 relaxed = 0;
    u32 turn = 0;
    while (done < last) {
        if (bucket == NO_BUCKET) {
            if (first_thread) control[HEAVY] = 0;
            find_bucket(p);
            grid.sync();
            bucket = static_cast<u32>(control[NEXT]);
            if (bucket == NO_BUCKET) break;
        }
        turn = 1 - turn;
        empty_bucket(p, Va, light_end, bucket, &control[LIGHT + turn]);
        grid.sync();
        bool is_light = control[LIGHT + turn] != 0;
        u64 sizes = is_light ? control[LIGHT + turn] : control[HEAVY];
        if (first_thread) {
            control[NEXT] = NO_BUCKET;
            control[LIGHT + 1 - turn] = 0;
        }
        relax(p, is_light ? p.light : p.heavy, sizes, is_light ? Va : light_end, Ea, Wa);
        if (sizes != 0) ++done;
        relaxed += sizes & ARCS;
        if (!is_light) bucket = NO_BUCKET;
        grid.sync();
    }
    if (first_thread) {
        control[CURRENT] = bucket;
        control[LIGHT + turn] = 0;
        control[PHASES] = done;
        control[RELAXED] += relaxed;
        control[FINISHED] = done < last;
    }
}

// Copies the arcs of each vertex with those of at most delta first, which end at light_end. One warp per
// vertex.
extern "C" __global__ void split_arcs(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                      const weight_t* __restrict__ Wa, weight_t delta,
                                      u32* __restrict__ targets, weight_t* __restrict__ weights,
                                      i64* __restrict__ light_end)
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
            weight_t weight = inside ? Wa[start + lane] : 0;
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
