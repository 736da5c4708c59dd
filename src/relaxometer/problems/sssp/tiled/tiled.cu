// SSSP on maps with one tile of the map in the shared memory of each block, without phases.
//
// A search on a road map changes few distances at a time, so its time is the latency of the longest chain of
// relaxations. Here relaxations stay on a multiprocessor: the vertices are cut into one tile per block (see
// _tiles.py and _prepare_tiles.cu), and a tile's distances stay in shared memory for the whole search. Those
// of larger maps stay in global memory (`tiled_in_global`); queues are in shared memory either way.
//
//   - Within its tile, a block searches by near and far vertices (Davidson, Baxter, Garland and Owens,
//     "Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths", IPDPS 2014): it expands, phase
//     by phase, those nearer than a threshold, and when none is left raises the threshold to the least
//     waiting distance plus delta. An entry of the near queue is stale if the vertex has become nearer since.
//     There is no far pile: a scan finds the vertices that are nearer than when they were last expanded. So a
//     full queue may drop entries. In global memory a vertex that waits lowers a bound of its chunk of the
//     tile, and the scan leaves out the chunks whose bound is not below the threshold.
//   - Blocks do not wait for each other. An arc into another tile sends the length of its path with an atomic
//     minimum to the mail slot of its head, a word in global memory. A block checks its tile's slots every
//     few phases. Slots are never emptied, and a message is only the word itself, so no memory order is
//     needed.
//   - A tile that runs ahead of better distances wastes relaxations. A block has plenty to spare, except with
//     heavy-tailed weights, where most work would be wasted. There a leash holds the threshold near the least
//     waiting distance of all tiles, which tiles publish when they raise their thresholds. Seeing it late
//     only costs time: the last tile is never held back.
//   - The search ends when all blocks are idle and no mail is on its way (_mail.cuh).
//
// The fast iterative method for eikonal equations (Jeong and Whitaker, 2008) also lets patches converge one
// by one, but sweeps all patches from global memory in rounds.

#include <cooperative_groups.h>

#include "_tile.cuh"
#include "device/clock.cuh"
#include "problems/_mail.cuh"
#include "problems/sssp/_tight_arcs.cuh"

namespace cg = cooperative_groups;

const u32 POLL = 4;         // phases from one check of the mail to the next
const u32 SLOTS_AHEAD = 3;  // slots per thread that are loaded before these phases

// Communication between blocks, besides the mail.
struct Board {
    u64 idle;        // wake-ups << 32 | idle blocks
    u32 changed[3];  // by rounds over arcs of weight zero; of floats, by rounds that look for predecessors
    u32 overflowed;
};

struct State {
    length_t* mail;
    Board* board;
    u32* confirmed;     // by each block: wake-ups + 1
    length_t* waiting;  // the least waiting distance of each tile, or a lower bound, as last published
    length_t* labels;   // of all tiles, if they are in global memory: two words per vertex
};

// The work of a block, in instrumented runs.
struct TileLog {
    u64 phases;
    u64 expanded;
    u64 relaxed;
    u64 raises;
    u64 wakes;
    u64 holds;
    u64 idle_ns;
    u64 search_ns;
    u64 total_ns;
};

struct Shared {
    u32 counts[3];  // of near entries
    length_t least;
    length_t last;  // the least waiting distance of all tiles
    u64 idle[2];    // found by successive looks at the board
};

enum Raise { RAISED, HELD_BACK, NOTHING_WAITS };

// A block's part of the search. Functions are for whole blocks, except those of the first group.
template <bool BOUNDED>
struct Search {
    const Tiling& tiling;
    const Settings& settings;
    const State& state;
    Tile<BOUNDED> tile;
    NearQueue near;
    Shared& shared;
    length_t* own_mail;
    length_t threshold = 0;
    u32 expanded = 0, relaxed = 0;  // by this thread
    u32 raises = 0, wakes = 0, holds = 0;

