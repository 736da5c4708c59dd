// SSSP by near and far piles in one launch, at the width that the frontier needs; see _near_far.cuh.
//
// All blocks of the device stay for the whole search, and the host is not asked. While few vertices are near,
// the first block goes on alone: its near entries are in shared memory and its barrier costs a fraction of
// the grid's. When more are near, all blocks take part, and a phase has one barrier. Every block knows the
// whole state and comes to the same decision from it. What a block has to push it collects in shared memory,
// and makes room for all of it in the piles with one atomic add a pile, to the counts of what the phase
// gains; behind the barrier every block adds the gains to the state that it knows,
// or copies the one that the first block has left where that went on alone.
//
// Where buckets were taken along while few vertices were near, too many may be near later. When all blocks
// find a crowd, they lower the threshold to the mean bucket of a sample of it: everything farther goes to the
// pile beyond. Work, not latency, decides then.
//
// Work is shared out by arcs: a warp takes a few entries and deals out all their arcs evenly to its lanes. A
// vertex with many arcs is cut into pieces, and all but the first become near entries of the next phase.

#include <cooperative_groups.h>

#include "_near_far.cuh"

namespace cg = cooperative_groups;

const u32 ROUND = 4;          // arcs that a lane has under way at once
const u32 STAGE = 2 * QUEUE;  // entries that a block collects: the memory of its queue

struct Stage {
    u32 count;
    u32 places[COUNTS];  // taken in each pile
    u32 begin[COUNTS];
    u32 least;
    u32 expanded;  // vertices, for the log
    u32 relaxed;   // arcs
};

// What all blocks together add to the state between two barriers. There are three, since one is cleared while
// one is read and one gains.
struct Gain {
    u32 count[COUNTS];
    u32 least;  // distance put beyond
    u32 overflowed;
    u32 full;
};

__device__ void clear_gain(Gain& gain)
{
    if (threadIdx.x < COUNTS) gain.count[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        gain.least = UNREACHED;
        gain.overflowed = gain.full = 0;
    }
}

__device__ void add_gain(State& known, const Gain& gain)
{
    if (threadIdx.x < COUNTS) known.count[threadIdx.x] += gain.count[threadIdx.x];
    if (threadIdx.x == COUNTS) known.least[known.beyond] = min(known.least[known.beyond], gain.least);
    if (threadIdx.x == COUNTS + 1) known.overflowed |= gain.overflowed;
    if (threadIdx.x == COUNTS + 2) known.full |= gain.full;
}

// A phase by all blocks.
struct GridPhase {
    Graph graph;
    Tree tree;
    Piles piles;
    u32 shift;  // a bucket is 2^shift wide
    Log log;
    const State& known;
    Gain& gain;
    Entry* staged;
    Stage& stage;
    u32 last;    // near bucket, in this phase
    u32 rounds;  // of sorting, since the last flush

    __device__ u32 pile_of(u32 distance) const
    {
        return pile_for(distance, shift, last, known.epoch, known.beyond, known.phase);
    }

    __device__ void put(const Entry& entry, u32 pile, u32 place)
    {
        if (place < piles.capacity) {
            piles.of(pile, known.phase)[place] = entry;
        } else {
            store_relaxed(&gain.full, 1u);
        }
    }

    __device__ void push(const Entry& entry)
    {
        u32 place = atomicAdd(&stage.count, 1u);
        if (place < STAGE) {
            staged[place] = entry;
            return;
        }
        u32 pile = pile_of(entry.distance);
        put(entry, pile, known.count[pile] + atomicAdd(&gain.count[pile], 1u));
        if (pile == BEYOND + known.beyond) atomicMin(&gain.least, entry.distance);
    }

    // Gives the place of this lane's entry among all that the block has for the pile. For whole warps; lanes
    // without an entry name the pile COUNTS.
    __device__ u32 take_place(u32 pile)
    {
        u32 lane = threadIdx.x % 32;
        u32 peers = __match_any_sync(ALL_LANES, pile);
        u32 leader = __ffs(static_cast<int>(peers)) - 1;
        u32 place = 0;
        if (lane == leader && pile != COUNTS) place = atomicAdd(&stage.places[pile], __popc(peers));
        place = __shfl_sync(ALL_LANES, place, leader);
        return place + __popc(peers & ((1u << lane) - 1));
    }

