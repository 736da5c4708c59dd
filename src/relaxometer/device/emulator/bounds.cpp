// The address sanitizer: checks every access of a kernel against the red zones of guards.h.
//
// Code built with -fsanitize=kernel-address and calls for all checks calls these functions before each
// access.

#include "messages.h"

using emulator::check_bounds;

#define EMULATOR_CALLBACK extern "C" __attribute__((visibility("hidden"))) void

#define EMULATOR_CHECK(SIZE)                                                  \
    EMULATOR_CALLBACK __asan_load##SIZE##_noabort(const void* address)        \
    {                                                                         \
        check_bounds(address, SIZE, "read of", __builtin_return_address(0));  \
    }                                                                         \
    EMULATOR_CALLBACK __asan_store##SIZE##_noabort(const void* address)       \
    {                                                                         \
        check_bounds(address, SIZE, "write to", __builtin_return_address(0)); \
    }

EMULATOR_CHECK(1)
EMULATOR_CHECK(2)
EMULATOR_CHECK(4)
EMULATOR_CHECK(8)
EMULATOR_CHECK(16)

EMULATOR_CALLBACK __asan_loadN_noabort(const void* address, size_t bytes)
{
    check_bounds(address, bytes, "read of", __builtin_return_address(0));
}

EMULATOR_CALLBACK __asan_storeN_noabort(const void* address, size_t bytes)
{
    check_bounds(address, bytes, "write to", __builtin_return_address(0));
}

EMULATOR_CALLBACK __asan_handle_no_return()
{
}
