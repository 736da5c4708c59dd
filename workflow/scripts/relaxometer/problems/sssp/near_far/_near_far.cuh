// Near-far SSSP: what its variants share, and the search that one block makes alone.
//
// Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths"
// (IPDPS 2014), split the vertices that wait to be expanded at a threshold distance: the near ones are
// expanded phase by phase, the far ones wait until no near one is left and the threshold moves on. Here
//
//   - far vertices wait in slots, one for each bucket of 2^shift units of distance: the 32 buckets of the
//     current epoch, and one pile for everything beyond it. So moving the threshold reads the next slots, and
//     only where they are empty the pile beyond. The source rescans one far pile.
//   - the threshold moves on before the near vertices have run out: whenever fewer than `target` are left,
//     the phase takes the next slots along, until it has so many. On road maps a phase costs the latency of
//     its memory accesses, whether it expands ten vertices or a few hundred; so this saves the many small
//     phases at the end of each bucket.
//   - nothing is deduplicated. An entry holds the distance at which its vertex was queued, and is stale, and
//     dropped, if the vertex has become nearer since.
//   - an entry carries the predecessor, which is stored when the entry is expanded. Distances only fall, and
//     an atomic minimum that lowers one makes exactly one entry for the new distance; so at most one entry of
//     a vertex is fresh in any phase, and the last one to be expanded is the one of the final distance.
//     Predecessors thus fit the distances without 64-bit atomics and without a pass over the arcs, and form a
//     tree, since a vertex gets its last predecessor after that one got its last distance, along arcs of
//     weight zero too.

#pragma once

#include "device/clock.cuh"
#include "problems/sssp/_packed_arcs.cuh"

struct __align__(16) Entry {
    u32 distance;
    u32 vertex;
    u32 predecessor;
    u32 piece;  // of the vertex's arcs, where the grid has cut them up
};
const u32 PIECE = 256;  // arcs

struct Graph {
    u32 n;
    const uint2* rows;   // where a vertex's arcs begin and end
    const uint4* first;  // the first four arcs of each vertex, two to an element
    const uint2* arcs;   // target and weight
};

struct Tree {
    u32* distance;
    u32* predecessor;
};

struct Rule {
    u32 shift;   // a bucket is 2^shift wide
    u32 target;  // with fewer near entries, a phase takes the next buckets along
    u32 most;    // with more entries to expand or to move, a block gives the search back
};

// Counters of the piles. Three for the near ones, so that one can be cleared while one is read and one
// filled.
const u32 SLOTS = 32;
const u32 NEAR = 0;
const u32 BEYOND = 3;
const u32 SLOT = 5;
const u32 COUNTS = SLOT + SLOTS;

const u32 NO_EPOCH = 0xffffffffu;

struct State {
    u32 count[COUNTS];
    u32 least[2];    // distance in each pile beyond, or less
    u32 phase;       // phases done
    u32 last;        // near bucket
    u32 epoch;       // of 32 buckets, or NO_EPOCH while the slots are out of use
    u32 beyond;      // 0 or 1: which pile beyond is in use
    u32 overflowed;  // some path passed 2^32 - 2
    u32 full;        // some pile had no room: the answer is void
};

// The piles, one after another: near ones of even and odd phases, two beyond, and the slots.
struct Piles {
    Entry* entries;
    u32 capacity;  // of each

    __device__ Entry* near_of(u32 phase) const
    {
        return entries + static_cast<size_t>(phase & 1) * capacity;
    }
    // The pile of a counter; a near counter's is that of the phase after `phase`.
    __device__ Entry* of(u32 counter, u32 phase) const
    {
        if (counter < BEYOND) return near_of(phase + 1);
        return entries + static_cast<size_t>(counter - BEYOND + 2) * capacity;
    }
};
const u32 PILES = 4 + SLOTS;

// What a phase did: how wide it was run, vertices expanded, arcs relaxed, and when it ended, in nanoseconds.
// The first record of a log holds only when the first phase began.
struct LogRecord {
    u64 mode;
    u64 expanded;
    u64 relaxed;
    u64 end_ns;
};
enum Mode { BLOCK, GRID };

struct Log {
    LogRecord* records;  // null: nothing is logged
    u32 room;