    // Moves what the block has collected to the piles.
    __device__ void flush()
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            log.count(known.phase, stage.expanded, stage.relaxed);
            stage.expanded = stage.relaxed = 0;
        }
        u32 count = min(stage.count, STAGE);
        if (count == 0) return;
        if (threadIdx.x < COUNTS) stage.places[threadIdx.x] = 0;
        if (threadIdx.x == 0) stage.least = UNREACHED;
        __syncthreads();
        u32 whole = (count + 31) / 32 * 32;
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            u32 pile = i < count ? pile_of(staged[i].distance) : COUNTS;
            take_place(pile);
            if (pile == BEYOND + known.beyond) atomicMin(&stage.least, staged[i].distance);
        }
        __syncthreads();
        if (threadIdx.x < COUNTS) {
            u32 places = stage.places[threadIdx.x];
            if (places != 0) {
                stage.begin[threadIdx.x] =
                    known.count[threadIdx.x] + atomicAdd(&gain.count[threadIdx.x], places);
            }
            stage.places[threadIdx.x] = 0;
        }
        if (threadIdx.x == 0) {
            if (stage.least != UNREACHED) atomicMin(&gain.least, stage.least);
            stage.count = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            u32 pile = i < count ? pile_of(staged[i].distance) : COUNTS;
            u32 place = take_place(pile);
            if (pile != COUNTS) put(staged[i], pile, stage.begin[pile] + place);
        }
    }

    // Expands the near entries and those taken along.
    __device__ void expand(u32 near_count, const Taken& taken)
    {
        const Entry* near_entries = piles.near_of(known.phase);
        u32 lane = threadIdx.x % 32;
        u32 warps = thread_count() / 32;
        u32 total = near_count + taken.count;
        u32 share = min(max((total + warps - 1) / warps, 1u), 32u);
        u32 expanded = 0;
        u32 relaxed = 0;
        for (u32 begin = thread_id() / 32 * share; begin < total; begin += warps * share) {
            u32 i = begin + lane;
            Entry entry = {};
            if (taken.count != 0 && begin + share > near_count)
                entry = taken_entry(piles, taken, i - near_count, known.phase);
            if (i < near_count) entry = near_entries[i];
            uint2 arcs = make_uint2(0, 0);
            u32 degree = 0;
            if (lane < share && i < total) {
                uint2 row = __ldg(&graph.rows[entry.vertex]);
                if (load_relaxed(&tree.distance[entry.vertex]) == entry.distance) {
                    if (entry.piece == 0) {
                        tree.predecessor[entry.vertex] = entry.predecessor;
                        degree = row.y - row.x;
                        ++expanded;
                    }
                    arcs.x = row.x + entry.piece * PIECE;
                    arcs.y = min(row.y - arcs.x, PIECE);
                    relaxed += arcs.y;
                }
            }
            cut_up(entry, degree);
            relax_dealt(entry, arcs.x, arcs.y);
        }
        if (log.records != nullptr) {
            atomicAdd(&stage.expanded, expanded);
            atomicAdd(&stage.relaxed, relaxed);
        }
    }

    // Makes entries for the pieces of the warp's vertices that have more arcs than one piece.
    __device__ void cut_up(const Entry& entry, u32 degree)
    {
        u32 lane = threadIdx.x % 32;
        u32 cut = __ballot_sync(ALL_LANES, degree > PIECE);
        while (cut != 0) {
            u32 owner = __ffs(static_cast<int>(cut)) - 1;
            cut &= cut - 1;
            u32 distance = __shfl_sync(ALL_LANES, entry.distance, owner);
            u32 vertex = __shfl_sync(ALL_LANES, entry.vertex, owner);
            u32 predecessor = __shfl_sync(ALL_LANES, entry.predecessor, owner);
            u32 pieces = (__shfl_sync(ALL_LANES, degree, owner) + PIECE - 1) / PIECE;
            for (u32 piece = 1 + lane; piece < pieces; piece += 32) {
                push({distance, vertex, predecessor, piece});
            }
        }
    }

    // Relaxes the arcs of the warp's entries, `degree` from `arc` on for this lane's, dealt out to all lanes.
    __device__ void relax_dealt(const Entry& entry, u32 arc, u32 degree)
    {
        u32 lane = threadIdx.x % 32;
        u32 end = degree;  // of this lane's arcs among the warp's
        for (u32 step = 1; step < 32; step *= 2) {
            u32 before = __shfl_up_sync(ALL_LANES, end, step);
            if (lane >= step) end += before;
        }
        u32 total = __shfl_sync(ALL_LANES, end, 31);
        u32 shift = arc - (end - degree);  // what makes an arc's number among the warp's one of the graph's
        for (u32 begin = 0; begin < total; begin += 32 * ROUND) {
            Entry from[ROUND];
            uint2 to[ROUND];
            for (u32 r = 0; r < ROUND; ++r) {
                u32 k = begin + 32 * r + lane;
                u32 owner = owner_of(k, end);
                from[r].distance = __shfl_sync(ALL_LANES, entry.distance, owner);
                from[r].vertex = __shfl_sync(ALL_LANES, entry.vertex, owner);
                from[r].predecessor = __shfl_sync(ALL_LANES, entry.predecessor, owner);
                u32 i = k + __shfl_sync(ALL_LANES, shift, owner);
                to[r] = k < total ? __ldg(&graph.arcs[i]) : make_uint2(NO_ARC, 0);
            }
            relax_round(from, to);
        }
    }

    // Most arcs shorten nothing, so each distance is read before it is lowered; of a read that comes too late
    // nothing worse comes than an atomic in vain.
    __device__ void relax_round(const Entry* from, const uint2* to)
    {
        u32 length[ROUND];
        u32 before[ROUND];
        for (u32 r = 0; r < ROUND; ++r) {
            length[r] = path_length(from[r], to[r].x, to[r].y, &gain.overflowed);
            before[r] = length[r] != UNREACHED ? load_relaxed(&tree.distance[to[r].x]) : 0;
        }
        for (u32 r = 0; r < ROUND; ++r) {
            if (length[r] < before[r]) before[r] = atomicMin(&tree.distance[to[r].x], length[r]);
        }
        for (u32 r = 0; r < ROUND; ++r) {
            if (length[r] < before[r]) push({length[r], to[r].x, from[r].vertex, 0});
        }
    }

    // Pushes the fresh ones of these entries again, to the piles that are theirs now. For whole blocks, which
    // move what they have collected before they run out of room.
    __device__ void sort_again(const Entry* entries, u32 count)
    {
        for (u32 begin = blockIdx.x * blockDim.x; begin < count; begin += thread_count()) {
            u32 i = begin + threadIdx.x;
            if (i < count) {
                Entry entry = entries[i];
                if (load_relaxed(&tree.distance[entry.vertex]) == entry.distance) push(entry);
            }
            if (++rounds * blockDim.x == STAGE) {
                flush();
                __syncthreads();
                rounds = 0;
            }
        }
    }
};

