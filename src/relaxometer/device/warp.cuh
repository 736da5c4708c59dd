// A thread's place among the warps of its block.

#pragma once

#include "device/constants.cuh"

__device__ __forceinline__ u32 lane()
{
    return threadIdx.x % WARP;
}

__device__ __forceinline__ u32 warp()
{
    return threadIdx.x / WARP;
}

__device__ __forceinline__ u32 warps()
{
    return blockDim.x / WARP;
}
