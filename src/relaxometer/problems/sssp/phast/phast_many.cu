// SSSP on maps from many sources at once: one depth-first sweep down the hierarchy for every 32 sources or
// more.
//
// As in phast.cu, distances ascend from a source to its ancestors in the elimination tree and then descend to
// all vertices. Here a warp descends for `k` sources together, one or two per lane:
//
//     climb:  for a in ancestors of the source, upwards: for (a, b, w) upward: d(b) = min(d(b), d(a) + w)
//     sweep:  for v, in preorder: d(v) = min(d(v), d(u) + w for (u, v, w) downward), for k sources at once
//
// Paper: Delling, Goldberg, Nowatzyk and Werneck, "PHAST: Hardware-Accelerated Shortest Path Trees", JPDC 73,
// 2013, which sweeps for many sources at once, too: the labels of a vertex are side by side, and an arc is
// read once for all of them. Deviations:
//
//   - The sweep is not by levels but in preorder of the elimination tree. All arcs into a vertex come from
//     its ancestors there, so a warp needs the labels of one path from the root only: a stack in shared
//     memory, indexed by depth. Labels are never read from global memory, and each is written at most once.
//   - Vertices and arcs are one sequence of records in the order of use. A warp copies them 16 at a time to
//     shared memory, 48 before it needs them: it has no other work to hide the latency of memory.
//   - Each lane reads and writes its own column of the stack. Blocks do not communicate.
//   - A warp may begin at any vertex, since it can find the labels of the ancestors of this vertex itself. So
//     the sweep is cut into segments of equal work, as many as the device needs to be full.
//   - The statistics of all pairs (the greatest and the sum of the distances from a source) are reduced in
//     registers; distances need not be stored for it.
//
// The climb takes one warp per source, whose lanes share the arcs of an ancestor.

#include "device/warp.cuh"
#include "problems/_inverses.cuh"
#include "problems/_saturating.cuh"
#include "problems/sssp/phast/_jumps.cuh"

// 32 bytes of the sequence that a sweep reads.
//
// Of a vertex: `first` is its number in the graph, or in preorder if it precedes a segment; the size of its
// subtree; its depth (16 bits) and the number of further records (16 bits); the weight of the arc from its
// parent. `second` is two further arcs from ancestors, each WARP times the tail's depth and the weight.
//
// Each further record is four more arcs into the vertex. Missing arcs have the weight UNREACHED.
struct Record {
    uint4 first;
    uint4 second;
};

// See _preorder.py. Vertices are numbered in preorder of the elimination tree.
struct Hierarchy {
    u32 n;
    u32 height;  // depths are less
    const Record* records;
    const u32* segments;         // the first vertex of each segment, and n
    const u32* segment_records;  // the first record of each segment
    const u32* path_records;     // the first record of the ancestors of each segment's first vertex
    const u32* path_lengths;     // their number; they are in order from the root
    const u32* depth;
    const u32* jumps;  // the ancestor 1, 2, 4, ... steps above each vertex, or the root
    const u32* up_offsets;
    const uint2* up_arcs;  // depth of the head, and weight
};

// Sources in batches of k. Places without a source have the position UNREACHED.
struct Batches {
    u32 count;
    const u32* sources;    // by place: vertices of the graph
    const u32* positions;  // by place: vertices of the hierarchy
    u32* ascents;          // by place and depth: distances of the source's ancestors
    u32* labels;           // by batch, vertex of the graph, and place in the batch; or null
    u32* reached;          // by place: vertices reached
    u32* farthest;         // by place: the greatest distance; or null
    u64* total;            // by place: the sum of the distances; or null
    u64* inverses;         // by place: the sum of the inverse distances (_inverses.cuh); or null
};

// Arcs of the graph by their heads.
struct Incoming {
    u32 n;
    const i64* offsets;
    const uint2* arcs;  // tail and weight
};

// The ancestors of a source in shared memory, by depth.
struct Ancestors {
    u32* begin;  // their arcs
    u32* end;
    u32* distance;
};

