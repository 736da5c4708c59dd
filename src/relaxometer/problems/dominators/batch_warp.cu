// Dominators of all graphs of a batch in one launch: one warp per graph of up to 64 vertices, one block per
// larger graph.
//
// Persistent blocks take work from a queue: first the large graphs, one at a time (see _batch.cuh), then
// small ones, one per warp, sorted by size so that the warps of a block finish together.
//
// The lane that owns a vertex keeps the set of its dominators, a word of 32 or 64 bits, in a register. The
// warp sweeps over the vertices in reverse post-order: all lanes intersect the sets of the predecessors of
// one vertex in one reduction. Without irreducible loops the first sweep is right and the second changes
// nothing. In reverse post-order the immediate dominator is the strict dominator with the highest number, as
// in the paper.

#include "_batch.cuh"
#include "device/constants.cuh"

__device__ const u32 LARGEST_OF_WARP = 64;

// Returns the AND of the words of all lanes.
__device__ __forceinline__ u64 intersection(u64 set)
{
    u32 low = __reduce_and_sync(ALL_LANES, static_cast<u32>(set));
    u32 high = __reduce_and_sync(ALL_LANES, static_cast<u32>(set >> 32));
    return static_cast<u64>(high) << 32 | low;
}

// Collects the predecessors of every vertex as a set; `sets` holds LARGEST_OF_WARP words in shared memory.
__device__ __forceinline__ void collect_predecessors(const FlowGraph& graph, u32 lane, u64* sets)
{
    sets[lane] = 0;
    sets[lane + WARP] = 0;
    __syncwarp();
    for (u32 u = lane; u < graph.n; u += WARP) {
        i64 end = graph.offsets[u + 1];
        for (i64 i = graph.offsets[u]; i < end; ++i) atomicOr(&sets[graph.targets[i]], 1ull << u);
    }
    __syncwarp();
}

// Up to 32 vertices: lane v owns vertex v.
__device__ __forceinline__ void solve_32(const FlowGraph& graph, u32 lane, const u64* predecessors)
{
    u32 set = lane == 0 ? 1 : ALL_LANES;
    bool changed = true;
    while (changed) {
        u32 before = set;
        for (u32 v = 1; v < graph.n; ++v) {
            u32 from = static_cast<u32>(predecessors[v]);
            u32 met = __reduce_and_sync(ALL_LANES, from >> lane & 1 ? set : ALL_LANES);
            if (lane == v) set = met | 1u << v;
        }
        changed = __any_sync(ALL_LANES, set != before && lane < graph.n);
    }
    u32 strict = set & ~(1u << lane);
    if (lane < graph.n) graph.idom[lane] = lane == 0 ? 0 : 31 - __clz(static_cast<int>(strict));
}

// Up to 64 vertices: lane v owns vertices v and v + 32.
__device__ __forceinline__ void solve_64(const FlowGraph& graph, u32 lane, const u64* predecessors)
{
    const u64 full = ~0ull;
    u64 low = lane == 0 ? 1 : full;
    u64 high = full;
    bool changed = true;
    while (changed) {
        u64 low_before = low;
        u64 high_before = high;
        for (u32 v = 1; v < graph.n; ++v) {
            u64 from = predecessors[v];
            u64 own = (from >> lane & 1 ? low : full) & (from >> (lane + WARP) & 1 ? high : full);
            u64 met = intersection(own) | 1ull << v;
            if (lane == v) low = met;
            if (lane + WARP == v) high = met;
        }
        changed = __any_sync(ALL_LANES, low != low_before || high != high_before);
    }
    u32 v = lane + WARP;
    graph.idom[lane] = lane == 0 ? 0 : 63 - __clzll(static_cast<i64>(low & ~(1ull << lane)));
    if (v < graph.n) graph.idom[v] = 63 - __clzll(static_cast<i64>(high & ~(1ull << v)));
}

