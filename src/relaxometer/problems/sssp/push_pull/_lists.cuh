// Lists of vertices that warps fill together; see push_pull.cu.
//
// A warp piles items up in shared memory. They leave 32 at a time, so that one atomic addition reserves
// places for as many: all warps add to the same counter, which takes about one addition per nanosecond.

#pragma once

#include "_search.cuh"

const u32 SWEPT = 8;  // words that a lane reads at once in a sweep over all tails
const u32 PILE = (SWEPT + 1) * WARP;

// Adds the items of the `chosen` lanes to the pile.
__device__ __forceinline__ void pile_up(Pile& pile, bool chosen, u32 item)
{
    u32 all = __ballot_sync(ALL_LANES, chosen);
    if (chosen) pile.items[pile.size + __popc(all & ((1u << lane()) - 1))] = item;
    pile.size += __popc(all);
}

// Calls `take(chosen, item)` for whole warps while the pile has at least `least` items.
template <typename Take>
__device__ __forceinline__ void hand_over(Pile& pile, u32 least, Take take)
{
#pragma unroll 1
    while (pile.size >= least) {
        u32 count = min(pile.size, WARP);
        pile.size -= count;
        bool chosen = lane() < count;
        __syncwarp();
        u32 item = chosen ? pile.items[pile.size + lane()] : 0;
        __syncwarp();
        take(chosen, item);
    }
}

// Reserves a place for each lane in `chosen`, with one atomic addition per warp.
__device__ __forceinline__ u32 reserve(u32 chosen, u32* size)
{
    u32 begin = 0;
    if (lane() == 0 && chosen != 0) begin = atomicAdd(size, static_cast<u32>(__popc(chosen)));
    begin = __shfl_sync(ALL_LANES, begin, 0);
    return begin + __popc(chosen & ((1u << lane()) - 1));
}

// Reserves a place for each of the `chosen` lanes in a list of `size`: few arcs from the front, many from the
// back.
__device__ __forceinline__ u32 place_for(Search& s, u32 size, bool chosen, bool has_many)
{
    u32 many = __ballot_sync(ALL_LANES, chosen && has_many);
    u32 few = __ballot_sync(ALL_LANES, chosen && !has_many);
    u32 front = few == 0 ? 0 : reserve(few, &phase_counters(s).few);
    u32 back = many == 0 ? 0 : reserve(many, &phase_counters(s).many);
    return has_many ? size - 1 - back : front;
}

// Reserves a place for each of the `chosen` lanes in a list of heads.
template <typename AnySearch>
__device__ __forceinline__ u32 place_of_head(AnySearch& s, bool chosen, u32 head)
{
    return place_for(s, s.vertices.n, chosen, tail_of(s, head) < s.vertices.n_many);
}

// Lists the heads of the `chosen` lanes as nearer.
template <typename AnySearch>
__device__ __forceinline__ void enlist(AnySearch& s, bool chosen, u32 head)
{
    u32 place = place_of_head(s, chosen, head);
    if (chosen) s.at.next[place] = head;
}