__device__ void copy_state(State* to, const State* from)
{
    const u32 words = sizeof(State) / sizeof(u32);
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
        reinterpret_cast<u32*>(to)[i] = reinterpret_cast<const u32*>(from)[i];
    }
}

// The first QUEUE near entries move between their pile and a block's shared memory.
__device__ void copy_near(Entry* to, const Entry* from, u32 count)
{
    for (u32 i = threadIdx.x; i < min(count, QUEUE); i += blockDim.x) {
        to[i] = from[i];
    }
}

// Numbers of entries at which the blocks change their ways; see near_far.py.
struct Widths {
    u32 block_target;
    u32 grid_target;
    u32 narrow;
    u32 crowd;
};

// What the blocks do next. All find the same, from the same state.
struct Decision {
    u32 near_count;
    Taken taken;  // to expand along
    u32 last;     // near bucket, lowered if there is a crowd
    bool ended;
    bool narrow;   // few enough entries for one block
    bool turns;    // to the next epoch
    bool demotes;  // near entries beyond `last`

    __device__ Decision(const State& known, const Piles& piles, const Widths& widths, u32 shift)
    {
        near_count = min(known.count[NEAR + known.phase % 3], piles.capacity);
        taken = slots_for(known, piles, widths.grid_target);
        u32 beyond_count = known.count[BEYOND + known.beyond];
        ended = near_count + taken.count + beyond_count == 0;
        narrow = !ended && alone(known, piles, widths, beyond_count) < widths.narrow;
        turns = near_count < widths.grid_target && taken.count == 0 && beyond_count != 0;
        last = taken.count == 0 ? known.last : known.epoch * SLOTS + taken.last;
        demotes = false;
        if (near_count >= widths.grid_target && near_count > widths.crowd) {
            u32 mean = mean_bucket(piles.near_of(known.phase), shift);
            demotes = mean < last;
            last = min(last, mean);
        }
    }

