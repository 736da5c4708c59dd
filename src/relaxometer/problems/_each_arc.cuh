// Visits every arc with its tail, and hashes of edges by which arcs are compared with their reverse arcs.

#pragma once

#include "device/atomics.cuh"
#include "device/constants.cuh"

__device__ const u32 CHUNK_ARCS = 512;  // consecutive ones that a warp takes

// The finalizer of SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
// OOPSLA 2014.
__device__ __forceinline__ u64 mix(u64 z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// The row of an arc that is in row `low` or later and before row `high`: the last one that begins at the arc
// or before, since an empty row begins where the next does.
__device__ __forceinline__ u32 row_of(const i64* offsets, u32 low, u32 high, i64 arc)
{
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (offsets[middle] <= arc) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Calls `visit` with each arc and its tail. Hubs are divided: a warp takes CHUNK_ARCS arcs, whatever their
// rows.
template <typename Visit>
__device__ __forceinline__ void for_each_arc(u32 n, i64 n_arcs, const i64* offsets, Visit visit)
{
    for (i64 begin = static_cast<i64>(thread_id() / WARP) * CHUNK_ARCS; begin < n_arcs;
         begin += static_cast<i64>(thread_count() / WARP) * CHUNK_ARCS) {
        i64 end = min(begin + static_cast<i64>(CHUNK_ARCS), n_arcs);
        u32 row = row_of(offsets, 0, n, begin);
        u32 high = row_of(offsets, row, n, end - 1) + 1;
        for (i64 i = begin + threadIdx.x % WARP; i < end; i += WARP) {
            row = row_of(offsets, row, high, i);
            visit(i, row);
        }
    }
}

// Two hashes of an edge, whichever end is the tail.
__device__ __forceinline__ void hash_edge(u32 tail, u32 head, u64 (&hashes)[2])
{
    u64 ends = static_cast<u64>(min(tail, head)) << 32 | max(tail, head);
    hashes[0] = mix(ends + 0x9e3779b97f4a7c15ull);
    hashes[1] = mix(ends ^ 0xd1b54a32d192ed03ull);
}

// A hash of an arc, so that it and that of the reverse arc add up to 0.
__device__ __forceinline__ u64 signed_hash(u32 tail, u32 head, u64 hash)
{
    return tail < head ? hash : 0 - hash;
}
