// Arcs of a changing graph: writes arcs into their slots, and loops into the slots of removed arcs.

#include "device/atomics.cuh"

// Every arc of the layout has a slot by tail; `place` is its place by head. Spare slots follow, in both
// alike.
struct Slots {
    u64 n_by_tail;
    u32* heads;  // by tail
    const u64* place;
    u32* into_tails;  // by head
    u32* into_heads;
};

// `edits` are n slots, then n arcs as tail << 32 | head, then n words: 1 to hold the arc, 0 to remove it.
extern "C" __global__ void set_arcs(u64 n, const u64* __restrict__ edits, Slots slots)
{
    for (u64 i = thread_id(); i < n; i += thread_count()) {
        u64 slot = edits[i];
        u32 tail = static_cast<u32>(edits[n + i] >> 32);
        u32 head = static_cast<u32>(edits[n + i]);
        bool holds = edits[2 * n + i] != 0;
        bool is_spare = slot >= slots.n_by_tail;
        u64 place = is_spare ? slot : slots.place[slot];
        slots.into_tails[place] = holds ? tail : head;
        if (is_spare) {
            slots.into_heads[place] = head;
        } else {
            slots.heads[slot] = holds ? head : tail;
        }
    }
}
