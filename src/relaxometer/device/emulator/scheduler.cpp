// The schedule: blocks, fibers, barriers, warp operations, and the report of a deadlock. See scheduler.h for
// the idea.

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "faults.h"
#include "fiber.h"
#include "launch.h"
#include "messages.h"

namespace emulator {

Launch launch;
Thread* current;
const Guards* guards;

namespace {

const uint32_t MAX_THREADS_PER_BLOCK = 1024;
const int RUBBISH = 0xa5;                    // the contents of shared memory when a block starts
const uint64_t MAX_IDLE_TURNS = 10'000'000;  // through __nanosleep without progress
const size_t MAX_REPORTED_GROUPS = 12;
const size_t MAX_SAVED_BYTES = 16 * 1024;  // of arrays before a launch

// One launch at a time: the caller holds Python's lock throughout.
Body body;
const Configuration* configuration;
std::vector<Block> blocks;  // the open ones: one, or all of a cooperative launch
std::vector<Thread> threads;
std::vector<Warp> warps;
std::vector<Thread*> at_barrier;
std::vector<uint32_t> thread_order;
std::vector<uint64_t> block_order;
uint64_t next_block;  // in block_order
uint64_t at_grid_sync;
uint64_t idle_turns;
bool failed;

Fiber launcher;  // the stack that called run_launch
Fiber* running;
Fiber* idle_fibers[2];  // without and with a guard area
std::vector<Fiber*> all_fibers;

// A ring of threads that waited and may resume; its size is a power of two.
std::vector<Thread*> ready;
size_t ready_mask;
size_t ready_head;  // counts threads taken,
size_t ready_tail;  // and threads added

// By operation, for reports.
const char* const NAMES[] = {
    "nothing",           "__syncthreads",     "grid.sync",        "__nanosleep",       "__syncwarp",
    "__ballot_sync",     "__any_sync",        "a shuffle",        "__match_any_sync",  "__reduce_add_sync",
    "__reduce_min_sync", "__reduce_max_sync", "__reduce_or_sync", "__reduce_and_sync",
};

const char* name_of(Operation operation)
{
    return NAMES[(int)operation];
}

std::string format_list(const char* pattern, va_list values)
{
    char text[1024];
    vsnprintf(text, sizeof text, pattern, values);
    return text;
}

inline bool same_site(Site a, Site b)
{
    return a.line == b.line && a.file == b.file;  // a library has each file's name only once
}

}  // namespace

std::string format(const char* pattern, ...)
{
    va_list values;
    va_start(values, pattern);
    std::string text = format_list(pattern, values);
    va_end(values);
    return text;
}

std::string describe(const uint3& t, const uint3& b)
{
    return format("thread (%u,%u,%u) of block (%u,%u,%u)", t.x, t.y, t.z, b.x, b.y, b.z);
}

std::string mark_line(const void* instruction)
{
    Dl_info library = {};
    dladdr((void*)&run_launch, &library);
    return format("[+%#zx]", (size_t)((uintptr_t)instruction - (uintptr_t)library.dli_fbase));
}

std::string mark_element(const void* address)
{
    const char* byte = (const char*)address;
    for (const Block& block : blocks) {
        for (uint32_t i = 0; i <= block.shared_count; ++i) {
            bool fixed = i < block.shared_count;
            const char* name = fixed ? block.shared[i].name : "dynamic shared memory";
            const char* begin = fixed ? block.shared[i].memory : block.dynamic_shared;
            size_t bytes = fixed ? block.shared[i].bytes : configuration->shared_bytes;
            bool near = begin != nullptr && byte >= begin - GAP / 2 && byte < begin + bytes + GAP / 2;
            if (near) return format("byte %td of %s (%zu bytes of shared memory)", byte - begin, name, bytes);
        }
    }
    return format("[@0x%zx]", (size_t)address);  // for %p, null is (nil)
}

namespace {

std::string describe(const Thread& thread)
{
    return emulator::describe(thread.index, thread.block->index);
}

std::string describe(Site site)
{
    return format("%s:%d", site.file, site.line);
}

// ------------------------------------------------------------------------------------------------ fibers

void run_fiber();

// Resumes a thread that waited; `save` receives where the running call stops.
inline void resume(Thread* thread, void** save)
{
    running = thread->fiber;
    current = thread;
    switch_stack(save, thread->stack_pointer);
}

// Switches to a fiber on which no thread waits: an idle one, or the launcher.
inline void resume(Fiber* fiber, void** save)
{
    running = fiber;
    switch_stack(save, fiber->stack_pointer);
}

void return_to_launcher()
{
    current = nullptr;
    resume(&launcher, &running->stack_pointer);
}

[[noreturn]] void end_with(const std::string& message)
{
    snprintf(configuration->message, configuration->message_bytes, "%s", message.c_str());
    failed = true;
    return_to_launcher();
    __builtin_unreachable();
}

Fiber* take_fiber()
{
    // Guarded stacks first: their overflow is noticed.
    Fiber*& idle = idle_fibers[idle_fibers[true] != nullptr];
    if (Fiber* fiber = idle) {
        idle = fiber->next_idle;
        return fiber;
    }
    Fiber* fiber = create_fiber(run_fiber, all_fibers.size());
    if (fiber == nullptr) {
        end_with(format("the system provides only %zu stacks for waiting threads; launch fewer threads",
                        all_fibers.size()));
    }
    all_fibers.push_back(fiber);
    return fiber;
}

// Reuses the last fiber first, as its stack is cached.
void leave_idle(Fiber* fiber)
{
    Fiber*& idle = idle_fibers[fiber->is_guarded];
    fiber->next_idle = idle;
    idle = fiber;
}

// After an error, abandons the calls that are suspended on fibers.
void abandon_fibers()
{
    idle_fibers[false] = idle_fibers[true] = nullptr;
    for (size_t i = 0; i < all_fibers.size(); ++i) {
        rewind_fiber(all_fibers[i], run_fiber, i);
        leave_idle(all_fibers[i]);
    }
}

// ------------------------------------------------------------------------------------------------ waiting

void make_ready(Thread* thread)
{
    ready[ready_tail++ & ready_mask] = thread;
}

// The frames of a block's threads exceed the first-level cache: prefetch the next ones.
inline void prefetch_frames(const Thread* thread)
{
    const char* frames = (const char*)thread->stack_pointer;
    for (int line = 0; line < 4; ++line) {
        __builtin_prefetch(frames + line * 64);
    }
}

inline Thread* take_ready()
{
    if (ready_head == ready_tail) return nullptr;
    Thread* thread = ready[ready_head++ & ready_mask];
    if (ready_head != ready_tail) prefetch_frames(ready[ready_head & ready_mask]);
    return thread;
}

// Releases a thread that `wait` holds.
void wake(Thread* thread)
{
    --launch.waiting;
    make_ready(thread);
}

bool may_start_thread()
{
    const Block* block = launch.filling;
    if (block->started < launch.threads_per_block) return true;
    return launch.cooperative && next_block < launch.blocks;
}

[[noreturn]] void report_deadlock();

// Suspends the running thread and runs others until one of them makes it ready.
__attribute__((always_inline)) inline void give_way(Thread* self)
{
    self->fiber = running;
    if (Thread* next = take_ready()) {
        resume(next, &self->stack_pointer);
    } else if (may_start_thread()) {
        resume(take_fiber(), &self->stack_pointer);
    } else {
        report_deadlock();
    }
}

__attribute__((always_inline)) inline void wait(Thread* self, Operation operation)
{
    self->waits_for = operation;
    ++launch.waiting;
    give_way(self);
    self->waits_for = Operation::NONE;
}

Site site_of_wait(const Thread& thread)
{
    if (thread.waits_for == Operation::BARRIER) return thread.block->barrier_site;
    if (thread.waits_for == Operation::GRID_SYNC) return thread.block->grid_sync_site;
    const Warp& warp = thread.warp();
    uint32_t number = 0;
    while (warp.meeting[number].mask != thread.mask) {
        ++number;
    }
    return warp.meeting[number].site;
}

// Adjacent threads of a block that wait alike are reported as one group.
bool wait_alike(const Thread& a, const Thread& b)
{
    if (a.waits_for != b.waits_for) return false;
    if (a.waits_for == Operation::NONE) return true;
    if (is_warp_operation(a.waits_for) && a.mask != b.mask) return false;
    return same_site(site_of_wait(a), site_of_wait(b));
}

std::string describe_group(const Block& block, uint32_t first, uint32_t last)
{
    const Thread& thread = block.threads[first];
    std::string text = format("  block (%u,%u,%u), threads %u to %u wait in %s at ", block.index.x,
                              block.index.y, block.index.z, first, last, name_of(thread.waits_for));
    text += describe(site_of_wait(thread));
    if (is_warp_operation(thread.waits_for)) {
        text += format(", mask 0x%08x, lanes that returned 0x%08x", thread.mask, thread.warp().exited);
    }
    return text;
}

[[noreturn]] void report_deadlock()
{
    std::string report = "deadlock: every thread that has not returned waits for others";
    size_t groups = 0;
    for (const Block& block : blocks) {
        uint32_t first = 0;
        while (first < launch.threads_per_block) {
            uint32_t end = first + 1;
            while (end < launch.threads_per_block && wait_alike(block.threads[first], block.threads[end])) {
                ++end;
            }
            if (block.threads[first].waits_for != Operation::NONE && ++groups <= MAX_REPORTED_GROUPS) {
                report += "\n" + describe_group(block, first, end - 1);
            }
            first = end;
        }
    }
    if (groups > MAX_REPORTED_GROUPS) {
        report += format("\n  and %zu more groups", groups - MAX_REPORTED_GROUPS);
    }
    end_with(report);
}

// A fiber starts threads while some may start, then switches to those that may resume.
void run_fiber()
{
    for (;;) {
        body();
        Fiber* self = running;
        if (Thread* next = take_ready()) {
            leave_idle(self);
            resume(next, &self->stack_pointer);
        } else if (launch.waiting != 0 && !may_start_thread()) {
            report_deadlock();
        } else if (launch.alive != 0) {
            Fiber* next = take_fiber();
            leave_idle(self);
            resume(next, &self->stack_pointer);
        } else {
            leave_idle(self);
            return_to_launcher();
        }
    }
}

// ------------------------------------------------------------------------------------------------ faults

std::string describe_fault(int signal, const char* address, void* context)
{
    if (signal == SIGFPE) return "division by zero, or one that overflows";
    const size_t NEAR = 64 * 1024;  // a large frame may skip the guard page's start
    bool below_stack = address < running->stack && address >= running->stack - NEAR;
    if (below_stack) return format("stack overflow at address %p", (const void*)address);
    return std::string("illegal ") + verb_of(context) + " " + mark_element(address);
}

void report_fault(int signal, siginfo_t* information, void* context)
{
    if (current == nullptr || !FaultCatcher::is_launching_thread()) {
        ::signal(signal, SIG_DFL);  // not the kernel's: happens again when this returns
        return;
    }
    const void* instruction = (const void*)(instruction_of(context) + 1);  // as if it had returned
    fail_at(instruction, describe_fault(signal, (const char*)information->si_addr, context));
}

// ------------------------------------------------------------------------------------------------ red zones

// The arrays of the launch whose addresses are among the arguments, in structs too.
std::vector<Slot*> arrays;
std::vector<char> saved;  // their contents, if there is little

void find_arrays(void** arguments, const size_t* sizes, size_t count)
{
    arrays.clear();
    for (size_t i = 0; i < count; ++i) {
        for (size_t offset = 0; offset + sizeof(void*) <= sizes[i]; offset += sizeof(void*)) {
            void* pointer;
            memcpy(&pointer, (char*)arguments[i] + offset, sizeof pointer);
            Slot* slot = guards->slot_of(pointer);
            if (slot != nullptr && slot->begin != nullptr) arrays.push_back(slot);
        }
    }
}

void save_arrays()
{
    size_t bytes = 0;
    for (const Slot* slot : arrays) {
        bytes += slot->bytes;
    }
    saved.clear();
    if (bytes > MAX_SAVED_BYTES) return;
    for (const Slot* slot : arrays) {
        saved.insert(saved.end(), slot->begin, slot->begin + slot->bytes);
    }
}

void restore_arrays()
{
    const char* from = saved.data();
    for (Slot* slot : arrays) {
        if (saved.empty()) return;
        memcpy(slot->begin, from, slot->bytes);
        from += slot->bytes;
    }
}

// The byte nearest to `to` that is not a guard byte, or null.
char* find_damage(char* from, char* to)
{
    for (char* byte = to; byte != from; --byte) {
        if ((unsigned char)byte[-1] != GUARD) return byte - 1;
    }
    return nullptr;
}

bool is_intact(const char* from, const char* to)
{
    return from == to ||
           ((unsigned char)*from == GUARD && memcmp(from, from + 1, (size_t)(to - from - 1)) == 0);
}

// Mends the slot's guard bytes; returns a damaged one, or null.
char* find_damage(const Slot& slot)
{
    char* end = slot.begin + slot.bytes;
    char* last = slot.pages + slot.page_bytes;
    if (is_intact(slot.pages, slot.begin) && is_intact(end, last)) return nullptr;
    char* before = find_damage(slot.pages, slot.begin);
    char* damage = before != nullptr ? before : find_damage(end, last);
    memset(slot.pages, GUARD, (size_t)(slot.begin - slot.pages));
    memset(end, GUARD, (size_t)(last - end));
    return damage;
}

// Checks the red zones of arrays and shared memory. Returns what was overwritten, or nothing.
std::string find_damage()
{
    if (guards == nullptr) return "";
    std::vector<Slot*> slots = arrays;
    for (const Block& block : blocks) {
        for (uint32_t i = 0; i <= block.shared_count; ++i) {
            const char* memory = i < block.shared_count ? block.shared[i].memory : block.dynamic_shared;
            if (Slot* slot = guards->slot_of(memory)) slots.push_back(slot);
        }
    }
    std::string damage;
    for (const Slot* slot : slots) {
        const char* byte = find_damage(*slot);
        if (byte != nullptr) damage = mark_element(byte);
    }
    return damage;
}

// ------------------------------------------------------------------------------------------------ blocks

void open_block(Block& block, uint64_t number)
{
    block.index.x = (uint32_t)(number % launch.grid.x);
    block.index.y = (uint32_t)(number / launch.grid.x % launch.grid.y);
    block.index.z = (uint32_t)(number / launch.grid.x / launch.grid.y);
    block.started = 0;
    block.alive = launch.threads_per_block;
    block.at_barrier_count = 0;
    block.barrier_sum = 0;
    uint32_t warps_per_block = (launch.threads_per_block + WARP_LANES - 1) / WARP_LANES;
    for (uint32_t w = 0; w < warps_per_block; ++w) {
        uint32_t lanes = launch.threads_per_block - w * WARP_LANES;
        block.warps[w].exited = lanes >= WARP_LANES ? 0 : ~0u << lanes;
        block.warps[w].meetings = 0;
    }
}

char* allocate_shared(size_t bytes, size_t alignment)
{
    void* memory = guards == nullptr ? nullptr : guards->allocate(bytes, alignment);
    if (memory == nullptr) memory = malloc(bytes);
    return (char*)memory;
}

void release_shared(void* memory)
{
    if (guards != nullptr && guards->covers(memory)) {
        races::forget(memory);
        guards->release(memory);
    } else {
        free(memory);
    }
}

void free_shared(Block& block)
{
    release_shared(block.dynamic_shared);
    block.dynamic_shared = nullptr;
    for (uint32_t i = 0; i < block.shared_count; ++i) {
        release_shared(block.shared[i].memory);
    }
    free(block.shared);
    block.shared = nullptr;
    block.shared_count = 0;
}

// Shared memory is uninitialized when a block starts, as on a GPU.
void renew_shared(Block& block)
{
    if (configuration->shared_bytes != 0) {
        if (block.dynamic_shared == nullptr) {
            block.dynamic_shared = allocate_shared(configuration->shared_bytes, 0);
        }
        races::forget(block.dynamic_shared);
        memset(block.dynamic_shared, RUBBISH, configuration->shared_bytes);
    }
    for (uint32_t i = 0; i < block.shared_count; ++i) {
        if (block.shared[i].memory == nullptr) continue;
        races::forget(block.shared[i].memory);
        memset(block.shared[i].memory, RUBBISH, block.shared[i].bytes);
    }
}

// ------------------------------------------------------------------------------------------------ barriers

void release_barrier(Block& block)
{
    for (uint32_t i = 0; i < block.at_barrier_count; ++i) {
        wake(block.at_barrier[i]);
    }
    block.at_barrier_count = 0;
    block.barrier_result = block.barrier_sum;
    block.barrier_sum = 0;
    races::meet_at_barrier(block);
    idle_turns = 0;
}

void release_grid()
{
    for (Block& block : blocks) {
        for (uint32_t i = 0; i < launch.threads_per_block; ++i) {
            Thread& thread = block.threads[i];
            if (thread.waits_for == Operation::GRID_SYNC) wake(&thread);
        }
    }
    at_grid_sync = 0;
    races::meet_in_grid();
    idle_turns = 0;
}

// ------------------------------------------------------------------------------------------------ warps

// Operations with the same result for all lanes.
uint64_t combine(const Meeting& meeting, const Thread* lanes)
{
    bool first = true;
    uint64_t votes = 0;
    uint64_t result = 0;
    for_each_lane(meeting.arrived, [&](uint32_t lane) {
        uint64_t value = lanes[lane].value;
        votes |= (uint64_t)(value != 0) << lane;
        switch (meeting.operation) {
            case Operation::REDUCE_ADD:
                result = (uint32_t)(result + value);
                break;
            case Operation::REDUCE_MIN:
                result = first || value < result ? value : result;
                break;
            case Operation::REDUCE_MAX:
                result = first || value > result ? value : result;
                break;
            case Operation::REDUCE_OR:
                result |= value;
                break;
            case Operation::REDUCE_AND:
                result = first ? value : result & value;
                break;
            default:
                break;
        }
        first = false;
    });
    switch (meeting.operation) {
        case Operation::BALLOT:
            return votes;
        case Operation::ANY:
            return votes != 0;
        default:
            return result;
    }
}

void exchange(const Meeting& meeting, Thread* lanes)
{
    for_each_lane(meeting.arrived, [&](uint32_t lane) {
        uint32_t source = lanes[lane].source_lane;
        if (EMULATOR_UNLIKELY(!(meeting.arrived >> source & 1))) {
            end_with(describe(meeting.site) + ": " + describe(lanes[lane]) +
                     format(": the shuffle reads lane %u, which does not participate", source));
        }
        lanes[lane].result = lanes[source].value;
    });
}

void match(const Meeting& meeting, Thread* lanes)
{
    for_each_lane(meeting.arrived, [&](uint32_t lane) {
        lanes[lane].result = 0;
        for_each_lane(meeting.arrived, [&](uint32_t other) {
            if (lanes[other].value == lanes[lane].value) lanes[lane].result |= 1u << other;
        });
    });
}

bool is_complete(const Warp& warp, const Meeting& meeting)
{
    return ((meeting.arrived | warp.exited) & meeting.mask) == meeting.mask;
}

// Gives all lanes of a complete meeting their results and makes them ready. `lanes` are the warp's threads.
void conclude(Warp& warp, uint32_t number, Thread* lanes)
{
    const Meeting& meeting = warp.meeting[number];
    races::meet_in_warp(lanes, meeting.arrived, meeting.operation == Operation::SYNC_WARP);
    if (meeting.operation == Operation::SHUFFLE) {
        exchange(meeting, lanes);
    } else if (meeting.operation == Operation::MATCH_ANY) {
        match(meeting, lanes);
    } else if (meeting.operation != Operation::SYNC_WARP) {
        uint64_t result = combine(meeting, lanes);
        for_each_lane(meeting.arrived, [&](uint32_t lane) { lanes[lane].result = result; });
    }
    for_each_lane(meeting.arrived, [&](uint32_t lane) {
        if (&lanes[lane] != current) wake(&lanes[lane]);
    });
    warp.meeting[number] = warp.meeting[--warp.meetings];
    idle_turns = 0;
}

// The meeting of the lanes with this mask, current or new.
uint32_t find_meeting(Warp& warp, Operation operation, uint32_t mask, Site site)
{
    uint32_t number = 0;
    while (number < warp.meetings && warp.meeting[number].mask != mask) {
        ++number;
    }
    if (number == warp.meetings) {
        warp.meeting[warp.meetings++] = Meeting{mask, 0, operation, site};
        return number;
    }
    // Lanes may reach __syncwarp from different branches; all other operations are one call for all.
    const Meeting& meeting = warp.meeting[number];
    bool together = meeting.operation == operation &&
                    (operation == Operation::SYNC_WARP || same_site(meeting.site, site));
    if (EMULATOR_UNLIKELY(!together)) {
        fail(site, "the lanes of a warp meet in %s here and in %s at %s:%d", name_of(operation),
             name_of(meeting.operation), meeting.site.file, meeting.site.line);
    }
    return number;
}

Thread* first_lane(const Thread* thread)
{
    return thread->block->threads + thread->number / WARP_LANES * WARP_LANES;
}

// ------------------------------------------------------------------------------------------------ launching

uint32_t next_random(uint64_t& state)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}

// 0 to count - 1 in ascending order, or permuted by a seed.
template <class T>
void permute(std::vector<T>& order, uint64_t count, uint64_t& random_state)
{
    order.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
        order[i] = (T)i;
    }
    for (uint64_t i = count; i > 1; --i) {
        std::swap(order[i - 1], order[next_random(random_state) % i]);
    }
}