    __device__ LogRecord* of(u32 phase) const
    {
        return &records[min(phase + 1, room - 1)];
    }
    __device__ void count(u32 phase, u32 expanded, u32 relaxed) const
    {
        if (records == nullptr || expanded + relaxed == 0) return;
        atomicAdd(&of(phase)->expanded, static_cast<u64>(expanded));
        atomicAdd(&of(phase)->relaxed, static_cast<u64>(relaxed));
    }
    __device__ void begin() const
    {
        if (records != nullptr) records[0].end_ns = nanoseconds();
    }
    __device__ void end(u32 phase, Mode mode) const
    {
        if (records == nullptr) return;
        of(phase)->mode = mode;
        of(phase)->end_ns = nanoseconds();
    }
};

// The counter of the pile for an entry of this distance that is made in this phase.
__device__ __forceinline__ u32 pile_for(u32 distance, u32 shift, u32 last, u32 epoch, u32 beyond, u32 phase)
{
    u32 bucket = distance >> shift;
    if (bucket <= last) return NEAR + (phase + 1) % 3;
    return bucket / SLOTS == epoch ? SLOT + bucket % SLOTS : BEYOND + beyond;
}

// The length of the path to `target` by way of an expanded entry, or UNREACHED where there is nothing to
// gain: no arc, the way back, or a length that 32 bits do not hold.
__device__ __forceinline__ u32 path_length(const Entry& from, u32 target, u32 weight, u32* overflowed)
{
    if (target >= MORE_ARCS || target == from.predecessor) return UNREACHED;
    u64 length = static_cast<u64>(from.distance) + weight;
    if (length >= UNREACHED) {
        store_relaxed(overflowed, 1u);
        return UNREACHED;
    }
    return static_cast<u32>(length);
}

// The slots that a phase takes along. Each lane of a warp knows one of them.
struct Taken {
    u32 end;          // of the lane's slot among all entries taken
    u32 count;        // entries taken
    u32 first, last;  // slots; nothing where none is taken
};

// Takes the next slots that hold anything, after the near buckets, until the phase has `target` entries; each
// as a whole, so that the last may bring many more. For whole warps.
__device__ __forceinline__ Taken take_slots(const State& state, u32 last, u32 epoch, u32 near_count,
                                            u32 target, u32 capacity)
{
    u32 lane = threadIdx.x % 32;
    u32 own = epoch * SLOTS + lane > last ? min(state.count[SLOT + lane], capacity) : 0;
    u32 waiting = __ballot_sync(ALL_LANES, own != 0);
    if (waiting == 0) return {};
    u32 first = __ffs(static_cast<int>(waiting)) - 1;
    u32 count = __shfl_sync(ALL_LANES, own, first);
    if (near_count + count >= target) return {count, count, first, first};
    u32 end = own;
    for (u32 step = 1; step < 32; step *= 2) {
        u32 before = __shfl_up_sync(ALL_LANES, end, step);
        if (lane >= step) end += before;
    }
    u32 taken = __ballot_sync(ALL_LANES, own != 0 && near_count + end - own < target);
    u32 last_taken = 31 - __clz(static_cast<int>(taken));
    count = __shfl_sync(ALL_LANES, end, last_taken);
    return {end, count, first, last_taken};
}

// The lane whose part holds the element of this number: the first whose end lies beyond it.
__device__ __forceinline__ u32 owner_of(u32 number, u32 end)
{
    u32 owner = 0;
    for (u32 step = 16; step > 0; step /= 2) {
        u32 middle = __shfl_sync(ALL_LANES, end, owner + step - 1);
        if (middle <= number) owner += step;
    }
    return owner;
}

// The entry of this number among those taken, of which there are fewer at the end. For whole warps.
__device__ __forceinline__ Entry taken_entry(const Piles& piles, const Taken& taken, u32 number, u32 phase)
{
    u32 slot = taken.first;
    u32 place = number;
    if (taken.first != taken.last) {
        slot = owner_of(number, taken.end);
        u32 before = __shfl_sync(ALL_LANES, taken.end, (slot + 31) % 32);
        if (slot != 0) place -= before;
    }
    if (number >= taken.count) return {};
    return piles.of(SLOT + slot, phase)[place];
}

// Memory of a block's own search: the near entries of even and odd phases, and vertices with many arcs.
const u32 QUEUE = 2048;
const u32 HUBS = 256;
// Arcs, beside the first three, that one thread relaxes alone.
const u32 FEW_ARCS = 16;

struct Hubs {
    u32 count;
    Entry entry[HUBS];
};

