// Pulling: three phases, before a last bucket that pushes from the heads that the third one found; see
// push_pull.cu.
//
// In the first, heads without a path look for their best settled tail. In the other two, those whose lightest
// arc may shorten their path look for better tails that are not settled. A fourth would examine as many arcs
// as the third, for some hundredths of its finds. Of several GPUs each knows the distances of all settled
// tails, and reads others in the memory of their owners. So what the first two phases find, most vertices of
// a graph, is never sent.
//
// Most rows are short and most heads examine one to four arcs, so each lane takes a head alone: a GPU waits
// for four times as many arcs at once as if four lanes shared one. Heads are in the order of their degrees,
// so rows side by side are about as long. A row of more than LONG_ROW arcs has the whole warp.

#pragma once

#include "_lists.cuh"

const u32 LONG_ROW = 256;

// The shortest path to a head that its lanes know, and the lightest arc that they have seen.
struct Best {
    length_t length;
    u32 parent;
    length_t lightest;
};

__device__ __forceinline__ Best known_path(u64 label)
{
    return {static_cast<length_t>(distance_of(label)), static_cast<u32>(label), NO_PATH};
}

// Examines every `step`th arc of a row from `first`, lightest first, up to the first that is too heavy: no
// tail is nearer than `bound`, which is 0 if settled tails count.
template <typename AnySearch>
__device__ __forceinline__ void examine(AnySearch& s, const Arc* row, u32 first, u32 end, u32 step, u64 bound,
                                        Best* best)
{
#pragma unroll 1
    for (u32 i = first; i < end; i += step) {
        Arc arc = row[i];
        length_t weight = weight_of(arc);
        best->lightest = min(best->lightest, weight);
        if (best->length != NO_PATH && extended(bound, weight) >= best->length) return;
        ++s.tally.read;
        length_t before = bound == 0 ? distance_at(s, end_of(arc)) : latest_distance(s, end_of(arc));
        if (before == NO_PATH) continue;
        u64 length = extended(before, weight);
        if (length >= INFINITE) store_relaxed(&s.state->overflow, 1u);
        if (length < best->length) {
            best->length = static_cast<length_t>(length);
            best->parent = end_of(arc);
        }
    }
}

__device__ __forceinline__ Best best_of_warp(Best best)
{
    length_t length = least_of_warp(best.length);
    u32 winner = __ffs(__ballot_sync(ALL_LANES, best.length == length)) - 1;
    return {length, __shfl_sync(ALL_LANES, best.parent, winner), least_of_warp(best.lightest)};
}

// The `pulling` lanes' heads look for better paths than their labels: short rows by a lane each, all at once,
// then long rows by the warp, one after the other. One loop does both, for fewer registers. For whole warps.
template <typename AnySearch>
__device__ __forceinline__ Best pull(AnySearch& s, bool pulling, u32 head, u64 label, u64 bound)
{
    i64 begin = pulling ? s.into.offsets[head] : 0;
    u32 size = pulling ? static_cast<u32>(s.into.offsets[head + 1] - begin) : 0;
    u32 left = __ballot_sync(ALL_LANES, size > LONG_ROW);
    Best best = known_path(label);
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
                 NO_PATH};
    }
}

enum Pull { FROM_SETTLED, FROM_ALL, AND_ANNOUNCE };
const u32 PULLS = 3;
static_assert(PULLS == AND_ANNOUNCE + 1, "as in Pull");

// Lists heads that pull again, or announces those that came nearer in the last phase.
template <typename AnySearch>
__device__ __forceinline__ void pass_on(AnySearch& s, u32 least, u32 phase)
{
    hand_over(s.pile, least, [&](bool chosen, u32 head) {
        if (phase == AND_ANNOUNCE) {
            announce(s, chosen, head);
        } else {
            u32 place = reserve(__ballot_sync(ALL_LANES, chosen), &phase_counters(s).pulling);
            if (chosen) s.lists[TO_PULL][place] = head;
        }
    });
}

// A phase of pulling: first all heads without a path, then the `size` heads of the list, from tails that are
// at `limit` or further away. A label may be read before or after its head has pulled in this phase: what it
// becomes is read in the next phase, or pushed.
template <typename AnySearch>
__device__ __forceinline__ void pull_phase(AnySearch& s, u32 phase, u32 size)
{
    u32 nearer_heads = 0;
#pragma unroll 1
    for (u32 base = thread_id() - lane(); base < size; base += thread_count()) {
        u32 index = base + lane();
        bool pulling = index < size;
        u32 head = phase != FROM_SETTLED && pulling ? s.lists[TO_PULL][index] : index;
        u64 label = pulling ? load_relaxed(&s.vertices.best[head]) : 0;
        if (phase == FROM_SETTLED) pulling = pulling && label == NO_LABEL;
        if (!__any_sync(ALL_LANES, pulling)) continue;
        Best best = pull(s, pulling, head, label, phase == FROM_SETTLED ? 0 : s.at.limit);
        bool nearer = pulling && best.length < distance_of(label);
        if (nearer) store_relaxed(&s.vertices.best[head], label_of(best.length, best.parent));
        nearer_heads += nearer;
        if (phase == FROM_ALL) continue;
        bool may_shorten = best.length == NO_PATH || extended(s.at.limit, best.lightest) < best.length;
        pile_up(s.pile, phase == AND_ANNOUNCE ? nearer : pulling && may_shorten, head);
        pass_on(s, WARP, phase);
    }
    pass_on(s, 1, phase);
    // Heads that are announced have been counted.
    nearer_heads = phase == AND_ANNOUNCE ? 0 : __reduce_add_sync(ALL_LANES, nearer_heads);
    if (lane() == 0 && nearer_heads != 0) atomicAdd(&s.block->nearer_heads, nearer_heads);
    add_up(s);
}

// Pulls until nothing changes or the last phase. Returns whether there are heads to be pushed.
template <typename AnySearch>
__device__ __forceinline__ bool pull_all(AnySearch& s)
{
    u32 size = s.vertices.n;
#pragma unroll 1
    for (u32 phase = FROM_SETTLED; phase < PULLS; ++phase) {
        begin_phase(s);
        pull_phase(s, phase, size);
        if (meet_all(s, true) == 0) return false;
        if (phase == FROM_SETTLED) size = load_relaxed(&phase_counters(s).pulling);
    }
    return true;
}