void prepare_order(uint32_t seed)
{
    launch.thread_order = nullptr;
    block_order.clear();
    if (seed == 0) return;
    uint64_t random_state = seed;
    permute(thread_order, launch.threads_per_block, random_state);
    permute(block_order, launch.blocks, random_state);
    launch.thread_order = thread_order.data();
}

void prepare_block(uint64_t number)
{
    uint32_t warps_per_block = (launch.threads_per_block + WARP_LANES - 1) / WARP_LANES;
    Block& block = blocks[number];
    block = Block();
    block.at_barrier = &at_barrier[number * launch.threads_per_block];
    block.threads = &threads[number * launch.threads_per_block];
    block.warps = &warps[number * warps_per_block];
    for (uint32_t i = 0; i < launch.threads_per_block; ++i) {
        Thread& thread = block.threads[i];
        thread = Thread();
        thread.index.x = i % launch.block.x;
        thread.index.y = i / launch.block.x % launch.block.y;
        thread.index.z = i / launch.block.x / launch.block.y;
        thread.number = i;
        thread.block = &block;
    }
}

void prepare_launch(void** arguments)
{
    const uint32_t* grid = configuration->grid;
    const uint32_t* block = configuration->block;
    launch = Launch();
    launch.grid = dim3(grid[0], grid[1], grid[2]);
    launch.block = dim3(block[0], block[1], block[2]);
    launch.threads_per_block = block[0] * block[1] * block[2];
    launch.blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    launch.cooperative = configuration->cooperative;
    launch.alive = launch.blocks * launch.threads_per_block;
    launch.arguments = arguments;
    next_block = 0;
    at_grid_sync = 0;
    idle_turns = 0;
    failed = false;
    size_t resident = launch.cooperative ? launch.blocks : 1;
    blocks.resize(resident);
    threads.resize(resident * launch.threads_per_block);
    at_barrier.resize(threads.size());
    warps.resize(resident * ((launch.threads_per_block + WARP_LANES - 1) / WARP_LANES));
    for (size_t i = 0; i < resident; ++i) {
        prepare_block(i);
    }
    prepare_order(configuration->order_seed);
    size_t ring = 1;
    while (ring < threads.size()) {
        ring *= 2;
    }
    ready.resize(ring);
    ready_mask = ring - 1;
    ready_head = 0;
    ready_tail = 0;
}

}  // namespace

