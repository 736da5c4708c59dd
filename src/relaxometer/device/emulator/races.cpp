// The thread sanitizer: finds two accesses of one word by different CUDA threads, one of them a write and one
// of them not atomic, that nothing orders.
//
// Code built with -fsanitize=thread calls the functions at the end of this file for each access. Accesses are
// ordered by __syncthreads in a block, by __syncwarp in a warp, by grid.sync(), and by a __threadfence after
// the first and a later one before the second. A read also comes before what follows a vote or shuffle. Each
// thread has a clock that such events advance; an access is known by its thread and that thread's clock.
// Threads learn each other's clocks when they meet (L. Lamport: Time, Clocks, and the Ordering of Events in a
// Distributed System; C. Flanagan, S. Freund: FastTrack).
//
// Only arrays with red zones and shared memory are watched; atomic and volatile accesses are relaxed, as in
// CUDA.

#include <stdlib.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "messages.h"

namespace emulator {
namespace {

enum Kind { READ, WRITE, ATOMIC_READ, ATOMIC_WRITE, KINDS };

struct Access {
    uint32_t thread;  // its number in the launch, counted from 1; 0: no access
    uint32_t clock;
    uint32_t grid_syncs;
    const void* instruction;
};

// The last accesses that begin at a byte, by kind: the last one and the last one by another thread.
struct Cell {
    Access last[KINDS][2];
};

struct State {
    uint32_t clock;
    uint32_t at_barrier;         // its clock at the block's last barrier
    uint32_t fence;              // the last fence of all threads that it knows of
    uint32_t lanes[WARP_LANES];  // clocks of its warp's lanes that it knows of
    uint32_t reads[WARP_LANES];  // the same, for reads only
};

// A thread's clock at a fence that made it known.
struct Published {
    uint32_t clock;
    uint32_t fence;
};

std::vector<State> states;  // of the resident threads
std::unordered_map<uint32_t, std::vector<Published>> published;
std::unordered_map<const Slot*, Cell*> cells;
uint32_t fences;
uint32_t grid_syncs;

uint32_t block_number(const Block& block)
{
    return block.index.x + launch.grid.x * (block.index.y + launch.grid.y * block.index.z);
}

uint32_t number_of(const Thread& thread)
{
    return block_number(*thread.block) * launch.threads_per_block + thread.number + 1;
}

State& state_of(const Thread& thread)
{
    return states[(size_t)(&thread - first_thread())];
}

bool is_ordered(const Access& access, bool is_read)
{
    const Thread& self = *current;
    const State& state = state_of(self);
    if (access.thread == number_of(self) || access.grid_syncs < grid_syncs) return true;
    uint32_t first_of_block = block_number(*self.block) * launch.threads_per_block + 1;
    uint32_t number = access.thread - first_of_block;
    if (number < launch.threads_per_block) {
        const Thread& other = self.block->threads[number];
        if (access.clock <= state_of(other).at_barrier) return true;
        const uint32_t* lanes = is_read ? state.reads : state.lanes;
        if (&other.warp() == &self.warp() && access.clock <= lanes[other.lane()]) return true;
    }
    auto found = published.find(access.thread);
    if (found == published.end()) return false;
    auto earlier = [](const Published& one, uint32_t clock) { return one.clock < clock; };
    auto one = std::lower_bound(found->second.begin(), found->second.end(), access.clock, earlier);
    return one != found->second.end() && one->fence <= state.fence;
}

std::string describe_number(uint32_t thread)
{
    uint32_t block = (thread - 1) / launch.threads_per_block;
    uint32_t number = (thread - 1) % launch.threads_per_block;
    const dim3 &grid = launch.grid, &shape = launch.block;
    uint3 t = {number % shape.x, number / shape.x % shape.y, number / shape.x / shape.y};
    uint3 b = {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y};
    return describe(t, b);
}

[[noreturn]] void report(const Access& before, Kind then, Kind now, const void* address,
                         const void* instruction)
{
    const char* verbs[KINDS] = {"read of", "write to", "atomic read of", "atomic write to"};
    const char* verbs_of_other[KINDS] = {"read", "write", "atomic read", "atomic write"};
    std::string other = describe_number(before.thread) + " at " + mark_line(before.instruction);
    fail_at(instruction, std::string("race: nothing orders this ") + verbs[now] + " " +
                             mark_element(address) + " and the " + verbs_of_other[then] + " by " + other);
}

// Two accesses conflict if one writes and one is not atomic.
bool conflict(Kind a, Kind b)
{
    bool writes = a == WRITE || b == WRITE || a == ATOMIC_WRITE || b == ATOMIC_WRITE;
    bool plain = a <= WRITE || b <= WRITE;
    return writes && plain;
}

void record(Cell& cell, Kind kind, const void* address, const void* instruction)
{
    for (int other = 0; other < KINDS; ++other) {
        if (!conflict(kind, (Kind)other)) continue;
        for (const Access& before : cell.last[other]) {
            if (before.thread != 0 && !is_ordered(before, other == READ || other == ATOMIC_READ)) {
                report(before, (Kind)other, kind, address, instruction);
            }
        }
    }
    Access access = {number_of(*current), state_of(*current).clock, grid_syncs, instruction};
    if (cell.last[kind][0].thread != access.thread) cell.last[kind][1] = cell.last[kind][0];
    cell.last[kind][0] = access;
}

// Accesses of four bytes or more are recorded by words, so that those of different sizes meet.
void on_access(const void* address, size_t bytes, Kind kind, const void* instruction)
{
    if (guards == nullptr || !guards->covers(address) || current == nullptr) return;
    bool writes = kind == WRITE || kind == ATOMIC_WRITE;
    check_bounds(address, bytes, writes ? "write to" : "read of", instruction);
    const Slot* slot = guards->slot_of(address);
    const char* begin = (const char*)address;
    Cell*& found = cells[slot];
    if (found == nullptr) found = (Cell*)calloc(slot->bytes, sizeof(Cell));
    size_t offset = (size_t)(begin - slot->begin);
    for (size_t done = 0; done < bytes; done += bytes < 4 ? bytes : 4) {
        record(found[offset + done], kind, begin + done, instruction);
    }
}

void join(State& all, const State& one)
{
    all.fence = std::max(all.fence, one.fence);
    for (uint32_t lane = 0; lane < WARP_LANES; ++lane) {
        all.lanes[lane] = std::max(all.lanes[lane], one.lanes[lane]);
        all.reads[lane] = std::max(all.reads[lane], one.reads[lane]);
    }
}

void publish(uint32_t thread, uint32_t clock)
{
    std::vector<Published>& known = published[thread];
    if (clock != 0 && (known.empty() || known.back().clock < clock)) known.push_back({clock, fences});
}

}  // namespace

namespace races {

void begin_launch(size_t resident_threads)
{
    states.assign(resident_threads, State());
    published.clear();
    for (auto& entry : cells) {
        free(entry.second);
    }
    cells.clear();
    fences = 0;
    grid_syncs = 0;
}

void begin_block(const Block& block)
{
    for (uint32_t i = 0; i < launch.threads_per_block; ++i) {
        State& state = state_of(block.threads[i]);
        state = State();
        state.clock = 1;
    }
}

void meet_at_barrier(const Block& block)
{
    State* begin = &state_of(block.threads[0]);
    State* end = begin + launch.threads_per_block;
    uint32_t fence = 0;
    for (State* state = begin; state != end; ++state) {
        state->at_barrier = state->clock++;
        fence = std::max(fence, state->fence);
    }
    for (State* state = begin; state != end; ++state) {
        state->fence = fence;
    }
}

void meet_in_grid()
{
    ++grid_syncs;
}

void meet_in_warp(const Thread* lanes, uint32_t mask, bool orders_writes)
{
    State joined = {};
    for_each_lane(mask, [&](uint32_t lane) {
        State& state = state_of(lanes[lane]);
        state.reads[lane] = state.clock;
        if (orders_writes) state.lanes[lane] = state.clock;
        ++state.clock;
        join(joined, state);
    });
    for_each_lane(mask, [&](uint32_t lane) {
        State& state = state_of(lanes[lane]);
        std::copy(joined.reads, joined.reads + WARP_LANES, state.reads);
        if (!orders_writes) return;
        state.fence = joined.fence;
        std::copy(joined.lanes, joined.lanes + WARP_LANES, state.lanes);
    });
}

// What the thread knows is known to all threads that pass a fence later.
void fence()
{
    const Thread& self = *current;
    State& state = state_of(self);
    ++fences;
    uint32_t first_of_block = number_of(self) - self.number;
    for (uint32_t i = 0; i < launch.threads_per_block; ++i) {
        const Thread& other = self.block->threads[i];
        bool same_warp = &other.warp() == &self.warp();
        uint32_t clock = same_warp ? state.lanes[other.lane()] : 0;
        publish(first_of_block + i, std::max(clock, state_of(other).at_barrier));
    }
    publish(number_of(self), state.clock++);
    state.fence = fences;
}

void forget(const void* memory)
{
    if (guards == nullptr) return;
    auto found = cells.find(guards->slot_of(memory));
    if (found == cells.end()) return;
    free(found->second);
    cells.erase(found);
}

}  // namespace races
}  // namespace emulator

