// Kernels that use cooperative groups; launched from a module with cooperative=True.

#include <cooperative_groups.h>

#include "device/atomics.cuh"

namespace cg = cooperative_groups;

// Each round every thread adds up what all blocks wrote in the round before.
extern "C" __global__ void rounds(u32 count, u32* written, u32* sums)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 round = 1; round <= count; ++round) {
        if (threadIdx.x == 0) written[blockIdx.x] = round * (blockIdx.x + 1);
        grid.sync();
        u32 sum = 0;
        for (u32 block = 0; block < gridDim.x; ++block) {
            sum += written[block];
        }
        sums[thread_id()] = sum;
        grid.sync();
    }
}