Block* next_block_to_fill()
{
    bool previous_is_alive = launch.filling != nullptr && launch.filling->alive != 0;
    if (previous_is_alive && !launch.cooperative) return nullptr;
    if (next_block == launch.blocks) return nullptr;
    uint64_t number = block_order.empty() ? next_block : block_order[next_block];
    Block& block = blocks[launch.cooperative ? next_block : 0];
    ++next_block;
    open_block(block, number);
    races::begin_block(block);
    renew_shared(block);
    launch.filling = &block;
    return &block;
}

void meet_without(Thread* left)
{
    Warp& warp = left->warp();
    uint32_t number = 0;
    while (number < warp.meetings) {
        if (is_complete(warp, warp.meeting[number])) {
            conclude(warp, number, first_lane(left));
        } else {
            ++number;
        }
    }
    Block& block = *left->block;
    if (block.at_barrier_count != 0 && block.at_barrier_count == block.alive) release_barrier(block);
    if (at_grid_sync != 0 && at_grid_sync == launch.alive) release_grid();
    idle_turns = 0;
}

uint64_t barrier(uint64_t value, Site site)
{
    Thread* self = current;
    Block& block = *self->block;
    if (EMULATOR_UNLIKELY(block.at_barrier_count != 0 && !same_site(block.barrier_site, site))) {
        fail(site, "divergent barrier: other threads of this block wait in __syncthreads at %s:%d",
             block.barrier_site.file, block.barrier_site.line);
    }
    block.barrier_site = site;
    block.barrier_sum += value;
    if (block.at_barrier_count + 1 == block.alive) {
        release_barrier(block);
    } else {
        block.at_barrier[block.at_barrier_count++] = self;
        wait(self, Operation::BARRIER);
    }
    return block.barrier_result;
}

