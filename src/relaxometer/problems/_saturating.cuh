// Sums of lengths that stop at the largest number, which is the label of an unreached vertex: no part of a
// path is longer than the path.

#pragma once

#include "device/constants.cuh"

template <typename Label>
__device__ __forceinline__ Label sum(Label first, Label second)
{
    Label length = first + second;
    return length < first ? ~static_cast<Label>(0) : length;
}