// GCC and Clang call these; for a compare-and-swap, Clang calls the last.

using emulator::ATOMIC_READ;
using emulator::ATOMIC_WRITE;
using emulator::on_access;
using emulator::READ;
using emulator::WRITE;

#define EMULATOR_HIDDEN extern "C" __attribute__((visibility("hidden")))
#define EMULATOR_CALLER __builtin_return_address(0)

#define EMULATOR_ACCESS(NAME, SIZE, KIND)                   \
    EMULATOR_HIDDEN void __tsan_##NAME##SIZE(void* address) \
    {                                                       \
        on_access(address, SIZE, KIND, EMULATOR_CALLER);    \
    }

#define EMULATOR_ACCESSES(SIZE)                                 \
    EMULATOR_ACCESS(read, SIZE, READ)                           \
    EMULATOR_ACCESS(write, SIZE, WRITE)                         \
    EMULATOR_ACCESS(unaligned_read, SIZE, READ)                 \
    EMULATOR_ACCESS(unaligned_write, SIZE, WRITE)               \
    EMULATOR_ACCESS(volatile_read, SIZE, ATOMIC_READ)           \
    EMULATOR_ACCESS(volatile_write, SIZE, ATOMIC_WRITE)         \
    EMULATOR_ACCESS(unaligned_volatile_read, SIZE, ATOMIC_READ) \
    EMULATOR_ACCESS(unaligned_volatile_write, SIZE, ATOMIC_WRITE)

