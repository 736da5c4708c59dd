// Planted faults, which test_planted_faults.py expects the emulation to find. Each kernel's faulty line ends
// with the kernel's name; instantiated with `false`, the kernels are sound.

#include "device/atomics.cuh"

// ---------------------------------------------------------------------------------------------- arrays
// One thread of the second block accesses the element `at`.

__device__ __forceinline__ bool is_chosen()
{
    return blockIdx.x == 1 && threadIdx.x == 21;
}

struct Queue {
    u32 capacity;
    u32* items;
};

__device__ __forceinline__ void push(const Queue& queue, i64 at, u32 item)
{
    queue.items[at] = item;  // store_member
}

extern "C" __global__ void store_word(u32* array, i64 at)
{
    if (is_chosen()) array[at] = 7;  // store_word
}

extern "C" __global__ void store_pair(uint2* array, i64 at)
{
    if (is_chosen()) array[at] = make_uint2(7, 7);  // store_pair
}

extern "C" __global__ void store_member(Queue array, i64 at)
{
    if (is_chosen()) push(array, at, 7);
}

extern "C" __global__ void minimum_of(u32* array, i64 at)
{
    if (is_chosen()) atomicMin(&array[at], 7u);  // minimum_of
}

extern "C" __global__ void store_range(double* array, i64 at)
{
    i64 step = at < 0 ? -1 : 1;
    for (i64 i = 0; is_chosen() && i != at + step; i += step) {
        array[i] = 7;  // store_range
    }
}

extern "C" __global__ void load_byte(const u8* array, i64 at, u32* out)
{
    if (is_chosen()) out[0] = array[at];  // load_byte
}

extern "C" __global__ void load_read_only(const u32* array, i64 at, u32* out)
{
    if (is_chosen()) out[0] = read_only(&array[at]);  // load_read_only
}

extern "C" __global__ void load_pair(const uint2* array, i64 at, u32* out)
{
    if (is_chosen()) out[0] = __ldg(&array[at]).y;  // load_pair
}

extern "C" __global__ void load_range(const u32* array, i64 at, u32* out)
{
    u32 sum = 0;
    for (i64 i = 0; is_chosen() && i <= at; ++i) {
        sum += array[i];  // load_range
    }
    if (is_chosen()) out[0] = sum;
}

// ---------------------------------------------------------------------------------------------- shared
// memory

extern "C" __global__ void store_tile(i64 at, u32* out)
{
    __shared__ u32 tile[37];
    if (is_chosen()) tile[at] = 7;  // store_tile
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void load_tile(i64 at, u32* out)
{
    __shared__ u8 tile[37];
    tile[threadIdx.x] = 1;
    __syncthreads();
    if (is_chosen()) out[0] = tile[at];  // load_tile
}

extern "C" __global__ void store_square(i64 at, u32* out)
{
    __shared__ double square[4][9];
    if (is_chosen()) square[3][at] = 7;  // store_square
    __syncthreads();
    out[threadIdx.x] = static_cast<u32>(square[0][threadIdx.x % 9]);
}

extern "C" __global__ void store_dynamic(i64 at, u32* out)
{
    extern __shared__ u32 memory[];
    if (is_chosen()) memory[at] = 7;  // store_dynamic
    __syncthreads();
    out[threadIdx.x] = memory[threadIdx.x];
}

extern "C" __global__ void count_in_tile(i64 at, u32* out)
{
    __shared__ u32 tile[37];
    if (is_chosen()) atomicAdd(&tile[at], 1u);  // count_in_tile
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

// ---------------------------------------------------------------------------------------------- no atomics

template <bool FAULTY>
__global__ void minimum(u32* out)
{
    u32 proposal = 1000 - thread_id();
    if (!FAULTY) atomicMin(&out[5], proposal);
    if (FAULTY && proposal < out[5]) out[5] = proposal;  // minimum
}

template <bool FAULTY>
__global__ void counter(u32* out)
{
    if (!FAULTY) atomicAdd(&out[5], 1u);
    if (FAULTY) ++out[5];  // counter
}

template <bool FAULTY>
__global__ void flag(u32* out)
{
    if (!FAULTY) store_relaxed(&out[5], 1u);
    if (FAULTY) out[5] = 1;  // flag
}

template <bool FAULTY>
__global__ void queue(u32* out)
{
    u32 place = 0;
    if (!FAULTY) place = atomicAdd(&out[0], 1u);
    if (FAULTY) place = out[0]++;  // queue
    out[1 + place] = thread_id();
}

template <bool FAULTY>
__global__ void shared_maximum(u32* out)
{
    __shared__ u32 highest;
    if (threadIdx.x == 0) highest = 0;
    __syncthreads();
    if (!FAULTY) atomicMax(&highest, threadIdx.x);
    if (FAULTY && threadIdx.x > highest) highest = threadIdx.x;  // shared_maximum
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = highest;
}

// ---------------------------------------------------------------------------------------------- no barriers

template <bool FAULTY>
__device__ __forceinline__ void barrier()
{
    if (!FAULTY) __syncthreads();
}

template <bool FAULTY>
__global__ void reversal(u32* out)
{
    __shared__ u32 tile[256];
    tile[threadIdx.x] = threadIdx.x;  // reversal
    barrier<FAULTY>();
    out[thread_id()] = tile[blockDim.x - 1 - threadIdx.x];  // reversal
}

template <bool FAULTY>
__global__ void tree_sum(u32* out)
{
    __shared__ u32 sums[256];
    sums[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];  // tree_sum
        barrier<FAULTY>();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

template <bool FAULTY>
__global__ void scan(u32* out)
{
    extern __shared__ u32 sums[];
    sums[threadIdx.x] = 1;
    __syncthreads();
    for (u32 step = 1; step < blockDim.x; step *= 2) {
        u32 before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;  // scan
        barrier<FAULTY>();
        sums[threadIdx.x] += before;  // scan
        __syncthreads();
    }
    out[thread_id()] = sums[threadIdx.x];
}

template <bool FAULTY>
__global__ void reused_tile(u32* out)
{
    __shared__ u32 tile[256];
    for (u32 round = 0; round < 3; ++round) {
        tile[threadIdx.x] = round;  // reused_tile
        __syncthreads();
        out[thread_id()] += tile[(threadIdx.x + 33) % blockDim.x];  // reused_tile
        barrier<FAULTY>();
    }
}