    __device__ Search(const Tiling& tiling, const Settings& settings, const State& state,
                      const Memory& memory, Shared& shared)
        : tiling(tiling),
          settings(settings),
          state(state),
          tile(tiling, settings, memory),
          near{{memory.queue, shared.counts, 0, 0}},
          shared(shared),
          own_mail(state.mail + tile.mail_begin)
    {
    }

    __device__ void initialize(u32 source_place)
    {
        tile.initialize(source_place);
        for (u32 slot = threadIdx.x; slot < tile.border; slot += blockDim.x) own_mail[slot] = NO_PATH;
        if (threadIdx.x < 3) shared.counts[threadIdx.x] = 0;
        if (threadIdx.x != 0) return;
        shared.least = shared.last = NO_PATH;
        state.confirmed[blockIdx.x] = 0;
        state.waiting[blockIdx.x] = NO_PATH;
        if (blockIdx.x == 0) {
            state.board->idle = 0;
            state.board->changed[0] = state.board->overflowed = 0;
        }
    }

    // The whole search; returns the time spent waiting if `timed`.
    __device__ u64 run(bool timed)
    {
        u64 waited = 0;
        for (;;) {
            Raise raise = near.counts[near.now] == 0 ? raise_threshold() : RAISED;
            if (raise == HELD_BACK) {
                ++holds;
                find_mail();
            }
            if (raise == NOTHING_WAITS) {
                u64 begin = timed ? nanoseconds() : 0;
                bool goes_on = wait();
                if (timed) waited += nanoseconds() - begin;
                if (!goes_on) return waited;
            }
            if (near.counts[near.now] != 0) run_near();
        }
    }

    // Runs phases until no near vertex is left and the mail has been checked since.
    __device__ void run_near()
    {
        do {
            length_t loaded[SLOTS_AHEAD];
            for (u32 k = 0; k < SLOTS_AHEAD; ++k) {
                u32 slot = k * blockDim.x + threadIdx.x;
                loaded[k] = slot < tile.border ? load_relaxed(&own_mail[slot]) : NO_PATH;
            }
            bool last = false;
            for (u32 step = 1; !last; ++step) {
                u32 count = min(near.counts[near.now], QUEUE);
                last = count == 0 || step == POLL;
                if (threadIdx.x == 0) near.clear_later();
                expand(count);
                if (last) take_mail(loaded);
                __syncthreads();
                near.advance();
            }
        } while (near.counts[near.now] != 0);
    }

    // Expands this phase's entries; a warp takes eight, with one lane for each of their first four arcs.
    __device__ void expand(u32 count)
    {
        const u32 per_warp = WARP / FIRST;
        u32 k = threadIdx.x % FIRST;
        for (u32 begin = threadIdx.x / WARP * per_warp; begin < count;
             begin += blockDim.x / WARP * per_warp) {
            u32 i = begin + threadIdx.x % WARP / FIRST;
            Entry entry = near.entry(min(i, count - 1));
            Arc arc = tile.first_arc(entry.x, k);
            bool fresh = i < count && load_relaxed(&tile.distance[entry.x]) == entry.y;
            if (fresh && k == 0) {
                tile.expanded_at[entry.x] = entry.y;
                ++expanded;
            }
            length_t length;
            bool nearer = relax(fresh, entry.y, arc, length);
            if (fresh && arc.x == MORE_ARCS) relax_rest(entry);
            if (!near.push_together(nearer, arc.x, length)) tile.note(arc.x, length);
        }
    }

    // Relaxes the arcs of a vertex after the third; by one thread.
    __device__ void relax_rest(Entry entry)
    {
        uint2 row = read_only(&tile.rows[entry.x]);
        for (u32 i = row.x + FIRST - 1; i < row.y; ++i) {
            Arc arc = read_only(&tiling.arcs[i]);
            length_t length;
            if (relax(true, entry.y, arc, length)) push_or_note(arc.x, length);
        }
    }

