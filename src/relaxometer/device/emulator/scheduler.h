// The CUDA threads of one launch, and the scheduler's functions for kernels.
//
// One thread of the operating system runs everything, so a run is deterministic. The blocks of an ordinary
// launch run one after another. A block's threads run as plain calls in a loop on one stack (`run_threads` in
// launch.h). Only when a thread must wait, at a barrier or for other lanes of its warp, does its stack become
// a suspended fiber, and the loop continues on another one. So a kernel that never waits needs no switch.
// When the last awaited thread arrives, the waiting ones become ready and resume in order. A cooperative
// launch opens all its blocks at once, so that grid.sync() can wait for them.
//
// scheduler.cpp holds the definitions; it is compiled once per sanitizer and never instrumented.

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "language.h"
#include "races.h"

#define EMULATOR_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#pragma GCC visibility push(hidden)
namespace emulator {

const uint32_t WARP_LANES = 32;

// A line of a kernel's source. As a default argument, `Site::here()` is the line of the call.
struct Site {
    const char* file;
    int line;

    static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return Site{file, line};
    }
};

// Operations that a thread can wait for. Those of a warp come last: see `is_warp_operation`.
enum class Operation : uint8_t {
    NONE,
    BARRIER,
    GRID_SYNC,
    SLEEP,
    SYNC_WARP,
    BALLOT,
    ANY,
    SHUFFLE,
    MATCH_ANY,
    REDUCE_ADD,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_OR,
    REDUCE_AND,
};

inline bool is_warp_operation(Operation operation)
{
    return operation >= Operation::SYNC_WARP;
}

// Lanes of a warp that called the same operation with the same mask and wait for the rest of the mask.
struct Meeting {
    uint32_t mask;
    uint32_t arrived;
    Operation operation;
    Site site;
};

struct Warp {
    uint32_t exited;  // lanes that returned from the kernel or never existed
    uint32_t meetings;
    Meeting meeting[WARP_LANES];
};

struct Block;
struct Fiber;

// The fields that every switch uses fill one cache line.
struct alignas(64) Thread {
    uint3 index;
    uint32_t number;  // in its block
    Block* block;

    // Where its call is suspended.
    Fiber* fiber;
    void* stack_pointer;

    // Its input to the current operation, and the result.
    uint64_t value;
    uint64_t result;
    uint32_t mask;
    uint8_t source_lane;
    Operation waits_for;

    uint32_t lane() const
    {
        return number % WARP_LANES;
    }
    Warp& warp() const;
};

// Static shared memory: one allocation per declaration that a thread of the block has reached.
struct SharedVariable {
    char* memory;
    size_t bytes;
    const char* name;
};

struct Block {
    uint3 index;
    uint32_t started;     // threads, in the order of the launch
    uint32_t alive;       // threads that have not returned, started or not
    Thread** at_barrier;  // threads that wait there, in order of arrival
    uint32_t at_barrier_count;
    uint64_t barrier_sum;  // of their inputs
    uint64_t barrier_result;
    Site barrier_site;
    Site grid_sync_site;
    Thread* threads;
    Warp* warps;
    char* dynamic_shared;
    SharedVariable* shared;
    uint32_t shared_count;
};

inline Warp& Thread::warp() const
{
    return block->warps[number / WARP_LANES];
}

struct Launch {
    dim3 grid;
    dim3 block;
    uint32_t threads_per_block;
    uint32_t cooperative;
    uint64_t blocks;
    uint64_t alive;                // threads of all blocks that have not returned
    uint64_t waiting;              // threads that wait for others
    Block* filling;                // the block whose threads are being started
    const uint32_t* thread_order;  // null: by index
    void** arguments;              // as for cuLaunchKernel: pointers to the values
};

extern Launch launch;
extern Thread* current;  // the CUDA thread that runs now

// The first of the open blocks' threads, which lie one after another.
const Thread* first_thread();

// The next block whose threads may start, or null.
Block* next_block_to_fill();

// Called when a thread returns while others wait: they may have waited only for this one.
void meet_without(Thread* left);

// Waits for all live threads of the block; returns the sum of their values.
uint64_t barrier(uint64_t value, Site site);

// Waits for all live lanes of `mask`; returns the operation's result.
uint64_t warp_operation(Operation operation, uint32_t mask, uint64_t value, uint32_t source_lane, Site site);

void grid_sync(Site site);

// Lets other threads run.
void sleep(Site site);

// Ends the launch with an error.
[[noreturn]] void fail(Site site, const char* format, ...) __attribute__((format(printf, 2, 3), cold));

uint32_t new_shared_declaration();
void* shared_memory_of(uint32_t declaration, const char* name, size_t bytes, size_t alignment);

// Starts the next thread of the launch, if one may start now.
inline bool start_thread()
{
    Block* block = launch.filling;
    if (block == nullptr || block->started == launch.threads_per_block) {
        block = next_block_to_fill();
        if (block == nullptr) return false;
    }
    uint32_t position = block->started++;
    if (launch.thread_order != nullptr) position = launch.thread_order[position];
    current = &block->threads[position];
    // The kernel's first access may fault, and the handler asks which thread it was.
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

inline void finish_thread()
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    Thread* thread = current;
    thread->warp().exited |= 1u << thread->lane();
    --thread->block->alive;
    --launch.alive;
    if (EMULATOR_UNLIKELY(launch.waiting != 0)) meet_without(thread);
}

// The value as the 64 bits that travel between lanes, and back.
template <class T>
inline uint64_t to_bits(T value)
{
    static_assert(sizeof(T) <= 8, "warp operations take at most 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
inline T from_bits(uint64_t bits)
{
    T value;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace emulator
#pragma GCC visibility pop
