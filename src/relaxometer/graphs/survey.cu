// Features of a graph that tell which variant suits it; see survey.py.

#include "device/block_sum.cuh"

const u32 THREADS = 1024;
const u32 BALLS = 8;
const u32 HOPS = 24;      // maximum hops of a ball
const u32 ENOUGH = 1024;  // vertices of a ball that grows no further
const u32 FEW_HOPS = 5;
const u32 LANES = 8;  // threads that read the arcs of a vertex of a ball
const u32 SLOTS = 1 << 12;
const u32 NOTHING = 0xffffffffu;
const u32 SAMPLES = 4096;
const u32 RANGES = 128;  // equal ranges of ids, about as many as there are tiles

// Words of `found`. The first are sums over vertices and samples, the last are one per ball.
const u32 SUMS = 5;
const u32 LARGEST = 5;
const u32 OF_BALLS = 6;
const u32 WORDS = OF_BALLS + BALLS;

__device__ __forceinline__ u32 hashed(u32 x)
{
    x = (x ^ x >> 16) * 0x85ebca6bu;
    return x ^ x >> 13;
}

// Whether a row, whose heads ascend, has an arc to `head`.
__device__ bool has_arc(const i64* offsets, const u32* targets, u32 tail, u32 head)
{
    i64 low = offsets[tail];
    i64 end = offsets[tail + 1];
    for (i64 high = end; low < high;) {
        i64 middle = low + (high - low) / 2;
        if (targets[middle] < head) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && targets[low] == head;
}

__device__ __forceinline__ u64 range_of(u32 vertex, u32 n)
{
    return static_cast<u64>(vertex) * RANGES / n;
}

// Looks at an arc of the k-th sampled vertex: sums[2] counts arcs, sums[3] those between two ranges and
// sums[4] those without reverse, in proportion to the vertex's degree.
__device__ void sample(u32 k, u32 samples, u32 n, const i64* __restrict__ offsets,
                       const u32* __restrict__ targets, u64 (&sums)[SUMS])
{
    u32 v = static_cast<u32>((static_cast<u64>(k) * n + hashed(k) % n) / samples);
    i64 begin = offsets[v];
    u64 degree = offsets[v + 1] - begin;
    if (degree == 0) return;
    u32 head = targets[begin + hashed(k + SAMPLES) % degree];
    sums[2] += degree;
    if (range_of(v, n) != range_of(head, n)) sums[3] += degree;
    if (!has_arc(offsets, targets, head, v)) sums[4] += degree;
}

// Counts in sums[0] the vertices that have arcs, adds up in sums[1] the squares of the out-degrees, and
// raises found[LARGEST] to the largest. A share of the threads looks at samples.
__device__ void survey_degrees(u32 block, u32 blocks, u32 n, const i64* __restrict__ offsets,
                               const u32* __restrict__ targets, u64* found)
{
    u64 sums[SUMS] = {};
    u32 largest = 0;
    u32 threads = blocks * blockDim.x;
    u32 first = block * blockDim.x + threadIdx.x;
    u32 samples = min(n, SAMPLES);
    for (u32 k = first; k < samples; k += threads) sample(k, samples, n, offsets, targets, sums);
    for (u32 v = first; v < n; v += threads) {
        i64 degree = offsets[v + 1] - offsets[v];
        sums[0] += degree != 0;
        sums[1] += degree * degree;
        largest = max(largest, static_cast<u32>(min(degree, static_cast<i64>(NOTHING))));
    }
    largest = __reduce_max_sync(ALL_LANES, largest);
    if (threadIdx.x % WARP == 0 && largest > load_relaxed(&found[LARGEST])) {
        atomicMax(&found[LARGEST], static_cast<u64>(largest));
    }
    add_block_sums(sums, found);
}

// A block grows a ball breadth first from the head of an arc, until it has `ENOUGH` vertices, `HOPS` hops, or
// all that its vertex reaches. Writes about how many levels a search has, if the graph goes on as the ball
// has begun: it grows by a factor per hop if few hops are enough, else by a power of the hops, on what may be
// a map by their square.
__device__ void grow_ball(u32 ball, u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                          u64* found)
{
    __shared__ u32 slots[SLOTS];             // a hash table of the vertices
    __shared__ u32 queue[ENOUGH + THREADS];  // the vertices; each thread may add one while the last is added
    __shared__ u32 sizes[HOPS + 1];
    __shared__ u32 size;
    for (u32 i = threadIdx.x; i < SLOTS; i += blockDim.x) slots[i] = NOTHING;
    __syncthreads();
    if (threadIdx.x == 0) {
        queue[0] = targets[(2 * ball + 1) * offsets[n] / (2 * BALLS)];
        slots[hashed(queue[0]) % SLOTS] = queue[0];
        size = sizes[0] = 1;
    }
    __syncthreads();
    u32 begin = 0;
    u32 end = 1;
    u32 hop = 0;
    while (hop < HOPS && begin < end && end < ENOUGH) {
        for (u32 k = begin + threadIdx.x / LANES; k < end; k += blockDim.x / LANES) {
            i64 last = offsets[queue[k] + 1];
            for (i64 i = offsets[queue[k]] + threadIdx.x % LANES; i < last && load_relaxed(&size) < ENOUGH;
                 i += LANES) {
                u32 head = targets[i];
                u32 slot = hashed(head) % SLOTS;
                u32 known;
                while ((known = atomicCAS(&slots[slot], NOTHING, head)) != NOTHING && known != head) {
                    slot = (slot + 1) % SLOTS;
                }
                if (known == NOTHING) queue[atomicAdd(&size, 1u)] = head;
            }
        }
        __syncthreads();
        begin = end;
        end = size;
        if (begin < end) {
            ++hop;
            if (threadIdx.x == 0) sizes[hop] = end;
        }
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    float levels = max(hop, 2u);
    if (begin < end && hop < FEW_HOPS) {
        levels = hop * log2f(n) / log2f(end);
    } else if (begin < end) {
        float power = log2f(static_cast<float>(end) / sizes[hop / 2]);
        power /= log2f(static_cast<float>(hop) / (hop / 2));
        if (power > 1.5f && power < 3.2f) power = 2;
        levels = hop * exp2f(log2f(static_cast<float>(n) / end) / max(power, 1.0f));
    }
    found[OF_BALLS + ball] = static_cast<u64>(levels + 0.5f);
}

// `found` holds zeros before. The first BALLS blocks grow balls, the others read the degrees.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    survey(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets, u64* found)
{
    if (blockIdx.x < BALLS) {
        if (offsets[n] > 0) grow_ball(blockIdx.x, n, offsets, targets, found);
    } else {
        survey_degrees(blockIdx.x - BALLS, gridDim.x - BALLS, n, offsets, targets, found);
    }
}
