// Pushing: a frontier relaxes those of its arcs that end within the bucket; see push_pull.cu.
//
// A vertex's window is the run of arcs from its cursor to the first one that leaves the bucket. GROUP_LANES
// lanes push the window of a vertex of few arcs, a warp that of a vertex of many. A window longer than
// TASK_ARCS is cut into tasks for all warps.
//
// The functions are templates over the search, since sssp_peers.cu of distributed/ pushes to the heads of one
// GPU from tails of all. A search provides `tail_at` and `relax`.

#pragma once

#include "_search.cuh"

__device__ const u32 GROUP_ROUND = 2;  // arcs that a lane of a group reads at once
__device__ const u32 TASK_ARCS = 128;  // of a vertex of many
// Arcs that a lane of a warp reads at once; 4 of two words would spill registers.
__device__ const u32 WARP_ROUND = sizeof(Arc) == sizeof(u64) ? 4 : 2;

// Replaces an arc that is not to be relaxed.
template <typename AnyArc>
__device__ __forceinline__ AnyArc no_arc();

template <>
__device__ __forceinline__ u64 no_arc<u64>()
{
    return ~0ull;
}

template <>
__device__ __forceinline__ WideArc no_arc<WideArc>()
{
    return {0, ~0ull};
}

__device__ __forceinline__ bool is_missing(u64 arc)
{
    return arc == no_arc<u64>();
}

__device__ __forceinline__ bool is_missing(const WideArc& arc)
{
    return arc.end == no_arc<WideArc>().end;
}

// A vertex whose arcs are pushed.
struct Tail {
    u32 vertex;
    u32 id;
    u64 distance;
};

__device__ __forceinline__ Tail tail_at(const Search& s, u32 v)
{
    return {v, s.vertices.ids[v], distance_of(load_relaxed(&s.vertices.best[v]))};
}

// Puts the vertices of the `chosen` lanes into the next frontier.
__device__ __forceinline__ void enqueue(Search& s, bool chosen, u32 v)
{
    bool is_many = chosen && v < s.vertices.n_many, is_few = chosen && v >= s.vertices.n_many;
    u32 many = __ballot_sync(ALL_LANES, is_many);
    u32 few = __ballot_sync(ALL_LANES, is_few);
    if (few != 0) {
        u32 place = reserve(few, &phase_counters(s).few);
        if (is_few) s.at.next[place] = v;
    }
    if (many != 0) {
        u32 place = reserve(many, &phase_counters(s).many);
        if (is_many) s.at.next[s.vertices.n - 1 - place] = v;
    }
}

// Relaxes each lane's arcs except missing ones. For whole warps; all distances are read before the first is
// lowered.
template <u32 ARCS>
__device__ __forceinline__ void relax(Search& s, const Tail& tail, const Arc (&arcs)[ARCS])
{
    u64* best = s.vertices.best;
    u64 old[ARCS];
    for (u32 k = 0; k < ARCS; ++k) {
        old[k] = is_missing(arcs[k]) ? 0 : load_relaxed(&best[end_of(arcs[k])]);
    }
    for (u32 k = 0; k < ARCS; ++k) {
        bool queued = false;
        u32 head = end_of(arcs[k]);
        if (!is_missing(arcs[k])) {
            ++s.tally.read;
            u64 length = extended(tail.distance, weight_of(arcs[k])), before = old[k];
            bool improved = false;
            while (!improved && length < distance_of(before)) {
                u64 seen = atomicCAS(&best[head], before, label_of(length, tail.id));
                improved = seen == before;
                if (!improved) before = seen;
            }
            if (improved) {
                queued = atomicExch(&s.vertices.stamp[head], s.at.phase) != s.at.phase;
                if (before == NO_LABEL) s.tally.settled_arcs += degree_of(s.out, head);
            }
        }
        if (__any_sync(ALL_LANES, queued)) enqueue(s, queued, head);
    }
}