    __device__ Taken slots_for(const State& known, const Piles& piles, u32 target) const
    {
        if (near_count >= target) return {};
        return take_slots(known, known.last, known.epoch, near_count, target, piles.capacity);
    }

    // How many entries one block would have to deal with.
    __device__ u32 alone(const State& known, const Piles& piles, const Widths& widths, u32 beyond_count) const
    {
        if (near_count >= widths.block_target) return near_count;
        u32 along = slots_for(known, piles, widths.block_target).count;
        return near_count + (along != 0 ? along : beyond_count);
    }

    // The mean bucket of 32 near entries spread over their pile, at least the least of theirs.
    __device__ u32 mean_bucket(const Entry* near_entries, u32 shift) const
    {
        u32 place = static_cast<u32>(static_cast<u64>(threadIdx.x % 32) * near_count / 32);
        u32 bucket = near_entries[place].distance >> shift;
        u32 least = __reduce_min_sync(ALL_LANES, bucket);
        u32 above = min(bucket - least, (1u << 27) - 1);
        return least + __reduce_add_sync(ALL_LANES, above) / 32;
    }
};

// Goes on to the next phase: the pile that it reads is the one that this phase filled. For whole blocks, when
// all threads are done with this one.
__device__ void end_phase(State& known)
{
    if (threadIdx.x == 0) {
        known.count[NEAR + (known.phase + 2) % 3] = 0;
        ++known.phase;
    }
}

// Starts to sort entries into the other pile beyond, with new borders.
__device__ void begin_sorting(GridPhase& phase, State& known, u32 last, u32 epoch)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        known.beyond ^= 1;
        known.count[BEYOND + known.beyond] = 0;
        known.least[known.beyond] = UNREACHED;
        known.last = last;
        known.epoch = epoch;
    }
    phase.last = last;
    __syncthreads();
}

// Goes on to the epoch of the least distance beyond; slots hold nothing fresh then.
__device__ void next_epoch(GridPhase& phase, State& known)
{
    u32 from = known.beyond;
    u32 bucket = known.least[from] >> phase.shift;
    begin_sorting(phase, known, bucket - 1, bucket / SLOTS);
    if (threadIdx.x < SLOTS) known.count[SLOT + threadIdx.x] = 0;
    __syncthreads();
    phase.sort_again(phase.piles.of(BEYOND + from, known.phase),
                     min(known.count[BEYOND + from], phase.piles.capacity));
    phase.flush();
}

// Leaves only buckets up to `last` near; the rest and all that is far goes to the pile beyond, and there is
// no epoch until the next turn. Counts as a phase, since near entries change their pile.
__device__ void demote(GridPhase& phase, State& known, u32 last)
{
    u32 from = known.beyond;
    u32 taken_up_to = known.last;
    u32 epoch = known.epoch;
    const Piles& piles = phase.piles;
    begin_sorting(phase, known, last, NO_EPOCH);
    phase.sort_again(piles.near_of(known.phase), min(known.count[NEAR + known.phase % 3], piles.capacity));
    for (u32 slot = 0; slot < SLOTS; ++slot) {
        if (epoch == NO_EPOCH || epoch * SLOTS + slot <= taken_up_to) continue;
        phase.sort_again(piles.of(SLOT + slot, known.phase), min(known.count[SLOT + slot], piles.capacity));
    }
    phase.sort_again(piles.of(BEYOND + from, known.phase), min(known.count[BEYOND + from], piles.capacity));
    phase.flush();
    __syncthreads();
    if (threadIdx.x < SLOTS) known.count[SLOT + threadIdx.x] = 0;
    end_phase(known);
}

