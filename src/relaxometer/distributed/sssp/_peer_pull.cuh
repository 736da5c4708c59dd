// Pulling in sssp_peers.cu: three phases, after which pushing goes on from the heads that the last one found.
//
// In the first, heads without a path look for their best settled tail; every rank knows the distances of all
// settled tails. In the other two, those whose lightest arc may shorten their path ask the owners for the
// labels of tails, in the owners' memory. So what the first two phases find, most vertices of a graph, is
// never sent. A fourth would examine as many arcs as the third, for some hundredths of its finds.
//
// Most rows are short and most heads examine one to four arcs, so each lane takes a head alone: a GPU waits
// for four times as many arcs at once as if four lanes shared one. Heads are in the order of their degrees,
// so rows side by side are about as long. A row of more than LONG_ROW arcs has the whole warp.

#pragma once

#include "_peer_search.cuh"

const u32 LONG_ROW = 256;

// The shortest path to a head that its lanes know, and the lightest arc that they have seen. INFINITE and
// weights fit 32 bits here.
struct Best {
    u32 length;
    u32 parent;
    u32 lightest;
};

__device__ __forceinline__ u32 distance_at(const PeerSearch& s, u32 tail, bool asks_owner)
{
    if (!asks_owner) return load_relaxed(&s.tails.distance[tail]);
    const u64* labels = s.peers.at<u64>(tail % s.peers.n_ranks, s.tails.labels);
    return static_cast<u32>(distance_of(load_relaxed(&labels[tail / s.peers.n_ranks])));
}

// Examines every `step`th arc of a row from `first`, lightest first, up to the first that is too heavy: no
// tail is nearer than `bound`, which is 0 if only settled tails count.
__device__ __forceinline__ void examine(PeerSearch& s, const Arc* row, u32 first, u32 end, u32 step,
                                        u64 bound, Best* best)
{
#pragma unroll 1
    for (u32 i = first; i < end; i += step) {
        Arc arc = row[i];
        best->lightest = min(best->lightest, weight_of(arc));
        if (best->length != INFINITE && bound + weight_of(arc) >= best->length) return;
        ++s.tally.read;
        u32 before = distance_at(s, end_of(arc), bound != 0);
        if (before == INFINITE) continue;
        u64 length = static_cast<u64>(before) + weight_of(arc);
        if (length >= INFINITE) store_relaxed(&s.state->overflow, 1u);
        if (length < best->length) {
            best->length = static_cast<u32>(length);
            best->parent = end_of(arc);
        }
    }
}

__device__ __forceinline__ Best best_of_warp(Best best)
{
    u32 length = __reduce_min_sync(ALL_LANES, best.length);
    u32 winner = __ffs(__ballot_sync(ALL_LANES, best.length == length)) - 1;
    return {length, __shfl_sync(ALL_LANES, best.parent, winner), __reduce_min_sync(ALL_LANES, best.lightest)};
}

// The `pulling` lanes' heads look for better paths than their labels: short rows by a lane each, all at once,
// then long rows by the warp, one after the other. One loop does both, for fewer registers. For whole warps.
__device__ __forceinline__ Best pull(PeerSearch& s, bool pulling, u32 head, u64 label, u64 bound)
{
    i64 begin = pulling ? s.into.offsets[head] : 0;
    u32 size = pulling ? static_cast<u32>(s.into.offsets[head + 1] - begin) : 0;
    u32 left = __ballot_sync(ALL_LANES, size > LONG_ROW);
    Best best = {static_cast<u32>(distance_of(label)), static_cast<u32>(label), static_cast<u32>(INFINITE)};
    const Arc* row = s.into.arcs + begin;
    Best found = best;
    for (u32 owner = lane(), first = 0, step = 1, end = size > LONG_ROW ? 0 : size;; left &= left - 1) {
        examine(s, row, first, end, step, bound, &found);
        if (step == WARP) found = best_of_warp(found);
        if (lane() == owner) best = found;
        if (left == 0) return best;
        owner = __ffs(left) - 1;
        first = lane();
        step = WARP;
        end = __shfl_sync(ALL_LANES, size, owner);
        row = s.into.arcs + __shfl_sync(ALL_LANES, begin, owner);
        found = {__shfl_sync(ALL_LANES, best.length, owner), __shfl_sync(ALL_LANES, best.parent, owner),
                 static_cast<u32>(INFINITE)};
    }
}

enum Pull { FROM_SETTLED, FROM_ALL, AND_SEND };
const u32 PULLS = 3;
static_assert(PULLS == AND_SEND + 1, "as in Pull");

// Puts heads that pull again on the list, or sends those that came nearer in the last phase.
__device__ __forceinline__ void pass_on(PeerSearch& s, u32 least, u32 phase)
{
    hand_over(s.pile, least, [&](bool chosen, u32 head) {
        if (phase == AND_SEND) {
            u32 place = place_for(s, s.vertices.n, chosen, tail_of(s, head) < s.vertices.n_many);
            if (chosen) send(s, place, head);
        } else {
            u32 place = reserve(__ballot_sync(ALL_LANES, chosen), &phase_counters(s).pulling);
            if (chosen) s.frontiers[TO_PULL][place] = head;
        }
    });
}

// A phase of pulling: first all heads without a path, then the `size` heads of the list, from tails that are
// at `limit` or further away. A label may be read before or after its head has pulled in this phase: what it
// becomes is read in the next phase, or pushed.
__device__ __forceinline__ void pull_phase(PeerSearch& s, u32 phase, u32 size)
{
    u32 nearer_heads = 0;
#pragma unroll 1
    for (u32 base = thread_id() - lane(); base < size; base += thread_count()) {
        u32 index = base + lane();
        bool pulling = index < size;
        u32 head = phase != FROM_SETTLED && pulling ? s.frontiers[TO_PULL][index] : index;
        u64 label = pulling ? load_relaxed(&s.vertices.best[head]) : 0;
        if (phase == FROM_SETTLED) pulling = pulling && label == NO_LABEL;
        if (!__any_sync(ALL_LANES, pulling)) continue;
        Best best = pull(s, pulling, head, label, phase == FROM_SETTLED ? 0 : s.at.limit);
        bool nearer = pulling && best.length < distance_of(label);
        if (nearer) store_relaxed(&s.vertices.best[head], label_of(best.length, best.parent));
        nearer_heads += nearer;
        if (phase == FROM_ALL) continue;
        bool may_shorten = best.length == INFINITE || s.at.limit + best.lightest < best.length;
        pile_up(s.pile, phase == AND_SEND ? nearer : pulling && may_shorten, head);
        pass_on(s, WARP, phase);
    }
    pass_on(s, 1, phase);
    // Heads that are sent count as messages.
    nearer_heads = phase == AND_SEND ? 0 : __reduce_add_sync(ALL_LANES, nearer_heads);
    if (lane() == 0 && nearer_heads != 0) atomicAdd(&s.block->nearer_heads, nearer_heads);
    add_up(s);
}

// Pulls until nothing changes or the last phase. Returns whether any rank sent heads, which are to be pushed.
__device__ __forceinline__ bool pull_all(PeerSearch& s)
{
    u32 size = s.vertices.n;
#pragma unroll 1
    for (u32 phase = FROM_SETTLED; phase < PULLS; ++phase) {
        advance(s);
        pull_phase(s, phase, size);
        if (meet_all(s, true) == 0) return false;
        if (phase == FROM_SETTLED) size = load_relaxed(&phase_counters(s).pulling);
    }
    return true;
}