    // Relaxes an arc if `any`, and sets the length of the path; by one thread. Returns whether the head
    // becomes a near vertex of this tile; notes a far one. Few branches: a phase takes as long as its chain
    // of instructions.
    __device__ bool relax(bool any, length_t distance_before, Arc arc, length_t& length)
    {
        bool fits = extend(distance_before, arc.y, length);
        any = any && arc.x < MORE_ARCS;
        relaxed += any;
        if (any && !fits) store_relaxed(&state.board->overflowed, 1u);
        any = any && fits;
        bool here = arc.x < REMOTE;
        if (any && !here) atomicMin(&state.mail[arc.x - REMOTE], length);
        length_t before = 0;
        if (any && here) before = atomicMin(&tile.distance[arc.x], length);
        bool nearer = length < before;
        if (nearer && length >= threshold) tile.note(arc.x, length);
        return nearer && length < threshold;
    }

    // For a vertex that has become nearer.
    __device__ void push_or_note(u32 v, length_t length)
    {
        if (length >= threshold || !near.push(v, length)) tile.note(v, length);
    }

    // Raises the threshold above the least waiting distance, if there is one and no other tile is too far
    // behind; publishes that distance. It is a bound: what waited may be nearer and expanded now. Then
    // nothing is pushed, but the bound is higher the next time.
    __device__ Raise raise_threshold()
    {
        length_t least = tile.least_waiting();
        lower_for_block(&shared.least, least);
        length_t last = NO_PATH;
        for (u32 i = threadIdx.x; settings.leash != NO_PATH && i < gridDim.x; i += blockDim.x) {
            if (i != blockIdx.x) last = min(last, load_relaxed(&state.waiting[i]));
        }
        lower_for_block(&shared.last, last);
        __syncthreads();
        least = shared.least;
        last = min(least, shared.last);
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.least = shared.last = NO_PATH;
            store_relaxed(&state.waiting[blockIdx.x], least);
        }
        if (least == NO_PATH) return NOTHING_WAITS;
        length_t limit = raised(last, settings.leash);
        if (limit <= least) return HELD_BACK;
        threshold = min(limit, raised(least, settings.delta));
        ++raises;
        push_waiting();
        return RAISED;
    }

    // Pushes vertices below the threshold, and sets the bounds of their chunks; a warp takes a chunk.
    __device__ void push_waiting()
    {
        u32 lane = threadIdx.x % WARP;
        for (u32 c = threadIdx.x / WARP; c < tile.chunks(); c += blockDim.x / WARP) {
            if (!tile.may_wait(c, threshold)) continue;
            length_t least = NO_PATH;
#pragma unroll
            for (u32 k = 0; k < CHUNK_VERTICES / WARP; ++k) {
                u32 v = c * CHUNK_VERTICES + k * WARP + lane;
                length_t length = v < tile.size ? tile.waiting(v) : NO_PATH;
                if (length >= threshold || !near.push_now(v, length)) least = min(least, length);
            }
            if (!BOUNDED) continue;
            least = least_of_warp(least);
            if (lane == 0) tile.bounds[c] = least;
        }
        __syncthreads();
    }

    __device__ void lower_for_block(length_t* least_of_block, length_t least)
    {
        least = least_of_warp(least);
        if (threadIdx.x % WARP == 0 && least != NO_PATH) atomicMin(least_of_block, least);
    }

    // Takes the mail after some phases; `loaded` holds the thread's first slots.
    __device__ void take_mail(const length_t* loaded)
    {
        for (u32 k = 0; k < SLOTS_AHEAD; ++k) {
            u32 slot = k * blockDim.x + threadIdx.x;
            if (slot < tile.border && tile.lower(slot, loaded[k])) push_or_note(slot, loaded[k]);
        }
        for (u32 slot = SLOTS_AHEAD * blockDim.x + threadIdx.x; slot < tile.border; slot += blockDim.x) {
            length_t length = load_relaxed(&own_mail[slot]);
            if (tile.lower(slot, length)) push_or_note(slot, length);
        }
    }

    // Takes all mail between phases; returns whether there was any.
    __device__ bool find_mail()
    {
        bool found = false;
        for (u32 slot = threadIdx.x; slot < tile.border; slot += blockDim.x) {
            length_t length = load_relaxed(&own_mail[slot]);
            if (!tile.lower(slot, length)) continue;
            if (length >= threshold || !near.push_now(slot, length)) tile.note(slot, length);
            found = true;
        }
        return __syncthreads_or(found);
    }

    // Waits for mail; returns false if the whole search has ended.
    __device__ bool wait()
    {
        if (!wait_for_mail(*this, &state.board->idle, state.confirmed, shared.idle)) return false;
        ++wakes;
        return true;
    }
};

