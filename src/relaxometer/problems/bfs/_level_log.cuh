// The log of an instrumented search in one launch: an entry for each level, and one more.

#pragma once

#include "device/clock.cuh"

// A level; the last entry has only the time at the end.
struct LevelRecord {
    u64 is_top_down;
    u64 found;
    u64 examined;
    u64 begin_ns;
};

// Completes the entry of a level, and begins the next one.
__device__ void record(LevelRecord* entry, bool is_top_down, u64 found, u64 examined)
{
    entry->is_top_down = is_top_down;
    entry->found = found;
    entry->examined = examined;
    entry[1].begin_ns = nanoseconds();
}
