// Collective operations: block barriers, warp votes, shuffles, matches and reductions.
//
// Each function passes the source line of its call to the scheduler, which reports threads that meet at
// different lines or not at all. Lanes meet by warp and mask, so the halves of a diverged warp can vote
// separately. As on a GPU, nobody waits for lanes that have returned from the kernel.

#pragma once

#include "scheduler.h"

inline void __syncthreads(emulator::Site site = emulator::Site::here())
{
    emulator::barrier(0, site);
}

inline int __syncthreads_count(int predicate, emulator::Site site = emulator::Site::here())
{
    return (int)emulator::barrier(predicate != 0, site);
}

inline int __syncthreads_or(int predicate, emulator::Site site = emulator::Site::here())
{
    return emulator::barrier(predicate != 0, site) != 0;
}

inline int __syncthreads_and(int predicate, emulator::Site site = emulator::Site::here())
{
    return emulator::barrier(predicate == 0, site) == 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, emulator::Site site = emulator::Site::here())
{
    emulator::warp_operation(emulator::Operation::SYNC_WARP, mask, 0, 0, site);
}

#define EMULATOR_VOTE(NAME, OPERATION, RESULT)                                                           \
    inline RESULT NAME(unsigned mask, int predicate, emulator::Site site = emulator::Site::here())       \
    {                                                                                                    \
        return (RESULT)emulator::warp_operation(emulator::Operation::OPERATION, mask, predicate != 0, 0, \
                                                site);                                                   \
    }

EMULATOR_VOTE(__ballot_sync, BALLOT, unsigned)
EMULATOR_VOTE(__any_sync, ANY, int)

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, emulator::Site site = emulator::Site::here())
{
    uint64_t bits = emulator::to_bits(value);
    return (unsigned)emulator::warp_operation(emulator::Operation::MATCH_ANY, mask, bits, 0, site);
}

// Inverts FLIPPED bits on the way in and out: with the sign bit inverted, signed integers compare as
// unsigned.
#define EMULATOR_REDUCTION(NAME, OPERATION, T, FLIPPED)                                                  \
    inline T NAME(unsigned mask, T value, emulator::Site site = emulator::Site::here())                  \
    {                                                                                                    \
        unsigned bits = (unsigned)value ^ FLIPPED;                                                       \
        uint64_t result = emulator::warp_operation(emulator::Operation::OPERATION, mask, bits, 0, site); \
        return (T)((unsigned)result ^ FLIPPED);                                                          \
    }

EMULATOR_REDUCTION(__reduce_add_sync, REDUCE_ADD, unsigned, 0u)
EMULATOR_REDUCTION(__reduce_min_sync, REDUCE_MIN, unsigned, 0u)
EMULATOR_REDUCTION(__reduce_max_sync, REDUCE_MAX, unsigned, 0u)
EMULATOR_REDUCTION(__reduce_or_sync, REDUCE_OR, unsigned, 0u)
EMULATOR_REDUCTION(__reduce_and_sync, REDUCE_AND, unsigned, 0u)
EMULATOR_REDUCTION(__reduce_add_sync, REDUCE_ADD, int, 0u)
EMULATOR_REDUCTION(__reduce_min_sync, REDUCE_MIN, int, 0x80000000u)
EMULATOR_REDUCTION(__reduce_max_sync, REDUCE_MAX, int, 0x80000000u)

namespace emulator {

template <class T>
inline T shuffle(unsigned mask, T value, int source, Site site)
{
    return from_bits<T>(warp_operation(Operation::SHUFFLE, mask, to_bits(value), (uint32_t)source, site));
}

// The first lane of the calling lane's group of `width` lanes.
inline int first_of_group(int width)
{
    return (int)current->lane() & ~(width - 1);
}

}  // namespace emulator

// Beyond the ends of a group, shuffles by a distance return a lane's own value. As PTX specifies, only five
// bits of a distance count.
template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32,
                     emulator::Site site = emulator::Site::here())
{
    int lane = emulator::first_of_group(width) | (source & (width - 1));
    return emulator::shuffle(mask, value, lane, site);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                        emulator::Site site = emulator::Site::here())
{
    int own = (int)emulator::current->lane();
    int lane = own - (int)(distance % 32);
    return emulator::shuffle(mask, value, lane < emulator::first_of_group(width) ? own : lane, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                          emulator::Site site = emulator::Site::here())
{
    int own = (int)emulator::current->lane();
    int lane = own + (int)(distance % 32);
    int end = emulator::first_of_group(width) + width;
    return emulator::shuffle(mask, value, lane >= end ? own : lane, site);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int flipped, int width = 32,
                         emulator::Site site = emulator::Site::here())
{
    int own = (int)emulator::current->lane();
    int lane = own ^ (flipped & 31);
    int end = emulator::first_of_group(width) + width;
    return emulator::shuffle(mask, value, lane >= end ? own : lane, site);
}