// Memory of the grid: the state after a stretch by one block, and what all blocks gain.
struct Shared {
    State state;
    Gain gains[3];
};
static_assert(sizeof(Shared) <= 256 * sizeof(u32), "near_far.py makes room for so many words");

// `result` gets phases << 2 | full << 1 | overflowed.
extern "C" __global__ void __launch_bounds__(1024, 1)
    near_far(u32 n, const uint2* __restrict__ rows, const uint4* __restrict__ first,
             const uint2* __restrict__ arcs, u32* distance, u32* predecessor, uint4* entries, u32 capacity,
             u32 source, u32 shift, u32 block_target, u32 grid_target, u32 narrow, u32 wide, u32 crowd,
             u32* shared_state, u64* records, u32 log_room, u64* result)
{
    extern __shared__ uint4 memory[];
    __shared__ State known;
    __shared__ Stage stage;
    __shared__ Hubs hubs;
    cg::grid_group grid = cg::this_grid();
    Entry* queue = reinterpret_cast<Entry*>(memory);
    Shared& shared = *reinterpret_cast<Shared*>(shared_state);
    Graph graph = {n, rows, first, arcs};
    Tree tree = {distance, predecessor};
    Piles piles = {reinterpret_cast<Entry*>(entries), capacity};
    Log log = {reinterpret_cast<LogRecord*>(records), log_room};
    Widths widths = {block_target, grid_target, narrow, crowd};
    if (threadIdx.x == 0) {
        stage.count = stage.expanded = stage.relaxed = hubs.count = 0;
        known = first_state();
    }
    for (u32 i = 0; blockIdx.x == 0 && i < 3; ++i) clear_gain(shared.gains[i]);
    clear_tree(tree, n, thread_id(), thread_count());
    grid.sync();
    if (thread_id() == 0) {
        begin_search(tree, piles, source);
        log.begin();
    }
    bool by_one = false;  // the last stretch
    bool by_all = false;  // the last phase
    for (u32 step = 0;; ++step) {
        grid.sync();
        if (by_one) copy_state(&known, &shared.state);
        if (!by_one) add_gain(known, shared.gains[(step + 2) % 3]);
        __syncthreads();
        if (by_all && thread_id() == 0) log.end(known.phase - 1, GRID);
        Decision next(known, piles, widths, shift);
        if (next.ended) break;
        if (blockIdx.x == 0) clear_gain(shared.gains[(step + 1) % 3]);
        // Never twice in a row, so that nobody still reads the state that the first block writes: a stretch
        // ends with nothing left or with more than `wide` entries, and `wide` is at least `narrow`.
        by_one = next.narrow;
        by_all = !next.narrow && !next.turns;
        if (next.narrow) {
            __syncthreads();
            if (blockIdx.x != 0) continue;
            copy_near(queue + known.phase % 2 * QUEUE, piles.near_of(known.phase), next.near_count);
            __syncthreads();
            Rule rule = {shift, block_target, wide};
            BlockSearch search = {graph, tree, piles, rule, log, known, queue, hubs};
            search.run();
            copy_near(piles.near_of(known.phase), queue + known.phase % 2 * QUEUE,
                      known.count[NEAR + known.phase % 3]);
            copy_state(&shared.state, &known);
            continue;
        }
        GridPhase all = {graph, tree,  piles,     shift, log, known, shared.gains[step % 3],
                         queue, stage, next.last, 0};
        if (next.turns) {
            next_epoch(all, known);
        } else if (next.demotes) {
            demote(all, known, next.last);
        } else {
            all.expand(next.near_count, next.taken);
            all.flush();
            __syncthreads();
            if (threadIdx.x == 0) known.last = next.last;
            end_phase(known);
        }
    }
    if (thread_id() == 0) *result = static_cast<u64>(known.phase) << 2 | known.full << 1 | known.overflowed;
}
