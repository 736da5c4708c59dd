// Words of weights: 32 bits, unless WEIGHT_TYPE is u64.

#pragma once

#include "device/atomics.cuh"

#ifndef WEIGHT_TYPE
#define WEIGHT_TYPE u32
#endif
typedef WEIGHT_TYPE weight_t;
