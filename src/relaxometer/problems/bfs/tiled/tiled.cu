// BFS on maps with one tile of the map in the shared memory of each block, several levels at a time.
//
// A search on a map finds few vertices per level, so its time is the latency of a level times their number.
// Here a level stays on a multiprocessor, and a step covers several: the vertices are cut into one tile per
// block (sssp/tiled/_device_tiles.py), and each has a ball of the vertices within a few hops (_balls.cu).
//
//   - A phase of a block expands the vertices of its queue: it lowers the level of every vertex in their
//     balls by an atomic minimum in shared memory. A lowered vertex joins the queue if it is on the rim of
//     the ball, the vertices of the most hops; the ball already has what is one hop beyond the others. Balls
//     have different numbers of hops, so a level may be found too high at first; it is lowered later, as
//     often as needed. At the end no arc can lower a level: a level that an entry inside a rim has set comes
//     with those of the next hop, and one that a rim, the mail or the source has set is followed by an
//     expansion.
//   - A vertex with more arcs than a ball holds has further balls, which one thread reads one after another.
//   - A full queue drops vertices. Then, once the queue is empty, the block expands all vertices of its tile
//     that have a level.
//   - Blocks do not wait for each other. An entry for a head in another tile sends the level with an atomic
//     minimum to the head's mail slot, a word in global memory. A block loads its tile's slots in every
//     phase, for the next. Slots are never emptied, and a message is only the word itself, so no memory order
//     is needed.
//   - The search ends when all blocks are idle and no mail is on its way (_mail.cuh).
//
// A tile of a map as in sssp/tiled/tiled.cu; balls of several hops are the shortcuts of "Parallel shortest
// paths using radius stepping" (Blelloch, Gu, Sun and Tangwongsan, SPAA 2016), but only within a tile, and
// without its steps: phases of a block, not of the whole search, follow one another.

#include <cooperative_groups.h>

#include "_tile.cuh"
#include "device/clock.cuh"
#include "problems/_mail.cuh"

namespace cg = cooperative_groups;

const u32 SLOTS_AHEAD = 2;  // mail slots per thread that are checked in every phase; all while it waits

// The graph's own arcs.
struct Graph {
    u32 n;
    const i64* offsets;
    const u32* targets;
};

struct State {
    u32* mail;
    u64* idle;       // wake-ups << 32 | idle blocks
    u32* confirmed;  // by each block: wake-ups + 1
};

// The work of a block, in instrumented runs.
struct TileLog {
    u64 phases;
    u64 expanded;
    u64 examined;
    u64 sweeps;
    u64 wakes;
    u64 idle_ns;
    u64 search_ns;
    u64 total_ns;
};

struct Shared {
    u32 counts[3];  // of queued vertices
    u32 dropped;
    u64 idle[2];  // found by successive looks at the board
};

// A block's part of the search. Functions are for whole blocks, except those of the first group.
struct Search {
    const Tiling& tiling;
    const State& state;
    Tile tile;
    Queue queue;
    Shared& shared;
    u32* own_mail;
    u32 expanded = 0, examined = 0;  // by this thread
    u32 sweeps = 0, wakes = 0;

    __device__ Search(const Tiling& tiling, const State& state, uint4* memory, Shared& shared)
        : tiling(tiling),
          state(state),
          tile(tiling, reinterpret_cast<u16*>(memory)),
          queue{{reinterpret_cast<u16*>(tile.slots + tiling.outside), shared.counts, 0, 0}, &shared.dropped},
          shared(shared),
          own_mail(state.mail + tile.mail_begin)
    {
    }

    __device__ void initialize(u32 source_place)
    {
        tile.initialize(source_place);
        queue.initialize();
        for (u32 slot = threadIdx.x; slot < tile.border; slot += blockDim.x) own_mail[slot] = UNREACHED;
        if (threadIdx.x != 0) return;
        shared.counts[0] = shared.counts[1] = shared.counts[2] = shared.dropped = 0;
        state.confirmed[blockIdx.x] = 0;
        if (blockIdx.x == 0) *state.idle = 0;
        if (source_place - tile.begin < tile.size) queue.push_now(source_place - tile.begin);
    }

