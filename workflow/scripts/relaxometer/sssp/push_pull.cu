// SSSP for skewed graphs: push what is near along light arcs, then pull into what is left, in one launch.
//
// Delta-stepping reads every arc of a vertex at least once, and on a graph with hubs most of these arcs lead
// to vertices that a shorter path has reached before. Two orders avoid that. The arcs of a vertex are sorted
// by weight, so that a vertex at distance d reads, while the bucket ends at `limit`, only the arcs lighter
// than limit - d; a cursor keeps its place for the next bucket. And once the settled vertices have most of
// the arcs, the few others look for their best neighbour themselves and stop at the first arc that is too
// heavy to help:
//
//     push:  for limit = delta, ...                        buckets
//                frontier = all settled vertices, from their cursors
//                while frontier not empty                   phases
//                    for v in frontier, for (v, w) with d(v) + w < limit: relax; what improves is the next
//                    one
//                settled += what was reached
//                next limit = nearest pending arc + delta
//            until nothing is pending, or arcs of unsettled vertices < beta * arcs read in the last bucket
//     pull:  repeat for every unsettled v, for (u, w) into v while w + floor < d(v): d(v) = min(d(u) + w)
//            until nothing changes; floor = 0 at first, then the last limit: settled vertices pull no more
//
// The split of push and pull for SSSP is that of Chakaravarthy et al., "Scalable Single Source Shortest Path
// Algorithms for Massively Parallel Systems", IPDPS 2014 (section on pruning), who push short arcs and pull
// along long ones between nodes of a cluster. Meyer and Sanders, "Delta-stepping", 2003, has the buckets.
//
// Vertices are numbered by falling degree: what hubs need lies together in the cache, and those without arcs
// come last and are never looked at. Distance and predecessor share a word that a compare-and-swap replaces
// only by a strictly smaller distance, so that predecessors form a tree along arcs of weight zero too.
//
// Work is balanced over arcs: GROUP lanes take a vertex of few arcs, a warp one of many, and a window of more
// than WARP_ARCS arcs is cut into tasks of TASK_ARCS for all warps.

#include <cooperative_groups.h>

#include "device/atomics.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

__device__ const u32 ALL = 0xffffffffu;
__device__ const u64 UNREACHED = ~0ull;
__device__ const u64 INFINITE = 0xffffffffu;

__device__ const u32 GROUP = 4;
__device__ const u32 GROUP_ARCS = 64;
__device__ const u32 WARP_ARCS = 1024;
__device__ const u32 TASK_ARCS = 512;
__device__ const u32 END = 0xffffffffu;

// Counters of one bucket, and of one phase. Three of each take turns: one is in use, the one before may still
// be read, the next one is being cleared.
struct Bucket {
    u64 nearest;
    u64 read;
    u64 degrees;
    u32 reached;
};

struct Phase {
    u64 read;
    u32 frontier;
    u32 tasks;
};

// What the host reads begins it: its first three words.
struct State {
    u32 number;
    u32 overflow;
    u32 logged;
    Bucket bucket[3];
    Phase phase[3];
};
static_assert(sizeof(State) == 160, "push_pull.py makes room for it");

struct Graph {
    const i64* offsets;
    const u64* arcs;
    const u32* ids;
};

struct Search {
    Graph out;
    u64* best;
    u32* cursor;
    u32* stamp;
    u32* settled;
    u32* frontier[2];
    u64* tasks;
    State* state;
    u64 limit;
    u32 settled_count;
    u32 bucket;
    u32 number;
    u32 next;
    u64 nearest;
    u64 read;
    u64 degrees;
};

__device__ __forceinline__ u32 lane()
{
    return threadIdx.x & 31;
}

__device__ __forceinline__ u32 target_of(u64 arc)
{
    return static_cast<u32>(arc);
}

__device__ __forceinline__ u32 weight_of(u64 arc)
{
    return static_cast<u32>(arc >> 32);
}

__device__ __forceinline__ u64 smaller(u64 a, u64 b)
{
    return a < b ? a : b;
}

