// Dominators of all graphs of a batch in one launch, one block per graph.
//
// Persistent blocks take graphs from a queue, the largest first, which balances graphs of uneven size. The
// tree of a graph (see _tree.cuh) is in shared memory, or in the array of the answer if it does not fit.

#include "_batch.cuh"

extern "C" __global__ void batch_dominators(u32 n_graphs, const u32* __restrict__ largest_first,
                                            const i64* __restrict__ first_vertex,
                                            const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                            u32 capacity, u32* idom, u32* queue)
{
    extern __shared__ u32 tree[];
    __shared__ u32 ticket;
    while (true) {
        u32 place = next_ticket(queue, &ticket);
        if (place >= n_graphs) break;
        FlowGraph graph = graph_of_batch(largest_first[place], first_vertex, offsets, targets, idom);
        solve_by_block(graph, graph.n <= capacity ? tree : graph.idom);
    }
}
