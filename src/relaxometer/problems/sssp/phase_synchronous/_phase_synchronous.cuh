// Shared by the phase-synchronous SSSP kernels after Harish and Narayanan (HiPC 2007) in the form of
// Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread Creation".
//
// Two distance arrays keep a phase from reading what the same phase writes: Ca holds the distances settled so
// far, Ua the ones proposed. The paper keeps predecessors "in the same way" without saying how; here a
// proposal carries its predecessor in the low word, so that one 64-bit atomic minimum keeps both consistent:
//
//     proposal = distance << 32 | (predecessor + 1)          settled = distance << 32
//
// A settled entry has a zero low word and so wins every tie against a proposal of the same distance: only a
// strictly shorter path can replace it. Among equal proposals of one phase the smallest predecessor wins,
// whatever the order of threads. Hence distances, predecessors and phases are the same on every device, and
// predecessors form a tree even along arcs of weight zero.
//
// 64-bit lengths leave one bit, which tells proposals from settled distances:
//
//     proposal = distance << 1 | 1                            settled = distance << 1
//
// Then integers have at most 62 bits, and predecessors are found at the end (_tight_arcs.cuh).

#pragma once

#include "problems/sssp/_lengths.cuh"

const u32 DISTANCE_SHIFT = WIDE_LENGTHS ? 1 : 32;

__device__ __forceinline__ u64 settled(length_t distance)
{
    return static_cast<u64>(distance) << DISTANCE_SHIFT;
}

__device__ __forceinline__ length_t distance_of(u64 entry)
{
    if (WIDE_LENGTHS) return without_flag(entry);
    return static_cast<length_t>(entry >> DISTANCE_SHIFT);
}

__device__ __forceinline__ u32 predecessor_of(u64 entry)
{
    return static_cast<u32>(entry) - 1;
}

__device__ __forceinline__ bool is_settled(u64 entry)
{
    return WIDE_LENGTHS ? (entry & 1) == 0 : static_cast<u32>(entry) == 0;
}

// The proposal for the head of an arc of this weight from v. A length that the type does not hold is not
// proposed but sets the flag.
__device__ __forceinline__ u64 propose(u32 v, length_t distance, weight_t weight, u32* overflow)
{
    u64 length = extended_length(distance, weight);
    if (length >= NO_PATH) {
        store_relaxed(overflow, 1u);
        return settled(NO_PATH);
    }
    return length << DISTANCE_SHIFT | (WIDE_LENGTHS ? 1 : v + 1);
}
