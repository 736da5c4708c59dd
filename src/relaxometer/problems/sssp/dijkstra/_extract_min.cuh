// ExtractMin by a tree reduction: the smallest of n values and its position, the lowest among equals.
//
// The survey gives no kernel and refers to Harris, "Optimizing Parallel Reduction in CUDA". Each thread first
// reduces several values alone. The tree has three levels: the lanes of a warp, the warps of a block, and the
// blocks, whose minima are reduced by another block or by every block. A hardware reduction replaces the
// levels of Harris's tree within a warp.

#pragma once

#include "device/constants.cuh"

__device__ const u32 NOTHING = 0xffffffffu;  // value and position of no minimum; no value is larger

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

// The minimum over a block of whole warps, returned to all of its threads.
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

// The minimum over the block's share of the values.
__device__ Minimum minimum_of_share(u32 n, const u32* values)
{
    Minimum mine = {NOTHING, NOTHING};
    for (u32 i = thread_id(); i < n; i += thread_count()) {
        u32 value = values[i];
        if (value < mine.value) mine = {value, i};
    }
    return block_minimum(mine);
}

// The minimum over the minima of all blocks.
__device__ Minimum minimum_of_blocks(u32 blocks, const u64* minima)
{
    Minimum mine = {NOTHING, NOTHING};
    for (u32 i = threadIdx.x; i < blocks; i += blockDim.x) {
        if (minima[i] < packed(mine)) mine = unpacked(minima[i]);
    }
    return block_minimum(mine);
}