// Appends the values of the lanes in `chosen`, with one atomic addition for the warp.
__device__ __forceinline__ void append(u32 chosen, u32 value, u32* list, u32* size)
{
    if (chosen == 0) return;
    u32 begin = 0;
    if (lane() == 0) begin = atomicAdd(size, static_cast<u32>(__popc(chosen)));
    begin = __shfl_sync(ALL, begin, 0);
    if (chosen >> lane() & 1) list[begin + __popc(chosen & ((1u << lane()) - 1))] = value;
}

// Each lane with an arc relaxes it from the vertex `id` at `distance`. All lanes of a warp take part.
__device__ __forceinline__ void relax(Search& s, bool has_arc, u64 distance, u32 id, u64 arc)
{
    bool first = false, queued = false;
    u32 head = target_of(arc);
    if (has_arc) {
        ++s.read;
        u64 length = distance + weight_of(arc);
        if (length >= INFINITE) {
            store_relaxed(&s.state->overflow, 1u);
            length = INFINITE;
        }
        u64 old = load_relaxed(&s.best[head]);
        bool improved = false;
        while (!improved && length < old >> 32) {
            u64 seen = atomicCAS(&s.best[head], old, length << 32 | id);
            improved = seen == old;
            if (!improved) old = seen;
        }
        if (improved) {
            first = old == UNREACHED;
            queued = atomicExch(&s.stamp[head], s.number) != s.number;
            if (first) s.degrees += s.out.offsets[head + 1] - s.out.offsets[head];
        }
    }
    if (!__any_sync(ALL, queued || first)) return;
    // Whoever reached a vertex first need not be the one who queues it.
    u32 all_queued = __ballot_sync(ALL, queued);
    append(all_queued, head, s.frontier[s.next], &s.state->phase[s.number % 3].frontier);
    u32 all_first = __ballot_sync(ALL, first);
    append(all_first, head, s.settled + s.settled_count, &s.state->bucket[s.bucket % 3].reached);
}

// The first of the arcs begin .. end - 1 of a row that weighs `window` or more: a search in 32 places at
// once.
__device__ __forceinline__ i64 window_end(const u64* arcs, i64 begin, i64 end, u64 window)
{
    while (end - begin > 32) {
        i64 step = (end - begin + 31) / 32;
        i64 probe = begin + (lane() + 1) * step - 1;
        bool inside = probe < end && weight_of(arcs[probe]) < window;
        u32 full = __popc(__ballot_sync(ALL, inside));
        i64 last = begin + (full + 1) * step;
        begin += full * step;
        if (last < end) end = last;
    }
    i64 probe = begin + lane();
    bool inside = probe < end && weight_of(arcs[probe]) < window;
    return begin + __popc(__ballot_sync(ALL, inside));
}

// Keeps the place of a vertex whose arcs before `stop` have been read, and what the next one would give.
__device__ __forceinline__ void leave_cursor(Search& s, u32 v, u64 distance, i64 stop)
{
    i64 begin = s.out.offsets[v], end = s.out.offsets[v + 1];
    s.cursor[v] = static_cast<u32>(stop - begin);
    if (stop < end) s.nearest = smaller(s.nearest, distance + weight_of(s.out.arcs[stop]));
}

// A whole warp reads the window of one vertex of many arcs, or cuts it into tasks.
__device__ __forceinline__ void push_by_warp(Search& s, u32 v, u64 distance, i64 begin, i64 end)
{
    i64 stop = window_end(s.out.arcs, begin, end, s.limit - distance);
    if (lane() == 0) leave_cursor(s, v, distance, stop);
    if (stop - begin <= WARP_ARCS) {
        u32 id = s.out.ids[v];
        for (i64 i = begin; i < stop; i += 32) {
            bool has_arc = i + lane() < stop;
            relax(s, has_arc, distance, id, has_arc ? s.out.arcs[i + lane()] : 0);
        }
        return;
    }
    u32 count = static_cast<u32>((stop - begin + TASK_ARCS - 1) / TASK_ARCS), first = 0;
    if (lane() == 0) first = atomicAdd(&s.state->phase[s.number % 3].tasks, count);
    first = __shfl_sync(ALL, first, 0);
    u32 from = static_cast<u32>(begin - s.out.offsets[v]);
    for (u32 i = lane(); i < count; i += 32) {
        s.tasks[first + i] = static_cast<u64>(v) << 32 | (from + i * TASK_ARCS);
    }
}

