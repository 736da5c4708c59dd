// Allocates arrays with red zones (see guards.h), for NumPy and for shared memory.
//
// Python's lock protects everything here.

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unordered_map>
#include <vector>

#include "guards.h"

namespace emulator {
namespace {

const size_t GRANULES = ARENA / GRANULE;
const size_t MAX_MAPPED = 16'000;  // slots, of two areas each; Linux allows a process 65,530, also for stacks
const size_t MAX_BYTES = 1 << 30;  // beyond, limits of the process must apply: the arena is reserved already
const size_t HUGE_BYTES = 4 << 20;
const size_t MAX_CACHED_BYTES = 64 << 20;

Slot slots[GRANULES];
uint32_t first[GRANULES];
size_t next_granule = 1;
size_t mapped;
size_t cached_bytes;
size_t least_alignment;
std::unordered_map<size_t, std::vector<uint32_t>> unmapped;  // first granules, by number of granules

// Lists of accessible free slots, by the number of their pages.
const size_t SMALL_PAGES = 64;
Slot* small_cache[SMALL_PAGES];
std::unordered_map<size_t, Slot*> large_cache;

void* allocate(size_t bytes, size_t alignment);
void release(void* memory);

Guards guards = {nullptr, slots, first, allocate, release};

size_t page_size;

// To a multiple of a power of two.
size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) & -unit;
}

Slot*& cache_of(size_t page_bytes)
{
    size_t pages = page_bytes / page_size;
    return pages < SMALL_PAGES ? small_cache[pages] : large_cache[pages];
}

// Distant writes past large arrays must not reach the next one.
size_t granules_of(size_t page_bytes)
{
    return round_up(page_bytes + (page_bytes > GAP ? page_bytes : GAP), GRANULE) / GRANULE;
}

void unmap(Slot* slot)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    mmap(slot->pages, slot->page_bytes, PROT_NONE, flags, -1, 0);
    unmapped[granules_of(slot->page_bytes)].push_back((uint32_t)(slot - slots));
    --mapped;
}

void unmap_all(Slot*& list)
{
    while (list != nullptr) {
        unmap(list);
        list = list->next;
    }
}

void empty_cache()
{
    for (Slot*& list : small_cache) {
        unmap_all(list);
    }
    for (auto& entry : large_cache) {
        unmap_all(entry.second);
    }
    cached_bytes = 0;
}

