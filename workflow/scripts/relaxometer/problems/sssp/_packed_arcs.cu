// Lays out the arcs of a graph for few dependent reads, and sums up their weights; see _packed_arcs.py.

#include "problems/sssp/_packed_arcs.cuh"

// Of all weights. The square of a weight has 64 bits, so the sum of squares is kept in two halves, which do
// not overflow with fewer than 2^32 arcs.
struct Sums {
    u64 weights;
    u64 low;   // of the lower 32 bits of each square
    u64 high;  // of the upper 32 bits
};

__device__ __forceinline__ u64 sum_of_warp(u64 value)
{
    for (u32 other = WARP / 2; other > 0; other /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, other);
    }
    return value;
}

// Adds what the threads of a block have found, with one atomic operation per sum. For whole blocks.
__device__ __forceinline__ void add_sums(const Sums& own, Sums* total)
{
    __shared__ Sums of_block;
    if (threadIdx.x == 0) of_block = {};
    __syncthreads();
    Sums of_warp = {sum_of_warp(own.weights), sum_of_warp(own.low), sum_of_warp(own.high)};
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&of_block.weights, of_warp.weights);
        atomicAdd(&of_block.low, of_warp.low);
        atomicAdd(&of_block.high, of_warp.high);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&total->weights, of_block.weights);
        atomicAdd(&total->low, of_block.low);
        atomicAdd(&total->high, of_block.high);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    pack_arcs(u64 n_arcs, const u32* __restrict__ targets, const u32* __restrict__ weights, uint2* arcs,
              u64* sums)
{
    Sums own = {};
#pragma unroll 4
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 weight = weights[i];
        arcs[i] = make_uint2(targets[i], weight);
        u64 square = static_cast<u64>(weight) * weight;
        own.weights += weight;
        own.low += static_cast<u32>(square);
        own.high += square >> 32;
    }
    add_sums(own, reinterpret_cast<Sums*>(sums));
}

// There are fewer than 2^32 arcs.
extern "C" __global__ void __launch_bounds__(256)
    pack_rows(u32 n, const i64* __restrict__ offsets, uint2* rows)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        rows[v] = make_uint2(static_cast<u32>(offsets[v]), static_cast<u32>(offsets[v + 1]));
    }
}

// Two elements of `first` hold the first four arcs of a vertex.
extern "C" __global__ void __launch_bounds__(256)
    pack_first(u32 n, const uint2* __restrict__ rows, const uint2* __restrict__ arcs, uint4* first)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        uint2 row = rows[v];
        u32 degree = row.y - row.x;
        uint2 found[FIRST];
        for (u32 k = 0; k < FIRST; ++k) {
            found[k] = k < degree ? arcs[row.x + k] : make_uint2(NO_ARC, 0);
        }
        if (degree > FIRST) found[FIRST - 1] = make_uint2(MORE_ARCS, 0);
        u64 place = 2 * static_cast<u64>(v);
        first[place] = make_uint4(found[0].x, found[0].y, found[1].x, found[1].y);
        first[place + 1] = make_uint4(found[2].x, found[2].y, found[3].x, found[3].y);
    }
}
