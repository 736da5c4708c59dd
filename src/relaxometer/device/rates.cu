// Copies an array with 128 bits per thread: the highest memory rate in practice.

#include "device/atomics.cuh"

extern "C" __global__ void copy_words(u32 groups, const u32* __restrict__ from, u32* __restrict__ to)
{
    u32 group = thread_id();
    if (group >= groups) return;
    uint4 four = __ldcs(reinterpret_cast<const uint4*>(from) + group);
    __stcs(reinterpret_cast<uint4*>(to) + group, four);
}