// A free slot of zeros, or null.
Slot* map(size_t page_bytes)
{
    if (mapped == MAX_MAPPED) empty_cache();
    size_t granules = granules_of(page_bytes);
    std::vector<uint32_t>& free_ranges = unmapped[granules];
    bool reuse = !free_ranges.empty();
    size_t start = reuse ? free_ranges.back() : next_granule;
    if (mapped == MAX_MAPPED || start + granules > GRANULES) return nullptr;
    char* pages = guards.arena + start * GRANULE;
    if (mprotect(pages, page_bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
    if (page_bytes >= HUGE_BYTES) madvise(pages, page_bytes, MADV_HUGEPAGE);  // as NumPy does
#endif
    if (reuse) {
        free_ranges.pop_back();
    } else {
        next_granule += granules;
        for (size_t granule = start; granule < next_granule; ++granule) {
            first[granule] = (uint32_t)start;
        }
    }
    ++mapped;
    slots[start] = Slot{nullptr, 0, pages, page_bytes, pages, nullptr};
    return &slots[start];
}

Slot* take_cached(size_t page_bytes)
{
    Slot*& list = cache_of(page_bytes);
    Slot* slot = list;
    if (slot == nullptr) return nullptr;
    list = slot->next;
    cached_bytes -= page_bytes;
    return slot;
}

// The array ends as near to the end of the pages as its alignment allows. An alignment of 0 is that of the
// largest type of at most 16 bytes that divides it.
char* place(Slot* slot, size_t bytes, size_t alignment)
{
    size_t natural = (bytes | 16) & -(bytes | 16);
    if (alignment == 0) alignment = natural < least_alignment ? least_alignment : natural;
    char* end = slot->pages + slot->page_bytes;
    char* begin = (char*)((uintptr_t)(end - bytes) & -alignment);
    if (begin > slot->guarded) memset(slot->guarded, GUARD, (size_t)(begin - slot->guarded));
    memset(begin + bytes, GUARD, (size_t)(end - begin) - bytes);
    slot->guarded = begin;
    slot->begin = begin;
    slot->bytes = bytes;
    return begin;
}

void* allocate_filled(size_t bytes, size_t alignment, bool zero)
{
    if (bytes == 0) bytes = 1;
    if (bytes > MAX_BYTES) return nullptr;
    size_t page_bytes = round_up(bytes, page_size);
    Slot* slot = take_cached(page_bytes);
    bool used = slot != nullptr;
    if (!used) slot = map(page_bytes);
    if (slot == nullptr) return nullptr;
    char* begin = place(slot, bytes, alignment);
    if (zero && used) memset(begin, 0, bytes);
    return begin;
}

void* allocate(size_t bytes, size_t alignment)
{
    return allocate_filled(bytes, alignment, false);
}

void release(void* memory)
{
    Slot* slot = guards.slot_of(memory);
    slot->begin = nullptr;
    size_t page_bytes = slot->page_bytes;
    if (cached_bytes + page_bytes > MAX_CACHED_BYTES) empty_cache();
    if (page_bytes > MAX_CACHED_BYTES / 2) {
        unmap(slot);
        return;
    }
    Slot*& list = cache_of(page_bytes);
    slot->next = list;
    list = slot;
    cached_bytes += page_bytes;
}

// NumPy's functions. Arrays that do not fit in the arena get memory without red zones.

void* numpy_malloc(void*, size_t bytes)
{
    void* memory = allocate(bytes, 0);
    return memory != nullptr ? memory : malloc(bytes);
}

void* numpy_calloc(void*, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    void* memory = allocate_filled(bytes, 0, true);
    return memory != nullptr ? memory : calloc(count, size);
}

void numpy_free(void*, void* memory, size_t)
{
    if (guards.covers(memory)) {
        release(memory);
    } else {
        free(memory);
    }
}

void* numpy_realloc(void*, void* memory, size_t bytes)
{
    if (memory == nullptr) return numpy_malloc(nullptr, bytes);
    if (!guards.covers(memory)) return realloc(memory, bytes);
    void* moved = numpy_malloc(nullptr, bytes);
    if (moved == nullptr) return nullptr;
    size_t previous = guards.slot_of(memory)->bytes;
    memcpy(moved, memory, previous < bytes ? previous : bytes);
    release(memory);
    return moved;
}

// NumPy's PyDataMem_Handler.
struct Handler {
    char name[127];
    uint8_t version;
    void* context;
    void* (*malloc)(void*, size_t);
    void* (*calloc)(void*, size_t, size_t);
    void* (*realloc)(void*, void*, size_t);
    void (*free)(void*, void*, size_t);
};

Handler handler = {"relaxometer_red_zones", 1,         nullptr, numpy_malloc, numpy_calloc,
                   numpy_realloc,           numpy_free};

}  // namespace
}  // namespace emulator

#define EMULATOR_EXPORTED extern "C" __attribute__((visibility("default")))

// Reserves the address space; null if the system refuses. Call it once. Arrays get at least this alignment.
EMULATOR_EXPORTED const emulator::Guards* emulator_guards(size_t alignment)
{
    // Far from other memory: 32-bit indices beyond an array stay within the arena.
    void* wanted = (void*)((uintptr_t)1 << 44);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* arena = mmap(wanted, emulator::ARENA, PROT_NONE, flags, -1, 0);
    if (arena == MAP_FAILED) return nullptr;
    emulator::guards.arena = (char*)arena;
    emulator::least_alignment = alignment;
    emulator::page_size = (size_t)sysconf(_SC_PAGESIZE);
    return &emulator::guards;
}

EMULATOR_EXPORTED void* emulator_numpy_handler()
{
    return &emulator::handler;
}
