// Stacks for waiting CUDA threads, and the switch between them.
//
// A fiber is a stack with a saved stack pointer; all fibers share one thread of the operating system. The
// switch saves only the registers that the calling convention preserves, which takes a few nanoseconds.
// (POSIX's swapcontext takes ten times as long, since it also saves the signal mask.)

#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

const size_t STACK_BYTES = 64 * 1024;

struct Fiber {
    void* stack_pointer = nullptr;  // where to start or resume it when no CUDA thread waits on it
    char* stack = nullptr;          // null for the fiber that launched the kernel
    size_t stack_bytes = 0;
    bool is_guarded = false;
    Fiber* next_idle = nullptr;
};

typedef void (*FiberEntry)();

#if defined(__x86_64__)

// Saves the stack pointer in `*save` and resumes where `load` was saved. Inline and with clobbered registers,
// so that the compiler saves only live ones and a waiting thread occupies the fewest cache lines. Compile
// with -mno-red-zone.
inline __attribute__((always_inline)) void switch_stack(void** save, void* load)
{
    asm volatile(
        "pushq %%rbp \n"
        "pushq %%rbx \n"
        "leaq 1f(%%rip), %%rax \n"
        "pushq %%rax \n"
        "movq %%rsp, (%0) \n"
        "movq %1, %%rsp \n"
        "popq %%rax \n"
        "jmpq *%%rax \n"
        "1: \n"
        "popq %%rbx \n"
        "popq %%rbp \n"
        : "+D"(save), "+S"(load)
        :
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0",
          "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
          "xmm13", "xmm14", "xmm15");
}

const int SAVED_WORDS = 2;  // the address to resume at, and one word that aligns the stack
const int RETURN_ADDRESS = 0;

#elif defined(__aarch64__)

extern "C" __attribute__((visibility("hidden"))) void switch_stack(void** save,
                                                                   void* load) asm("emulator_switch_stack");

asm(R"(
    .text
    .p2align 4
emulator_switch_stack:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
const int SAVED_WORDS = 20;
const int RETURN_ADDRESS = 11;

#else
#error "the emulation runs on x86-64 and AArch64"
#endif

// Makes the fiber start at `entry` at the next switch to it. Stack tops are staggered: at equal offsets in
// their pages, the frames of a block's threads would compete for the same few cache sets. (So the distance
// between stacks is not a power of two either, which doubles the rate of block scans.)
inline void rewind_fiber(Fiber* fiber, FiberEntry entry, size_t number)
{
    size_t stagger = number * 448 % 4096;
    uintptr_t top = (uintptr_t)fiber->stack + fiber->stack_bytes - 64 - stagger;
    void** frame = (void**)(top & ~(uintptr_t)63) - SAVED_WORDS;
    memset(frame, 0, SAVED_WORDS * sizeof(void*));
    frame[RETURN_ADDRESS] = (void*)entry;
    fiber->stack_pointer = frame;
}

// Fibers of a library with a guard area below their stacks. A guarded stack takes two memory areas, of which
// Linux allows a process 65,530; the others lie side by side in one.
const size_t MAX_GUARDED_STACKS = 64;

// A new fiber, or null if the system refuses another memory map.
inline Fiber* create_fiber(FiberEntry entry, size_t number)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    void* memory = mmap(nullptr, guard + STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    Fiber* fiber = new Fiber();
    fiber->is_guarded = number < MAX_GUARDED_STACKS && mprotect(memory, guard, PROT_NONE) == 0;
    fiber->stack = (char*)memory + guard;
    fiber->stack_bytes = STACK_BYTES;
    rewind_fiber(fiber, entry, number);
    return fiber;
}

}  // namespace emulator