EMULATOR_ACCESSES(1)
EMULATOR_ACCESSES(2)
EMULATOR_ACCESSES(4)
EMULATOR_ACCESSES(8)
EMULATOR_ACCESSES(16)

EMULATOR_HIDDEN void __tsan_read_range(void* address, size_t bytes)
{
    on_access(address, bytes, READ, EMULATOR_CALLER);
}

EMULATOR_HIDDEN void __tsan_write_range(void* address, size_t bytes)
{
    on_access(address, bytes, WRITE, EMULATOR_CALLER);
}

#define EMULATOR_ATOMIC_ACCESSES(BITS, T)                                                                  \
    EMULATOR_HIDDEN T __tsan_atomic##BITS##_load(const volatile T* address, int)                           \
    {                                                                                                      \
        on_access((const void*)address, sizeof(T), ATOMIC_READ, EMULATOR_CALLER);                          \
        return *address;                                                                                   \
    }                                                                                                      \
    EMULATOR_HIDDEN void __tsan_atomic##BITS##_store(volatile T* address, T value, int)                    \
    {                                                                                                      \
        on_access((const void*)address, sizeof(T), ATOMIC_WRITE, EMULATOR_CALLER);                         \
        *address = value;                                                                                  \
    }                                                                                                      \
    EMULATOR_HIDDEN int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* address, T* expected,    \
                                                                      T value, int, int)                   \
    {                                                                                                      \
        on_access((const void*)address, sizeof(T), ATOMIC_WRITE, EMULATOR_CALLER);                         \
        bool equal = *address == *expected;                                                                \
        if (equal) {                                                                                       \
            *address = value;                                                                              \
        } else {                                                                                           \
            *expected = *address;                                                                          \
        }                                                                                                  \
        return equal;                                                                                      \
    }                                                                                                      \
    EMULATOR_HIDDEN T __tsan_atomic##BITS##_compare_exchange_val(volatile T* address, T expected, T value, \
                                                                 int, int)                                 \
    {                                                                                                      \
        on_access((const void*)address, sizeof(T), ATOMIC_WRITE, EMULATOR_CALLER);                         \
        T before = *address;                                                                               \
        if (before == expected) *address = value;                                                          \
        return before;                                                                                     \
    }

EMULATOR_ATOMIC_ACCESSES(8, unsigned char)
EMULATOR_ATOMIC_ACCESSES(16, unsigned short)
EMULATOR_ATOMIC_ACCESSES(32, unsigned int)
EMULATOR_ATOMIC_ACCESSES(64, unsigned long long)
EMULATOR_ATOMIC_ACCESSES(128, unsigned __int128)

EMULATOR_HIDDEN void __tsan_init()
{
}
EMULATOR_HIDDEN void __tsan_func_entry(void*)
{
}
EMULATOR_HIDDEN void __tsan_func_exit(void*)
{
}
EMULATOR_HIDDEN void __tsan_atomic_signal_fence(int)
{
}
EMULATOR_HIDDEN void __tsan_atomic_thread_fence(int)
{
}
