// Many SSSPs at once: each by one block alone, with near and far piles; see _near_far.cuh.
//
// One search on a road map cannot fill a GPU, and blocks that do not share a search need not wait for each
// other. A block takes the next source when it is done with one. Its piles are its own and of fixed size, so
// memory for the searches grows with the number of blocks, not of sources.

#include "_near_far.cuh"

// Row i of `distances` and `predecessors`, `stride` words apart, gets the tree of source i.
// `results` gets full << 1 | overflowed of all searches in its first word and the sum of their phases in the
// second; `next` is the number of sources taken.
extern "C" __global__ void __launch_bounds__(1024, 1)
    many_sources(u32 n, const uint2* __restrict__ rows, const uint4* __restrict__ first,
                 const uint2* __restrict__ arcs, const u32* __restrict__ sources, u32 n_sources,
                 u32* distances, u32* predecessors, u32 stride, uint4* entries, u32 capacity, u32 shift,
                 u32 target, u32* next, u64* records, u32 log_room, u64* results)
{
    extern __shared__ uint4 memory[];
    __shared__ State state;
    __shared__ Hubs hubs;
    __shared__ u32 taken;
    size_t first_pile = static_cast<size_t>(blockIdx.x) * PILES * capacity;
    Graph graph = {n, rows, first, arcs};
    Piles piles = {reinterpret_cast<Entry*>(entries) + first_pile, capacity};
    Rule rule = {shift, target, 0xffffffffu};
    Log log = {reinterpret_cast<LogRecord*>(records), log_room};
    if (threadIdx.x == 0) hubs.count = 0;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(next, 1u);
        __syncthreads();
        u32 i = taken;
        if (i >= n_sources) break;
        size_t row = static_cast<size_t>(i) * stride;
        Tree tree = {distances + row, predecessors + row};
        clear_tree(tree, n, threadIdx.x, blockDim.x);
        __syncthreads();
        Entry* queue = reinterpret_cast<Entry*>(memory);
        if (threadIdx.x == 0) {
            state = first_state();
            begin_search(tree, piles, sources[i]);
            queue[0] = piles.near_of(0)[0];
            log.begin();
        }
        __syncthreads();
        BlockSearch search = {graph, tree, piles, rule, log, state, queue, hubs};
        search.run();
        if (threadIdx.x == 0) {
            atomicOr(&results[0], static_cast<u64>(state.full << 1 | state.overflowed));
            atomicAdd(&results[1], static_cast<u64>(state.phase));
        }
    }
}
