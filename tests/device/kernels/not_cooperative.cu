// grid.sync() in a launch that is not cooperative.

#include <cooperative_groups.h>

extern "C" __global__ void lonely(int* out)
{
    out[0] = 1;
    cooperative_groups::this_grid().sync();
}
