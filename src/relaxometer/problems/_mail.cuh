// How a search over tiles ends, one tile per block, whose blocks send each other mail and never wait for one
// another.
//
// A block with nothing to do passes a fence and counts itself idle, until it finds mail. If all are idle,
// each checks its mail again and confirms that there is none. When all have confirmed the same number of
// wake-ups, no block has sent anything since it was last idle, and all have seen what was sent before: the
// search has ended.

#pragma once

#include "device/atomics.cuh"
#include "device/constants.cuh"

// Confirms that this block has found no mail since all were idle after `wake_ups` - 1 wake-ups; returns
// whether all blocks have. `confirmed` has a word per block: wake-ups + 1.
__device__ __forceinline__ bool all_confirm(u32* confirmed, u32 wake_ups)
{
    if (threadIdx.x == 0) {
        __threadfence();
        store_relaxed(&confirmed[blockIdx.x], wake_ups);
    }
    bool all = true;
    for (u32 i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        if (load_relaxed(&confirmed[i]) != wake_ups) all = false;
    }
    return __syncthreads_and(all);
}

// Waits until `search.find_mail()`, which a whole block calls, finds mail; returns false if the whole search
// has ended. `idle` counts wake-ups << 32 | idle blocks; `seen` are two words of shared memory.
template <class Search>
__device__ __forceinline__ bool wait_for_mail(Search& search, u64* idle, u32* confirmed, u64* seen)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(idle, 1ull);
    }
    for (u32 look = 0;; look ^= 1) {
        if (threadIdx.x == 0) seen[look] = load_relaxed(idle);
        if (search.find_mail()) break;
        u64 now = seen[look];
        if (static_cast<u32>(now) == gridDim.x) {
            if (threadIdx.x == 0) __threadfence();
            __syncthreads();
            if (search.find_mail()) break;
            if (all_confirm(confirmed, static_cast<u32>(now >> 32) + 1)) return false;
        }
        if (threadIdx.x == 0) __nanosleep(20);
    }
    if (threadIdx.x == 0) atomicAdd(idle, (1ull << 32) - 1);
    return true;
}
