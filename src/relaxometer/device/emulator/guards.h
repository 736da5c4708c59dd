// Red zones around arrays: memory that begins and ends at areas that cannot be accessed.
//
// An array ends where an inaccessible gap begins, so the first access past its end is a fault, as is one far
// from any array. Guard bytes fill the rest of its first page; a launch checks them when it ends. NumPy
// arrays (guards.cpp is a memory handler of NumPy) and shared memory are allocated so.

#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulator {

const size_t GRANULE = 4 << 20;          // address space is given out in multiples of this
const size_t GAP = 2 << 20;              // the least distance between two arrays
const size_t ARENA = (size_t)256 << 30;  // address space; no memory until used
const unsigned char GUARD = 0xdb;

// Accessible pages with one array.
struct Slot {
    char* begin;  // of the array; null if the slot is free
    size_t bytes;
    char* pages;
    size_t page_bytes;
    char* guarded;  // guard bytes fill the pages up to here
    Slot* next;     // in a list of free slots
};

struct Guards {
    char* arena;
    Slot* slots;                                        // by the number of their first granule
    const uint32_t* first;                              // granule to the first granule of its slot, 0 if none
    void* (*allocate)(size_t bytes, size_t alignment);  // null if it does not fit
    void (*release)(void* memory);

    bool covers(const void* address) const
    {
        return (uintptr_t)address - (uintptr_t)arena < ARENA;
    }

    // The slot whose pages or gap hold the address, or null.
    Slot* slot_of(const void* address) const
    {
        if (!covers(address)) return nullptr;
        uint32_t granule = first[((uintptr_t)address - (uintptr_t)arena) / GRANULE];
        return granule == 0 ? nullptr : &slots[granule];
    }
};

}  // namespace emulator
