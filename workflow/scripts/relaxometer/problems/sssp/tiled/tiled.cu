// SSSP on maps, with every tile of the map in the shared memory of a block of its own, without phases.
//
// A road map changes few distances at a time, so what a search on it costs is the latency of its longest
// chain of relaxations. Here a relaxation does not leave the multiprocessor: the vertices are cut into as
// many tiles as there are blocks (see _tiles.py), and the distances of a tile stay in its block's shared
// memory from the first to the last moment of the search. Its arcs are read through the first-level cache.
//
//   - Within its tile, a block searches by near and far vertices: it expands phase by phase those nearer
//     than a threshold, and when none is left raises the threshold to the least distance that waits plus
//     delta. Near vertices are entries of vertex and distance, stale if the vertex has become nearer since.
//     Far ones are not kept: they are found by a scan for vertices that are nearer than when they were last
//     expanded. So an entry that finds the queue full may be dropped, too.
//   - Blocks do not wait for each other. An arc into another tile sends its path's length by an atomic
//     minimum to a word in global memory, the mail slot of its target. A block looks at its tile's slots
//     every few phases. Slots are never emptied, and nothing but the word itself is sent: no order of memory
//     is needed.
//   - That a tile runs ahead of better distances costs relaxations, of which a block has plenty to spare; but
//     where weights have a heavy tail, most of all work is in vain. There a tile is kept on a leash: its
//     threshold is not raised further above the least distance that waits in any tile. Tiles say what waits
//     when they raise their thresholds, so what a tile knows of others is a little old: that only ever costs
//     time, for the tile that is last is never held back.
//   - The search has ended when all blocks are idle and no mail is on its way. A block that has nothing left
//     to do passes a fence and counts itself idle, and counts itself out when it finds mail. If all are idle,
//     each looks again at its mail and confirms that there is none; when all have confirmed the same number
//     of wake-ups, no block has sent anything since it was last idle, and all have seen what was sent before.
//
// The idea of patches that come to rest one by one is that of the fast iterative method for eikonal equations
// (Jeong and Whitaker, "A Fast Iterative Method for Eikonal Equations", 2008); there all patches are swept
// from global memory in rounds.

#include <cooperative_groups.h>

#include "device/clock.cuh"
#include "problems/sssp/_packed_arcs.cuh"
#include "problems/sssp/_tight_arcs.cuh"

namespace cg = cooperative_groups;

const u32 QUEUE = 2048;  // entries of a phase
const u32 POLL = 4;      // phases from one look at the mail to the next
const u32 AT_HAND = 3;   // slots that a thread reads ahead of the phases after which it needs them
const u32 REMOTE = 0x80000000u;

// What the blocks share beside the mail.
struct Board {
    u64 idle;        // wake-ups << 32 | idle blocks
    u32 changed[3];  // by rounds over arcs of weight zero
    u32 overflowed;
    u32 of_blocks[1];  // twice as many words as blocks: what each has confirmed, and how far each is
};

// What a block did, for an instrumented run.
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
    u32 count[3];  // near entries: one counter is read, one filled, one cleared in a phase
    u32 least;
    u32 last;     // the least distance that waits in any tile
    u64 idle[2];  // what one look after another at the board found
};

enum Raise { RAISED, HELD_BACK, NOTHING_WAITS };

struct Tile {
    u32 size;
    u32 border;  // vertices 0 to border - 1 have a mail slot
    u32 n_tiles;
    const uint2* rows;
    const uint2* first;
    const uint2* arcs;
    u32* own_mail;
    u32* mail;
    Board* board;
    u32 delta;
    u32 leash;
    // In shared memory.
    u32* distance;
    u32* expanded_at;   // the distance at which a vertex was last expanded
    uint2* queue;       // vertex and distance, for even and odd phases
    uint2* first_here;  // a copy of `first`, or null where there is no room for it
    Shared& shared;

    u32 phase;
    u32 now;  // phase % 3
    u32 threshold;
    u32 expanded, relaxed;  // by this thread
    u32 raises, wakes, holds;

    __device__ u32 next() const
    {
        return now == 2 ? 0 : now + 1;
    }

    __device__ uint2 first_arc(u32 vertex, u32 k) const
    {
        u32 i = FIRST * vertex + k;
        return first_here != nullptr ? first_here[i] : __ldg(&first[i]);
    }