template <bool BOUNDED>
__device__ void write_log(TileLog* log, const Search<BOUNDED>& search, u64 idle_ns, u64 search_ns,
                          u64 total_ns)
{
    atomicAdd(&log->expanded, static_cast<u64>(search.expanded));
    atomicAdd(&log->relaxed, static_cast<u64>(search.relaxed));
    if (threadIdx.x != 0) return;
    log->phases = search.near.phase;
    log->raises = search.raises;
    log->wakes = search.wakes;
    log->holds = search.holds;
    log->idle_ns = idle_ns;
    log->search_ns = search_ns;
    log->total_ns = total_ns;
}

template <bool BOUNDED>
__device__ __forceinline__ void search_tiles(const Graph& graph, const Tiling& tiling,
                                             const Settings& settings, const State& state,
                                             const Memory& memory, u32 source, length_t* distance,
                                             u32* predecessor, TileLog* logs)
{
    __shared__ Shared shared;
    cg::grid_group grid = cg::this_grid();
    u64 start_ns = logs == nullptr ? 0 : nanoseconds();
    Search<BOUNDED> search(tiling, settings, state, memory, shared);
    search.initialize(read_only(&tiling.place[source]));
    grid.sync();
    u64 idle_ns = search.run(logs != nullptr);
    u64 end_ns = logs == nullptr ? 0 : nanoseconds();
    for (u32 v = threadIdx.x; v < search.tile.size; v += blockDim.x) {
        u32 vertex = read_only(&tiling.order[search.tile.begin + v]);
        distance[vertex] = load_relaxed(&search.tile.distance[v]);
        predecessor[vertex] = vertex == source ? source : NO_PREDECESSOR;
    }
    grid.sync();
    find_predecessors(grid, graph, distance, predecessor, &state.board->overflowed, state.board->changed);
    if (logs == nullptr) return;
    write_log(logs + blockIdx.x, search, idle_ns, end_ns - start_ns, nanoseconds() - start_ns);
}

// A cooperative launch with one block per tile.
extern "C" __global__ void __launch_bounds__(1024, 1)
    tiled(const __grid_constant__ Graph graph, const __grid_constant__ Tiling tiling,
          const __grid_constant__ Settings settings, const __grid_constant__ State state, u32 source,
          length_t* distance, u32* predecessor, TileLog* logs)
{
    extern __shared__ uint4 words[];
    Memory memory(words, settings.capacity);
    search_tiles<false>(graph, tiling, settings, state, memory, source, distance, predecessor, logs);
}

// The same for tiles whose labels do not fit in shared memory.
extern "C" __global__ void __launch_bounds__(1024, 1)
    tiled_in_global(const __grid_constant__ Graph graph, const __grid_constant__ Tiling tiling,
                    const __grid_constant__ Settings settings, const __grid_constant__ State state,
                    u32 source, length_t* distance, u32* predecessor, TileLog* logs)
{
    extern __shared__ uint4 words[];
    Memory memory(words, state.labels, read_only(&tiling.begins[blockIdx.x]), graph.n);
    search_tiles<true>(graph, tiling, settings, state, memory, source, distance, predecessor, logs);
}