// Solves a graph of at most LARGEST_OF_WARP vertices by a warp.
__device__ __forceinline__ void solve_by_warp(const FlowGraph& graph, u32 lane, u64* predecessors)
{
    collect_predecessors(graph, lane, predecessors);
    if (graph.n <= WARP) {
        solve_32(graph, lane, predecessors);
    } else {
        solve_64(graph, lane, predecessors);
    }
}

// A batch of small graphs, without order and queue: each warp has one.
extern "C" __global__ void few_graphs(u32 n_graphs, const i64* __restrict__ first_vertex,
                                      const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                      u32* idom)
{
    extern __shared__ u64 shared[];
    u32 graph = thread_id() / WARP;
    if (graph >= n_graphs) return;
    solve_by_warp(graph_of_batch(graph, first_vertex, offsets, targets, idom), threadIdx.x % WARP,
                  shared + threadIdx.x / WARP * LARGEST_OF_WARP);
}

// One graph of at most LARGEST_OF_WARP vertices by one warp, with arrays and answer in host memory. A read
// over the link takes over a microsecond, so those of a common graph are made before any is waited for.
// `done` is set when the answer is written.
extern "C" __global__ void one_graph(u32 n, u32 n_arcs, const i64* __restrict__ offsets,
                                     const u32* __restrict__ targets, u32* idom, u32* done)
{
    __shared__ u64 sets[LARGEST_OF_WARP];
    __shared__ i64 own_offsets[LARGEST_OF_WARP + 1];
    __shared__ u32 own_targets[LARGEST_OF_WARP * LARGEST_OF_WARP];
    u32 lane = threadIdx.x;
    u32 far = lane + WARP;
    i64 offset = lane <= n ? offsets[lane] : 0;
    i64 far_offset = far <= n ? offsets[far] : 0;
    u32 target = lane < n_arcs ? targets[lane] : 0;
    u32 far_target = far < n_arcs ? targets[far] : 0;
    own_offsets[lane] = offset;
    own_offsets[far] = far_offset;
    own_targets[lane] = target;
    own_targets[far] = far_target;
    for (u32 i = far + WARP; i < n_arcs; i += WARP) own_targets[i] = targets[i];
    if (n == LARGEST_OF_WARP && lane == 0) own_offsets[n] = n_arcs;
    __syncwarp();
    solve_by_warp({n, own_offsets, own_targets, idom}, lane, sets);
    // The fence of the lane that sets `done` must follow the writes of all lanes.
    __syncwarp();
    __threadfence_system();
    if (lane == 0) store_relaxed(done, 1u);
}

extern "C" __global__ void batch_dominators(u32 n_graphs, u32 n_large, const u32* __restrict__ largest_first,
                                            const i64* __restrict__ first_vertex,
                                            const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                            u32 capacity, u32* idom, u32* queue)
{
    // The tree of a large graph; or for each warp the predecessors of a small one.
    extern __shared__ u64 shared[];
    __shared__ u32 ticket;
    u32 lane = threadIdx.x % WARP;
    u32 warp = threadIdx.x / WARP;
    u32 warps = blockDim.x / WARP;
    u64* predecessors = shared + warp * LARGEST_OF_WARP;
    while (true) {
        u32 place = next_ticket(queue, &ticket);
        if (place < n_large) {
            FlowGraph graph = graph_of_batch(largest_first[place], first_vertex, offsets, targets, idom);
            u32* tree = reinterpret_cast<u32*>(shared);
            solve_by_block(graph, graph.n <= capacity ? tree : graph.idom);
            continue;
        }
        u64 small = n_large + static_cast<u64>(place - n_large) * warps;
        if (small >= n_graphs) break;
        if (small + warp >= n_graphs) continue;
        FlowGraph graph = graph_of_batch(largest_first[small + warp], first_vertex, offsets, targets, idom);
        solve_by_warp(graph, lane, predecessors);
    }
}