    __device__ void put(u32 place, u32 vertex, u32 length, u32 for_phase)
    {
        if (place < QUEUE) queue[(for_phase & 1) * QUEUE + place] = make_uint2(vertex, length);
    }

    // An entry for the next phase.
    __device__ void push(u32 vertex, u32 length)
    {
        put(atomicAdd(&shared.count[next()], 1u), vertex, length, phase + 1);
    }

    // An entry for the phase that comes now.
    __device__ void push_now(u32 vertex, u32 length)
    {
        put(atomicAdd(&shared.count[now], 1u), vertex, length, phase);
    }

    // Entries of the lanes that have one, for the next phase, by one atomic. For whole warps.
    __device__ void push_together(bool any, u32 vertex, u32 length)
    {
        u32 lane = threadIdx.x % 32;
        u32 having = __ballot_sync(ALL_LANES, any);
        if (having == 0) return;
        u32 place = 0;
        if (lane == 0) place = atomicAdd(&shared.count[next()], __popc(having));
        place = __shfl_sync(ALL_LANES, place, 0) + __popc(having & ((1u << lane) - 1));
        if (any) put(place, vertex, length, phase + 1);
    }

    // Relaxes an arc if `any`. Returns whether this makes its target a near vertex of this tile, and sets the
    // length of the path. Of few branches: what a phase costs is the latency of its instructions.
    __device__ bool relax(bool any, u32 distance_before, uint2 arc, u32& length)
    {
        length = distance_before + arc.y;
        any = any && arc.x < MORE_ARCS;
        relaxed += any;
        bool fits = length >= distance_before && length != UNREACHED;
        if (any && !fits) store_relaxed(&board->overflowed, 1u);
        any = any && fits;
        bool here = arc.x < REMOTE;
        if (any && !here) atomicMin(&mail[arc.x - REMOTE], length);
        u32 before = 0;
        if (any && here) before = atomicMin(&distance[arc.x], length);
        return length < before && length < threshold;
    }

    // Expands this phase's entries; a warp takes eight, with a lane for each of their first four arcs.
    __device__ void expand(u32 count)
    {
        const u32 a_warp = 32 / FIRST;
        u32 k = threadIdx.x % FIRST;
        for (u32 begin = threadIdx.x / 32 * a_warp; begin < count; begin += blockDim.x / 32 * a_warp) {
            u32 i = begin + threadIdx.x % 32 / FIRST;
            uint2 entry = queue[(phase & 1) * QUEUE + min(i, count - 1)];
            uint2 arc = first_arc(entry.x, k);
            bool fresh = i < count && load_relaxed(&distance[entry.x]) == entry.y;
            if (fresh && k == 0) {
                expanded_at[entry.x] = entry.y;
                ++expanded;
            }
            u32 length;
            bool nearer = relax(fresh, entry.y, arc, length);
            if (fresh && arc.x == MORE_ARCS) relax_rest(entry);
            push_together(nearer, arc.x, length);
        }
    }

    // Relaxes the arcs of a vertex after the third.
    __device__ void relax_rest(uint2 entry)
    {
        uint2 row = rows[entry.x];
        for (u32 i = row.x + FIRST - 1; i < row.y; ++i) {
            uint2 arc = arcs[i];
            u32 length;
            if (relax(true, entry.y, arc, length)) push(arc.x, length);
        }
    }

    // Takes a length from the mail; returns whether it is news.
    __device__ bool take(u32 vertex, u32 length)
    {
        if (length >= load_relaxed(&distance[vertex])) return false;
        return length < atomicMin(&distance[vertex], length);
    }

    // Runs phases until no near vertex is left and the mail has been looked at since.
    __device__ void run_near()
    {
        do {
            u32 at_hand[AT_HAND];
            for (u32 k = 0; k < AT_HAND; ++k) {
                u32 slot = k * blockDim.x + threadIdx.x;
                at_hand[k] = slot < border ? load_relaxed(&own_mail[slot]) : UNREACHED;
            }
            bool last = false;
            for (u32 step = 1; !last; ++step) {
                u32 count = min(shared.count[now], QUEUE);
                last = count == 0 || step == POLL;
                if (threadIdx.x == 0) shared.count[next() == 2 ? 0 : next() + 1] = 0;
                expand(count);
                if (last) take_mail(at_hand);
                __syncthreads();
                now = next();
                ++phase;
            }
        } while (shared.count[now] != 0);
    }

