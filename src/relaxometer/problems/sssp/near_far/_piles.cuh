// Near-far SSSP: the piles of a search and the layer that pushes entries to them.
//
// Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
// Paths", IPDPS 2014, split the queued vertices at a threshold distance: near ones are expanded phase by
// phase, far ones wait until no near one is left, and then the threshold moves on. Deviations:
//
//   - Far vertices wait in slots, one for each bucket of 2^shift units of distance in the current epoch of 32
//     buckets, and in one pile for everything beyond it. Moving the threshold reads the next slots, and the
//     pile beyond only when all are empty. The paper rescans one far pile.
//   - A phase with fewer than `target` near vertices takes the next slots along. On a road map a phase costs
//     the latency of its memory accesses, whether it expands ten vertices or a few hundred, so this saves the
//     many small phases at the end of each bucket.
//   - Where too many vertices are near, near_far.cu lowers the threshold again. The paper only raises it.
//   - Nothing is deduplicated. An entry holds the distance at which its vertex was queued; it is stale, and
//     dropped, if the vertex has come nearer since.
//   - An entry carries the predecessor, which is stored when the entry is expanded. An atomic minimum that
//     lowers a distance makes exactly one entry for it, so at most one entry of a vertex is fresh, and the
//     last one expanded has the final distance. Predecessors thus match the distances without 64-bit atomics
//     or a pass over the arcs. They form a tree, even along arcs of weight zero, since a vertex gets its last
//     predecessor after that one got its last distance.

#pragma once

#include "device/clock.cuh"
#include "problems/sssp/_lengths.cuh"
#include "problems/sssp/_packed_arcs.cuh"

struct __align__(WIDE_LENGTHS ? 8 : 16) Entry {
    length_t distance;
    u32 vertex;
    u32 predecessor;
    u32 piece;  // of the vertex's arcs, if the grid has cut them up
};
const u32 ENTRY_BYTES = 16, WIDE_ENTRY_BYTES = 24;
static_assert(sizeof(Entry) == (WIDE_LENGTHS ? WIDE_ENTRY_BYTES : ENTRY_BYTES), "the host allocates them");
const u32 PIECE = 256;  // arcs

const u32 QUEUE = 2048;  // near entries of a phase that a block keeps in shared memory

struct Graph {
    u32 n;
    const uint2* rows;     // begin and end of each vertex's arcs
    const ArcPair* first;  // first four arcs of each vertex, two per element
    const Arc* arcs;       // target and weight
};

struct Tree {
    length_t* distance;
    u32* predecessor;
    length_t bound;  // paths of this length or longer are not followed; at most NO_PATH
};

// Piles are known by their counters: near ones, two beyond the slots, and the slots. Near piles have three
// counters, one to read, one to fill and one to clear, but only two piles.
const u32 SLOTS = 32;
const u32 NEAR = 0;    // the first of three counters, for two piles
const u32 BEYOND = 3;  // of two
const u32 SLOT = 5;    // of SLOTS
const u32 COUNTERS = SLOT + SLOTS;
const u32 PILES = 4 + SLOTS;

struct Counters {
    u32 count[COUNTERS];
    length_t least;  // lower bound of the distances in the pile beyond
    u32 overflowed;  // the type does not hold some path's length
    u32 full;        // some pile was too small: the answer is void
};

const u32 LAST_BUCKET = 0xfffffffe;
const u32 NO_EPOCH = 0xffffffffu;  // the slots are out of use

struct Position {
    u32 phase;   // phases done
    u32 last;    // of the near buckets
    u32 epoch;   // of 32 buckets
    u32 beyond;  // 0 or 1: the pile beyond in use
};

struct State {
    Counters total;
    Position at;
};

struct Piles {
    Entry* entries;
    u32 capacity;  // of each pile
    u32 shift;     // a bucket is 2^shift wide; for floats, shift is an int and 2^-shift not subnormal

    // The last bucket takes all that is farther.
    __device__ u32 bucket_of(length_t distance) const
    {
#if defined(FLOAT32_LENGTHS)
        float scale = __uint_as_float((127 - shift) << 23);  // 2^-shift
        return whole_buckets(as_number(distance) * scale);
#elif defined(FLOAT64_LENGTHS)
        double scale = as_number(static_cast<u64>(1023 - shift) << 52);  // 2^-shift
        return whole_buckets(as_number(distance) * scale);
#else
        length_t bucket = distance >> shift;
        return static_cast<u32>(WIDE_LENGTHS ? min(bucket, static_cast<length_t>(LAST_BUCKET)) : bucket);
#endif
    }