// Finds the first of the arcs `begin` to `end` - 1 that is not in the window. For whole warps, which probe
// 32 arcs at once.
__device__ __forceinline__ i64 window_end(const Arc* arcs, i64 begin, i64 end, const Window& window)
{
    while (end - begin > 32) {
        i64 step = (end - begin + 31) / 32;
        i64 probe = begin + (lane() + 1) * step - 1;
        bool inside = probe < end && window.holds(arcs[probe]);
        u32 full = __popc(__ballot_sync(ALL_LANES, inside));
        i64 last = begin + (full + 1) * step;
        begin += full * step;
        if (last < end) end = last;
    }
    i64 probe = begin + lane();
    bool inside = probe < end && window.holds(arcs[probe]);
    return begin + __popc(__ballot_sync(ALL_LANES, inside));
}

// Sets the cursor to the arc `stop`, and `due` to the length of the path along it.
__device__ __forceinline__ void set_cursor(Search& s, const Tail& tail, i64 begin, i64 stop, i64 end)
{
    s.vertices.cursor[tail.vertex] = static_cast<u32>(stop - begin);
    u64 length = stop < end ? extended(tail.distance, weight_of(s.out.arcs[stop])) : INFINITE;
    if (stop < end && length >= INFINITE) store_relaxed(&s.state->overflow, 1u);
    length = min(length, INFINITE);
    s.vertices.due[tail.vertex] = static_cast<length_t>(length);
    s.tally.nearest = min(s.tally.nearest, length);
}

// A warp relaxes the arcs `from` to `to` - 1.
template <typename AnySearch>
__device__ __forceinline__ void push_range(AnySearch& s, const Tail& tail, i64 from, i64 to)
{
    for (; from < to; from += WARP * WARP_ROUND) {
        Arc arcs[WARP_ROUND];
        for (u32 k = 0; k < WARP_ROUND; ++k) {
            i64 i = from + 32 * k + lane();
            arcs[k] = i < to ? s.out.arcs[i] : no_arc<Arc>();
        }
        relax(s, tail, arcs);
    }
}

// A warp pushes the window of a vertex of many arcs, or cuts it into tasks.
template <typename AnySearch>
__device__ __forceinline__ void push_many(AnySearch& s, const Tail& tail, bool resumed)
{
    u32 v = tail.vertex;
    i64 begin = s.out.offsets[v], end = s.out.offsets[v + 1];
    i64 from = begin + (resumed ? s.vertices.cursor[v] : 0);
    i64 stop = window_end(s.out.arcs, from, end, Window(tail.distance, s.at.limit));
    __syncwarp();
    if (lane() == 0) set_cursor(s, tail, begin, stop, end);
    if (stop - from <= TASK_ARCS) {
        push_range(s, tail, from, stop);
        return;
    }
    u32 count = static_cast<u32>((stop - from + TASK_ARCS - 1) / TASK_ARCS), first = 0;
    if (lane() == 0) first = atomicAdd(&phase_counters(s).tasks, count);
    first = __shfl_sync(ALL_LANES, first, 0);
    u32 offset = static_cast<u32>(from - begin);
    for (u32 i = lane(); i < count; i += 32) {
        s.tasks[first + i] = static_cast<u64>(v) << 32 | (offset + i * TASK_ARCS);
    }
}

