// Uses what the emulation offers of CUDA; test_device_contract.py compares each result with NumPy.

#include "device/constants.cuh"

extern "C" __global__ void votes_and_shuffles(const u32* __restrict__ in, u32* out)
{
    u32 lane = threadIdx.x % 32;
    u32 x = __ldg(&in[thread_id()]);
    u32* row = &out[8 * thread_id()];
    row[0] = __ballot_sync(ALL_LANES, x & 1);
    row[1] = __any_sync(ALL_LANES, x == 7);
    row[2] = __shfl_up_sync(ALL_LANES, x, 36);  // five bits of a distance count
    row[3] = __shfl_sync(ALL_LANES, x, (lane + 5) % 32);
    row[4] = __shfl_up_sync(ALL_LANES, x, 4);
    row[5] = __shfl_down_sync(ALL_LANES, x, 3);
    row[6] = __shfl_xor_sync(ALL_LANES, x, 16);
    row[7] = __shfl_down_sync(ALL_LANES, x, 2, 8);
}

extern "C" __global__ void matches_and_reductions(const u32* __restrict__ in, u32* out)
{
    u32 x = in[thread_id()];
    u32* row = &out[8 * thread_id()];
    row[0] = __match_any_sync(ALL_LANES, x % 4);
    row[1] = __reduce_add_sync(ALL_LANES, x);
    row[2] = __reduce_min_sync(ALL_LANES, x);
    row[3] = __reduce_max_sync(ALL_LANES, x);
    row[4] = __reduce_or_sync(ALL_LANES, x);
    row[5] = __reduce_and_sync(ALL_LANES, x);
    row[6] = (u32)__reduce_min_sync(ALL_LANES, (int)x - 500);
    row[7] = (u32)__reduce_max_sync(ALL_LANES, (int)x - 500);
}

// The two halves of a diverged warp vote by themselves.
extern "C" __global__ void diverged_votes(const u32* __restrict__ in, u32* out)
{
    u32 x = in[thread_id()];
    if (threadIdx.x % 32 < 16) {
        out[thread_id()] = __ballot_sync(0x0000ffffu, x & 2);
    } else {
        out[thread_id()] = __ballot_sync(0xffff0000u, x & 4);
    }
    __syncwarp();
}

// A maximum over 64-bit words, which take two shuffles each on a GPU, and over doubles.
extern "C" __global__ void wide_shuffles(const u64* __restrict__ in, u64* maximum, double* sum)
{
    u64 best = in[thread_id()];
    double total = (double)in[thread_id()];
    for (int distance = 16; distance > 0; distance /= 2) {
        best = max(best, __shfl_xor_sync(ALL_LANES, best, distance));
        total += __shfl_xor_sync(ALL_LANES, total, distance);
    }
    maximum[thread_id()] = best;
    sum[thread_id()] = total;
}

extern "C" __global__ void bit_counts(const u64* __restrict__ in, i64* out)
{
    u64 x = in[thread_id()];
    u32 low = (u32)x;
    i64* row = &out[8 * thread_id()];
    row[0] = __popc(low);
    row[1] = __clz((int)low);
    row[2] = __ffs((int)low);
    row[3] = __brev(low);
    row[4] = __popcll(x);
    row[5] = __clzll((i64)x);
    row[6] = __ffsll((i64)x);
    row[7] = (i64)__brevll(x);
}

extern "C" __global__ void reinterpretations(const float* __restrict__ in, float* out, double* wide)
{
    u32 i = thread_id();
    __stcs(&out[i], __uint_as_float(__float_as_uint(__ldcs(&in[i])) & 0x7fffffffu));
    wide[i] = __longlong_as_double(__double_as_longlong((double)in[i]));
}

extern "C" __global__ void extremes_of_floats(const float* __restrict__ in, float* out, double* wide)
{
    u32 i = threadIdx.x, j = blockDim.x - 1 - i;
    out[2 * i] = min(in[i], in[j]);
    out[2 * i + 1] = max(in[i], in[j]);
    wide[2 * i] = min((double)in[i], (double)in[j]);
    wide[2 * i + 1] = max((double)in[i], (double)in[j]);
}

extern "C" __global__ void atomics_of_u32(u32 n, const u32* __restrict__ in, u32* out)
{
    u32 i = thread_id();
    if (i >= n) return;
    u32 x = in[i];
    atomicAdd(&out[0], x);
    atomicMin(&out[1], x);
    atomicMax(&out[2], x);
    atomicAnd(&out[3], x);
    atomicOr(&out[4], x);
    if (i == 0) atomicExch(&out[5], 42u);
    u32 before = load_relaxed(&out[6]);
    u32 expected;
    do {
        expected = before;
        before = atomicCAS(&out[6], expected, expected + x);
    } while (before != expected);
}

extern "C" __global__ void atomics_of_other_types(u32 n, const int* __restrict__ in, int* ints, u64* words,
                                                  i64* longs, float* floats, double* doubles)
{
    u32 i = thread_id();
    if (i >= n) return;
    int x = in[i];
    u64 key = (u64)(u32)(x + 1000) << 32 | i;
    atomicAdd(&ints[0], x);
    atomicMin(&ints[1], x);
    atomicMax(&ints[2], x);
    atomicAdd(&words[0], (u64)(x + 1000));
    atomicMin(&words[1], key);
    atomicMax(&words[2], key);
    atomicOr(&words[3], key);
    atomicCAS(&words[4], 0ull, key + 1);
    if (i == 0) atomicExch(&words[5], 43ull);
    atomicMin(&longs[0], (i64)x);
    atomicMax(&longs[1], (i64)x);
    atomicAdd(&floats[0], 1.0f);
    atomicAdd(&doubles[0], 0.5);
}