    __device__ Entry* near_of(u32 phase) const
    {
        return entries + static_cast<size_t>(phase % 2) * capacity;
    }

    // The pile beyond or slot of a counter.
    __device__ Entry* far(u32 pile) const
    {
        return entries + static_cast<size_t>(pile - BEYOND + 2) * capacity;
    }
};

// The arguments of a search: the graph, and memory for the piles.
struct Problem {
    Graph graph;
    Piles piles;
};

// The first record of a log holds only the time at which the first phase began.
struct LogRecord {
    u64 mode;
    u64 expanded;  // vertices
    u64 relaxed;   // arcs
    u64 end_ns;
};
enum Mode { BLOCK, GRID };

struct Log {
    LogRecord* records;  // null if nothing is logged
    u32 capacity;

    __device__ LogRecord* of(u32 phase) const
    {
        return &records[min(phase + 1, capacity - 1)];
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

// How entries get into the piles, whether one block searches or all do. A single block adds to the totals of
// `state`; blocks that share a search add to a `gain`, which all add to their states after a barrier. A
// `Derived` has a `position`, moves it in `move_to`, and pushes fresh entries in `push_again`.
template <typename Derived>
struct Search {
    Graph graph;
    Tree tree;
    Piles piles;
    Log log;
    State& state;
    Counters& gain;
    Entry* queue;  // 2 * QUEUE entries in shared memory

    __device__ Position position() const
    {
        return static_cast<const Derived*>(this)->position();
    }

    __device__ bool is_fresh(const Entry& entry) const
    {
        return load_relaxed(&tree.distance[entry.vertex]) == entry.distance;
    }

    // The length of the path to `target` along an expanded entry; NO_PATH if it cannot help: the arc is
    // missing or leads back, or the length reaches the bound or is one that the type does not hold.
    __device__ length_t path_length(const Entry& from, u32 target, weight_t weight) const
    {
        if (target >= MORE_ARCS || target == from.predecessor) return NO_PATH;
        u64 length = extended_length(from.distance, weight);
        if (length >= tree.bound) {
            if (length >= NO_PATH) store_relaxed(&gain.overflowed, 1u);
            return NO_PATH;
        }
        return static_cast<length_t>(length);
    }

    // The pile for an entry that is made in this phase.
    __device__ u32 pile_of(const Entry& entry) const
    {
        Position at = position();
        u32 bucket = piles.bucket_of(entry.distance);
        if (bucket <= at.last) return NEAR + (at.phase + 1) % 3;
        return bucket / SLOTS == at.epoch ? SLOT + bucket % SLOTS : BEYOND + at.beyond;
    }

    __device__ void store(const Entry& entry, u32 pile, u32 place) const
    {
        if (place < piles.capacity) {
            (pile < BEYOND ? piles.near_of(position().phase + 1) : piles.far(pile))[place] = entry;
        } else {
            store_relaxed(&gain.full, 1u);
        }
    }

    __device__ void note_distance(const Entry& entry, u32 pile, length_t* least) const
    {
        if (pile == BEYOND + position().beyond) atomicMin(least, entry.distance);
    }

    // Moves the threshold and begins to sort into the other pile beyond; an epoch begins with empty slots.
    // For whole blocks.
    __device__ void begin_sorting(u32 last, u32 epoch)
    {
        Position next = {position().phase, last, epoch, position().beyond ^ 1};
        __syncthreads();
        if (epoch != NO_EPOCH && threadIdx.x < SLOTS) state.total.count[SLOT + threadIdx.x] = 0;
        if (threadIdx.x == 0) {
            state.at = next;
            state.total.count[BEYOND + next.beyond] = 0;
            state.total.least = NO_PATH;
        }
        static_cast<Derived*>(this)->move_to(next);
        __syncthreads();
    }

    // Moves on to the epoch of the least distance beyond: fresh entries of that epoch move to their slots,
    // others to the other pile. No slot holds a fresh entry before.
    __device__ void next_epoch()
    {
        u32 from = BEYOND + position().beyond;
        u32 count = min(state.total.count[from], piles.capacity);
        u32 bucket = piles.bucket_of(state.total.least);
        begin_sorting(bucket - 1, bucket / SLOTS);
        static_cast<Derived*>(this)->push_again(piles.far(from), count);
    }
};

// The slots that a phase takes along. Each lane of a warp knows one of them.
struct Taken {
    u32 end;          // of the lane's slot among all entries taken
    u32 count;        // entries taken
    u32 first, last;  // slots
};

// Takes the next slots that are not empty, after the near buckets, until the phase has `target` entries.
// Slots are taken whole, so the last may bring many more. For whole warps.
__device__ __forceinline__ Taken take_slots(const State& state, u32 last, u32 epoch, u32 near_count,
                                            u32 target, u32 capacity)
{
    u32 lane = threadIdx.x % WARP;
    u32 own = epoch * SLOTS + lane > last ? min(state.total.count[SLOT + lane], capacity) : 0;
    u32 waiting = __ballot_sync(ALL_LANES, own != 0);
    if (waiting == 0) return {};
    u32 first = __ffs(static_cast<int>(waiting)) - 1;
    u32 count = __shfl_sync(ALL_LANES, own, first);
    if (near_count + count >= target) return {count, count, first, first};
    u32 end = own;
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 before = __shfl_up_sync(ALL_LANES, end, step);
        if (lane >= step) end += before;
    }
    u32 taken = __ballot_sync(ALL_LANES, own != 0 && near_count + end - own < target);
    u32 last_taken = 31 - __clz(static_cast<int>(taken));
    count = __shfl_sync(ALL_LANES, end, last_taken);
    return {end, count, first, last_taken};
}

// The first lane whose `end` lies beyond this number. For whole warps.
__device__ __forceinline__ u32 owner_of(u32 number, u32 end)
{
    u32 owner = 0;
    for (u32 step = 16; step > 0; step /= 2) {
        u32 middle = __shfl_sync(ALL_LANES, end, owner + step - 1);
        if (middle <= number) owner += step;
    }
    return owner;
}

// The entry of this number among those taken; an empty one beyond the last. For whole warps.
__device__ __forceinline__ Entry taken_entry(const Piles& piles, const Taken& taken, u32 number)
{
    u32 slot = taken.first;
    u32 place = number;
    if (taken.first != taken.last) {
        slot = owner_of(number, taken.end);
        u32 before = __shfl_sync(ALL_LANES, taken.end, (slot + 31) % WARP);
        if (slot != 0) place -= before;
    }
    if (number >= taken.count) return {};
    return piles.far(SLOT + slot)[place];
}

// The state of a search that knows only its sources.
__device__ inline State first_state(u32 n_sources)
{
    State state = {};
    state.total.count[NEAR] = n_sources;
    state.total.least = NO_PATH;
    return state;
}

// Puts a source at its place of the near pile of phase 0. The tree has been cleared.
__device__ inline void begin_search(const Tree& tree, const Piles& piles, u32 source, u32 place)
{
    tree.distance[source] = ZERO_LENGTH;
    piles.near_of(0)[place] = {ZERO_LENGTH, source, source, 0};
}

// Labels all vertices unreached. Both arrays are aligned to 16 bytes.
__device__ inline void clear_tree(const Tree& tree, u32 n, u32 thread, u32 threads)
{
    const u32 low = static_cast<u32>(NO_PATH);
    const u32 high = static_cast<u32>(static_cast<u64>(NO_PATH) >> (WIDE_LENGTHS ? 32 : 0));
    const uint4 unreached = make_uint4(low, high, low, high);
    const uint4 none = make_uint4(NO_PREDECESSOR, NO_PREDECESSOR, NO_PREDECESSOR, NO_PREDECESSOR);
    for (u32 i = thread; i < n / 4; i += threads) {
        reinterpret_cast<uint4*>(tree.distance)[WIDE_LENGTHS ? 2 * i : i] = unreached;
        if (WIDE_LENGTHS) reinterpret_cast<uint4*>(tree.distance)[2 * i + 1] = unreached;
        reinterpret_cast<uint4*>(tree.predecessor)[i] = none;
    }
    for (u32 v = n / 4 * 4 + thread; v < n; v += threads) {
        tree.distance[v] = NO_PATH;
        tree.predecessor[v] = NO_PREDECESSOR;
    }
}
