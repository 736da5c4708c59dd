// The queue of a block that searches a tile, phase by phase.

#pragma once

#include "device/constants.cuh"

const u32 QUEUE = 2048;  // entries per phase

template <typename Entry>
struct PhaseQueue {
    Entry* entries;  // for even and odd phases
    u32* counts;     // three: in a phase one is read, one filled and one cleared
    u32 phase;
    u32 now;  // phase % 3

    __device__ u32 next() const
    {
        return now == 2 ? 0 : now + 1;
    }

    __device__ Entry entry(u32 i) const
    {
        return entries[(phase & 1) * QUEUE + i];
    }

    // A place in the next phase for each lane of a warp that has an entry, by one atomic; `having` are these
    // lanes, not none. For whole warps.
    __device__ u32 place_together(u32 having)
    {
        u32 lane = threadIdx.x % WARP;
        u32 place = 0;
        if (lane == 0) place = atomicAdd(&counts[next()], __popc(having));
        return __shfl_sync(ALL_LANES, place, 0) + __popc(having & ((1u << lane) - 1));
    }

    // Clears the count of the phase after the next; by one thread.
    __device__ void clear_later()
    {
        counts[next() == 2 ? 0 : next() + 1] = 0;
    }

    __device__ void advance()
    {
        now = next();
        ++phase;
    }
};