uint64_t warp_operation(Operation operation, uint32_t mask, uint64_t value, uint32_t source_lane, Site site)
{
    Thread* self = current;
    Warp& warp = self->warp();
    uint32_t lane_bit = 1u << self->lane();
    if (EMULATOR_UNLIKELY(!(mask & lane_bit))) {
        fail(site, "%s: the mask 0x%08x excludes the calling lane %u", name_of(operation), mask,
             self->lane());
    }
    uint32_t number = find_meeting(warp, operation, mask, site);
    self->value = value;
    self->source_lane = (uint8_t)source_lane;
    warp.meeting[number].arrived |= lane_bit;
    if (is_complete(warp, warp.meeting[number])) {
        conclude(warp, number, first_lane(self));
    } else {
        self->mask = mask;
        wait(self, operation);
    }
    return self->result;
}

void grid_sync(Site site)
{
    if (!launch.cooperative) {
        fail(site, "grid.sync() in a launch that is not cooperative: load the module with cooperative=True");
    }
    Thread* self = current;
    self->block->grid_sync_site = site;
    if (++at_grid_sync == launch.alive) {
        release_grid();
    } else {
        wait(self, Operation::GRID_SYNC);
    }
}

void sleep(Site site)
{
    if (++idle_turns > MAX_IDLE_TURNS) {
        fail(site, "endless wait: no progress except through __nanosleep, %llu times",
             (unsigned long long)MAX_IDLE_TURNS);
    }
    Thread* self = current;
    self->fiber = running;
    if (may_start_thread()) {
        make_ready(self);
        resume(take_fiber(), &self->stack_pointer);
    } else if (Thread* next = take_ready()) {
        make_ready(self);
        resume(next, &self->stack_pointer);
    }
}

