// Many SSSPs at once, one per block; see _piles.cuh for the search.
//
// One search on a road map cannot fill a GPU. A block that has finished takes the next source. Each block has
// its own piles, so memory grows with the number of blocks, not of sources.

#include "_block_search.cuh"

// Row i of `distances` and `predecessors`, `stride` words apart, gets the tree of source i. `next` counts the
// sources taken. `results` gets full << 1 | overflowed of all searches, and the sum of their phases.
extern "C" __global__ void __launch_bounds__(1024, 1)
    many_sources(const __grid_constant__ Problem problem, u32 target, const u32* __restrict__ sources,
                 u32 n_sources, length_t* distances, u32* predecessors, u32 stride, u32* next,
                 LogRecord* records, u32 log_capacity, u64* results)
{
    extern __shared__ uint4 memory[];
    __shared__ State state;
    __shared__ Hubs hubs;
    __shared__ u32 taken;
    Graph graph = problem.graph;
    Piles piles = problem.piles;
    piles.entries += static_cast<size_t>(blockIdx.x) * PILES * piles.capacity;
    Log log = {records, log_capacity};
    Entry* queue = reinterpret_cast<Entry*>(memory);
    if (threadIdx.x == 0) hubs.count = 0;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(next, 1u);
        __syncthreads();
        u32 i = taken;
        if (i >= n_sources) break;
        size_t row = static_cast<size_t>(i) * stride;
        Tree tree = {distances + row, predecessors + row, NO_PATH};
        clear_tree(tree, graph.n, threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) {
            state = first_state(1);
            begin_search(tree, piles, sources[i], 0);
            queue[0] = piles.near_of(0)[0];
            log.begin();
        }
        __syncthreads();
        BlockRule rule = {target, 0xffffffffu};
        BlockSearch search = {
            {graph, tree, piles, log, state, state.total, queue}, state.at, rule, hubs, 0, 0};
        search.run();
        if (threadIdx.x == 0) {
            atomicOr(&results[0], static_cast<u64>(state.total.full << 1 | state.total.overflowed));
            atomicAdd(&results[1], static_cast<u64>(state.at.phase));
        }
    }
}
