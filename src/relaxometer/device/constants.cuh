// Constants that many kernels share.

#pragma once

#include "device/atomics.cuh"

__device__ const u32 UNREACHED = 0xffffffffu;       // the distance or level of a vertex that is not reached
__device__ const u32 NO_PREDECESSOR = 0xffffffffu;  // its predecessor

__device__ const u32 WARP = 32;
__device__ const u32 ALL_LANES = 0xffffffffu;
