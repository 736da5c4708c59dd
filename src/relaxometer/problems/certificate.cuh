// The report of a certifier: a pair of words per rule, violations and the smallest vertex that violates it.

#pragma once

#include "device/constants.cuh"

__device__ inline void broken(u64* report, u32 rule, u32 v)
{
    atomicAdd(&report[2 * rule], 1ull);
    atomicMin(&report[2 * rule + 1], static_cast<u64>(v));
}
