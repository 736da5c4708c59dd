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

// Writes arcs, as tail << 32 | head, into their slots, or removes them if `holds` is 0.
extern "C" __global__ void set_arcs(u64 n, const u64* __restrict__ slot_of, const u64* __restrict__ arcs,
                                    u32 holds, Slots slots)
{
    for (u64 i = thread_id(); i < n; i += thread_count()) {
        u64 slot = slot_of[i];
        u32 tail = static_cast<u32>(arcs[i] >> 32);
        u32 head = static_cast<u32>(arcs[i]);
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