    // The whole search; returns the time spent waiting if `timed`.
    __device__ u64 run(bool timed)
    {
        tile.copy(tiling);
        __syncthreads();
        u64 waited = 0;
        for (;;) {
            run_phases(queue.size());
            if (shared.dropped != 0) {
                sweep();
                continue;
            }
            u64 begin = timed ? nanoseconds() : 0;
            bool goes_on = wait();
            if (timed) waited += nanoseconds() - begin;
            if (!goes_on) return waited;
        }
    }

    // Runs phases until the queue is empty. Mail that a phase takes was loaded when the phase before ended.
    __device__ void run_phases(u32 count)
    {
        u32 taken[SLOTS_AHEAD], loaded[SLOTS_AHEAD];
        for (u32 k = 0; k < SLOTS_AHEAD; ++k) taken[k] = UNREACHED;
        load_mail(loaded);
        while (count != 0) {
            if (threadIdx.x == 0) queue.clear_later();
            expand<false>(count);
            take_mail(loaded, taken);
            load_mail(loaded);
            __syncthreads();
            queue.advance();
            count = queue.size();
        }
    }

    // Expands every vertex that has a level.
    __device__ void sweep()
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.dropped = 0;
            queue.clear_later();
        }
        __syncthreads();
        expand<true>(tile.size);
        __syncthreads();
        queue.advance();
        ++sweeps;
    }

    // Expands the vertices of the queue, or the first `count` of the tile; a warp takes several, with a lane
    // for each entry of their balls.
    template <bool ALL>
    __device__ void expand(u32 count)
    {
        u32 per_warp = WARP >> tiling.ball_lanes;
        u32 k = threadIdx.x & ((1u << tiling.ball_lanes) - 1);
        for (u32 begin = threadIdx.x / WARP * per_warp; begin < count;
             begin += blockDim.x / WARP * per_warp) {
            u32 i = begin + (threadIdx.x % WARP >> tiling.ball_lanes);
            u32 v = ALL ? min(i, count - 1) : queue.entry(i);
            u32 entry = k < tiling.ball_size ? tile.entry(v * tiling.ball_size + k) : NO_ENTRY;
            // The lanes of a ball follow one level, although other warps lower it meanwhile.
            u32 level = load_relaxed(&tile.level[v]);
            level = __shfl_sync(ALL_LANES, level, threadIdx.x % WARP - k);
            bool any = i < count && (!ALL || level != UNREACHED);
            if (any && k == 0) ++expanded;
            bool joins = follow(any, level, entry);
            if (any && leads_to_ball(entry)) follow_further(level, entry);
            queue.push_together(joins, index_of(entry));
        }
    }

    __device__ u32 index_of(u32 entry) const
    {
        return entry & ((1u << tiling.index_bits) - 1);
    }

    __device__ bool leads_to_ball(u32 entry) const
    {
        return entry != NO_ENTRY && index_of(entry) >= tiling.capacity + tiling.outside;
    }

    // Lowers the level of an entry's vertex, or sends it, if `any`; by one thread. Returns whether the vertex
    // joins the queue. Few branches: a phase takes as long as its chain of instructions.
    __device__ bool follow(bool any, u32 level, u32 entry)
    {
        u32 index = index_of(entry);
        u32 lowered = level + 1 + ((entry & (RIM - 1)) >> tiling.index_bits);
        any = any && index < tiling.capacity + tiling.outside;
        bool here = index < tiling.capacity;
        examined += any;
        if (any && !here) atomicMin(&state.mail[tile.slots[index - tiling.capacity]], lowered);
        u32 before = 0;
        if (any && here) before = atomicMin(&tile.level[index], lowered);
        return lowered < before && (entry & RIM) != 0;
    }

    // Follows the further balls of a vertex; by one thread.
    __device__ void follow_further(u32 level, u32 entry)
    {
        while (leads_to_ball(entry)) {
            u32 first = (index_of(entry) - tiling.outside) * tiling.ball_size;
            for (u32 k = 0; k < tiling.ball_size; ++k) {
                entry = tile.entry(first + k);
                if (follow(true, level, entry)) queue.push(index_of(entry));
            }
        }
    }

    // Loads the thread's first slots.
    __device__ void load_mail(u32* loaded)
    {
        for (u32 k = 0; k < SLOTS_AHEAD; ++k) {
            u32 slot = k * blockDim.x + threadIdx.x;
            loaded[k] = slot < tile.border ? load_relaxed(&own_mail[slot]) : UNREACHED;
        }
    }

    // Takes the words loaded at the end of a phase; `taken` holds those taken before.
    __device__ void take_mail(const u32* loaded, u32* taken)
    {
        for (u32 k = 0; k < SLOTS_AHEAD; ++k) {
            if (loaded[k] >= taken[k]) continue;
            taken[k] = loaded[k];
            u32 slot = k * blockDim.x + threadIdx.x;
            if (tile.lower(slot, loaded[k])) queue.push(slot);
        }
    }

    // Takes all mail between phases; returns whether there was any.
    __device__ bool find_mail()
    {
        bool found = false;
        for (u32 slot = threadIdx.x; slot < tile.border; slot += blockDim.x) {
            if (!tile.lower(slot, load_relaxed(&own_mail[slot]))) continue;
            queue.push_now(slot);
            found = true;
        }
        return __syncthreads_or(found);
    }

    // Waits for mail; returns false if the whole search has ended.
    __device__ bool wait()
    {
        if (!wait_for_mail(*this, state.idle, state.confirmed, shared.idle)) return false;
        ++wakes;
        return true;
    }
};

