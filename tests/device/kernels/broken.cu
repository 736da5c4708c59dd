// Kernels that are broken on purpose; test_planted_faults.py expects a report for each of them.
// The tests find the lines by these comments.

#include "device/atomics.cuh"

extern "C" __global__ void divergent_barrier(int* out)
{
    int t = (int)threadIdx.x;
    if (t < 16) {
        __syncthreads();  // divergent_barrier: half
    } else {
        out[t] = __any_sync(0xffffffffu, t == 20);  // divergent_barrier: the rest
    }
}

extern "C" __global__ void two_barriers(int* out)
{
    if (threadIdx.x < 32) {
        __syncthreads();  // two_barriers: first
        out[0] = 1;
    } else {
        __syncthreads();  // two_barriers: second
        out[1] = 1;
    }
}

extern "C" __global__ void wrong_mask(int* out)
{
    int lane = (int)threadIdx.x % 32;
    if (lane >= 8) out[threadIdx.x] = __shfl_sync(0x000000ffu, lane, 0);  // wrong_mask
}

extern "C" __global__ void absent_lane(int* out)
{
    int lane = (int)threadIdx.x;
    if (lane < 16) out[lane] = __shfl_sync(0x0000ffffu, lane, lane + 16);  // absent_lane
}

extern "C" __global__ void two_votes(int* out)
{
    int lane = (int)threadIdx.x;
    if (lane < 16) {
        out[lane] = __any_sync(0xffffffffu, lane == 3);  // two_votes: first
    } else {
        out[lane] = __any_sync(0xffffffffu, lane == 20);  // two_votes: second
    }
}

extern "C" __global__ void failed_assert(int* out)
{
    assert(threadIdx.x < 5);  // failed_assert
    out[threadIdx.x] = 1;
}

extern "C" __global__ void trap(int* out)
{
    if (threadIdx.x == 3) __trap();  // trap
    out[threadIdx.x] = 1;
}

extern "C" __global__ void endless_wait(volatile int* flag)
{
    while (*flag == 0) __nanosleep(100);  // endless_wait
}

extern "C" __global__ void signed_overflow(int n, int* out)
{
    if (thread_id() == 0) out[0] = n * n;  // signed_overflow
}

extern "C" __global__ void wide_shift(int n, int* out)
{
    if (thread_id() == 0) out[0] = 1 << n;  // wide_shift
}

extern "C" __global__ void index_beyond_array(int i, int* out)
{
    int items[4] = {1, 2, 3, 4};
    if (thread_id() == 0) out[0] = items[i];  // index_beyond_array
}

extern "C" __global__ void null_access(int* out)
{
    if (threadIdx.x == 7) out[threadIdx.x] = 1;  // null_access
}

__device__ int descend(int step, int depth)
{
    return step == 0 ? depth : descend(step, depth + step) ^ depth;
}

extern "C" __global__ void endless_recursion(int step, int* out)
{
    out[threadIdx.x] = descend(step, 0);
}

extern "C" __global__ void division(int divisor, int* out)
{
    out[threadIdx.x] = 100 / divisor;  // division
}

extern "C" __global__ void missing_syncwarp(int* out)
{
    __shared__ int items[32];
    u32 t = threadIdx.x;
    items[t] = (int)t;  // missing_syncwarp
    out[t] = items[t ^ 1];
}

extern "C" __global__ void two_blocks_write(int* out)
{
    if (threadIdx.x == 0) out[0] = (int)blockIdx.x;  // two_blocks_write
}

extern "C" __global__ void no_race(int* out)
{
    __shared__ int items[256];
    u32 t = threadIdx.x;
    items[t] = (int)t;
    __syncthreads();
    int other = items[blockDim.x - 1 - t];
    if (t < 32) other += __shfl_xor_sync(0xffffffffu, other, 1);
    out[thread_id()] = other;
}
