// Work for relaxometer.device.bench: threads that never wait, and threads that wait at many barriers.

#include "device/atomics.cuh"

// Harish and Narayanan's shortest paths: every vertex whose mask is set proposes distances to its neighbours.
extern "C" __global__ void relax(u32 n, const u32* __restrict__ offsets, const u32* __restrict__ targets,
                                 const u32* __restrict__ weights, const u32* __restrict__ distance,
                                 u32* proposal, u8* mask)
{
    u32 v = thread_id();
    if (v >= n || !mask[v]) return;
    mask[v] = 0;
    u32 own = distance[v];
    u32 end = offsets[v + 1];
    for (u32 i = offsets[v]; i < end; ++i) {
        atomicMin(&proposal[targets[i]], own + weights[i]);
    }
}

// The second half of a phase: vertices take over what is shorter than their distance.
extern "C" __global__ void commit(u32 n, u32* distance, u32* proposal, u8* mask, u32* updated)
{
    u32 v = thread_id();
    if (v >= n) return;
    if (proposal[v] < distance[v]) {
        distance[v] = proposal[v];
        mask[v] = 1;
        store_relaxed(updated, 1u);
    }
    proposal[v] = distance[v];
}

// Hillis and Steele's inclusive scan of each block's items, in dynamic shared memory.
extern "C" __global__ void block_scan(u32 n, const u32* __restrict__ in, u32* __restrict__ out)
{
    extern __shared__ u32 sums[];
    u32 t = threadIdx.x;
    u32 i = thread_id();
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (u32 distance = 1; distance < blockDim.x; distance *= 2) {
        u32 left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    if (i < n) out[i] = sums[t];
}

// The same within each warp, by shuffles.
extern "C" __global__ void warp_scan(u32 n, const u32* __restrict__ in, u32* __restrict__ out)
{
    u32 lane = threadIdx.x % 32;
    u32 i = thread_id();
    u32 sum = i < n ? in[i] : 0;
    for (u32 distance = 1; distance < 32; distance *= 2) {
        u32 left = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance) sum += left;
    }
    if (i < n) out[i] = sum;
}