void fail(Site site, const char* pattern, ...)
{
    va_list values;
    va_start(values, pattern);
    std::string what = format_list(pattern, values);
    va_end(values);
    end_with(describe(site) + ": " + describe(*current) + ": " + what);
}

void fail_at(const void* instruction, const std::string& what)
{
    end_with(mark_line(instruction) + ": " + describe(*current) + ": " + what);
}

void check_bounds(const void* address, size_t bytes, const char* verb, const void* instruction)
{
    if (guards == nullptr || !guards->covers(address)) return;  // such as a thread's own variables
    const Slot* slot = guards->slot_of(address);
    const char* first = (const char*)address;
    bool inside = slot != nullptr && slot->begin != nullptr && first >= slot->begin &&
                  first + bytes <= slot->begin + slot->bytes;
    if (!inside) fail_at(instruction, std::string("illegal ") + verb + " " + mark_element(address));
}

const Thread* first_thread()
{
    return threads.data();
}

uint32_t new_shared_declaration()
{
    static uint32_t declarations = 0;
    return declarations++;
}

void* shared_memory_of(uint32_t declaration, const char* name, size_t bytes, size_t alignment)
{
    Block& block = *current->block;
    if (EMULATOR_UNLIKELY(declaration >= block.shared_count)) {
        uint32_t count = declaration + 1;
        block.shared = (SharedVariable*)realloc(block.shared, count * sizeof(SharedVariable));
        memset(block.shared + block.shared_count, 0, (count - block.shared_count) * sizeof(SharedVariable));
        block.shared_count = count;
    }
    SharedVariable& variable = block.shared[declaration];
    if (EMULATOR_UNLIKELY(variable.memory == nullptr)) {
        variable = SharedVariable{allocate_shared(bytes, alignment < 16 ? 0 : alignment), bytes, name};
        memset(variable.memory, RUBBISH, bytes);
    }
    return variable.memory;
}

Outcome run_launch(Body body_of_kernel, const Configuration* requested, void** arguments, const size_t* sizes,
                   size_t count)
{
    body = body_of_kernel;
    configuration = requested;
    guards = requested->guards;
    prepare_launch(arguments);
    races::begin_launch(threads.size());
    arrays.clear();
    if (guards != nullptr) {
        find_arrays(arguments, sizes, count);
        save_arrays();
    }
    running = &launcher;
    {
        FaultCatcher catcher(report_fault);
        resume(take_fiber(), &launcher.stack_pointer);
    }
    std::string damage = find_damage();
    for (Block& block : blocks) {
        free_shared(block);
    }
    if (failed) {
        abandon_fibers();
        return FAILED;
    }
    if (damage.empty()) return DONE;
    snprintf(configuration->message, configuration->message_bytes, "illegal write to %s", damage.c_str());
    restore_arrays();
    return DAMAGED;
}

}  // namespace emulator
