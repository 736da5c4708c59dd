// The detector of races (sanitize="thread"): the scheduler tells it which threads wait for each other.
//
// Other builds leave all of this out.

#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulator {

struct Block;
struct Thread;

namespace races {

#ifdef EMULATOR_RACES
void begin_launch(size_t resident_threads);
void begin_block(const Block& block);
void meet_at_barrier(const Block& block);
void meet_in_grid();
void meet_in_warp(const Thread* lanes, uint32_t mask, bool orders_writes);
void fence();
void forget(const void* memory);
#else
#define EMULATOR_UNWATCHED(NAME)          \
    template <class... Arguments>         \
    inline void NAME(const Arguments&...) \
    {                                     \
    }
EMULATOR_UNWATCHED(begin_launch)
EMULATOR_UNWATCHED(begin_block)
EMULATOR_UNWATCHED(meet_at_barrier)
EMULATOR_UNWATCHED(meet_in_grid)
EMULATOR_UNWATCHED(meet_in_warp)
EMULATOR_UNWATCHED(fence)
EMULATOR_UNWATCHED(forget)
#endif

}  // namespace races
}  // namespace emulator
