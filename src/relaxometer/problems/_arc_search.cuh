// The search of an arc in the row of its tail, whose heads ascend.

#pragma once

#include "device/atomics.cuh"

// The first arc of u whose head is at least v.
__device__ __forceinline__ i64 lower_bound(const i64* offsets, const u32* targets, u32 u, u32 v)
{
    i64 low = offsets[u];
    i64 high = offsets[u + 1];
    while (low < high) {
        i64 middle = low + (high - low) / 2;
        if (targets[middle] < v) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