// Blocks and grids of two dimensions, and static shared memory of two dimensions.
extern "C" __global__ void transpose(int n, const float* __restrict__ in, float* out)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    int to_x = blockIdx.y * 16 + threadIdx.x;
    int to_y = blockIdx.x * 16 + threadIdx.y;
    if (to_x < n && to_y < n) out[to_y * n + to_x] = tile[threadIdx.x][threadIdx.y];
}

// Every index and dimension, in three dimensions.
extern "C" __global__ void coordinates(u32* out)
{
    u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    u32* row = &out[6 * (block * blockDim.x * blockDim.y * blockDim.z + thread)];
    row[0] = blockIdx.x;
    row[1] = blockIdx.y;
    row[2] = blockIdx.z;
    row[3] = threadIdx.x;
    row[4] = threadIdx.y;
    row[5] = threadIdx.z;
}

extern "C" __global__ void dynamic_shared_reversal(const u32* __restrict__ in, u32* out)
{
    extern __shared__ u32 items[];
    items[threadIdx.x] = in[thread_id()];
    __syncthreads();
    out[thread_id()] = items[blockDim.x - 1 - threadIdx.x];
}

// Shared variables of several kinds, among them those of two instantiations of one template.
struct Mark {
    int x;
    float y;
};

template <typename T, int ADDED>
__device__ T reversed(T value)
{
    __shared__ T items[64];
    items[threadIdx.x] = value;
    __syncthreads();
    T result = items[63 - threadIdx.x] + (T)ADDED;
    __syncthreads();
    return result;
}

extern "C" __global__ void shared_of_templates(double* a, int* b)
{
    __shared__ __align__(16) volatile int flag;
    __shared__ Mark marks[2][64];
    u32 t = threadIdx.x;
    if (t == 0) flag = 7;
    marks[t % 2][t].x = (int)t;
    __syncthreads();
    a[t] = reversed<double, 1>(a[t]);
    b[t] = reversed<int, 2>(reversed<int, 3>(b[t])) + flag + marks[t % 2][t].x;
}

extern "C" __global__ void block_votes(int* out)
{
    int t = (int)threadIdx.x;
    int count = __syncthreads_count(t % 3 == 0);
    int any = __syncthreads_or(t == 5);
    int all = __syncthreads_and(t < 1000);
    int none = __syncthreads_or(t == 5000);
    if (t == 0) {
        out[0] = count;
        out[1] = any;
        out[2] = all;
        out[3] = none;
    }
}

// Threads that have returned hold no barrier up.
extern "C" __global__ void early_exit(int* out)
{
    __shared__ int items[64];
    int t = (int)threadIdx.x;
    if (t >= 40) return;
    items[t] = t;
    __syncthreads();
    out[t] = items[39 - t];
}

extern "C" __global__ void values(bool yes, u8 small, short medium, i64 large, float single_precision,
                                  double x, double* out)
{
    if (threadIdx.x != 0) return;
    out[0] = yes;
    out[1] = small;
    out[2] = medium;
    out[3] = (double)large;
    out[4] = single_precision;
    out[5] = x;
}

extern "C" __global__ void structure(Mark mark, double* out)
{
    out[0] = mark.x;
    out[1] = mark.y;
}

const u32 PARTS = 1u << 1;

// Members of every kind that the launcher packs, with gaps between them.
struct Rows {
    const u32* values;
    u32 n;
};

struct Task {
    bool doubled;
    Rows rows, more_rows;
    u8 small;
    i64 shift;
    const u32* parts[PARTS];
    short steps[3];
    double* out;  // three sums

    __device__ double total(const Rows& some) const
    {
        double sum = 0;
        for (u32 i = 0; i < some.n; ++i) sum += some.values[i];
        return doubled ? 2 * sum : sum;
    }
};

extern "C" __global__ void structure_of_pointers(u32 offset, const __grid_constant__ Task task)
{
    task.out[0] = task.total(task.rows) + task.total(task.more_rows) + offset;
    task.out[1] = task.small + (double)task.shift;
    task.out[2] =
        (double)task.parts[0][0] + 10 * task.parts[1][0] + 100 * task.steps[0] + 1000 * task.steps[2];
}

template <typename T, int FACTOR>
__global__ void __launch_bounds__(256) scale(T* __restrict__ x, u32 n)
{
    u32 i = thread_id();
    if (i < n) x[i] *= (T)FACTOR;
}

// Thread 0 waits for a flag that the last thread sets; __nanosleep lets the others run.
extern "C" __global__ void wait_for_flag(u32* flag, u32* out)
{
    if (threadIdx.x == 0) {
        while (load_relaxed(flag) == 0) __nanosleep(100);
        __threadfence();
        out[0] = load_relaxed(&out[1]);
    } else if (threadIdx.x == blockDim.x - 1) {
        store_relaxed(&out[1], 5u);
        __threadfence();
        store_relaxed(flag, 1u);
    }
}

// A null pointer is told from an array.
extern "C" __global__ void optional_array(const u32* maybe, u32* out)
{
    out[0] = maybe == nullptr ? 1 : 2;
}

extern "C" __global__ void set_to_one(u32* out)
{
    out[thread_id()] = 1;
}
