// Annotations of thread switches for GCC's and Clang's sanitizers.
//
// AddressSanitizer must know every change of stack. ThreadSanitizer must know which CUDA thread runs, and
// which operations order memory between CUDA threads. Both have public fiber interfaces. The build defines
// EMULATOR_ASAN or EMULATOR_TSAN; otherwise everything here is empty.

#pragma once

#include <stddef.h>

#ifdef EMULATOR_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom, size_t* old_size);
void __asan_unpoison_memory_region(void const volatile* address, size_t size);
}
#endif

#ifdef EMULATOR_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#define EMULATOR_NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))
#else
#define EMULATOR_NOT_INSTRUMENTED
#endif

namespace emulator {

// Everything before a `release` happens before what follows an `acquire` of the same address.
inline void release([[maybe_unused]] void* address)
{
#ifdef EMULATOR_TSAN
    __tsan_release(address);
#endif
}

inline void acquire([[maybe_unused]] void* address)
{
#ifdef EMULATOR_TSAN
    __tsan_acquire(address);
#endif
}

// During its lifetime, memory accesses of library functions do not count as the running CUDA thread's.
struct IgnoreAccesses {
#ifdef EMULATOR_TSAN
    IgnoreAccesses()
    {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~IgnoreAccesses()
    {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
#else
    IgnoreAccesses()
    {
    }
    ~IgnoreAccesses()
    {
    }
#endif
};

}  // namespace emulator
