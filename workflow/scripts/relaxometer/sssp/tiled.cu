// SSSP on maps, with every tile of the map in the shared memory of a block of its own, without phases.
//
// A road map changes few distances at a time, so what a search on it costs is the latency of its longest
// chain of relaxations. Here a relaxation does not leave the multiprocessor: the vertices are cut into as
// many tiles as there are blocks (see _tiles.py), and the distances of a tile stay in its block's shared
// memory from the first to the last moment of the search. Its arcs are read through the first-level cache.
//
//   - Within its tile, a block searches by near and far vertices: it expands phase by phase those nearer than
//   a
//     threshold, and when none is left raises the threshold to the least distance that waits plus delta. Near
//     vertices are entries of vertex and distance, stale if the vertex has become nearer since. Far ones are
//     not kept: they are found by a scan for vertices that are nearer than when they were last expanded. So
//     an entry that finds the queue full may be dropped, too.
//   - Blocks do not wait for each other. An arc into another tile sends its path's length by an atomic
//   minimum
//     to a word in global memory, the mail slot of its target. A block looks at its tile's slots every few
//     phases. Slots are never emptied, and nothing but the word itself is sent: no order of memory is needed.
//   - The search has ended when all blocks are idle and no mail is on its way. A block that has nothing left
//   to
//     do passes a fence and counts itself idle, and counts itself out when it finds mail. If all are idle,
//     each looks again at its mail and confirms that there is none; when all have confirmed the same number
//     of wake-ups, no block has sent anything since it was last idle, and all have seen what was sent before.
//
// That a tile may run ahead of better distances costs relaxations, of which a block has plenty to spare.
//
// The idea of patches that come to rest one by one is that of the fast iterative method for eikonal equations
// (Jeong and Whitaker, "A Fast Iterative Method for Eikonal Equations", 2008); there all patches are swept
// from global memory in rounds.
//
// Predecessors are found at the end: any arc of positive weight that is exactly as long as the difference of
// its ends' distances will do. Vertices that only arcs of weight zero lead to get theirs in rounds, from
// vertices that have one already, so that no circle can form.

#include <cooperative_groups.h>

#include "_packed_arcs.cuh"

namespace cg = cooperative_groups;

const u32 QUEUE = 2048;  // entries of a phase
const u32 POLL = 4;      // phases from one look at the mail to the next
const u32 AT_HAND = 2;   // slots that a thread reads ahead of the phases after which it needs them
const u32 REMOTE = 0x80000000u;

// What the blocks share beside the mail.
struct Board {
    u64 idle;        // wake-ups << 32 | idle blocks
    u32 changed[3];  // by rounds over arcs of weight zero
    u32 overflowed;
    u32 confirmed[1];  // by each block: wake-ups + 1
};

// What a block did, for an instrumented run.
struct TileLog {
    u64 phases;
    u64 expanded;
    u64 relaxed;
    u64 raises;
    u64 wakes;
    u64 idle_ns;
    u64 search_ns;
    u64 total_ns;
};

struct Shared {
    u32 count[3];  // near entries: one counter is read, one filled, one cleared in a phase
    u32 least;
    u64 idle;
};

struct Tile {
    u32 size;
    u32 border;  // vertices 0 to border - 1 have a mail slot
    u32 n_tiles;
    const uint2* rows;
    const uint4* first;
    const uint2* arcs;
    u32* own_mail;
    u32* mail;
    Board* board;
    u32 delta;
    // In shared memory.
    u32* distance;
    u32* expanded_at;  // the distance at which a vertex was last expanded
    uint2* queue;      // vertex and distance, for even and odd phases
    Shared& shared;

    u32 phase;
    u32 threshold;
    u32 expanded, relaxed;  // by this thread
    u32 raises, wakes;

    __device__ void push(u32 vertex, u32 length, u32 for_phase)
    {
        u32 place = atomicAdd(&shared.count[for_phase % 3], 1u);
        if (place < QUEUE) queue[(for_phase & 1) * QUEUE + place] = make_uint2(vertex, length);
    }

    // The length of the path along an arc, or UNREACHED if there is no arc or 32 bits do not hold it.
    __device__ u32 path_length(u32 distance_before, u32 target, u32 weight)
    {
        if (target >= MORE_ARCS) return UNREACHED;
        ++relaxed;
        u64 length = static_cast<u64>(distance_before) + weight;
        if (length >= UNREACHED) {
            store_relaxed(&board->overflowed, 1u);
            return UNREACHED;
        }
        return static_cast<u32>(length);
    }

    // Offers a length to a target; returns the target's distance before, or 0 where nothing is left to do.
    __device__ u32 offer(u32 target, u32 length)
    {
        if (length == UNREACHED) return 0;
        if (target < REMOTE) return atomicMin(&distance[target], length);
        atomicMin(&mail[target - REMOTE], length);
        return 0;
    }