__device__ __forceinline__ Ancestors find_ancestors(const Hierarchy& hierarchy, u32 source, u32 depth,
                                                    u32* memory)
{
    Ancestors found = {memory, memory + hierarchy.height, memory + 2 * hierarchy.height};
    for (u32 k = lane(); k <= depth; k += WARP) {
        u32 above = ancestor_of(hierarchy.jumps, hierarchy.n, source, k);
        found.begin[depth - k] = read_only(&hierarchy.up_offsets[above]);
        found.end[depth - k] = read_only(&hierarchy.up_offsets[above + 1]);
        found.distance[depth - k] = k == 0 ? 0 : UNREACHED;
    }
    __syncwarp();
    return found;
}

// Finds the distances of the ancestors of all sources; one warp per place. The first arcs of the next
// ancestor are loaded ahead.
extern "C" __global__ void climb(const __grid_constant__ Hierarchy hierarchy,
                                 const __grid_constant__ Batches batches, u32 places)
{
    extern __shared__ u32 words[];
    u32 place = thread_id() / WARP;
    u32 source = place < places ? read_only(&batches.positions[place]) : UNREACHED;
    if (source == UNREACHED) return;
    u32 depth = read_only(&hierarchy.depth[source]);
    u32* memory = words + threadIdx.x / WARP * 3 * hierarchy.height;
    Ancestors above = find_ancestors(hierarchy, source, depth, memory);
    const uint2 none = make_uint2(0, UNREACHED);
    u32 first = above.begin[depth] + lane();
    uint2 next = first < above.end[depth] ? read_only(&hierarchy.up_arcs[first]) : none;
    for (u32 d = depth; d > 0; --d) {
        uint2 arc = next;
        u32 begin = above.begin[d] + lane(), end = above.end[d];
        first = above.begin[d - 1] + lane();
        next = first < above.end[d - 1] ? read_only(&hierarchy.up_arcs[first]) : none;
        u32 before = above.distance[d];
        // The heads of a vertex's arcs differ, so no two lanes lower the same distance.
        if (begin < end) above.distance[arc.x] = min(above.distance[arc.x], sum(before, arc.y));
        for (u32 i = begin + WARP; i < end; i += WARP) {
            arc = read_only(&hierarchy.up_arcs[i]);
            above.distance[arc.x] = min(above.distance[arc.x], sum(before, arc.y));
        }
        __syncwarp();
    }
    u32* ascent = batches.ascents + static_cast<size_t>(place) * hierarchy.height;
    for (u32 d = lane(); d <= depth; d += WARP) ascent[d] = above.distance[d];
}

// The labels of one vertex that a lane has: `WIDTH` of the k = 32 * WIDTH of a batch.
template <u32 WIDTH>
struct alignas(4 * WIDTH) Labels {
    u32 of[WIDTH];
};

// Not to be read again soon.
__device__ __forceinline__ void store_once(Labels<1>* address, const Labels<1>& labels)
{
    __stcs(address->of, labels.of[0]);
}

__device__ __forceinline__ void store_once(Labels<2>* address, const Labels<2>& labels)
{
    __stcs(reinterpret_cast<uint2*>(address), make_uint2(labels.of[0], labels.of[1]));
}

const u32 CHUNK_RECORDS = 16;  // that a warp copies together, 16 bytes per lane
const u32 CHUNKS = 4;          // in the ring
const u32 RING = CHUNKS * CHUNK_RECORDS;

