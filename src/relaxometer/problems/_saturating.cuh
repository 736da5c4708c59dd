// Sums of lengths that stop at the largest number, the label of an unreached vertex: no part exceeds a path.

#pragma once

#include "device/constants.cuh"

template <typename Label>
__device__ __forceinline__ Label sum(Label first, Label second)
{
    Label length = first + second;
    return length < first ? ~static_cast<Label>(0) : length;
}
