// Turns the findings of UndefinedBehaviorSanitizer into kernel errors.
//
// Code built with -fsanitize=undefined calls a handler for every finding. The compiler's own handlers print
// to the standard error and end the process; these name the CUDA thread and end the launch. The first
// argument of every handler begins with the source location.

#include "scheduler.h"

namespace {

struct SourceLocation {
    const char* file;
    uint32_t line;
    uint32_t column;
};

}  // namespace

#define EMULATOR_FINDING(HANDLER, WHAT)                                                                 \
    extern "C" [[noreturn]] __attribute__((visibility("hidden"))) void __ubsan_handle_##HANDLER(        \
        const SourceLocation* place)                                                                    \
    {                                                                                                   \
        emulator::fail(emulator::Site{place->file, (int)place->line}, "undefined behaviour: %s", WHAT); \
    }

EMULATOR_FINDING(add_overflow_abort, "a sum of signed integers overflows")
EMULATOR_FINDING(sub_overflow_abort, "a difference of signed integers overflows")
EMULATOR_FINDING(mul_overflow_abort, "a product of signed integers overflows")
EMULATOR_FINDING(negate_overflow_abort, "the negative of a signed integer overflows")
EMULATOR_FINDING(divrem_overflow_abort, "a division by zero, or one that overflows")
EMULATOR_FINDING(shift_out_of_bounds_abort, "a shift by a negative number or by all bits or more")
EMULATOR_FINDING(out_of_bounds_abort, "an index beyond the bounds of its array")
EMULATOR_FINDING(pointer_overflow_abort, "a pointer leaves the address space")
EMULATOR_FINDING(type_mismatch_v1_abort,
                 "an access through a null pointer, or one to an object of another size")
EMULATOR_FINDING(load_invalid_value_abort, "a bool or enum holds none of its values")
EMULATOR_FINDING(float_cast_overflow_abort, "a floating-point number does not fit the integer type")
EMULATOR_FINDING(vla_bound_not_positive_abort, "an array has no positive size")
EMULATOR_FINDING(nonnull_arg_abort, "a null pointer is passed where none is allowed")
EMULATOR_FINDING(nonnull_return_v1_abort, "a null pointer is returned where none is allowed")
EMULATOR_FINDING(invalid_builtin_abort, "a bit count of zero that is not defined")
EMULATOR_FINDING(alignment_assumption_abort, "a pointer is not aligned as the code assumes")
EMULATOR_FINDING(builtin_unreachable, "code is reached that cannot be")
EMULATOR_FINDING(missing_return, "a function ends without returning its value")
