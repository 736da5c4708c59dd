// ExtractMin as in table 1 of the survey, in two launches: one finds the minimum of each block, then a single
// block extracts the smallest of these.
//
// The extracted value is put back, increased by `step`, so n is constant and every round has to search.
// `order` records the position extracted in each round.

#include "problems/sssp/dijkstra/_extract_min.cuh"

extern "C" __global__ void minima_of_blocks(u32 n, const u32* __restrict__ values, u64* __restrict__ minima)
{
    Minimum of_block = minimum_of_share(n, values);
    if (threadIdx.x == 0) minima[blockIdx.x] = packed(of_block);
}

extern "C" __global__ void extract(u32 blocks, const u64* __restrict__ minima, u32 step, u32 round,
                                   u32* __restrict__ values, u32* __restrict__ order)
{
    Minimum smallest = minimum_of_blocks(blocks, minima);
    if (threadIdx.x == 0) {
        order[round] = smallest.position;
        values[smallest.position] += step;
    }
}
