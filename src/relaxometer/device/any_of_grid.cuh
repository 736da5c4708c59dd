// A vote of all threads of a cooperative launch.

#pragma once

#include <cooperative_groups.h>

#include "device/constants.cuh"

namespace cg = cooperative_groups;

// Returns whether any thread of the grid called this with true. `round` counts the calls for these three
// `words`, which are zeros at first.
__device__ __forceinline__ bool any_of_grid(cg::grid_group grid, u32* words, u32 round, bool mine)
{
    if (thread_id() == 0) store_relaxed(&words[(round + 1) % 3], 0u);
    if (mine) store_relaxed(&words[round % 3], 1u);
    grid.sync();
    return load_relaxed(&words[round % 3]) != 0;
}
