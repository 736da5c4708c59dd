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
inline void begin_launch(size_t)
{
}
inline void begin_block(const Block&)
{
}
inline void meet_at_barrier(const Block&)
{
}
inline void meet_in_grid()
{
}
inline void meet_in_warp(const Thread*, uint32_t, bool)
{
}
inline void fence()
{
}
inline void forget(const void*)
{
}
#endif

}  // namespace races
}  // namespace emulator
