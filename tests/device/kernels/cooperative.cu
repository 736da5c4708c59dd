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
        sums[(u32)grid.thread_rank()] = sum;
        grid.sync();
    }
}

// Level-synchronous breadth-first search in one launch.
extern "C" __global__ void bfs(u32 n, const u32* __restrict__ offsets, const u32* __restrict__ targets,
                               int* level, u32* found)
{
    cg::grid_group grid = cg::this_grid();
    for (int current = 0;; ++current) {
        u32 mine = 0;
        for (u32 v = (u32)grid.thread_rank(); v < n; v += (u32)grid.size()) {
            if (load_relaxed(&level[v]) != current) continue;
            for (u32 i = offsets[v]; i < offsets[v + 1]; ++i) {
                if (atomicCAS(&level[targets[i]], -1, current + 1) == -1) ++mine;
            }
        }
        if (mine != 0) atomicAdd(&found[current % 3], mine);
        grid.sync();
        if (grid.thread_rank() == 0) found[(current + 2) % 3] = 0;
        u32 total = found[current % 3];
        grid.sync();
        if (total == 0) break;
    }
}

// Tiles of eight lanes, and what a thread knows of its block.
extern "C" __global__ void tiles(const u32* __restrict__ in, u32* out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    u32 x = in[thread_id()];
    u32 sum = x;
    for (u32 distance = 4; distance > 0; distance /= 2) {
        sum += tile.shfl_xor(sum, distance);
    }
    tile.sync();
    u32* row = &out[8 * thread_id()];
    row[0] = sum;
    row[1] = tile.shfl(x, 3);
    row[2] = tile.shfl_up(x, 1);
    row[3] = tile.shfl_down(x, 1);
    row[4] = tile.ballot(x & 1);
    row[5] = tile.any(x == 7) + 2 * tile.all(x < 900);
    row[6] = tile.thread_rank() + 100 * tile.size();
    block.sync();
    row[7] = block.thread_rank() + 10000 * block.size();
}
