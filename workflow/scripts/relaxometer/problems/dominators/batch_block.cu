// Dominators of all graphs of a batch in one launch, a block for each graph.
//
// Blocks stay and take graphs from a queue, the largest first, until it is empty: the work stealing that
// balances graphs of uneven size. A graph's tree (see _tree.cuh) is in shared memory, or where the answer
// goes if it does not fit.

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
