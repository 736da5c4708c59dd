// ExtractMin by a tree reduction: the smallest of n values and its position, the lowest one among equals.
//
// The survey gives no kernel and refers to Harris, "Optimizing Parallel Reduction in CUDA". Each thread first
// looks through several values on its own; then the tree has three levels: the lanes of a warp, the warps of
// a block, and the blocks, whose minima lie in a short array that one more block (or every block) reduces.
// Within a warp the levels of Harris's tree are one hardware reduction.

#pragma once

#include "device/atomics.cuh"

__device__ const u32 NOTHING = 0xffffffffu;
__device__ const u32 WARP = 32;
__device__ const u32 ALL_LANES = 0xffffffffu;

struct Minimum {
    u32 value;
    u32 position;
};

__device__ __forceinline__ u64 packed(Minimum minimum)
{
    return static_cast<u64>(minimum.value) << 32 | minimum.position;
}

__device__ __forceinline__ Minimum unpacked(u64 word)
{
    return {static_cast<u32>(word >> 32), static_cast<u32>(word)};
}

__device__ __forceinline__ Minimum warp_minimum(Minimum mine)
{
    u32 value = __reduce_min_sync(ALL_LANES, mine.value);
    u32 candidate = mine.value == value ? mine.position : NOTHING;
    return {value, __reduce_min_sync(ALL_LANES, candidate)};
}

// Called by all threads of a block of whole warps; each gets the minimum of all.
__device__ Minimum block_minimum(Minimum mine)
{
    __shared__ u64 of_warps[WARP];
    u32 lane = threadIdx.x % WARP;
    Minimum of_warp = warp_minimum(mine);
    if (lane == 0) of_warps[threadIdx.x / WARP] = packed(of_warp);
    __syncthreads();
    Minimum another = {NOTHING, NOTHING};
    if (lane < blockDim.x / WARP) another = unpacked(of_warps[lane]);
    Minimum of_block = warp_minimum(another);
    __syncthreads();  // of_warps may be written again
    return of_block;
}

// The minimum of the values that this block is responsible for in a grid.
__device__ Minimum minimum_of_share(u32 n, const u32* values)
{
    Minimum mine = {NOTHING, NOTHING};
    for (u32 i = thread_id(); i < n; i += thread_count()) {
        u32 value = values[i];
        if (value < mine.value) mine = {value, i};
    }
    return block_minimum(mine);
}

// The minimum of what the blocks of a grid have found.
__device__ Minimum minimum_of_blocks(u32 blocks, const u64* minima)
{
    Minimum mine = {NOTHING, NOTHING};
    for (u32 i = threadIdx.x; i < blocks; i += blockDim.x) {
        if (minima[i] < packed(mine)) mine = unpacked(minima[i]);
    }
    return block_minimum(mine);
}
