// ExtractMin on its own, as table 1 of the survey times it: two launches, one for the minima of the blocks
// and one of a single block for the smallest of these, which it takes out.
//
// The value that is taken out comes back larger by `step`, so that n stays and every ExtractMin has to
// search; `order` notes which position was taken in which round.

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