// Reads the windows of the vertices in `list`, GROUP lanes a vertex; `resumed`: from their cursors.
__device__ __forceinline__ void push(Search& s, const u32* list, u32 size, bool resumed)
{
    u32 in_group = lane() % GROUP;
    u32 groups = thread_count() / GROUP;
    for (u32 base = (thread_id() - lane()) / GROUP; base < size; base += groups) {
        u32 index = base + lane() / GROUP;
        bool has_vertex = index < size;
        u32 v = has_vertex ? list[index] : 0;
        u64 distance = has_vertex ? load_relaxed(&s.best[v]) >> 32 : 0;
        u32 id = has_vertex ? s.out.ids[v] : 0;
        i64 begin = has_vertex ? s.out.offsets[v] + (resumed ? s.cursor[v] : 0) : 0;
        i64 end = has_vertex ? s.out.offsets[v + 1] : 0;
        // Read ahead of the window: a vertex that has nothing in it costs no more than this.
        u64 arc = begin < end ? s.out.arcs[begin] : 0;
        if (begin < end && distance + weight_of(arc) >= s.limit) {
            if (in_group == 0) leave_cursor(s, v, distance, begin);
            end = begin;
        } else if (begin == end && has_vertex && in_group == 0) {
            leave_cursor(s, v, distance, begin);
        }
        bool is_long = end - begin > GROUP_ARCS;
        u32 all_long = __ballot_sync(ALL, is_long && in_group == 0);
        while (all_long != 0) {
            int owner = __ffs(static_cast<int>(all_long)) - 1;
            all_long &= all_long - 1;
            u32 long_v = __shfl_sync(ALL, v, owner);
            u64 long_distance = __shfl_sync(ALL, distance, owner);
            i64 long_begin = __shfl_sync(ALL, begin, owner);
            i64 long_end = __shfl_sync(ALL, end, owner);
            push_by_warp(s, long_v, long_distance, long_begin, long_end);
        }
        i64 stop = end;
        i64 i = begin + in_group;
        bool reading = !is_long && i < end;
        while (__any_sync(ALL, reading)) {
            arc = reading ? s.out.arcs[i] : 0;
            if (reading && distance + weight_of(arc) >= s.limit) {
                stop = i;
                reading = false;
            }
            relax(s, reading, distance, id, arc);
            i += GROUP;
            reading = reading && i < end;
        }
        for (u32 other = 1; other < GROUP; other *= 2) {
            i64 its = __shfl_xor_sync(ALL, stop, other);
            if (its < stop) stop = its;
        }
        if (!is_long && begin < end && in_group == 0) leave_cursor(s, v, distance, stop);
    }
}

// Every warp takes tasks that vertices of very many arcs were cut into.
__device__ __forceinline__ void push_tasks(Search& s, u32 count)
{
    for (u32 task = thread_id() / 32; task < count; task += thread_count() / 32) {
        u64 entry = s.tasks[task];
        u32 v = static_cast<u32>(entry >> 32), from = static_cast<u32>(entry);
        u64 distance = load_relaxed(&s.best[v]) >> 32;
        u32 id = s.out.ids[v], to = load_relaxed(&s.cursor[v]);
        if (to - from > TASK_ARCS) to = from + TASK_ARCS;
        const u64* row = s.out.arcs + s.out.offsets[v];
        for (u32 i = from; i < to; i += 32) {
            bool has_arc = i + lane() < to;
            relax(s, has_arc, distance, id, has_arc ? row[i + lane()] : 0);
        }
    }
}

// Adds up what the lanes of a warp have counted; one atomic operation for each warp and counter.
__device__ __forceinline__ void count_up(Search& s)
{
    for (u32 other = 16; other > 0; other /= 2) {
        s.read += __shfl_xor_sync(ALL, s.read, other);
        s.degrees += __shfl_xor_sync(ALL, s.degrees, other);
        s.nearest = smaller(s.nearest, __shfl_xor_sync(ALL, s.nearest, other));
    }
    Bucket& bucket = s.state->bucket[s.bucket % 3];
    if (lane() == 0) {
        if (s.read != 0) atomicAdd(&bucket.read, s.read);
        if (s.read != 0) atomicAdd(&s.state->phase[s.number % 3].read, s.read);
        if (s.degrees != 0) atomicAdd(&bucket.degrees, s.degrees);
        if (s.nearest != UNREACHED) atomicMin(&bucket.nearest, s.nearest);
    }
    s.read = s.degrees = 0;
    s.nearest = UNREACHED;
}

