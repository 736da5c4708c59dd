// CUDA's atomic functions, for exactly CUDA's types.
//
// One thread of the operating system runs all CUDA threads and switches only where one waits, so a plain read
// and write is atomic. The detector of races must see real atomic accesses.

#pragma once

#include <type_traits>

#include "scheduler.h"

namespace emulator {

// Stores update(old value) and returns the old value.
template <class T, class Update>
inline T read_modify_write(T* address, Update update)
{
#ifdef EMULATOR_RACES
    T before;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    T after = update(before);
    while (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        after = update(before);
    }
#else
    T before = *address;
    *address = update(before);
#endif
    return before;
}

// a + b as on the GPU: signed integers wrap.
template <class T>
inline T wrapping_sum(T a, T b)
{
    if constexpr (std::is_integral_v<T>) {
        typedef std::make_unsigned_t<T> U;
        return (T)((U)a + (U)b);
    } else {
        return a + b;
    }
}

}  // namespace emulator

#define EMULATOR_ATOMIC(NAME, T, UPDATED)                                                     \
    inline T NAME(T* address, T value)                                                        \
    {                                                                                         \
        return emulator::read_modify_write(address, [value](T old) -> T { return UPDATED; }); \
    }

#define EMULATOR_ATOMICS_OF_INTEGERS(T)                      \
    EMULATOR_ATOMIC(atomicMin, T, value < old ? value : old) \
    EMULATOR_ATOMIC(atomicMax, T, old < value ? value : old) \
    EMULATOR_ATOMIC(atomicAnd, T, old& value)                \
    EMULATOR_ATOMIC(atomicOr, T, old | value)

#define EMULATOR_COMPARE_AND_SWAP(T)                                                           \
    inline T atomicCAS(T* address, T expected, T value)                                        \
    {                                                                                          \
        return emulator::read_modify_write(                                                    \
            address, [expected, value](T old) -> T { return old == expected ? value : old; }); \
    }

EMULATOR_ATOMICS_OF_INTEGERS(int)
EMULATOR_ATOMICS_OF_INTEGERS(unsigned int)
EMULATOR_ATOMICS_OF_INTEGERS(unsigned long long)
EMULATOR_ATOMICS_OF_INTEGERS(long long)

EMULATOR_ATOMIC(atomicAdd, int, emulator::wrapping_sum(old, value))
EMULATOR_ATOMIC(atomicAdd, unsigned int, old + value)
EMULATOR_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATOR_ATOMIC(atomicAdd, float, old + value)
EMULATOR_ATOMIC(atomicAdd, double, old + value)

EMULATOR_ATOMIC(atomicExch, int, (void(old), value))
EMULATOR_ATOMIC(atomicExch, unsigned int, (void(old), value))
EMULATOR_ATOMIC(atomicExch, unsigned long long, (void(old), value))
EMULATOR_ATOMIC(atomicExch, float, (void(old), value))

EMULATOR_COMPARE_AND_SWAP(int)
EMULATOR_COMPARE_AND_SWAP(unsigned int)
EMULATOR_COMPARE_AND_SWAP(unsigned long long)
