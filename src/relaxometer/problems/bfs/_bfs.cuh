// Shared by the BFS kernels: bitmaps, CSR rows, the search of a row by a whole warp, and sums over a warp.
//
// A bitmap holds vertex v at bit v % 32 of word v / 32.

#pragma once

#include "device/block_sum.cuh"

// CSR arrays, which no kernel changes.
struct Rows {
    const i64* offsets;
    const u32* targets;

    __device__ __forceinline__ i64 begin(u64 v) const
    {
        return read_only(&offsets[v]);
    }
    __device__ __forceinline__ u32 target(i64 i) const
    {
        return read_only(&targets[i]);
    }
};

__device__ __forceinline__ u32 bit_of(u32 v)
{
    return 1u << (v & 31);
}

__device__ __forceinline__ bool contains(const u32* bitmap, u32 v)
{
    return bitmap[v / 32] & bit_of(v);
}

// The same for a bitmap that other threads are changing. Before `claim` it saves most of the atomics, since
// most arcs lead back to visited vertices.
__device__ __forceinline__ bool contains_now(const u32* bitmap, u32 v)
{
    return load_relaxed(&bitmap[v / 32]) & bit_of(v);
}

// Adds v to a bitmap; returns whether it was not in it.
__device__ __forceinline__ bool claim(u32* bitmap, u32 v)
{
    return !(atomicOr(&bitmap[v / 32], bit_of(v)) & bit_of(v));
}

// Searches the row from `begin` to `end` for a vertex of the frontier, 32 arcs at a time. The lanes of a warp
// pass the same arguments and get the same answer, NO_PREDECESSOR if there is none.
__device__ __forceinline__ u32 search_row_by_warp(const u32* targets, i64 begin, i64 end, const u32* frontier,
                                                  u32* examined)
{
    u32 lane = threadIdx.x % WARP;
    for (i64 i = begin; i < end; i += WARP) {
        bool inside = i + lane < end;
        u32 u = inside ? read_only(&targets[i + lane]) : 0;
        *examined += inside;
        u32 hits = __ballot_sync(ALL_LANES, inside && contains(frontier, u));
        if (hits) return __shfl_sync(ALL_LANES, u, __ffs(hits) - 1);
    }
    return NO_PREDECESSOR;
}

// The sum of a value over the lanes below this one.
__device__ __forceinline__ u32 sum_below(u32 value)
{
    u32 lane = threadIdx.x % WARP;
    u32 sum = value;
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        u32 left = __shfl_up_sync(ALL_LANES, sum, distance);
        if (lane >= distance) sum += left;
    }
    return sum - value;
}

// The sum of a value over the threads of the block below this one; *total over all.
__device__ u32 sum_below_in_block(u32 value, u32* warp_sums, u32* total)
{
    u32 below = sum_below(value);
    if (threadIdx.x % WARP == 31) warp_sums[threadIdx.x / WARP] = below + value;
    __syncthreads();
    *total = 0;
    for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) {
        if (warp < threadIdx.x / WARP) below += warp_sums[warp];
        *total += warp_sums[warp];
    }
    return below;
}

// Adds up counts of the threads of a block, and adds the sums to `counts`. Between two calls lies a barrier.
template <u32 N>
__device__ void add_up(const u64 (&values)[N], u64* counts)
{
    __shared__ u64 of_warp[N][WARP];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        u64 sum = sum_of_warp(values[k]);
        if (lane == 0) of_warp[k][warp] = sum;
    }
    __syncthreads();
    for (u32 k = warp; k < N; k += blockDim.x / WARP) {
        u64 sum = sum_of_warp(lane < blockDim.x / WARP ? of_warp[k][lane] : 0);
        if (lane == 0 && sum) atomicAdd(&counts[k], sum);
    }
}
