// Lengths of paths as words that compare as the lengths do (see graphs/lengths.py). Kernels compare words and
// find minima of them whatever the type; what depends on it is here.
//
//   uint32    the number itself. Lengths have 64 bits if LENGTH_TYPE is u64.
//   float32   the bits of the number, which is not negative. Sums are rounded to nearest. Rounding keeps the
//             order, so label-correcting searches end with the least rounded sum over all paths, whatever
//             the order of their relaxations.
//   float64   the same with words of 64 bits, for weights too.
//   int32     the number with its sign bit flipped. The word 0 is not a length: it marks a negative cycle.

#pragma once

#include "device/constants.cuh"
#include "problems/sssp/_weights.cuh"

#ifndef LENGTH_TYPE
#define LENGTH_TYPE u32
#endif
typedef LENGTH_TYPE length_t;

#if defined(FLOAT32_LENGTHS) || defined(FLOAT64_LENGTHS)
#define FLOAT_LENGTHS  // sums are rounded
#endif

// Whether a length fills a word of 64 bits, so that no predecessor can be packed with it.
__device__ const bool WIDE_LENGTHS = sizeof(length_t) == sizeof(u64);

#if defined(FLOAT32_LENGTHS)

__device__ const u32 ZERO_LENGTH = 0;
__device__ const u32 NO_PATH = 0x7f800000u;  // infinity

__device__ __forceinline__ float as_number(u32 word)
{
    return __uint_as_float(word);
}

// In PTX, since CuPy has the compiler flush subnormal numbers to zero (-ftz=true).
__device__ __forceinline__ float rounded_sum(float a, float b)
{
#ifdef __CUDA_ON_HOST__
    return a + b;
#else
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
#endif
}

// Exact also for a subnormal number, for the same reason.
__device__ __forceinline__ double as_double(float number)
{
#ifdef __CUDA_ON_HOST__
    return static_cast<double>(number);
#else
    double exact;
    asm("cvt.f64.f32 %0, %1;" : "=d"(exact) : "f"(number));
    return exact;
#endif
}

// The length of a path and one more arc; at least NO_PATH if the type does not hold it.
__device__ __forceinline__ u64 extended_length(u32 length, u32 weight)
{
    return __float_as_uint(rounded_sum(as_number(length), as_number(weight)));
}

// A number of buckets, rounded down. The last bucket, below 2^32, takes all that is farther. This need not be
// exact: a search only has to put equal lengths into one bucket, and no length before a smaller one.
__device__ __forceinline__ u32 whole_buckets(float buckets)
{
    return static_cast<u32>(min(buckets, 4294967040.0f));
}

#elif defined(FLOAT64_LENGTHS)

__device__ const length_t ZERO_LENGTH = 0;
__device__ const length_t NO_PATH = 0x7ff0000000000000ull;  // infinity

__device__ __forceinline__ double as_number(u64 word)
{
    return __longlong_as_double(static_cast<i64>(word));
}

__device__ __forceinline__ double as_double(double number)
{
    return number;
}

// As add.rn.f64, which keeps subnormal numbers whatever the compiler's options.
__device__ __forceinline__ double rounded_sum(double a, double b)
{
#ifdef __CUDA_ON_HOST__
    return a + b;
#else
    return __dadd_rn(a, b);
#endif
}

__device__ __forceinline__ u64 extended_length(u64 length, u64 weight)
{
    return static_cast<u64>(__double_as_longlong(rounded_sum(as_number(length), as_number(weight))));
}

__device__ __forceinline__ u32 whole_buckets(double buckets)
{
    return static_cast<u32>(min(buckets, 4294967040.0));
}

#elif defined(INT32_LENGTHS)

__device__ const u32 ZERO_LENGTH = 0x80000000u;
__device__ const u32 NO_PATH = 0xffffffffu;
__device__ const u32 TOO_SHORT = 0;  // below -(2^31 - 1)

__device__ __forceinline__ i64 exact_length(u32 length, u32 weight)
{
    return static_cast<i64>(length) + static_cast<int>(weight);
}

// The type does not hold a sum that is too short, either.
__device__ __forceinline__ u64 extended_length(u32 length, u32 weight)
{
    i64 sum = exact_length(length, weight);
    return static_cast<u64>(sum > TOO_SHORT ? sum : NO_PATH);
}

#else

__device__ const length_t ZERO_LENGTH = 0;
__device__ const length_t NO_PATH = ~static_cast<length_t>(0);

// No path of fewer than 2^32 arcs is too long for 64 bits, but an answer that is to be proven may have any
// lengths.
__device__ __forceinline__ u64 extended_length(length_t length, u32 weight)
{
    u64 sum = static_cast<u64>(length) + weight;
    return WIDE_LENGTHS && sum < weight ? NO_PATH : sum;
}

#endif

// A length of 64 bits with a flag in one word, length << 1 | flag. Integers of at most 62 bits keep the sign,
// so that NO_PATH comes back; floats have none.
__device__ __forceinline__ length_t without_flag(u64 word)
{
#if defined(FLOAT64_LENGTHS)
    return word >> 1;
#else
    return static_cast<length_t>(static_cast<i64>(word) >> 1);
#endif
}

// The least word of a warp; the instruction for it takes 32 bits. For whole warps.
__device__ __forceinline__ length_t least_of_warp(length_t length)
{
    if constexpr (!WIDE_LENGTHS) {
        return __reduce_min_sync(ALL_LANES, static_cast<u32>(length));
    } else {
        for (u32 step = WARP / 2; step > 0; step /= 2) {
            length = min(length, __shfl_xor_sync(ALL_LANES, length, step));
        }
        return length;
    }
}
