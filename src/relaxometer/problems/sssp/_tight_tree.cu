// Predecessors for searches that found distances only, in one cooperative launch.

#include "_tight_arcs.cuh"

// Before the launch, all vertices but the source have no predecessor, and all words of `changed` and
// `overflowed` are zero.
extern "C" __global__ void find_tree(const __grid_constant__ Graph graph,
                                     const __grid_constant__ Pieces long_rows,
                                     const length_t* __restrict__ distance, u32* predecessor, u32* overflowed,
                                     u32* changed)
{
    find_predecessors(cooperative_groups::this_grid(), graph, distance, predecessor, overflowed, changed,
                      &long_rows);
}