    __device__ void relax(u32 from, u32 target, u32 weight)
    {
        u32 length = path_length(from, target, weight);
        if (length < offer(target, length) && length < threshold) push(target, length, phase + 1);
    }

    // Expands this phase's entries; two threads share an entry, with two arcs each.
    __device__ void expand(u32 count)
    {
        u32 half = threadIdx.x % 2;
        for (u32 i = threadIdx.x / 2; i < count; i += blockDim.x / 2) {
            uint2 entry = queue[(phase & 1) * QUEUE + i];
            uint4 pair = first[2 * entry.x + half];
            if (load_relaxed(&distance[entry.x]) != entry.y) continue;
            if (half == 0) {
                expanded_at[entry.x] = entry.y;
                ++expanded;
            }
            u32 one = path_length(entry.y, pair.x, pair.y);
            u32 other = path_length(entry.y, pair.z, pair.w);
            u32 before_one = offer(pair.x, one);
            u32 before_other = offer(pair.z, other);
            if (one < before_one && one < threshold) push(pair.x, one, phase + 1);
            if (other < before_other && other < threshold) push(pair.z, other, phase + 1);
            if (pair.z == MORE_ARCS) {
                for (u32 k = rows[entry.x].x + 3; k < rows[entry.x].y; ++k) {
                    relax(entry.y, arcs[k].x, arcs[k].y);
                }
            }
        }
    }

    __device__ void take(u32 vertex, u32 length)
    {
        if (length >= load_relaxed(&distance[vertex])) return;
        atomicMin(&distance[vertex], length);
        if (length < threshold) push(vertex, length, phase + 1);
    }

    // Runs phases until no near vertex is left and the mail has been looked at since.
    __device__ void run_near()
    {
        for (;;) {
            u32 at_hand[AT_HAND];
            for (u32 k = 0; k < AT_HAND; ++k) {
                u32 slot = k * blockDim.x + threadIdx.x;
                at_hand[k] = slot < border ? load_relaxed(&own_mail[slot]) : UNREACHED;
            }
            bool last = false;
            for (u32 step = 1; !last; ++step) {
                u32 count = min(shared.count[phase % 3], QUEUE);
                last = count == 0 || step == POLL;
                if (threadIdx.x == 0) shared.count[(phase + 2) % 3] = 0;
                expand(count);
                if (last) {
                    for (u32 k = 0; k < AT_HAND; ++k) {
                        u32 slot = k * blockDim.x + threadIdx.x;
                        if (slot < border) take(slot, at_hand[k]);
                    }
                    for (u32 slot = AT_HAND * blockDim.x + threadIdx.x; slot < border; slot += blockDim.x) {
                        take(slot, load_relaxed(&own_mail[slot]));
                    }
                }
                __syncthreads();
                ++phase;
            }
            if (shared.count[phase % 3] == 0) return;
        }
    }

    // Raises the threshold above the least distance that waits; returns false if none does.
    __device__ bool raise_threshold()
    {
        u32 least = UNREACHED;
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            if (distance[v] < expanded_at[v]) least = min(least, distance[v]);
        }
        least = __reduce_min_sync(0xffffffffu, least);
        if (threadIdx.x % 32 == 0 && least != UNREACHED) atomicMin(&shared.least, least);
        __syncthreads();
        least = shared.least;
        if (least == UNREACHED) return false;
        threshold = least + min(delta, UNREACHED - least);
        ++raises;
        __syncthreads();
        if (threadIdx.x == 0) shared.least = UNREACHED;
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            if (distance[v] < expanded_at[v] && distance[v] < threshold) push(v, distance[v], phase);
        }
        __syncthreads();
        return true;
    }

    // Whether any slot holds a shorter length than its vertex has. For whole blocks.
    __device__ bool has_mail()
    {
        bool found = false;
        for (u32 slot = threadIdx.x; slot < border; slot += blockDim.x) {
            if (load_relaxed(&own_mail[slot]) < distance[slot]) found = true;
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
        for (;;) {
            if (threadIdx.x == 0) {
                shared.idle = load_relaxed(&board->idle);
                __threadfence();
            }
            __syncthreads();
            u64 idle = shared.idle;
            if (has_mail()) break;
            if (static_cast<u32>(idle) == n_tiles && all_confirm(static_cast<u32>(idle >> 32) + 1))
                return false;
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
            store_relaxed(&board->confirmed[blockIdx.x], wake_ups);
        }
        bool all = true;
        for (u32 i = threadIdx.x; i < n_tiles; i += blockDim.x) {
            if (load_relaxed(&board->confirmed[i]) != wake_ups) all = false;
        }
        return __syncthreads_and(all);
    }

    // The whole search; returns the time that was spent waiting if `timed`.
    __device__ u64 run(bool timed)
    {
        u64 waited = 0;
        for (bool going = true; going;) {
            run_near();
            if (raise_threshold()) continue;
            u64 begin = timed ? clock_ns() : 0;
            going = wait();
            if (timed) waited += clock_ns() - begin;
        }
        return waited;
    }
};

