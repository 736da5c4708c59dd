// What the ranks of sssp_peers.cu know, how they tell each other, and how warps fill lists.

#pragma once

#include "device/block_sum.cuh"
#include "distributed/_peers.cuh"
#include "problems/sssp/push_pull/_push.cuh"

// What a rank publishes at the end of a phase: messages sent from the front and from the back of their lists
// (phases of pulling that send none count in FEW the heads that came nearer), and counters.
enum Count { FEW, MANY, READ, SETTLED, NEAREST, OVERFLOWED };
const u32 COUNTS = 6;
static_assert(COUNTS == OVERFLOWED + 1, "as in Count");

// Lists of heads, in the member `frontiers` of Problem.
enum List { TO_SEND, TO_PULL };

const u32 SWEPT = 8;  // words that a lane reads at once in a sweep over all tails
const u32 PILE = (SWEPT + 1) * WARP;
const u32 MAX_WARPS = 16;  // of a block

// What a rank knows of all vertices. In the member `vertices` of Problem, `n`, `best` and `stamp` are those
// of its heads, the others those of the tails.
struct Tails {
    u32 n;
    u64 labels;     // bytes of a region before `best` of its rank
    u32* distance;  // last heard
    u32* resumed;  // tails whose next arc is due in a new bucket: few arcs from the front, many from the back
};

// Items of a warp in shared memory. They leave 32 at a time, so one atomic addition reserves places for as
// many: all warps add to the same counter, which takes about one addition per nanosecond.
struct Pile {
    u32* items;
    u32 size;
};

// What a block has counted since it last told the others.
struct BlockTally {
    u64 read;
    u64 settled_arcs;
    u64 nearest;
    u32 nearer_heads;  // in phases of pulling that send none
};

struct PeerSearch : Search {
    Peers peers;
    Tails tails;
    u32 epoch;
    Pile pile;
    BlockTally* block;
    Published* published;
};

__device__ __forceinline__ u32 tail_of(const PeerSearch& s, u32 head)
{
    return head * s.peers.n_ranks + s.peers.rank;
}

// The messages from a rank in a rank's region, written in this phase or, with `behind`, in the last one.
__device__ __forceinline__ u64* inbox(const PeerSearch& s, u32 peer, u32 from, u32 behind)
{
    u64 list = (s.at.phase - behind) % 2 * s.peers.n_ranks + from;
    return s.peers.at<u64>(peer, list * s.vertices.n * sizeof(u64));
}

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

// Reserves a place for each of the `chosen` lanes in a list of `size`: few arcs from the front, many from the
// back.
__device__ __forceinline__ u32 place_for(PeerSearch& s, u32 size, bool chosen, bool has_many)
{
    u32 many = __ballot_sync(ALL_LANES, chosen && has_many);
    u32 few = __ballot_sync(ALL_LANES, chosen && !has_many);
    u32 front = few == 0 ? 0 : reserve(few, &phase_counters(s).few);
    u32 back = many == 0 ? 0 : reserve(many, &phase_counters(s).many);
    return has_many ? size - 1 - back : front;
}

// Writes a head and its distance to a place of this rank's messages, on all ranks and on this one. Ranks
// begin with different peers, so that not all write to one.
__device__ __forceinline__ void send(PeerSearch& s, u32 place, u32 head)
{
    u64 distance = distance_of(load_relaxed(&s.vertices.best[head]));
    u64 message = static_cast<u64>(tail_of(s, head)) << 32 | distance;
#pragma unroll 1
    for (u32 step = 0; step < s.peers.n_ranks; ++step) {
        u32 peer = (s.peers.rank + step) % s.peers.n_ranks;
        inbox(s, peer, s.peers.rank, 0)[place] = message;
    }
}

// Adds the tallies of a block's threads to the counters. For whole blocks, which wait for each other before
// they count again.
__device__ __forceinline__ void add_up(PeerSearch& s)
{
    Tally& tally = s.tally;
    u64 read = sum_of_warp(tally.read), settled_arcs = sum_of_warp(tally.settled_arcs);
    for (u32 other = WARP / 2; other > 0; other /= 2) {
        tally.nearest = min(tally.nearest, __shfl_xor_sync(ALL_LANES, tally.nearest, other));
    }
    if (lane() == 0) {
        if (read != 0) atomicAdd(&s.block->read, read);
        if (settled_arcs != 0) atomicAdd(&s.block->settled_arcs, settled_arcs);
        if (tally.nearest != INFINITE) atomicMin(&s.block->nearest, tally.nearest);
    }
    tally = {INFINITE, 0, 0};
    __syncthreads();
    if (threadIdx.x != 0) return;
    BlockTally& block = *s.block;
    if (block.read != 0) atomicAdd(&phase_counters(s).read, block.read);
    if (block.read != 0) atomicAdd(&bucket_counters(s).read, block.read);
    if (block.settled_arcs != 0) atomicAdd(&s.state->settled_arcs, block.settled_arcs);
    if (block.nearest != INFINITE) atomicMin(&bucket_counters(s).nearest, block.nearest);
    if (block.nearer_heads != 0) atomicAdd(&phase_counters(s).improved, block.nearer_heads);
    block = {0, 0, INFINITE, 0};
}

__device__ __forceinline__ u64 sum_of(const PeerSearch& s, Count count)
{
    return s.published->sum(s.peers, count);
}

// Waits for all ranks at the end of a phase. Returns how many heads came nearer, on all ranks.
__device__ __forceinline__ u64 meet_all(PeerSearch& s, bool pulled)
{
    meet<COUNTS>(s.peers, ++s.epoch, *s.published, [&](u32 count) -> u64 {
        const PhaseCounters& phase = phase_counters(s);
        const BucketCounters& bucket = bucket_counters(s);
        switch (count) {
            case FEW:
                return load_relaxed(&phase.few) + load_relaxed(&phase.improved);
            case MANY:
                return load_relaxed(&phase.many);
            case READ:
                return load_relaxed(&bucket.read);
            case SETTLED:
                return load_relaxed(&s.state->settled_arcs);
            case NEAREST:
                return load_relaxed(&bucket.nearest);
            default:
                return load_relaxed(&s.state->overflow);
        }
    });
    u64 nearer = sum_of(s, FEW) + sum_of(s, MANY);
    log_phase(s, pulled, nearer, load_relaxed(&phase_counters(s).read));
    return nearer;
}

// Begins a phase; unlike `begin_phase`, which swaps the lists.
__device__ __forceinline__ void advance(PeerSearch& s)
{
    ++s.at.phase;
    if (thread_id() == 0) s.state->phases[(s.at.phase + 1) % 3] = {};
}