// Copies 16 bytes to shared memory without waiting. Every copy is a group of its own.
__device__ __forceinline__ void copy_ahead(uint4* to, const uint4* from)
{
#ifdef __CUDA_ON_HOST__
    *to = *from;
#else
    u32 address = static_cast<u32>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all of the thread's copies but the `LATEST` last ones.
template <u32 LATEST>
__device__ __forceinline__ void wait_for_copies()
{
#ifndef __CUDA_ON_HOST__
    asm volatile("cp.async.wait_group %0;" ::"n"(LATEST) : "memory");
#endif
}

// Records in their order. A ring in shared memory holds the chunk in use and the three that follow; the next
// record is in registers.
struct Records {
    uint4* ring;
    const uint4* next_chunk;  // the lane's part
    Record next;
    u32 place;  // in the ring, of the record after it

    __device__ __forceinline__ void copy_chunk(u32 slot)
    {
        copy_ahead(&ring[slot * WARP + lane()], next_chunk);
        next_chunk += WARP;
    }

    __device__ __forceinline__ void start(const Record* first)
    {
        wait_for_copies<0>();
        __syncwarp();
        next_chunk = reinterpret_cast<const uint4*>(first) + lane();
        for (u32 slot = 0; slot < CHUNKS - 1; ++slot) copy_chunk(slot);
        place = 0;
        advance();
    }

    // At the beginning of a chunk, the one before it is used up.
    __device__ __forceinline__ void advance()
    {
        if (place % CHUNK_RECORDS == 0) {
            __syncwarp();
            copy_chunk((place / CHUNK_RECORDS + CHUNKS - 1) % CHUNKS);
            wait_for_copies<CHUNKS - 1>();
            __syncwarp();
        }
        next = {ring[2 * place], ring[2 * place + 1]};
        place = (place + 1) % RING;
    }

    __device__ __forceinline__ Record take()
    {
        Record record = next;
        advance();
        return record;
    }
};

template <u32 WIDTH>
__device__ __forceinline__ void relax(Labels<WIDTH>& best, const Labels<WIDTH>& from, u32 weight)
{
    for (u32 j = 0; j < WIDTH; ++j) best.of[j] = min(best.of[j], sum(from.of[j], weight));
}

// A descent in preorder. All lanes take the same way.
template <u32 WIDTH>
struct Descent {
    Labels<WIDTH>* stack;  // the lane's column: entries are WARP apart
    u32 position[WIDTH];   // of the lane's sources
    const u32* ascent;     // of the first of them
    u32 height;
    Records records;
    uint4 head;  // of the next vertex
    Labels<WIDTH> begun;
    Labels<WIDTH> last;
    u32 last_depth;

    __device__ __forceinline__ Descent(const Hierarchy& hierarchy, const Batches& batches, u32 first_place,
                                       uint4* memory)
    {
        records.ring = memory;
        stack = reinterpret_cast<Labels<WIDTH>*>(memory + 2 * RING) + lane();
        height = hierarchy.height;
        ascent = batches.ascents + static_cast<size_t>(first_place) * height;
        for (u32 j = 0; j < WIDTH; ++j) {
            position[j] = read_only(&batches.positions[first_place + j]);
            last.of[j] = UNREACHED;
        }
        last_depth = UNREACHED;  // the depth before 0
    }

    __device__ __forceinline__ void start(const Record* first)
    {
        records.start(first);
        begin();
    }

    // Takes the record of the next vertex and relaxes the two arcs in it. None is from the parent, so this is
    // allowed before the vertex that precedes it in preorder is finished.
    __device__ __forceinline__ void begin()
    {
        Record vertex = records.take();
        head = vertex.first;
        for (u32 j = 0; j < WIDTH; ++j) begun.of[j] = UNREACHED;
        Labels<WIDTH> one = stack[vertex.second.x], other = stack[vertex.second.z];
        relax(begun, one, vertex.second.y);
        relax(begun, other, vertex.second.w);
    }

    __device__ __forceinline__ void relax_four(Labels<WIDTH>& best, const Record& arcs) const
    {
        Labels<WIDTH> from[4] = {stack[arcs.first.x], stack[arcs.first.z], stack[arcs.second.x],
                                 stack[arcs.second.z]};
        u32 weight[4] = {arcs.first.y, arcs.first.w, arcs.second.y, arcs.second.w};
        for (u32 k = 0; k < 4; ++k) relax(best, from[k], weight[k]);
    }

    // Finishes the vertex that was begun, number `v` in preorder, and begins the next. Returns its labels.
    __device__ __forceinline__ Labels<WIDTH> step(u32 v)
    {
        u32 size = head.y, depth = head.z & 0xffffu, from_parent = head.w;
        Labels<WIDTH> best = begun;
        for (u32 left = head.z >> 16; left > 0; --left) relax_four(best, records.take());
        begin();
        // The arc from the parent of a root has the weight UNREACHED.
        if (depth != last_depth + 1) last = stack[(max(depth, 1u) - 1) * WARP];
        relax(best, last, from_parent);
        for (u32 j = 0; j < WIDTH; ++j) {
            bool is_ancestor = position[j] - v < size;
            if (is_ancestor) best.of[j] = min(best.of[j], ascent[j * height + depth]);
        }
        stack[depth * WARP] = best;
        last = best;
        last_depth = depth;
        return best;
    }
};

// Statistics of the distances from the lane's sources.
template <u32 WIDTH, u32 SUMS>
struct Results {
    u32 reached[WIDTH];
    u32 farthest[WIDTH];
    u64 total[WIDTH];
    u64 inverses[WIDTH];
    double unit;  // of the inverses; 0 if they are not wanted

    __device__ __forceinline__ explicit Results(double unit) : unit(unit)
    {
        for (u32 j = 0; j < WIDTH; ++j) reached[j] = farthest[j] = total[j] = inverses[j] = 0;
    }

    __device__ __forceinline__ void add(const Labels<WIDTH>& labels)
    {
        for (u32 j = 0; j < WIDTH; ++j) {
            bool is_reached = labels.of[j] != UNREACHED;
            reached[j] += is_reached;
            if (SUMS == 0) continue;
            u32 distance = is_reached ? labels.of[j] : 0;
            farthest[j] = max(farthest[j], distance);
            total[j] += distance;
            if (unit != 0) inverses[j] += inverse_of(distance, unit);
        }
    }

    __device__ __forceinline__ void publish(const Batches& batches, u32 first_place) const
    {
        for (u32 j = 0; j < WIDTH; ++j) {
            atomicAdd(&batches.reached[first_place + j], reached[j]);
            if (SUMS == 0) continue;
            atomicMax(&batches.farthest[first_place + j], farthest[j]);
            atomicAdd(&batches.total[first_place + j], total[j]);
            if (unit != 0) atomicAdd(&batches.inverses[first_place + j], inverses[j]);
        }
    }
};

// One warp per batch and segment; a segment is `stride` of those of the hierarchy. Blocks that run at the
// same time read the same arcs.
template <u32 WIDTH, u32 SUMS>
__global__ void __launch_bounds__(32)
    sweep(const __grid_constant__ Hierarchy hierarchy, const __grid_constant__ Batches batches, u32 stride)
{
    extern __shared__ uint4 memory[];
    u32 batch = blockIdx.x % batches.count, segment = blockIdx.x / batches.count * stride;
    u32 place = (batch * WARP + lane()) * WIDTH;
    u32 v = read_only(&hierarchy.segments[segment]);
    u32 end = read_only(&hierarchy.segments[segment + stride]);
    if (v == end) return;
    Descent<WIDTH> descent(hierarchy, batches, place, memory);
    u32 above = read_only(&hierarchy.path_lengths[segment]);
    if (above > 0) descent.start(&hierarchy.records[read_only(&hierarchy.path_records[segment])]);
    for (; above > 0; --above) descent.step(descent.head.x);
    descent.start(&hierarchy.records[read_only(&hierarchy.segment_records[segment])]);
    Labels<WIDTH>* labels = reinterpret_cast<Labels<WIDTH>*>(batches.labels);
    if (labels != nullptr) labels += static_cast<size_t>(batch) * hierarchy.n * WARP + lane();
    Results<WIDTH, SUMS> results(batches.inverses ? inverse_unit(hierarchy.n) : 0);
    for (; v < end; ++v) {
        u32 vertex = descent.head.x;
        Labels<WIDTH> found = descent.step(v);
        if (labels != nullptr) store_once(&labels[static_cast<size_t>(vertex) * WARP], found);
        results.add(found);
    }
    results.publish(batches, place);
}

template __global__ decltype(sweep<1, 0>) sweep<1, 0>;
template __global__ decltype(sweep<1, 1>) sweep<1, 1>;
template __global__ decltype(sweep<2, 0>) sweep<2, 0>;
template __global__ decltype(sweep<2, 1>) sweep<2, 1>;

const u32 TOGETHER = 4;  // arcs whose tails are loaded together; after the last one, it repeats

// Sets `overflowed` if an arc leads from a vertex that some source reaches to one that it does not: the path
// is longer than 32 bits hold. Unless `predecessors` is null, gives every vertex a tail that is nearer and
// whose arc is as long as the difference of the distances. Sources become their own predecessors. One warp
// per vertex and batch.
template <u32 WIDTH>
__global__ void find_predecessors(const __grid_constant__ Incoming graph,
                                  const __grid_constant__ Batches batches, u32* predecessors, u32* overflowed)
{
    u32 v = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP, batch = blockIdx.y;
    if (v >= graph.n) return;
    size_t rows = static_cast<size_t>(batch) * graph.n * WARP + lane();
    const Labels<WIDTH>* labels = reinterpret_cast<const Labels<WIDTH>*>(batches.labels) + rows;
    Labels<WIDTH> own = labels[static_cast<size_t>(v) * WARP], predecessor;
    for (u32 j = 0; j < WIDTH; ++j) {
        u32 source = read_only(&batches.sources[(batch * WARP + lane()) * WIDTH + j]);
        predecessor.of[j] = source == v ? v : NO_PREDECESSOR;
    }
    bool too_long = false;
    i64 end = read_only(&graph.offsets[v + 1]);
    for (i64 i = read_only(&graph.offsets[v]); i < end; i += TOGETHER) {
        uint2 arc[TOGETHER];
        Labels<WIDTH> before[TOGETHER];
        for (u32 k = 0; k < TOGETHER; ++k) arc[k] = read_only(&graph.arcs[min(i + k, end - 1)]);
        for (u32 k = 0; k < TOGETHER; ++k) before[k] = labels[static_cast<size_t>(arc[k].x) * WARP];
        for (u32 k = 0; k < TOGETHER; ++k) {
            for (u32 j = 0; j < WIDTH; ++j) {
                if (before[k].of[j] >= own.of[j]) continue;
                too_long |= own.of[j] == UNREACHED;
                if (sum(before[k].of[j], arc[k].y) == own.of[j]) predecessor.of[j] = arc[k].x;
            }
        }
    }
    if (too_long) store_relaxed(overflowed, 1u);
    if (predecessors == nullptr) return;
    reinterpret_cast<Labels<WIDTH>*>(predecessors)[rows + static_cast<size_t>(v) * WARP] = predecessor;
}

template __global__ decltype(find_predecessors<1>) find_predecessors<1>;
template __global__ decltype(find_predecessors<2>) find_predecessors<2>;

// A round over the arcs of weight zero: a head without a predecessor takes the tail if that has one, so no
// cycle can form. One thread per arc, in `blockIdx.y` one place of a batch of `k`, from the place `first` on.
extern "C" __global__ void follow_zero_arcs(u32 n, u32 k, const uint2* __restrict__ arcs, u32 n_arcs,
                                            u32 first, const u32* __restrict__ labels, u32* predecessors,
                                            u32* changed)
{
    u32 i = thread_id();
    if (i >= n_arcs) return;
    uint2 arc = arcs[i];
    u32 place = first + blockIdx.y;
    size_t begin = static_cast<size_t>(place / k) * n * k + place % k;
    size_t tail = begin + static_cast<size_t>(arc.x) * k, head = begin + static_cast<size_t>(arc.y) * k;
    if (labels[tail] != labels[head] || load_relaxed(&predecessors[tail]) == NO_PREDECESSOR) return;
    if (load_relaxed(&predecessors[head]) != NO_PREDECESSOR) return;
    atomicCAS(&predecessors[head], NO_PREDECESSOR, arc.x);
    store_relaxed(changed, 1u);
}
