// Functions of one CUDA thread: count bits, reinterpret, load through caches, fence, sleep, trap.

#pragma once

#include <float.h>
#include <limits.h>
#include <math.h>

#include "scheduler.h"

// Defined by CUDA, not by kernels.
#define threadIdx (emulator::current->index)
#define blockIdx (emulator::current->block->index)
#define blockDim (emulator::launch.block)
#define gridDim (emulator::launch.grid)

extern "C" int printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define EMULATOR_FUNCTION(RESULT, NAME, T, VALUE) \
    inline RESULT NAME(T x)                       \
    {                                             \
        return VALUE;                             \
    }

EMULATOR_FUNCTION(int, __popc, unsigned, __builtin_popcount(x))
EMULATOR_FUNCTION(int, __popcll, unsigned long long, __builtin_popcountll(x))
EMULATOR_FUNCTION(int, __clz, int, x == 0 ? 32 : __builtin_clz((unsigned)x))
EMULATOR_FUNCTION(int, __clzll, long long, x == 0 ? 64 : __builtin_clzll((unsigned long long)x))
EMULATOR_FUNCTION(int, __ffs, int, __builtin_ffs(x))
EMULATOR_FUNCTION(int, __ffsll, long long, __builtin_ffsll(x))
EMULATOR_FUNCTION(float, __uint_as_float, unsigned, emulator::from_bits<float>(x))
EMULATOR_FUNCTION(unsigned, __float_as_uint, float, (unsigned)emulator::to_bits(x))
EMULATOR_FUNCTION(double, __longlong_as_double, long long, emulator::from_bits<double>((unsigned long long)x))
EMULATOR_FUNCTION(long long, __double_as_longlong, double, (long long)emulator::to_bits(x))

inline unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit) {
        reversed |= (x >> bit & 1u) << (31 - bit);
    }
    return reversed;
}

inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}

namespace emulator {

// Accesses that the compiler neither merges nor repeats, which the detector of races sees as relaxed ones.
template <class T>
inline T load_once(const T* address)
{
#ifdef EMULATOR_RACES
    if constexpr (sizeof(T) <= 8) {
        T value;
        __atomic_load(address, &value, __ATOMIC_RELAXED);
        return value;
    }
#endif
    return *address;
}

template <class T>
inline void store_once(T* address, T value)
{
#ifdef EMULATOR_RACES
    if constexpr (sizeof(T) <= 8) {
        __atomic_store(address, &value, __ATOMIC_RELAXED);
        return;
    }
#endif
    *address = value;
}

}  // namespace emulator

// Loads and stores with a cache hint, which a CPU ignores.
template <class T>
inline T __ldg(const T* address)
{
    return emulator::load_once(address);
}

template <class T>
inline T __ldcs(const T* address)
{
    return emulator::load_once(address);
}

template <class T>
inline void __stcs(T* address, T value)
{
    emulator::store_once(address, value);
}

// CUDA's min and max of a number and a NaN return the number. Only a NaN differs from itself.
#define EMULATOR_MIN_MAX(T)             \
    inline T min(T a, T b)              \
    {                                   \
        return b < a || a != a ? b : a; \
    }                                   \
    inline T max(T a, T b)              \
    {                                   \
        return a < b || a != a ? b : a; \
    }

EMULATOR_MIN_MAX(int)
EMULATOR_MIN_MAX(unsigned int)
EMULATOR_MIN_MAX(long)
EMULATOR_MIN_MAX(unsigned long)
EMULATOR_MIN_MAX(long long)
EMULATOR_MIN_MAX(unsigned long long)
EMULATOR_MIN_MAX(float)
EMULATOR_MIN_MAX(double)

// Only the compiler could reorder: one thread of the operating system runs everything.
inline void __threadfence()
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    emulator::races::fence();
}

inline void __threadfence_system()
{
    __threadfence();
}

inline void __nanosleep(unsigned, emulator::Site site = emulator::Site::here())
{
    emulator::sleep(site);
}

[[noreturn]] inline void __trap(emulator::Site site = emulator::Site::here())
{
    emulator::fail(site, "__trap()");
}

#undef assert
#define assert(...) \
    ((__VA_ARGS__) ? (void)0 : emulator::fail(emulator::Site::here(), "assertion failed: %s", #__VA_ARGS__))
