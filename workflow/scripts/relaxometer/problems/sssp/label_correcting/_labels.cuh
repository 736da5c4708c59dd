// Labels of the label-correcting SSSP kernels: distance, predecessor, and whether the vertex waits to be
// relaxed, in one word that only ever falls.
//
//     label = distance << 32 | waits << 31 | predecessor
//
// An offer is made with an atomic minimum, and the value that it returns shows everything: whether the offer
// was shorter, and whether the vertex waited already or must be put in a queue now. Whoever takes a vertex
// out of its queue clears the bit with an atomic AND, and relaxes with the distance that the AND returns.
// Since all this happens in one word, whose changes all threads see in the same order, no improvement is lost
// and no vertex waits twice, without any fence.
//
// A vertex that does not wait wins every tie, so only a strictly shorter path makes it wait again; hence
// predecessors form a tree even along arcs of weight zero: a vertex offers its distance only after it was
// taken, and keeps the predecessor that it had then.

#pragma once

#include "device/constants.cuh"

__device__ const u64 WAITS = 0x80000000ull;

__device__ __forceinline__ u32 distance_of(u64 label)
{
    return static_cast<u32>(label >> 32);
}

// Takes the vertex of this label out of its queue; returns its distance.
__device__ __forceinline__ u32 take(u64* label)
{
    return distance_of(atomicAnd(label, ~WAITS));
}

enum Outcome { NOT_SHORTER, WAITED_ALREADY, MUST_WAIT };

// Offers the path over an arc from u of this weight to a vertex. A length that would wrap, or that would look
// like UNREACHED, is not offered: the flag is raised instead. `length` gets the new distance.
__device__ __forceinline__ Outcome offer(u64* label, u32 u, u32 distance, u32 weight, u32* length,
                                         u32* overflow)
{
    u64 sum = static_cast<u64>(distance) + weight;
    if (sum >= UNREACHED) {
        store_relaxed(overflow, 1u);
        return NOT_SHORTER;
    }
    *length = static_cast<u32>(sum);
    u64 proposal = sum << 32 | WAITS | u;
    // Labels only fall, so one that is no longer fresh can cost an atomic operation but no improvement.
    if (proposal >= load_relaxed(label)) return NOT_SHORTER;
    u64 before = atomicMin(label, proposal);
    if (proposal >= before) return NOT_SHORTER;
    return before & WAITS ? WAITED_ALREADY : MUST_WAIT;
}
