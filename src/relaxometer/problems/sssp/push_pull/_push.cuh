// Pushing: a frontier relaxes those of its arcs that end within the bucket; see push_pull.cu.
//
// A vertex's window is the run of arcs from its cursor to the first one that leaves the bucket. GROUP_LANES
// lanes push the window of a vertex of few arcs, a warp that of a vertex of many. A window longer than
// TASK_ARCS is cut into tasks for all warps.

#pragma once

#include "_lists.cuh"

__device__ const u32 GROUP_ROUND = 2;  // arcs that a lane of a group reads at once
__device__ const u32 TASK_ARCS = 128;  // of a vertex of many
// Arcs that a lane of a warp reads at once; 4 of two words would spill registers.
__device__ const u32 WARP_ROUND = sizeof(Arc) == sizeof(u64) ? 4 : 2;
const u32 SWAPS = 2;  // compare-and-swaps of a lane at once

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

// A tail whose arcs are pushed.
struct Tail {
    u32 vertex;
    u64 distance;
};

template <typename AnySearch>
__device__ __forceinline__ Tail tail_at(const AnySearch& s, u32 tail)
{
    return {tail, distance_at(s, tail)};
}

// Lists what is left of the pile while it has at least `least` heads.
template <typename AnySearch>
__device__ __forceinline__ void enqueue(AnySearch& s, u32 least)
{
    hand_over(s.pile, least, [&](bool chosen, u32 head) { enlist(s, chosen, head); });
}

// Relaxes each lane's arcs except missing ones. For whole warps. Each step is done for several arcs of a lane
// before the next one, so that their atomic operations wait side by side.
template <typename AnySearch, u32 ARCS>
__device__ __forceinline__ void relax(AnySearch& s, const Tail& tail, const Arc (&arcs)[ARCS])
{
    u64* best = s.vertices.best;
    u64 before[ARCS];
    bool nearer[ARCS], queued[ARCS];
    for (u32 k = 0; k < ARCS; ++k) {
        before[k] = is_missing(arcs[k]) ? 0 : load_relaxed(&best[end_of(arcs[k])]);
        s.tally.read += !is_missing(arcs[k]);
    }
    for (u32 first = 0; first < ARCS; first += SWAPS) {
        u64 seen[SWAPS];
        auto swap = [&](u32 j) {
            const Arc& arc = arcs[first + j];
            u64 &old = before[first + j], length = extended(tail.distance, weight_of(arc));
            nearer[first + j] = length < distance_of(old);
            u64 label = label_of(length, tail.vertex);
            seen[j] = nearer[first + j] ? atomicCAS(&best[end_of(arc)], old, label) : old;
        };
        for (u32 j = 0; j < SWAPS; ++j) swap(j);
        for (u32 j = 0; j < SWAPS; ++j) {
            for (; seen[j] != before[first + j]; swap(j)) before[first + j] = seen[j];
        }
    }
    for (u32 k = 0; k < ARCS; ++k) {
        queued[k] = nearer[k] && atomicExch(&s.vertices.stamp[end_of(arcs[k])], s.at.phase) != s.at.phase;
        if (nearer[k] && before[k] == NO_LABEL) s.tally.settled_arcs += degree_of(s.into, end_of(arcs[k]));
    }
    for (u32 k = 0; k < ARCS; ++k) pile_up(s.pile, queued[k], end_of(arcs[k]));
    enqueue(s, WARP);
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

__device__ __forceinline__ u32 items_of(const Frontier& frontier)
{
    return frontier.many + (frontier.few + GROUPS_PER_WARP - 1) / GROUPS_PER_WARP;
}

// Pushes a frontier. `before` counts the items of the frontiers before it, so that warps take those of all in
// turn. `take(place, has_many, leads)` returns the tail at a place from the front, or from the back if it has
// many arcs, for one lane that `leads` and others.
template <typename AnySearch, typename Take>
__device__ __forceinline__ void push_frontier(AnySearch& s, const Frontier& frontier, u32 before, Take take)
{
    u32 warps = thread_count() / 32, items = items_of(frontier);
#pragma unroll 1
    for (u32 item = (thread_id() / 32 + warps - before % warps) % warps; item < items; item += warps) {
        if (item < frontier.many) {
            push_many(s, take(item, true, lane() == 0), frontier.resumed);
        } else {
            u32 index = (item - frontier.many) * GROUPS_PER_WARP + lane() / GROUP_LANES;
            bool has_tail = index < frontier.few;
            Tail tail = {};
            if (has_tail) tail = take(index, false, lane() % GROUP_LANES == 0);
            push_few(s, has_tail, tail, frontier.resumed);
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

// Lists the tails with an arc to push in the bucket.
template <typename AnySearch>
__device__ __forceinline__ Frontier collect_due(AnySearch& s)
{
    u32 n = n_tails(s);
    auto resume = [&](bool chosen, u32 tail) {
        u32 place = place_for(s, n, chosen, tail < s.vertices.n_many);
        if (chosen) resumed_list(s)[place] = tail;
    };
    begin_phase(s);
#pragma unroll 1
    for (u32 base = thread_id() - lane(); base < (n + SWEPT - 1) / SWEPT; base += thread_count()) {
        u32 first = base * SWEPT + lane();
        length_t due[SWEPT];
        for (u32 k = 0; k < SWEPT; ++k) {
            u32 tail = first + k * WARP;
            due[k] = tail < n ? s.vertices.due[tail] : NO_PATH;
        }
        for (u32 k = 0; k < SWEPT; ++k) {
            bool chosen = due[k] < s.at.limit;
            if (!chosen) s.tally.nearest = min(s.tally.nearest, static_cast<u64>(due[k]));
            if (__any_sync(ALL_LANES, chosen)) pile_up(s.pile, chosen, first + k * WARP);
        }
        hand_over(s.pile, WARP, resume);
    }
    hand_over(s.pile, 1, resume);
    cg::this_grid().sync();
    return {load_relaxed(&phase_counters(s).few), load_relaxed(&phase_counters(s).many), true};
}

// Pushes until no distance below the limit can fall any more.
template <typename AnySearch>
__device__ __forceinline__ void push_bucket(AnySearch& s, Frontier frontier)
{
    u64 nearer;
    do {
        begin_phase(s);
        push_all(s, frontier);
        if (frontier.many != 0) {
            cg::this_grid().sync();
            push_tasks(s, load_relaxed(&phase_counters(s).tasks));
        }
        enqueue(s, 1);
        add_up(s);
        deliver(s);
        nearer = meet_all(s, false);
        frontier = next_frontier(s);
    } while (nearer != 0);
    s.at.next = s.lists[NEARER];  // no list is in use now
}
