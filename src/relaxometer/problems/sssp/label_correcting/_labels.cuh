// Labels of the label-correcting SSSP kernels: distance, predecessor, and whether the vertex waits to be
// relaxed, in one word that only ever falls.
//
//     label = distance << 32 | waits << 31 | predecessor
//
// A path is offered with an atomic minimum. Its return value tells whether the path was shorter, and whether
// the vertex was waiting already or must be queued. Whoever takes a vertex out of its queue clears the bit
// with an atomic AND, and relaxes with the distance that the AND returns. All changes are to one word, and
// all threads see them in the same order, so no improvement is lost and no vertex waits twice, without any
// fence.
//
// A vertex that does not wait wins every tie, so only a strictly shorter path makes it wait again.
// Predecessors therefore form a tree, even along arcs that add nothing to a length: a vertex offers its
// distance only after it was taken, and keeps the predecessor that it had then.
//
// 64-bit lengths leave no bits for a predecessor; integers have at most 62, and predecessors are found at the
// end (_tight_arcs.cuh):
//
//     label = distance << 1 | waits

#pragma once

#include "problems/sssp/_lengths.cuh"

const u32 DISTANCE_SHIFT = WIDE_LENGTHS ? 1 : 32;
__device__ const u64 WAITS = WIDE_LENGTHS ? 1 : 0x80000000ull;

__device__ __forceinline__ length_t distance_of(u64 label)
{
    if (WIDE_LENGTHS) return without_flag(label);
    return static_cast<length_t>(label >> DISTANCE_SHIFT);
}

// Marks the vertex of this label as taken out of its queue; returns its distance.
__device__ __forceinline__ length_t take(u64* label)
{
    return distance_of(atomicAnd(label, ~WAITS));
}

enum Outcome { NOT_SHORTER, WAITED_ALREADY, MUST_WAIT };

// Offers a vertex the path along an arc from u. A length that the type does not hold raises `overflow`
// instead. `length` gets the new distance.
__device__ __forceinline__ Outcome offer(u64* label, u32 u, length_t distance, weight_t weight,
                                         length_t* length, u32* overflow)
{
    u64 sum = extended_length(distance, weight);
    if (sum >= NO_PATH) {
        store_relaxed(overflow, 1u);
        return NOT_SHORTER;
    }
    *length = static_cast<length_t>(sum);
    u64 proposal = sum << DISTANCE_SHIFT | WAITS | (WIDE_LENGTHS ? 0 : u);
    // Labels only fall, so an outdated one may cost an atomic operation, but no improvement.
    if (proposal >= load_relaxed(label)) return NOT_SHORTER;
    u64 before = atomicMin(label, proposal);
    if (proposal >= before) return NOT_SHORTER;
    return before & WAITS ? WAITED_ALREADY : MUST_WAIT;
}
