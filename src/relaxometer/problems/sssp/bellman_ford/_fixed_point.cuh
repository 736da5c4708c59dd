// For the Bellman-Ford variants that examine every arc in every phase until a phase changes nothing.

#pragma once

#include "problems/sssp/_lengths.cuh"

// The length of the path along an arc whose tail is at `distance`. A length that would wrap becomes that of
// an unreached vertex, which improves nothing, so phases need no check for overflow. An overflow shows at the
// end, as an arc from a reached vertex to an unreached one. A length of type int32 that is too short stays
// so, whatever is added to it, and the search ends even if there is a negative cycle.
__device__ __forceinline__ length_t extended(length_t distance, weight_t weight)
{
#if defined(INT32_LENGTHS)
    if (distance == NO_PATH || distance == TOO_SHORT) return distance;
    i64 sum = exact_length(distance, weight);
    return static_cast<u32>(sum < TOO_SHORT ? TOO_SHORT : sum > NO_PATH ? NO_PATH : sum);
#elif defined(FLOAT_LENGTHS)
    return static_cast<length_t>(extended_length(distance, weight));
#else
    length_t length = distance + weight;
    return length < distance ? NO_PATH : length;
#endif
}

// In double, unreached vertices are at infinity and lengths are exact up to 2^53.
__device__ __forceinline__ double extended(double distance, double weight)
{
    return distance + weight;
}

// Records in `last_phase` that this phase changed something; all threads of the block must call it. One store
// per block avoids contention for the single word.
__device__ __forceinline__ void report_change(bool changed, u32 phase, u32* last_phase)
{
    if (__syncthreads_or(changed) && threadIdx.x == 0) store_relaxed(last_phase, phase);
}
