// The graph's own arcs, for the kernels that prepare tiles.

#pragma once

#include "device/constants.cuh"
#include "problems/sssp/_weights.cuh"

struct Csr {
    u32 n;
    const i64* offsets;
    const u32* targets;
    const weight_t* weights;  // null where only the structure counts
};
