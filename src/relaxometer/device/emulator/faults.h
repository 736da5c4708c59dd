// Turns a kernel's faults, such as an illegal memory access, into errors.
//
// During a launch, SIGSEGV, SIGBUS and SIGFPE of its thread are handled here, on a separate stack, since a
// CUDA thread's stack may have overflowed. The handler jumps back to the launcher.

#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

namespace emulator {

// The address of the instruction that failed, or 0.
inline uintptr_t instruction_of([[maybe_unused]] void* context)
{
#if defined(__linux__) && defined(__x86_64__)
    return (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[16];  // REG_RIP
#elif defined(__linux__) && defined(__aarch64__)
    return (uintptr_t)((ucontext_t*)context)->uc_mcontext.pc;
#else
    return 0;
#endif
}

// Whether the failed access was a read or a write, if the processor tells.
inline const char* verb_of([[maybe_unused]] void* context)
{
#if defined(__linux__) && defined(__x86_64__)
    return ((ucontext_t*)context)->uc_mcontext.gregs[19] & 2 ? "write to" : "read of";  // REG_ERR
#else
    return "access to";
#endif
}

// Directs faults to a handler during its lifetime.
class FaultCatcher {
public:
    typedef void (*Handler)(int signal, siginfo_t* information, void* context);

    explicit FaultCatcher(Handler handler)
    {
        thread() = pthread_self();
        stack_t stack = {};
        stack.ss_sp = handler_stack;
        stack.ss_size = sizeof handler_stack;
        sigaltstack(&stack, &previous_stack);
        struct sigaction action = {};
        action.sa_sigaction = handler;
        // The handler does not return, so the signal must not stay blocked.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int i = 0; i < SIGNALS; ++i) {
            sigaction(signals[i], &action, &previous[i]);
        }
    }

    ~FaultCatcher()
    {
        for (int i = 0; i < SIGNALS; ++i) {
            sigaction(signals[i], &previous[i], nullptr);
        }
        sigaltstack(&previous_stack, nullptr);
    }

    // Whether the calling thread is the one that launched the kernel.
    static bool is_launching_thread()
    {
        return pthread_equal(thread(), pthread_self());
    }

private:
    static const int SIGNALS = 3;
    static constexpr int signals[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE};

    static pthread_t& thread()
    {
        static pthread_t launching;
        return launching;
    }

    struct sigaction previous[SIGNALS];
    stack_t previous_stack;
    alignas(16) static inline char handler_stack[64 * 1024];
};

}  // namespace emulator