// A search, or a stretch of one, by one block. Its state is in shared memory; so are its near entries, those
// that do not fit being in the near piles, at the places that they would have there.
struct BlockSearch {
    Graph graph;
    Tree tree;
    Piles piles;
    Rule rule;
    Log log;
    State& state;
    Entry* queue;
    Hubs& hubs;
    // Copies of the state, the same in every thread.
    u32 phase, last, epoch, beyond;
    u32 expanded, relaxed;  // by this thread in this phase

    __device__ Entry& near_entry(u32 of_phase, u32 i)
    {
        return i < QUEUE ? queue[(of_phase & 1) * QUEUE + i] : piles.near_of(of_phase)[i];
    }

    __device__ void push(const Entry& entry)
    {
        u32 pile = pile_for(entry.distance, rule.shift, last, epoch, beyond, phase);
        u32 place = atomicAdd(&state.count[pile], 1u);
        if (pile < BEYOND && place < QUEUE) {
            queue[((phase + 1) & 1) * QUEUE + place] = entry;
        } else if (place < piles.capacity) {
            piles.of(pile, phase)[place] = entry;
        } else {
            store_relaxed(&state.full, 1u);
        }
        if (pile == BEYOND + beyond) atomicMin(&state.least[beyond], entry.distance);
    }

    __device__ void relax(const Entry& from, u32 target, u32 weight)
    {
        u32 length = path_length(from, target, weight, &state.overflowed);
        ++relaxed;
        if (length == UNREACHED) return;
        if (length < atomicMin(&tree.distance[target], length)) push({length, target, from.vertex, 0});
    }

    // Two arcs at once: both atomics are under way before either's result is looked at.
    __device__ void relax_both(const Entry& from, const uint4& pair)
    {
        u32 one = path_length(from, pair.x, pair.y, &state.overflowed);
        u32 other = path_length(from, pair.z, pair.w, &state.overflowed);
        u32 before_one = 0;
        u32 before_other = 0;
        if (one != UNREACHED) before_one = atomicMin(&tree.distance[pair.x], one);
        if (other != UNREACHED) before_other = atomicMin(&tree.distance[pair.z], other);
        if (one < before_one) push({one, pair.x, from.vertex, 0});
        if (other < before_other) push({other, pair.z, from.vertex, 0});
        relaxed += (pair.x != NO_ARC) + (pair.z < MORE_ARCS);
    }

    // The arcs of an entry that are not among the vertex's first three.
    __device__ uint2 rest_of(const Entry& entry) const
    {
        uint2 row = __ldg(&graph.rows[entry.vertex]);
        if (entry.piece == 0) return make_uint2(row.x + 3, row.y);
        u32 begin = row.x + entry.piece * PIECE;
        return make_uint2(begin, min(row.y, begin + PIECE));
    }

    // Relaxes the rest of an entry's arcs, or leaves them to the block and returns true.
    __device__ bool relax_rest(const Entry& from)
    {
        uint2 rest = rest_of(from);
        if (rest.y - rest.x > FEW_ARCS) {
            u32 place = atomicAdd(&hubs.count, 1u);
            if (place < HUBS) {
                hubs.entry[place] = from;
                return true;
            }
        }
        for (u32 i = rest.x; i < rest.y; ++i) {
            relax(from, graph.arcs[i].x, graph.arcs[i].y);
        }
        return false;
    }

    // Expands the near entries and those taken along; two threads share an entry. Returns whether this thread
    // left arcs to the block.
    __device__ bool expand(u32 near_count, const Taken& taken)
    {
        u32 half = threadIdx.x % 2;
        u32 total = near_count + taken.count;
        bool left = false;
        for (u32 begin = threadIdx.x / 32 * 16; begin < total; begin += blockDim.x / 2) {
            u32 i = begin + threadIdx.x % 32 / 2;
            Entry entry = {};
            if (taken.count != 0 && begin + 16 > near_count)
                entry = taken_entry(piles, taken, i - near_count, phase);
            if (i >= total) continue;
            if (i < near_count) entry = near_entry(phase, i);
            u32 distance = load_relaxed(&tree.distance[entry.vertex]);
            uint4 pair = __ldg(&graph.first[2 * static_cast<size_t>(entry.vertex) + half]);
            if (distance != entry.distance) continue;
            if (entry.piece != 0) {
                if (half == 0 && relax_rest(entry)) left = true;
                continue;
            }
            if (half == 0) {
                tree.predecessor[entry.vertex] = entry.predecessor;
                ++expanded;
            }
            relax_both(entry, pair);
            if (pair.z == MORE_ARCS && relax_rest(entry)) left = true;
        }
        return left;
    }