    __device__ void take_mail(const u32* at_hand)
    {
        for (u32 k = 0; k < AT_HAND; ++k) {
            u32 slot = k * blockDim.x + threadIdx.x;
            if (slot < border && take(slot, at_hand[k]) && at_hand[k] < threshold) push(slot, at_hand[k]);
        }
        for (u32 slot = AT_HAND * blockDim.x + threadIdx.x; slot < border; slot += blockDim.x) {
            u32 length = load_relaxed(&own_mail[slot]);
            if (take(slot, length) && length < threshold) push(slot, length);
        }
    }

    // Raises the threshold above the least distance that waits, if there is one and no other tile is too far
    // behind; tells the other tiles.
    __device__ Raise raise_threshold()
    {
        u32 least = UNREACHED;
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            if (distance[v] < expanded_at[v]) least = min(least, distance[v]);
        }
        for_block_min(&shared.least, least);
        u32 last = UNREACHED;
        for (u32 i = threadIdx.x; leash != UNREACHED && i < n_tiles; i += blockDim.x) {
            if (i != blockIdx.x) last = min(last, load_relaxed(&waiting()[i]));
        }
        for_block_min(&shared.last, last);
        __syncthreads();
        least = shared.least;
        last = min(least, shared.last);
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.least = shared.last = UNREACHED;
            store_relaxed(&waiting()[blockIdx.x], least);
        }
        if (least == UNREACHED) return NOTHING_WAITS;
        u32 limit = last + min(leash, UNREACHED - last);
        if (limit <= least) return HELD_BACK;
        threshold = min(limit, least + min(delta, UNREACHED - least));
        ++raises;
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            if (distance[v] < expanded_at[v] && distance[v] < threshold) push_now(v, distance[v]);
        }
        __syncthreads();
        return RAISED;
    }

    // The least distance that waits in each tile, as far as it has said so.
    __device__ u32* waiting() const
    {
        return board->of_blocks + n_tiles;
    }

    __device__ void for_block_min(u32* least_of_block, u32 least)
    {
        least = __reduce_min_sync(ALL_LANES, least);
        if (threadIdx.x % 32 == 0 && least != UNREACHED) atomicMin(least_of_block, least);
    }

    // Looks at all mail while there is nothing else to do; returns whether there was any. For whole blocks.
    __device__ bool find_mail()
    {
        bool found = false;
        for (u32 slot = threadIdx.x; slot < border; slot += blockDim.x) {
            u32 length = load_relaxed(&own_mail[slot]);
            if (!take(slot, length)) continue;
            if (length < threshold) push_now(slot, length);
            found = true;
        }
        return __syncthreads_or(found);
    }

    // Waits for mail; returns false if the whole search has ended.
    __device__ bool wait()
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&board->idle, 1ull);
        }
        for (u32 look = 0;; look ^= 1) {
            if (threadIdx.x == 0) shared.idle[look] = load_relaxed(&board->idle);
            if (find_mail()) break;
            u64 idle = shared.idle[look];
            if (static_cast<u32>(idle) == n_tiles) {
                if (threadIdx.x == 0) __threadfence();
                __syncthreads();
                if (find_mail()) break;
                if (all_confirm(static_cast<u32>(idle >> 32) + 1)) return false;
            }
            if (threadIdx.x == 0) __nanosleep(20);
        }
        if (threadIdx.x == 0) atomicAdd(&board->idle, (1ull << 32) - 1);
        ++wakes;
        return true;
    }

    // Confirms that this block has found no mail since it saw all idle, after that many wake-ups less one;
    // returns whether all blocks have.
    __device__ bool all_confirm(u32 wake_ups)
    {
        if (threadIdx.x == 0) {
            __threadfence();
            store_relaxed(&board->of_blocks[blockIdx.x], wake_ups);
        }
        bool all = true;
        for (u32 i = threadIdx.x; i < n_tiles; i += blockDim.x) {
            if (load_relaxed(&board->of_blocks[i]) != wake_ups) all = false;
        }
        return __syncthreads_and(all);
    }

    // The whole search; returns the time that was spent waiting if `timed`.
    __device__ u64 run(bool timed)
    {
        u64 waited = 0;
        for (;;) {
            Raise raise = shared.count[now] == 0 ? raise_threshold() : RAISED;
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
            if (shared.count[now] != 0) run_near();
        }
    }
};

