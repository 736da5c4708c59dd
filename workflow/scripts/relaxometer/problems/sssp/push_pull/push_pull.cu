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
// than TASK_ARCS arcs is cut into tasks for all warps. Which vertices have many shows in their number. `due`
// says for every settled vertex the shortest length of a path along its next arc, so that a new bucket finds
// who has something to push by one sweep over n words.

#include <cooperative_groups.h>

#include "device/atomics.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

__device__ const u32 ALL = 0xffffffffu;
__device__ const u64 UNREACHED = ~0ull;
__device__ const u64 INFINITE = 0xffffffffu;

__device__ const u32 GROUP = 4;
__device__ const u32 GROUP_ROUND = 2;
__device__ const u32 WARP_ROUND = 4;
__device__ const u32 TASK_ARCS = 32 * WARP_ROUND;
__device__ const u64 NO_ARC = ~0ull;

// Counters of one bucket, and of one phase. Three of each take turns: one is in use, the one before may still
// be read, the next one is being cleared.
struct Bucket {
    u64 nearest;
    u64 read;
    u64 degrees;
};

struct Phase {
    u64 read;
    u32 few;
    u32 many;
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

// What a thread knows of a search. `frontier` holds vertices of few arcs from its begin on, and those of many
// from its end backwards.
struct Search {
    Graph out;
    u32 n;
    u32 n_many;
    u64* best;
    u32* due;
    u32* cursor;
    u32* stamp;
    u32* frontier[2];
    u64* tasks;
    State* state;
    u64 limit;
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

__device__ __forceinline__ Phase& phase_of(const Search& s)
{
    return s.state->phase[s.number % 3];
}

__device__ __forceinline__ Bucket& bucket_of(const Search& s)
{
    return s.state->bucket[s.bucket % 3];
}

// The place of each lane in `chosen` behind what is counted already, with one atomic addition for the warp.
__device__ __forceinline__ u32 reserve(u32 chosen, u32* size)
{
    u32 begin = 0;
    if (lane() == 0 && chosen != 0) begin = atomicAdd(size, static_cast<u32>(__popc(chosen)));
    begin = __shfl_sync(ALL, begin, 0);
    return begin + __popc(chosen & ((1u << lane()) - 1));
}

// Puts the vertices of the lanes that are `chosen` into the next frontier.
__device__ __forceinline__ void enqueue(Search& s, bool chosen, u32 v)
{
    bool is_many = chosen && v < s.n_many, is_few = chosen && v >= s.n_many;
    u32 many = __ballot_sync(ALL, is_many);
    u32 few = __ballot_sync(ALL, is_few);
    if (few != 0) {
        u32 place = reserve(few, &phase_of(s).few);
        if (is_few) s.frontier[s.next][place] = v;
    }
    if (many != 0) {
        u32 place = reserve(many, &phase_of(s).many);
        if (is_many) s.frontier[s.next][s.n - 1 - place] = v;
    }
}

// Every lane relaxes its arcs, those that are not NO_ARC, from the vertex `id` at `distance`. All lanes of a
// warp take part; the reads of all arcs are under way together.
template <u32 ARCS>
__device__ __forceinline__ void relax(Search& s, u64 distance, u32 id, const u64 (&arcs)[ARCS])
{
    u64 old[ARCS];
    for (u32 k = 0; k < ARCS; ++k) {
        old[k] = arcs[k] == NO_ARC ? 0 : load_relaxed(&s.best[target_of(arcs[k])]);
    }
    for (u32 k = 0; k < ARCS; ++k) {
        bool queued = false;
        u32 head = target_of(arcs[k]);
        if (arcs[k] != NO_ARC) {
            ++s.read;
            u64 length = distance + weight_of(arcs[k]), before = old[k];
            bool improved = false;
            while (!improved && length < before >> 32) {
                u64 seen = atomicCAS(&s.best[head], before, length << 32 | id);
                improved = seen == before;
                if (!improved) before = seen;
            }
            if (improved) {
                queued = atomicExch(&s.stamp[head], s.number) != s.number;
                if (before == UNREACHED) s.degrees += s.out.offsets[head + 1] - s.out.offsets[head];
            }
        }
        if (__any_sync(ALL, queued)) enqueue(s, queued, head);
    }
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
__device__ __forceinline__ void leave_cursor(Search& s, u32 v, u64 distance, i64 begin, i64 stop, i64 end)
{
    s.cursor[v] = static_cast<u32>(stop - begin);
    u64 length = stop < end ? distance + weight_of(s.out.arcs[stop]) : INFINITE;
    if (stop < end && length >= INFINITE) store_relaxed(&s.state->overflow, 1u);
    length = smaller(length, INFINITE);
    s.due[v] = static_cast<u32>(length);
    s.nearest = smaller(s.nearest, length);
}

// A whole warp relaxes the arcs `from` to `to` - 1.
__device__ __forceinline__ void push_range(Search& s, u64 distance, u32 id, i64 from, i64 to)
{
    for (; from < to; from += TASK_ARCS) {
        u64 arcs[WARP_ROUND];
        for (u32 k = 0; k < WARP_ROUND; ++k) {
            i64 i = from + 32 * k + lane();
            arcs[k] = i < to ? s.out.arcs[i] : NO_ARC;
        }
        relax(s, distance, id, arcs);
    }
}

// A whole warp finds the window of a vertex of many arcs, and reads it or cuts it into tasks.
__device__ __forceinline__ void push_many(Search& s, u32 v, bool resumed)
{
    u64 distance = load_relaxed(&s.best[v]) >> 32;
    i64 begin = s.out.offsets[v], end = s.out.offsets[v + 1];
    i64 from = begin + (resumed ? s.cursor[v] : 0);
    u32 id = s.out.ids[v];
    i64 stop = window_end(s.out.arcs, from, end, s.limit - distance);
    __syncwarp();
    if (lane() == 0) leave_cursor(s, v, distance, begin, stop, end);
    if (stop - from <= TASK_ARCS) {
        push_range(s, distance, id, from, stop);
        return;
    }
    u32 count = static_cast<u32>((stop - from + TASK_ARCS - 1) / TASK_ARCS), first = 0;
    if (lane() == 0) first = atomicAdd(&phase_of(s).tasks, count);
    first = __shfl_sync(ALL, first, 0);
    u32 offset = static_cast<u32>(from - begin);
    for (u32 i = lane(); i < count; i += 32) {
        s.tasks[first + i] = static_cast<u64>(v) << 32 | (offset + i * TASK_ARCS);
    }
}

// GROUP lanes read the window of a vertex of few arcs; those of a warp in step.
__device__ __forceinline__ void push_few(Search& s, bool has_vertex, u32 v, bool resumed)
{
    u64 distance = has_vertex ? load_relaxed(&s.best[v]) >> 32 : 0;
    i64 begin = has_vertex ? s.out.offsets[v] : 0, end = has_vertex ? s.out.offsets[v + 1] : 0;
    u32 id = has_vertex ? s.out.ids[v] : 0;
    i64 stop = end, i = begin + (has_vertex && resumed ? s.cursor[v] : 0) + lane() % GROUP;
    while (__any_sync(ALL, i < stop)) {
        u64 arcs[GROUP_ROUND];
        for (u32 k = 0; k < GROUP_ROUND; ++k, i += GROUP) {
            arcs[k] = i < stop ? s.out.arcs[i] : NO_ARC;
            if (arcs[k] != NO_ARC && distance + weight_of(arcs[k]) >= s.limit) {
                arcs[k] = NO_ARC;
                stop = i;
            }
        }
        relax(s, distance, id, arcs);
    }
    for (u32 other = 1; other < GROUP; other *= 2) {
        i64 its = __shfl_xor_sync(ALL, stop, other);
        if (its < stop) stop = its;
    }
    if (has_vertex && lane() % GROUP == 0) leave_cursor(s, v, distance, begin, stop, end);
}

// Reads the windows of a frontier of so many vertices of few and of many arcs; `resumed`: from their cursors.
__device__ __forceinline__ void push(Search& s, const u32* list, u32 few, u32 many, bool resumed)
{
    const u32 per_warp = 32 / GROUP;
    u32 items = many + (few + per_warp - 1) / per_warp;
    for (u32 item = thread_id() / 32; item < items; item += thread_count() / 32) {
        if (item < many) {
            push_many(s, list[s.n - 1 - item], resumed);
        } else {
            u32 index = (item - many) * per_warp + lane() / GROUP;
            bool has_vertex = index < few;
            push_few(s, has_vertex, has_vertex ? list[index] : 0, resumed);
        }
    }
}

// Every warp takes tasks that the windows of vertices of many arcs were cut into.
__device__ __forceinline__ void push_tasks(Search& s, u32 count)
{
    for (u32 task = thread_id() / 32; task < count; task += thread_count() / 32) {
        u32 v = static_cast<u32>(s.tasks[task] >> 32), from = static_cast<u32>(s.tasks[task]);
        u64 distance = load_relaxed(&s.best[v]) >> 32;
        u32 id = s.out.ids[v], stop = load_relaxed(&s.cursor[v]);
        u32 to = stop - from > TASK_ARCS ? from + TASK_ARCS : stop;
        i64 begin = s.out.offsets[v];
        push_range(s, distance, id, begin + from, begin + to);
    }
}

// The frontier of a new bucket: all settled vertices with an arc to read in it.
__device__ __forceinline__ void collect_due(Search& s)
{
    for (u32 base = thread_id() - lane(); base < s.n; base += thread_count()) {
        u32 v = base + lane();
        u32 due = v < s.n ? s.due[v] : static_cast<u32>(INFINITE);
        bool chosen = due < s.limit;
        if (!chosen) s.nearest = smaller(s.nearest, due);
        if (__any_sync(ALL, chosen)) enqueue(s, chosen, v);
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
    Bucket& bucket = bucket_of(s);
    if (lane() == 0) {
        if (s.read != 0) atomicAdd(&bucket.read, s.read);
        if (s.read != 0) atomicAdd(&phase_of(s).read, s.read);
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
        after.few = after.many = after.tasks = 0;
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
    }
}

// One round of pulling: GROUP lanes look for the best neighbour of each of the `size` vertices in `list`.
// Those whose first arc may still give a shorter path, now or once neighbours have improved, go on to the
// next round.
__device__ __forceinline__ void pull_round(Search& s, const Graph& in, const u32* list, u32 size, u64 bound,
                                           u64 floor)
{
    u32 found = 0;
    const u32 per_warp = 32 / GROUP;
    for (u32 base = thread_id() / 32 * per_warp; base < size; base += thread_count() / GROUP) {
        u32 index = base + lane() / GROUP;
        bool has_vertex = index < size;
        u32 v = has_vertex ? list[index] : 0;
        u64 old = has_vertex ? load_relaxed(&s.best[v]) : 0;
        u64 length = old >> 32;
        u32 parent = static_cast<u32>(old);
        i64 begin = has_vertex ? in.offsets[v] : 0, end = has_vertex ? in.offsets[v + 1] : 0;
        u64 lightest = INFINITE;
        for (i64 i = begin + lane() % GROUP; i < end; i += GROUP) {
            u64 arc = in.arcs[i];
            lightest = smaller(lightest, weight_of(arc));
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
            lightest = smaller(lightest, __shfl_xor_sync(ALL, lightest, other));
            if (its_length < length) {
                length = its_length;
                parent = its_parent;
            }
        }
        bool speaks = has_vertex && lane() % GROUP == 0;
        if (speaks && length < old >> 32) {
            store_relaxed(&s.best[v], length << 32 | parent);
            ++found;
        }
        bool stays = speaks && (length == INFINITE || floor + lightest < length);
        u32 staying = __ballot_sync(ALL, stays);
        if (staying != 0) {
            u32 place = reserve(staying, &phase_of(s).few);
            if (stays) s.frontier[s.next][place] = v;
        }
    }
    found = __reduce_add_sync(ALL, found);
    if (lane() == 0 && found != 0) atomicAdd(&phase_of(s).many, found);
}

// Unsettled vertices, none of which is nearer than `floor`, pull until none finds a shorter path.
__device__ __forceinline__ void pull(Search& s, const Graph& in, u64 floor, u64* log, u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    next_phase(s);
    for (u32 base = thread_id() - lane(); base < s.n; base += thread_count()) {
        u32 v = base + lane();
        bool chosen = v < s.n && load_relaxed(&s.best[v]) == UNREACHED;
        u32 all_chosen = __ballot_sync(ALL, chosen);
        if (all_chosen != 0) {
            u32 place = reserve(all_chosen, &phase_of(s).few);
            if (chosen) s.frontier[s.next][place] = v;
        }
    }
    grid.sync();
    u64 bound = 0;
    for (bool changed = true; changed; bound = floor) {
        const u32* list = s.frontier[s.next];
        u32 size = load_relaxed(&phase_of(s).few);
        s.next ^= 1;
        next_phase(s);
        pull_round(s, in, list, size, bound, floor);
        count_up(s);
        grid.sync();
        u32 improved = load_relaxed(&phase_of(s).many);
        changed = improved != 0;
        log_phase(s, log, log_size, true, improved, load_relaxed(&phase_of(s).read));
    }
}

// Pushes one bucket to its fixed point: no distance below the limit can fall any more.
__device__ __forceinline__ void push_bucket(Search& s, u64* log, u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    next_phase(s);
    collect_due(s);
    grid.sync();
    u32 few = load_relaxed(&phase_of(s).few), many = load_relaxed(&phase_of(s).many);
    if (few + many == 0) {
        // `nearest` was that of an arc whose tail has come nearer since: go on from what is due now.
        count_up(s);
        grid.sync();
    }
    for (bool resumed = true; few + many != 0; resumed = false) {
        const u32* list = s.frontier[s.next];
        s.next ^= 1;
        next_phase(s);
        push(s, list, few, many, resumed);
        if (many != 0) {
            grid.sync();
            push_tasks(s, load_relaxed(&phase_of(s).tasks));
        }
        count_up(s);
        grid.sync();
        few = load_relaxed(&phase_of(s).few), many = load_relaxed(&phase_of(s).many);
        log_phase(s, log, log_size, false, few + many, load_relaxed(&phase_of(s).read));
    }
}

// Every vertex unreached but the source, which has its first arc due.
__device__ __forceinline__ void start(Search& s, u32 source)
{
    for (u32 v = thread_id(); v < s.n; v += thread_count()) {
        bool is_source = v == source;
        s.best[v] = is_source ? static_cast<u64>(s.out.ids[v]) : UNREACHED;
        s.due[v] = is_source ? 0 : static_cast<u32>(INFINITE);
        if (is_source) s.cursor[v] = 0;
    }
    if (thread_id() != 0) return;
    for (Bucket& bucket : s.state->bucket) {
        bucket.nearest = UNREACHED;
        bucket.read = bucket.degrees = 0;
    }
    for (Phase& phase : s.state->phase) {
        phase.read = 0;
        phase.few = phase.many = phase.tasks = 0;
    }
    s.state->overflow = s.state->logged = 0;
}

// The whole search. `n` vertices have arcs, the first `n_many` of them many; `m` is the number of all arcs.
// The number of phases in `state` goes on from the search before, which keeps old stamps from being taken for
// new.
extern "C" __global__ void __launch_bounds__(512)
    search(u32 n, u32 n_many, i64 m, const i64* __restrict__ offsets, const u64* __restrict__ arcs,
           const i64* __restrict__ in_offsets, const u64* __restrict__ in_arcs, const u32* __restrict__ ids,
           u32 source, u64 delta, float beta, u64* best, u32* due, u32* cursor, u32* stamp, u32* frontier,
           u32* other_frontier, u64* tasks, u8* state, u64* log, u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    Search s;
    s.out.offsets = offsets, s.out.arcs = arcs, s.out.ids = ids;
    s.n = n, s.n_many = n_many;
    s.best = best, s.due = due, s.cursor = cursor, s.stamp = stamp;
    s.frontier[0] = frontier, s.frontier[1] = other_frontier, s.tasks = tasks;
    s.state = reinterpret_cast<State*>(state);
    s.nearest = UNREACHED, s.read = s.degrees = 0, s.next = 0, s.bucket = 0;
    s.number = s.state->number;
    start(s, source);
    u64 settled_arcs = offsets[source + 1] - offsets[source], nearest = 0;
    grid.sync();
    log_phase(s, log, log_size, false, 1, 0);
    while (nearest < INFINITE) {
        s.limit = smaller(nearest + delta, INFINITE);
        push_bucket(s, log, log_size);
        nearest = load_relaxed(&bucket_of(s).nearest);
        settled_arcs += load_relaxed(&bucket_of(s).degrees);
        float unsettled_arcs = static_cast<float>(m - static_cast<i64>(settled_arcs));
        bool is_last = unsettled_arcs < beta * load_relaxed(&bucket_of(s).read);
        next_bucket(s);
        if (nearest < INFINITE && is_last) {
            Graph in = {in_offsets, in_arcs, ids};
            pull(s, in, s.limit, log, log_size);
            break;
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