// Writes the levels of the tile in the graph's order, and predecessors of none but the source; returns the
// highest level + 1 that this thread has seen.
__device__ u32 write_levels(const Tile& tile, const u32* order, u32 source, u32* level, u32* predecessor)
{
    u32 n_levels = 0;
    for (u32 v = threadIdx.x; v < tile.size; v += blockDim.x) {
        u32 vertex = read_only(&order[tile.begin + v]);
        u32 own = tile.level[v];
        level[vertex] = own;
        predecessor[vertex] = vertex == source ? source : NO_PREDECESSOR;
        if (own != UNREACHED) n_levels = max(n_levels, own + 1);
    }
    return n_levels;
}

// A vertex's predecessor is any tail of an arc to it whose level is one less.
__device__ void find_predecessors(const Graph& graph, const u32* level, u32* predecessor)
{
    for (u32 u = thread_id(); u < graph.n; u += thread_count()) {
        u32 next = level[u] + 1;
        if (next == 0) continue;
        i64 end = read_only(&graph.offsets[u + 1]);
        for (i64 i = read_only(&graph.offsets[u]); i < end; ++i) {
            u32 v = read_only(&graph.targets[i]);
            if (level[v] == next) store_relaxed(&predecessor[v], u);
        }
    }
}

__device__ void write_log(TileLog* log, const Search& search, u64 idle_ns, u64 search_ns, u64 total_ns)
{
    atomicAdd(&log->expanded, static_cast<u64>(search.expanded));
    atomicAdd(&log->examined, static_cast<u64>(search.examined));
    if (threadIdx.x != 0) return;
    log->phases = search.queue.phase;
    log->sweeps = search.sweeps;
    log->wakes = search.wakes;
    log->idle_ns = idle_ns;
    log->search_ns = search_ns;
    log->total_ns = total_ns;
}

// A cooperative launch with one block per tile. `n_levels` gets the highest level + 1.
extern "C" __global__ void __launch_bounds__(1024, 1)
    tiled(const __grid_constant__ Graph graph, const __grid_constant__ Tiling tiling,
          const __grid_constant__ State state, u32 source, u32* level, u32* predecessor, u32* n_levels,
          TileLog* logs)
{
    extern __shared__ uint4 memory[];
    __shared__ Shared shared;
    cg::grid_group grid = cg::this_grid();
    u64 start_ns = logs == nullptr ? 0 : nanoseconds();
    Search search(tiling, state, memory, shared);
    search.initialize(read_only(&tiling.place[source]));
    if (thread_id() == 0) *n_levels = 0;
    grid.sync();
    u64 idle_ns = search.run(logs != nullptr);
    u64 end_ns = logs == nullptr ? 0 : nanoseconds();
    u32 highest = write_levels(search.tile, tiling.order, source, level, predecessor);
    highest = __reduce_max_sync(ALL_LANES, highest);
    if (threadIdx.x % WARP == 0 && highest != 0) atomicMax(n_levels, highest);
    grid.sync();
    find_predecessors(graph, level, predecessor);
    if (logs == nullptr) return;
    write_log(logs + blockIdx.x, search, idle_ns, end_ns - start_ns, nanoseconds() - start_ns);
}
