// The part of NVIDIA's cooperative groups that kernels use: the barrier of the grid.

#pragma once

#include "scheduler.h"

namespace cooperative_groups {

struct grid_group {
    void sync(emulator::Site site = emulator::Site::here()) const
    {
        emulator::grid_sync(site);
    }
};

inline grid_group this_grid()
{
    return {};
}

}  // namespace cooperative_groups
