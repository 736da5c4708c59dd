// CUDA C++ for a host compiler: qualifiers, vector types, launch dimensions.
//
// `__shared__` is missing on purpose. A static variable would keep its contents between blocks and be common
// to concurrent blocks. So relaxometer.device.host_build rewrites each declaration, after preprocessing, into
// a reference to memory of the running block.

#pragma once

// Includes of the standard library must come before the macros below: since GCC 13 its headers contain the
// word __noinline__.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#define __CUDA_ON_HOST__ 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)

namespace emulator {
constexpr size_t vector_alignment(size_t bytes)
{
    return bytes < 16 ? bytes : 16;
}
}  // namespace emulator

// NVIDIA's vector types: NAME2 and NAME4 are aligned to their size, up to 16 bytes; NAME3 as a member.
#define EMULATOR_VECTOR_TYPES(T, NAME)                                \
    struct alignas(emulator::vector_alignment(2 * sizeof(T))) NAME##2 \
    {                                                                 \
        T x, y;                                                       \
    };                                                                \
    struct NAME##3                                                    \
    {                                                                 \
        T x, y, z;                                                    \
    };                                                                \
    struct alignas(emulator::vector_alignment(4 * sizeof(T))) NAME##4 \
    {                                                                 \
        T x, y, z, w;                                                 \
    };                                                                \
    inline NAME##2 make_##NAME##2(T x, T y)                           \
    {                                                                 \
        return {x, y};                                                \
    }                                                                 \
    inline NAME##3 make_##NAME##3(T x, T y, T z)                      \
    {                                                                 \
        return {x, y, z};                                             \
    }                                                                 \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w)                 \
    {                                                                 \
        return {x, y, z, w};                                          \
    }

EMULATOR_VECTOR_TYPES(signed char, char)
EMULATOR_VECTOR_TYPES(unsigned char, uchar)
EMULATOR_VECTOR_TYPES(short, short)
EMULATOR_VECTOR_TYPES(unsigned short, ushort)
EMULATOR_VECTOR_TYPES(int, int)
EMULATOR_VECTOR_TYPES(unsigned int, uint)
EMULATOR_VECTOR_TYPES(long long, longlong)
EMULATOR_VECTOR_TYPES(unsigned long long, ulonglong)
EMULATOR_VECTOR_TYPES(float, float)
EMULATOR_VECTOR_TYPES(double, double)

struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