// A row of the log: pull or push, vertices improved, arcs read, nanoseconds at its end.
__device__ __forceinline__ void log_phase(Search& s, u64* log, u32 log_size, bool pulled, u64 improved,
                                          u64 read)
{
    if (thread_id() != 0) return;
    u32 row = s.state->logged++;
    if (row >= log_size) return;
    log[4 * row] = pulled;
    log[4 * row + 1] = improved;
    log[4 * row + 2] = read;
    log[4 * row + 3] = nanoseconds();
}

// Starts the phase after this one: its counters are cleared while those of this one are in use.
__device__ __forceinline__ void next_phase(Search& s)
{
    ++s.number;
    if (thread_id() == 0) {
        Phase& after = s.state->phase[(s.number + 1) % 3];
        after.frontier = after.tasks = 0;
        after.read = 0;
    }
}

__device__ __forceinline__ void next_bucket(Search& s)
{
    ++s.bucket;
    if (thread_id() == 0) {
        Bucket& after = s.state->bucket[(s.bucket + 1) % 3];
        after.nearest = UNREACHED;
        after.read = after.degrees = 0;
        after.reached = 0;
    }
}

// Unsettled vertices look for their best neighbour, GROUP lanes a vertex, until none finds a better one.
__device__ __forceinline__ void pull(Search& s, const Graph& in, u32 n, u64 floor, u64* log, u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    u32 in_group = lane() % GROUP;
    next_phase(s);
    u32* unsettled = s.frontier[0];
    for (u32 base = thread_id() - lane(); base < n; base += thread_count()) {
        u32 v = base + lane();
        u32 chosen = __ballot_sync(ALL, v < n && load_relaxed(&s.best[v]) == UNREACHED);
        append(chosen, v, unsettled, &s.state->phase[s.number % 3].frontier);
    }
    grid.sync();
    u32 size = load_relaxed(&s.state->phase[s.number % 3].frontier);
    u32 groups = thread_count() / GROUP;
    u64 bound = 0;
    for (u32 improved = 1; improved != 0; bound = floor) {
        next_phase(s);
        u32 found = 0;
        for (u32 base = (thread_id() - lane()) / GROUP; base < size; base += groups) {
            u32 index = base + lane() / GROUP;
            bool has_vertex = index < size;
            u32 v = has_vertex ? unsettled[index] : 0;
            u64 old = has_vertex ? load_relaxed(&s.best[v]) : 0;
            u64 length = old >> 32;
            u32 parent = static_cast<u32>(old);
            i64 i = (has_vertex ? in.offsets[v] : 0) + in_group;
            i64 end = has_vertex ? in.offsets[v + 1] : 0;
            for (; i < end; i += GROUP) {
                u64 arc = in.arcs[i];
                if (length != INFINITE && bound + weight_of(arc) >= length) break;
                ++s.read;
                u64 tail = load_relaxed(&s.best[target_of(arc)]);
                u64 by_tail = (tail >> 32) + weight_of(arc);
                if (tail != UNREACHED && by_tail >= INFINITE) store_relaxed(&s.state->overflow, 1u);
                if (by_tail < length) {
                    length = by_tail;
                    parent = in.ids[target_of(arc)];
                }
            }
            for (u32 other = 1; other < GROUP; other *= 2) {
                u64 its_length = __shfl_xor_sync(ALL, length, other);
                u32 its_parent = __shfl_xor_sync(ALL, parent, other);
                if (its_length < length) {
                    length = its_length;
                    parent = its_parent;
                }
            }
            if (has_vertex && in_group == 0 && length < old >> 32) {
                store_relaxed(&s.best[v], length << 32 | parent);
                ++found;
            }
        }
        found = __reduce_add_sync(ALL, found);
        if (lane() == 0 && found != 0) atomicAdd(&s.state->phase[s.number % 3].frontier, found);
        count_up(s);
        grid.sync();
        improved = load_relaxed(&s.state->phase[s.number % 3].frontier);
        log_phase(s, log, log_size, true, improved, load_relaxed(&s.state->phase[s.number % 3].read));
    }
}

