// What most kernels wait for: memory, and barriers of the whole grid.

#include <cooperative_groups.h>

#include "device/atomics.cuh"

namespace cg = cooperative_groups;

// Copies groups of four words some times, then meets all other threads some times.
extern "C" __global__ void __launch_bounds__(1024)
    copy_and_meet(u32 copies, u32 groups, const u32* __restrict__ from, u32* __restrict__ to, u32 meetings)
{
    for (u32 copy = 0; copy < copies; ++copy) {
        for (u32 group = thread_id(); group < groups; group += thread_count()) {
            uint4 four = __ldcs(reinterpret_cast<const uint4*>(from) + group);
            __stcs(reinterpret_cast<uint4*>(to) + group, four);
        }
    }
    cg::grid_group grid = cg::this_grid();
    for (u32 k = 0; k < meetings; ++k) grid.sync();
}