// GROUP_LANES lanes push the window of a vertex of few arcs. For whole warps.
template <typename AnySearch>
__device__ __forceinline__ void push_few(AnySearch& s, bool has_vertex, const Tail& tail, bool resumed)
{
    u32 v = tail.vertex;
    i64 begin = has_vertex ? s.out.offsets[v] : 0, end = has_vertex ? s.out.offsets[v + 1] : 0;
    i64 stop = end, i = begin + (has_vertex && resumed ? s.vertices.cursor[v] : 0) + lane() % GROUP_LANES;
    while (__any_sync(ALL_LANES, i < stop)) {
        Arc arcs[GROUP_ROUND];
        for (u32 k = 0; k < GROUP_ROUND; ++k, i += GROUP_LANES) {
            arcs[k] = i < stop ? s.out.arcs[i] : no_arc<Arc>();
            if (!is_missing(arcs[k]) && extended(tail.distance, weight_of(arcs[k])) >= s.at.limit) {
                arcs[k] = no_arc<Arc>();
                stop = i;
            }
        }
        relax(s, tail, arcs);
    }
    for (u32 other = 1; other < GROUP_LANES; other *= 2) {
        stop = min(stop, __shfl_xor_sync(ALL_LANES, stop, other));
    }
    if (has_vertex && lane() % GROUP_LANES == 0) set_cursor(s, tail, begin, stop, end);
}

// Pushes the windows of the frontier, from the cursors if `resumed`, else from the first arcs.
__device__ __forceinline__ void push_frontier(Search& s, u32 few, u32 many, bool resumed)
{
    u32 items = many + (few + GROUPS_PER_WARP - 1) / GROUPS_PER_WARP;
    for (u32 item = thread_id() / 32; item < items; item += thread_count() / 32) {
        if (item < many) {
            push_many(s, tail_at(s, s.at.frontier[s.vertices.n - 1 - item]), resumed);
        } else {
            u32 index = (item - many) * GROUPS_PER_WARP + lane() / GROUP_LANES;
            bool has_vertex = index < few;
            push_few(s, has_vertex, has_vertex ? tail_at(s, s.at.frontier[index]) : Tail{}, resumed);
        }
    }
}

// Pushes the tasks of the phase, a warp each.
template <typename AnySearch>
__device__ __forceinline__ void push_tasks(AnySearch& s, u32 count)
{
    for (u32 task = thread_id() / 32; task < count; task += thread_count() / 32) {
        u32 v = static_cast<u32>(s.tasks[task] >> 32), from = static_cast<u32>(s.tasks[task]);
        u32 stop = load_relaxed(&s.vertices.cursor[v]);
        u32 to = stop - from > TASK_ARCS ? from + TASK_ARCS : stop;
        i64 begin = s.out.offsets[v];
        push_range(s, tail_at(s, v), begin + from, begin + to);
    }
}

// Fills the first frontier of a bucket: all settled vertices with an arc to push in it.
__device__ __forceinline__ void collect_due(Search& s)
{
    for (u32 base = thread_id() - lane(); base < s.vertices.n; base += thread_count()) {
        u32 v = base + lane();
        length_t due = v < s.vertices.n ? s.vertices.due[v] : NO_PATH;
        bool chosen = due < s.at.limit;
        if (!chosen) s.tally.nearest = min(s.tally.nearest, static_cast<u64>(due));
        if (__any_sync(ALL_LANES, chosen)) enqueue(s, chosen, v);
    }
}

// Pushes one bucket to its fixed point: no distance below the limit can fall any more.
__device__ __forceinline__ void push_bucket(Search& s)
{
    cg::grid_group grid = cg::this_grid();
    begin_phase(s);
    collect_due(s);
    grid.sync();
    u32 few = load_relaxed(&phase_counters(s).few), many = load_relaxed(&phase_counters(s).many);
    if (few + many == 0) {
        // The nearest pending arc belonged to a tail that has come nearer since. Continue from what is due.
        add_tally(s);
        grid.sync();
    }
    for (bool resumed = true; few + many != 0; resumed = false) {
        begin_phase(s);
        push_frontier(s, few, many, resumed);
        if (many != 0) {
            grid.sync();
            push_tasks(s, load_relaxed(&phase_counters(s).tasks));
        }
        add_tally(s);
        grid.sync();
        few = load_relaxed(&phase_counters(s).few), many = load_relaxed(&phase_counters(s).many);
        log_phase(s, false, few + many, load_relaxed(&phase_counters(s).read));
    }
}