// Pushes one bucket to its fixed point; returns when no distance below the limit can fall any more.
__device__ __forceinline__ void push_bucket(Search& s, u64* log, u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    const u32* list = s.settled;
    u32 size = s.settled_count;
    for (bool resumed = true; size != 0; resumed = false) {
        next_phase(s);
        push(s, list, size, resumed);
        grid.sync();
        Phase& phase = s.state->phase[s.number % 3];
        u32 tasks = load_relaxed(&phase.tasks);
        if (tasks != 0) push_tasks(s, tasks);
        count_up(s);
        grid.sync();
        list = s.frontier[s.next];
        size = load_relaxed(&phase.frontier);
        s.next ^= 1;
        log_phase(s, log, log_size, false, size, load_relaxed(&phase.read));
    }
}

// The whole search. `n` vertices have arcs, `m` is the number of arcs into them; `number` and the counters of
// `state` go on from the search before.
extern "C" __global__ void search(u32 n, i64 m, const i64* __restrict__ offsets, const u64* __restrict__ arcs,
                                  const i64* __restrict__ in_offsets, const u64* __restrict__ in_arcs,
                                  const u32* __restrict__ ids, u32 source, u64 delta, float beta, u64* best,
                                  u32* cursor, u32* stamp, u32* settled, u32* frontier, u32* other_frontier,
                                  u64* tasks, u8* state_bytes, u64* log, u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    Search s;
    s.out.offsets = offsets, s.out.arcs = arcs, s.out.ids = ids;
    s.best = best, s.cursor = cursor, s.stamp = stamp, s.settled = settled;
    s.frontier[0] = frontier, s.frontier[1] = other_frontier, s.tasks = tasks;
    s.state = reinterpret_cast<State*>(state_bytes);
    s.nearest = UNREACHED, s.read = s.degrees = 0, s.next = 0, s.bucket = 0;
    s.number = s.state->number;
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        best[v] = v == source ? static_cast<u64>(ids[v]) : UNREACHED;
    }
    if (thread_id() == 0) {
        settled[0] = source;
        cursor[source] = 0;
        for (Bucket& bucket : s.state->bucket) {
            bucket.nearest = UNREACHED;
            bucket.read = bucket.degrees = 0;
            bucket.reached = 0;
        }
        for (Phase& phase : s.state->phase) {
            phase.read = 0;
            phase.frontier = phase.tasks = 0;
        }
        s.state->overflow = s.state->logged = 0;
    }
    s.settled_count = 1;
    u64 settled_arcs = offsets[source + 1] - offsets[source];
    u64 nearest = 0;
    grid.sync();
    log_phase(s, log, log_size, false, 1, 0);
    bool pending = true;
    while (pending) {
        s.limit = smaller(nearest + delta, INFINITE);
        push_bucket(s, log, log_size);
        const Bucket& done = s.state->bucket[s.bucket % 3];
        nearest = load_relaxed(&done.nearest);
        settled_arcs += load_relaxed(&done.degrees);
        s.settled_count += load_relaxed(&done.reached);
        u64 read = load_relaxed(&done.read);
        next_bucket(s);
        pending = nearest < INFINITE;
        if (pending && static_cast<float>(m - static_cast<i64>(settled_arcs)) < beta * read) {
            Graph in = {in_offsets, in_arcs, ids};
            pull(s, in, n, s.limit, log, log_size);
            pending = false;
        } else if (!pending && nearest != UNREACHED) {
            store_relaxed(&s.state->overflow, 1u);
        }
    }
    if (thread_id() == 0) s.state->number = s.number;
}

// The answer in the vertices' own order: rank says where each stands in the order of degrees.
extern "C" __global__ void unpack(u32 n, u32 n_with_arcs, const u32* __restrict__ rank,
                                  const u64* __restrict__ best, u32 source, u32* __restrict__ distance,
                                  u32* __restrict__ predecessor)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u64 entry = rank[v] < n_with_arcs ? best[rank[v]] : UNREACHED;
        if (v == source) entry = v;
        distance[v] = static_cast<u32>(entry >> 32);
        predecessor[v] = static_cast<u32>(entry);
    }
}