    // All threads relax what was left to them, one entry after another.
    __device__ void expand_hubs()
    {
        u32 count = min(hubs.count, HUBS);
        for (u32 h = 0; h < count; ++h) {
            Entry entry = hubs.entry[h];
            uint2 rest = rest_of(entry);
            for (u32 i = rest.x + threadIdx.x; i < rest.y; i += blockDim.x) {
                relax(entry, graph.arcs[i].x, graph.arcs[i].y);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) hubs.count = 0;
        __syncthreads();
    }

    // Goes on to the epoch of the least distance beyond: fresh entries of that epoch move to their slots,
    // others to the other pile.
    __device__ void next_epoch()
    {
        u32 from = beyond;
        u32 count = min(state.count[BEYOND + from], piles.capacity);
        u32 bucket = state.least[from] >> rule.shift;
        const Entry* entries = piles.of(BEYOND + from, phase);
        __syncthreads();
        if (threadIdx.x < SLOTS) state.count[SLOT + threadIdx.x] = 0;
        if (threadIdx.x == 0) {
            state.count[BEYOND + (from ^ 1)] = 0;
            state.least[from ^ 1] = UNREACHED;
        }
        __syncthreads();
        epoch = bucket / SLOTS;
        last = bucket - 1;
        beyond = from ^ 1;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            Entry entry = entries[i];
            if (load_relaxed(&tree.distance[entry.vertex]) == entry.distance) push(entry);
        }
        __syncthreads();
    }

    // Runs phases until the search has ended, or until there is more to expand than the rule lets a block do.
    // The state is complete, and all threads see it, before and after.
    __device__ void run()
    {
        phase = state.phase;
        last = state.last;
        epoch = state.epoch;
        beyond = state.beyond;
        expanded = relaxed = 0;
        for (;;) {
            u32 near_count = min(state.count[NEAR + phase % 3], piles.capacity);
            Taken taken = {};
            if (near_count < rule.target) {
                taken = take_slots(state, last, epoch, near_count, rule.target, piles.capacity);
                u32 beyond_count = state.count[BEYOND + beyond];
                __syncthreads();
                if (taken.count == 0 && beyond_count != 0) {
                    if (beyond_count > rule.most) break;
                    next_epoch();
                    continue;
                }
                if (near_count + taken.count == 0) break;
            }
            if (near_count + taken.count > rule.most) break;
            if (taken.count != 0) last = epoch * SLOTS + taken.last;
            if (threadIdx.x == 0) state.count[NEAR + (phase + 2) % 3] = 0;
            bool left = expand(near_count, taken);
            if (__syncthreads_or(left)) expand_hubs();
            log.count(phase, expanded, relaxed);
            if (threadIdx.x == 0) log.end(phase, BLOCK);
            expanded = relaxed = 0;
            ++phase;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            state.phase = phase;
            state.last = last;
            state.epoch = epoch;
            state.beyond = beyond;
        }
        __syncthreads();
    }
};

// The state of a search that has nothing yet but its source.
__device__ inline State first_state()
{
    State state = {};
    state.count[NEAR] = 1;
    state.least[0] = state.least[1] = UNREACHED;
    return state;
}

// Puts the source, in a tree that is clear, into the near pile of phase 0.
__device__ inline void begin_search(const Tree& tree, const Piles& piles, u32 source)
{
    tree.distance[source] = 0;
    piles.near_of(0)[0] = {0, source, source, 0};
}

// Marks all vertices unreached, with 16 bytes a store where both arrays are aligned.
__device__ inline void clear_tree(const Tree& tree, u32 n, u32 thread, u32 threads)
{
    const uint4 unreached = make_uint4(UNREACHED, UNREACHED, UNREACHED, UNREACHED);
    for (u32 i = thread; i < n / 4; i += threads) {
        reinterpret_cast<uint4*>(tree.distance)[i] = unreached;
        reinterpret_cast<uint4*>(tree.predecessor)[i] = unreached;
    }
    for (u32 v = n / 4 * 4 + thread; v < n; v += threads) {
        tree.distance[v] = UNREACHED;
        tree.predecessor[v] = UNREACHED;
    }
}