// The predecessors of vertices that an arc of positive weight leads to.
__device__ void find_predecessors(u32 n, const i64* offsets, const u32* targets, const u32* weights,
                                  const u32* distance, u32* predecessor)
{
    for (u32 u = thread_id(); u < n; u += thread_count()) {
        u32 before = distance[u];
        if (before == UNREACHED) continue;
        i64 end = offsets[u + 1];
        for (i64 i = offsets[u]; i < end; ++i) {
            u64 length = static_cast<u64>(before) + weights[i];
            if (weights[i] != 0 && length == distance[targets[i]]) store_relaxed(&predecessor[targets[i]], u);
        }
    }
}

// The predecessors of the rest, along the arcs of weight zero, which are listed. A vertex gets one only from
// a vertex that has one. For the whole grid.
__device__ void follow_zero_arcs(const cg::grid_group& grid, const uint2* zero_arcs, u32 n_zero_arcs,
                                 const u32* distance, u32* predecessor, Board* board)
{
    for (u32 round = 0;; ++round) {
        if (thread_id() == 0) board->changed[(round + 1) % 3] = 0;
        for (u32 i = thread_id(); i < n_zero_arcs; i += thread_count()) {
            uint2 arc = zero_arcs[i];
            if (distance[arc.x] != distance[arc.y] || load_relaxed(&predecessor[arc.x]) == UNREACHED)
                continue;
            if (load_relaxed(&predecessor[arc.y]) != UNREACHED) continue;
            atomicCAS(&predecessor[arc.y], UNREACHED, arc.x);
            store_relaxed(&board->changed[round % 3], 1u);
        }
        grid.sync();
        if (load_relaxed(&board->changed[round % 3]) == 0) return;
    }
}

__device__ void write_log(TileLog* log, const Tile& tile, u64 idle_ns, u64 search_ns, u64 total_ns)
{
    atomicAdd(&log->expanded, static_cast<u64>(tile.expanded));
    atomicAdd(&log->relaxed, static_cast<u64>(tile.relaxed));
    if (threadIdx.x != 0) return;
    log->phases = tile.phase;
    log->raises = tile.raises;
    log->wakes = tile.wakes;
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
          const uint4* __restrict__ first, const uint2* __restrict__ codes,
          const uint2* __restrict__ zero_arcs, u32 n_zero_arcs, u32 room, u32 source, u32 source_place,
          u32 delta, u32* mail, u64* board_words, u32* distance, u32* predecessor, u64* log_words)
{
    extern __shared__ uint4 memory[];
    __shared__ Shared shared;
    cg::grid_group grid = cg::this_grid();
    u64 start_ns = log_words == nullptr ? 0 : clock_ns();
    Board* board = reinterpret_cast<Board*>(board_words);
    u32 begin = begins[blockIdx.x];
    u32 size = begins[blockIdx.x + 1] - begin;
    u32 mail_begin = mail_begins[blockIdx.x];
    u32 border = mail_begins[blockIdx.x + 1] - mail_begin;
    uint2* queue = reinterpret_cast<uint2*>(memory);
    u32* near_distance = reinterpret_cast<u32*>(queue + 2 * QUEUE);
    Tile tile = {size,
                 border,
                 gridDim.x,
                 rows + begin,
                 first + 2 * static_cast<size_t>(begin),
                 codes,
                 mail + mail_begin,
                 mail,
                 board,
                 delta,
                 near_distance,
                 near_distance + room,
                 queue,
                 shared,
                 0,
                 0,
                 0,
                 0,
                 0,
                 0};
    for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
        tile.distance[v] = begin + v == source_place ? 0 : UNREACHED;
        tile.expanded_at[v] = UNREACHED;
    }
    for (u32 slot = threadIdx.x; slot < border; slot += blockDim.x) {
        tile.own_mail[slot] = UNREACHED;
    }
    if (threadIdx.x < 3) shared.count[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        shared.least = UNREACHED;
        board->confirmed[blockIdx.x] = 0;
        if (blockIdx.x == 0) {
            board->idle = 0;
            board->changed[0] = board->overflowed = 0;
        }
    }
    grid.sync();
    u64 idle_ns = tile.run(log_words != nullptr);
    u64 end_ns = log_words == nullptr ? 0 : clock_ns();
    for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
        u32 vertex = order[begin + v];
        distance[vertex] = tile.distance[v];
        predecessor[vertex] = vertex == source ? source : UNREACHED;
    }
    grid.sync();
    find_predecessors(n, offsets, targets, weights, distance, predecessor);
    if (n_zero_arcs != 0) {
        grid.sync();
        follow_zero_arcs(grid, zero_arcs, n_zero_arcs, distance, predecessor, board);
    }
    if (log_words == nullptr) return;
    TileLog* log = reinterpret_cast<TileLog*>(log_words) + blockIdx.x;
    write_log(log, tile, idle_ns, end_ns - start_ns, clock_ns() - start_ns);
}
