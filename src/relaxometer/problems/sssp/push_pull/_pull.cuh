// Pulling: unsettled vertices look for their best neighbours; see push_pull.cu.

#pragma once

#include "_search.cuh"

// The shortest path to a vertex that its lanes know, and the lightest arc that they have seen.
struct Found {
    u64 length;
    u32 parent;
    u64 lightest;
};

// Puts the vertices of the `chosen` lanes into the list for the next phase.
__device__ __forceinline__ void keep_pulling(Search& s, bool chosen, u32 v)
{
    u32 all = __ballot_sync(ALL_LANES, chosen);
    if (all == 0) return;
    u32 place = reserve(all, &phase_counters(s).pulling);
    if (chosen) s.at.next[place] = v;
}

// A lane examines the arcs into v that are GROUP_LANES apart, lightest first, and stops at the first that is
// too heavy: no tail is nearer than `bound`.
__device__ __forceinline__ Found examine_arcs(Search& s, u32 v, u64 label, u64 bound)
{
    Found found = {distance_of(label), static_cast<u32>(label), INFINITE};
    i64 end = s.into.offsets[v + 1];
    for (i64 i = s.into.offsets[v] + lane() % GROUP_LANES; i < end; i += GROUP_LANES) {
        Arc arc = s.into.arcs[i];
        found.lightest = min(found.lightest, static_cast<u64>(weight_of(arc)));
        if (found.length != INFINITE && extended(bound, weight_of(arc)) >= found.length) break;
        ++s.tally.read;
        u64 before = distance_of(load_relaxed(&s.vertices.best[end_of(arc)]));
        u64 length = extended(before, weight_of(arc));
        if (before != INFINITE && length >= INFINITE) store_relaxed(&s.state->overflow, 1u);
        if (length < found.length) {
            found.length = length;
            found.parent = s.vertices.ids[end_of(arc)];
        }
    }
    return found;
}

__device__ __forceinline__ Found best_of_group(Found found)
{
    for (u32 other = 1; other < GROUP_LANES; other *= 2) {
        u64 length = __shfl_xor_sync(ALL_LANES, found.length, other);
        u32 parent = __shfl_xor_sync(ALL_LANES, found.parent, other);
        found.lightest = min(found.lightest, __shfl_xor_sync(ALL_LANES, found.lightest, other));
        if (length < found.length) {
            found.length = length;
            found.parent = parent;
        }
    }
    return found;
}

// The first `size` vertices of the frontier pull. Those whose lightest arc may still shorten their path, now
// or once neighbours have improved, pull again in the next phase.
__device__ __forceinline__ void pull_frontier(Search& s, u32 size, u64 bound, u64 floor)
{
    u32 improved = 0;
    for (u32 base = thread_id() / 32 * GROUPS_PER_WARP; base < size; base += thread_count() / GROUP_LANES) {
        u32 index = base + lane() / GROUP_LANES;
        bool has_vertex = index < size;
        u32 v = has_vertex ? s.at.frontier[index] : 0;
        u64 label = has_vertex ? load_relaxed(&s.vertices.best[v]) : 0;
        Found found = {0, 0, INFINITE};
        if (has_vertex) found = examine_arcs(s, v, label, bound);
        found = best_of_group(found);
        bool leads = has_vertex && lane() % GROUP_LANES == 0;
        if (leads && found.length < distance_of(label)) {
            store_relaxed(&s.vertices.best[v], label_of(found.length, found.parent));
            ++improved;
        }
        bool again = found.length == INFINITE || extended(floor, found.lightest) < found.length;
        keep_pulling(s, leads && again, v);
    }
    improved = __reduce_add_sync(ALL_LANES, improved);
    if (lane() == 0 && improved != 0) atomicAdd(&phase_counters(s).improved, improved);
}

// Unreached vertices, none of which is nearer than the last bucket's limit, pull until nothing changes.
// Settled vertices may be at any distance in the first phase; later phases examine only improvements, which
// are unsettled.
__device__ __forceinline__ void pull(Search& s)
{
    cg::grid_group grid = cg::this_grid();
    u64 floor = s.at.limit;
    begin_phase(s);
    for (u32 base = thread_id() - lane(); base < s.vertices.n; base += thread_count()) {
        u32 v = base + lane();
        keep_pulling(s, v < s.vertices.n && load_relaxed(&s.vertices.best[v]) == NO_LABEL, v);
    }
    grid.sync();
    u64 bound = 0;
    for (bool changed = true; changed; bound = floor) {
        u32 size = load_relaxed(&phase_counters(s).pulling);
        begin_phase(s);
        pull_frontier(s, size, bound, floor);
        add_tally(s);
        grid.sync();
        u32 improved = load_relaxed(&phase_counters(s).improved);
        changed = improved != 0;
        log_phase(s, true, improved, load_relaxed(&phase_counters(s).read));
    }
}
