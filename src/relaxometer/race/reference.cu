// A fixed chain of dependent integer operations, whose time follows the clock of a multiprocessor.

#include "device/atomics.cuh"

extern "C" __global__ void count(u32 steps, u32* __restrict__ last)
{
    u32 value = threadIdx.x;
    // Several steps at once could be folded into one.
#pragma unroll 1
    for (u32 step = 0; step < steps; ++step) value = value * 1664525u + 1013904223u;
    last[threadIdx.x] = value;
}
