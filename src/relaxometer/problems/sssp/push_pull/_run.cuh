// The course of a search, from its source to its last phase; see push_pull.cu.

#pragma once

#include "_pull.cuh"
#include "_push.cuh"

// Clears the counters and makes the source, a tail or NO_VERTEX, the first frontier: its first arc is due.
// `own_arcs` lead to it, if it is one of this GPU's heads. The caller has cleared what belongs to vertices.
template <typename AnySearch>
__device__ __forceinline__ Frontier begin_search(AnySearch& s, u32 source, u64 own_arcs)
{
    bool has_many = source < s.vertices.n_many;
    if (threadIdx.x == 0) *s.block = {{INFINITE, 0, 0}, 0};
    if (thread_id() == 0) {
        for (BucketCounters& bucket : s.state->bucket) bucket = {INFINITE, 0};
        for (PhaseCounters& phase : s.state->phases) phase = {};
        s.state->overflow = s.state->logged = 0;
        s.state->settled_arcs = own_arcs;
        if (source != NO_VERTEX) {
            s.vertices.cursor[source] = 0;
            resumed_list(s)[has_many ? n_tails(s) - 1 : 0] = source;
        }
    }
    cg::this_grid().sync();
    log_phase(s, false, 1, 0);
    return {has_many ? 0u : 1u, has_many ? 1u : 0u, true};
}

// Pushes buckets until the search changes direction, pulls, and pushes what the last phase of pulling found.
template <typename AnySearch>
__device__ __forceinline__ void run(AnySearch& s, Frontier frontier)
{
    begin_bucket(s, bucket_end(0, s.delta));
    for (;;) {
        push_bucket(s, frontier);
        Tally counts = total(s);
        if (counts.nearest == INFINITE || s.at.limit == INFINITE) return;
        if (static_cast<float>(s.n_arcs - counts.settled_arcs) < s.beta * counts.read) {
            if (!pull_all(s)) return;
            frontier = next_frontier(s);
            s.at.limit = INFINITE;
        } else {
            begin_bucket(s, bucket_end(counts.nearest, s.delta));
            frontier = collect_due(s);
        }
    }
}

// Clears stamps that a search might meet again; a call, as it is rare and would cost the search registers.
__device__ __noinline__ void clear_stamps(u32* stamp, u32 n)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) stamp[v] = 0;
}

// Notes the phase from which the next search continues. After the last barrier.
template <typename AnySearch>
__device__ __forceinline__ void end_search(AnySearch& s)
{
    bool wraps = s.at.phase >= PHASES;
    if (thread_id() == 0) s.state->phase = s.at.phase - (wraps ? PHASES : 0);
    if (wraps) clear_stamps(s.vertices.stamp, s.vertices.n);
}
