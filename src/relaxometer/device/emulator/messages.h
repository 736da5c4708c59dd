// The words of errors, shared by the scheduler and the sanitizers' callbacks.

#pragma once

#include <string>

#include "guards.h"
#include "scheduler.h"

#pragma GCC visibility push(hidden)
namespace emulator {

// The red zones of the running launch, or null.
extern const Guards* guards;

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string describe(const uint3& thread, const uint3& block);

// Marks that relaxometer.device.host replaces: by a line, and by an element of an array.
std::string mark_line(const void* instruction);
std::string mark_element(const void* address);

// Ends the launch: an instruction of the current thread is wrong.
[[noreturn]] void fail_at(const void* instruction, const std::string& what);

// Fails if the bytes are among arrays with red zones but not all in one of them. `verb` is "read of" or
// "write to".
void check_bounds(const void* address, size_t bytes, const char* verb, const void* instruction);

// Calls visit(lane) for every lane of a mask, in ascending order.
template <class Visit>
void for_each_lane(uint32_t mask, Visit visit)
{
    for (; mask != 0; mask &= mask - 1) {
        visit((uint32_t)__builtin_ctz(mask));
    }
}

}  // namespace emulator
#pragma GCC visibility pop