__device__ void write_log(TileLog* log, const Tile& tile, u64 idle_ns, u64 search_ns, u64 total_ns)
{
    atomicAdd(&log->expanded, static_cast<u64>(tile.expanded));
    atomicAdd(&log->relaxed, static_cast<u64>(tile.relaxed));
    if (threadIdx.x != 0) return;
    log->phases = tile.phase;
    log->raises = tile.raises;
    log->wakes = tile.wakes;
    log->holds = tile.holds;
    log->idle_ns = idle_ns;
    log->search_ns = search_ns;
    log->total_ns = total_ns;
}

// Vertices by their new numbers: `begins`, `order`, `rows`, `first`, `codes`. By the graph's: `offsets`,
// `targets`, `weights`, `zero_arcs`, `distance`, `predecessor`.
extern "C" __global__ void __launch_bounds__(1024, 1)
    tiled(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
          const u32* __restrict__ weights, const u32* __restrict__ begins,
          const u32* __restrict__ mail_begins, const u32* __restrict__ order, const uint2* __restrict__ rows,
          const uint2* __restrict__ first, const uint2* __restrict__ codes,
          const uint2* __restrict__ zero_arcs, u32 n_zero_arcs, u32 room, u32 arcs_here, u32 source,
          u32 source_place, u32 delta, u32 leash, u32* mail, u64* board_words, u32* distance,
          u32* predecessor, u64* log_words)
{
    extern __shared__ uint4 memory[];
    __shared__ Shared shared;
    cg::grid_group grid = cg::this_grid();
    u64 start_ns = log_words == nullptr ? 0 : nanoseconds();
    Board* board = reinterpret_cast<Board*>(board_words);
    u32 begin = begins[blockIdx.x];
    u32 size = begins[blockIdx.x + 1] - begin;
    u32 mail_begin = mail_begins[blockIdx.x];
    u32 border = mail_begins[blockIdx.x + 1] - mail_begin;
    uint2* queue = reinterpret_cast<uint2*>(memory);
    u32* near_distance = reinterpret_cast<u32*>(queue + 2 * QUEUE);
    u32* near_expanded_at = near_distance + room;
    uint2* first_here = arcs_here ? reinterpret_cast<uint2*>(near_expanded_at + room) : nullptr;
    Tile tile = {size,
                 border,
                 gridDim.x,
                 rows + begin,
                 first + FIRST * static_cast<size_t>(begin),
                 codes,
                 mail + mail_begin,
                 mail,
                 board,
                 delta,
                 leash,
                 near_distance,
                 near_expanded_at,
                 queue,
                 first_here,
                 shared,
                 0,
                 0,
                 0,
                 0,
                 0,
                 0,
                 0,
                 0};
    for (u32 i = threadIdx.x; arcs_here && i < FIRST * size; i += blockDim.x) {
        first_here[i] = tile.first[i];
    }
    for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
        tile.distance[v] = begin + v == source_place ? 0 : UNREACHED;
        tile.expanded_at[v] = UNREACHED;
    }
    for (u32 slot = threadIdx.x; slot < border; slot += blockDim.x) {
        tile.own_mail[slot] = UNREACHED;
    }
    if (threadIdx.x < 3) shared.count[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        shared.least = shared.last = UNREACHED;
        board->of_blocks[blockIdx.x] = 0;
        tile.waiting()[blockIdx.x] = UNREACHED;
        if (blockIdx.x == 0) {
            board->idle = 0;
            board->changed[0] = board->overflowed = 0;
        }
    }
    grid.sync();
    u64 idle_ns = tile.run(log_words != nullptr);
    u64 end_ns = log_words == nullptr ? 0 : nanoseconds();
    for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
        u32 vertex = order[begin + v];
        distance[vertex] = tile.distance[v];
        predecessor[vertex] = vertex == source ? source : UNREACHED;
    }
    grid.sync();
    find_predecessors(n, offsets, targets, weights, distance, predecessor, &board->overflowed);
    if (n_zero_arcs != 0) {
        grid.sync();
        follow_zero_arcs(grid, zero_arcs, n_zero_arcs, distance, predecessor, board->changed);
    }
    if (log_words == nullptr) return;
    TileLog* log = reinterpret_cast<TileLog*>(log_words) + blockIdx.x;
    write_log(log, tile, idle_ns, end_ns - start_ns, nanoseconds() - start_ns);
}
