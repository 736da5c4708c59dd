// Features of a graph that tell which variant suits it; see _maps.py.

#include "device/block_sum.cuh"

// Adds to found[0] the number of vertices that have arcs, and to found[1] the squares of the out-degrees, and
// raises found[2] to the largest.
extern "C" __global__ void __launch_bounds__(256)
    survey_degrees(u32 n, const i64* __restrict__ offsets, u64* found)
{
    u64 sums[2] = {};
    u32 largest = 0;
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        i64 degree = offsets[v + 1] - offsets[v];
        sums[0] += degree != 0;
        sums[1] += degree * degree;
        largest = max(largest, static_cast<u32>(min(degree, static_cast<i64>(UNREACHED))));
    }
    largest = __reduce_max_sync(ALL_LANES, largest);
    if (threadIdx.x % WARP == 0 && largest > load_relaxed(&found[2])) {
        atomicMax(&found[2], static_cast<u64>(largest));
    }
    add_block_sums(sums, found);
}

const u32 HOPS = 32;
const u32 ENOUGH = 2048;  // vertices of a ball
const u32 THREADS = 1024;
const u32 SLOT_BITS = 13;
const u32 SLOTS = 1 << SLOT_BITS;
const u32 NOTHING = 0xffffffffu;

__device__ __forceinline__ u32 first_slot(u32 vertex)
{
    return vertex * 0x9e3779b1u >> (32 - SLOT_BITS);
}

// A block grows a ball breadth first, from a vertex of its own, and writes the number of its vertices after
// 0, 1, ... HOPS hops, until there are ENOUGH. `sizes` holds zeros before.
extern "C" __global__ void __launch_bounds__(THREADS)
    grow_balls(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets, u32* sizes)
{
    __shared__ u32 slots[SLOTS];             // a hash table of the vertices
    __shared__ u32 queue[ENOUGH + THREADS];  // the vertices; each thread may add one while the last is added
    __shared__ u32 size;
    u32* own = sizes + blockIdx.x * (HOPS + 1);
    for (u32 i = threadIdx.x; i < SLOTS; i += blockDim.x) slots[i] = NOTHING;
    u32 start = static_cast<u32>((2 * blockIdx.x + 1) * static_cast<u64>(n) / (2 * gridDim.x));
    __syncthreads();
    if (threadIdx.x == 0) {
        queue[0] = start;
        slots[first_slot(start)] = start;
        size = own[0] = 1;
    }
    __syncthreads();
    u32 begin = 0;
    u32 end = 1;
    for (u32 hop = 1; hop <= HOPS && end < ENOUGH; ++hop) {
        for (u32 k = begin + threadIdx.x; k < end; k += blockDim.x) {
            i64 last = offsets[queue[k] + 1];
            for (i64 i = offsets[queue[k]]; i < last && load_relaxed(&size) < ENOUGH; ++i) {
                u32 head = targets[i];
                u32 slot = first_slot(head);
                u32 found;
                while ((found = atomicCAS(&slots[slot], NOTHING, head)) != NOTHING && found != head) {
                    slot = (slot + 1) % SLOTS;
                }
                if (found == NOTHING) queue[atomicAdd(&size, 1u)] = head;
            }
        }
        __syncthreads();
        begin = end;
        end = size;
        if (threadIdx.x == 0) own[hop] = end;
        __syncthreads();
    }
}
