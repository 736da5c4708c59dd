// Prepares a batch on the device, from 32-bit numbers as they were uploaded: the first block sorts the
// graphs by falling size, the others widen the offsets.

#include "device/block_scan.cuh"

__device__ const u32 SIZES = 1024;   // sizes that are told apart; larger graphs come first in any order
__device__ const u32 WIDENERS = 64;  // blocks that widen offsets
// Bytes of a batch that kernels read from page-locked memory, without copies.
__device__ const u32 MOST_SHARED = 1 << 15;

// One block of SIZES threads. `places` has a word for each size.
__device__ void sort_by_size(u32 n_graphs, const u32* first_vertex, u32* largest_first, u32* places)
{
    places[threadIdx.x] = 0;
    __syncthreads();
    for (u32 graph = threadIdx.x; graph < n_graphs; graph += blockDim.x) {
        u32 size = first_vertex[graph + 1] - first_vertex[graph];
        atomicAdd(&places[SIZES - 1 - min(size, SIZES - 1)], 1u);
    }
    __syncthreads();
    u64 total;
    u64 before = block_exclusive_sum(places[threadIdx.x], &total);
    places[threadIdx.x] = static_cast<u32>(before);
    __syncthreads();
    for (u32 graph = threadIdx.x; graph < n_graphs; graph += blockDim.x) {
        u32 size = first_vertex[graph + 1] - first_vertex[graph];
        largest_first[atomicAdd(&places[SIZES - 1 - min(size, SIZES - 1)], 1u)] = graph;
    }
}

__device__ __forceinline__ void widen(u64 count, const u32* narrow, i64* wide)
{
    u64 stride = static_cast<u64>(gridDim.x - 1) * blockDim.x;
    for (u64 i = thread_id() - blockDim.x; i < count; i += stride) wide[i] = narrow[i];
}

// `narrow` holds first vertices and then offsets; so does `wide`. At least two blocks.
extern "C" __global__ void __launch_bounds__(1024)
    prepare_batch(u32 n_graphs, u32 n_vertices, const u32* __restrict__ narrow, i64* __restrict__ wide,
                  u32* __restrict__ largest_first, u32* __restrict__ queue)
{
    __shared__ u32 places[SIZES];
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *queue = 0;
        sort_by_size(n_graphs, narrow, largest_first, places);
    } else {
        widen(static_cast<u64>(n_graphs) + n_vertices + 2, narrow, wide);
    }
}
