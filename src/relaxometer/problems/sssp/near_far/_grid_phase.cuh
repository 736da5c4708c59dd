// A phase of near-far SSSP by all blocks of the grid.
//
// A block collects what it pushes in shared memory and reserves places for all of it with one atomic addition
// per pile. A warp takes a few entries and deals all their arcs evenly to its lanes. A vertex of many arcs is
// cut into pieces; all but the first become near entries of the next phase.

#pragma once

#include "_piles.cuh"

const u32 ROUND = WIDE_LENGTHS ? 2 : 4;  // arcs that a lane has in flight; 4 of 64 bits would spill registers
const u32 STAGE_ENTRIES = 2 * QUEUE;     // that a block collects, in the memory of its queue

struct Stage {
    u32 count;
    u32 places[COUNTERS];  // taken in each pile
    u32 begin[COUNTERS];
    length_t least;
    u32 expanded;  // vertices, for the log
    u32 relaxed;   // arcs
};

struct GridPhase : Search<GridPhase> {
    Stage& stage;
    u32 last;    // near bucket in this phase
    u32 rounds;  // of sorting, since the last flush

    __device__ Position position() const
    {
        return {state.at.phase, last, state.at.epoch, state.at.beyond};
    }

    __device__ void move_to(const Position& next)
    {
        last = next.last;
    }

    __device__ void push(const Entry& entry)
    {
        u32 place = atomicAdd(&stage.count, 1u);
        if (place < STAGE_ENTRIES) {
            queue[place] = entry;
            return;
        }
        u32 pile = pile_of(entry);
        store(entry, pile, state.total.count[pile] + atomicAdd(&gain.count[pile], 1u));
        note_distance(entry, pile, &gain.least);
    }

    // The place of this lane's entry among all that the block has for the pile. For whole warps; lanes
    // without an entry pass COUNTERS.
    __device__ u32 take_place(u32 pile)
    {
        u32 lane = threadIdx.x % WARP;
        u32 peers = __match_any_sync(ALL_LANES, pile);
        u32 leader = __ffs(static_cast<int>(peers)) - 1;
        u32 place = 0;
        if (lane == leader && pile != COUNTERS) place = atomicAdd(&stage.places[pile], __popc(peers));
        place = __shfl_sync(ALL_LANES, place, leader);
        return place + __popc(peers & ((1u << lane) - 1));
    }

    // Moves what the block has collected to the piles: counts the entries for each pile, reserves that many
    // places, and deals them out in a second pass.
    __device__ void flush()
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            log.count(state.at.phase, stage.expanded, stage.relaxed);
            stage.expanded = stage.relaxed = 0;
        }
        u32 count = min(stage.count, STAGE_ENTRIES);
        if (count == 0) return;
        if (threadIdx.x < COUNTERS) stage.places[threadIdx.x] = 0;
        if (threadIdx.x == 0) stage.least = NO_PATH;
        __syncthreads();
        u32 whole = (count + WARP - 1) / WARP * WARP;
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            u32 pile = i < count ? pile_of(queue[i]) : COUNTERS;
            take_place(pile);
            if (i < count) note_distance(queue[i], pile, &stage.least);
        }
        __syncthreads();
        if (threadIdx.x < COUNTERS) {
            u32 places = stage.places[threadIdx.x];
            if (places != 0) {
                stage.begin[threadIdx.x] =
                    state.total.count[threadIdx.x] + atomicAdd(&gain.count[threadIdx.x], places);
            }
            stage.places[threadIdx.x] = 0;
        }
        if (threadIdx.x == 0) {
            if (stage.least != NO_PATH) atomicMin(&gain.least, stage.least);
            stage.count = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            u32 pile = i < count ? pile_of(queue[i]) : COUNTERS;
            u32 place = take_place(pile);
            if (pile != COUNTERS) store(queue[i], pile, stage.begin[pile] + place);
        }
    }

    // Expands the near entries and those taken along.
    __device__ void expand(u32 near_count, const Taken& taken)
    {
        const Entry* near_entries = piles.near_of(state.at.phase);
        u32 lane = threadIdx.x % WARP;
        u32 warps = thread_count() / WARP;
        u32 total = near_count + taken.count;
        u32 per_warp = min(max((total + warps - 1) / warps, 1u), WARP);
        u32 expanded = 0;
        u32 relaxed = 0;
        for (u32 begin = thread_id() / WARP * per_warp; begin < total; begin += warps * per_warp) {
            u32 i = begin + lane;
            Entry entry = {};
            if (taken.count != 0 && begin + per_warp > near_count)
                entry = taken_entry(piles, taken, i - near_count);
            if (i < near_count) entry = near_entries[i];
            uint2 arcs = make_uint2(0, 0);
            u32 degree = 0;
            if (lane < per_warp && i < total) {
                uint2 row = read_only(&graph.rows[entry.vertex]);
                if (is_fresh(entry)) {
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

    // Makes entries for all pieces but the first of the warp's vertices that have more arcs than one piece.
    __device__ void cut_up(const Entry& entry, u32 degree)
    {
        u32 lane = threadIdx.x % WARP;
        u32 cut = __ballot_sync(ALL_LANES, degree > PIECE);
        while (cut != 0) {
            u32 owner = __ffs(static_cast<int>(cut)) - 1;
            cut &= cut - 1;
            length_t distance = __shfl_sync(ALL_LANES, entry.distance, owner);
            u32 vertex = __shfl_sync(ALL_LANES, entry.vertex, owner);
            u32 predecessor = __shfl_sync(ALL_LANES, entry.predecessor, owner);
            u32 pieces = (__shfl_sync(ALL_LANES, degree, owner) + PIECE - 1) / PIECE;
            for (u32 piece = 1 + lane; piece < pieces; piece += WARP) {
                push({distance, vertex, predecessor, piece});
            }
        }
    }

    // Relaxes the arcs of the warp's entries, dealt to all lanes; this lane's entry has `degree` arcs from
    // `arc` on.
    __device__ void relax_dealt(const Entry& entry, u32 arc, u32 degree)
    {
        u32 lane = threadIdx.x % WARP;
        u32 end = degree;  // of this lane's arcs among the warp's
        for (u32 step = 1; step < WARP; step *= 2) {
            u32 before = __shfl_up_sync(ALL_LANES, end, step);
            if (lane >= step) end += before;
        }
        u32 total = __shfl_sync(ALL_LANES, end, WARP - 1);
        u32 shift = arc - (end - degree);  // from an arc's number in the warp to its number in the graph
        for (u32 begin = 0; begin < total; begin += WARP * ROUND) {
            Entry from[ROUND];
            Arc to[ROUND];
            for (u32 r = 0; r < ROUND; ++r) {
                u32 k = begin + WARP * r + lane;
                u32 owner = owner_of(k, end);
                from[r].distance = __shfl_sync(ALL_LANES, entry.distance, owner);
                from[r].vertex = __shfl_sync(ALL_LANES, entry.vertex, owner);
                from[r].predecessor = __shfl_sync(ALL_LANES, entry.predecessor, owner);
                u32 i = k + __shfl_sync(ALL_LANES, shift, owner);
                to[r] = k < total ? read_only(&graph.arcs[i]) : Arc{NO_ARC, 0};
            }
            relax_round(from, to);
        }
    }

    // Most arcs shorten nothing, so each distance is read before it is lowered. An outdated read costs no
    // more than a useless atomic.
    __device__ void relax_round(const Entry* from, const Arc* to)
    {
        length_t length[ROUND];
        length_t before[ROUND];
        for (u32 r = 0; r < ROUND; ++r) {
            length[r] = path_length(from[r], to[r].x, to[r].y);
            before[r] = length[r] != NO_PATH ? load_relaxed(&tree.distance[to[r].x]) : 0;
        }
        for (u32 r = 0; r < ROUND; ++r) {
            if (length[r] < before[r]) before[r] = atomicMin(&tree.distance[to[r].x], length[r]);
        }
        for (u32 r = 0; r < ROUND; ++r) {
            if (length[r] < before[r]) push({length[r], to[r].x, from[r].vertex, 0});
        }
    }

    // Pushes the fresh ones of these entries to the piles where they belong now. For whole blocks, which
    // flush before their memory is full.
    __device__ void push_again(const Entry* entries, u32 count)
    {
        for (u32 begin = blockIdx.x * blockDim.x; begin < count; begin += thread_count()) {
            u32 i = begin + threadIdx.x;
            if (i < count) {
                Entry entry = entries[i];
                if (is_fresh(entry)) push(entry);
            }
            if (++rounds * blockDim.x == STAGE_ENTRIES) {
                flush();
                __syncthreads();
                rounds = 0;
            }
        }
    }

    // Lowers the threshold: only buckets up to `last` stay near. Everything else moves to the pile beyond,
    // and there is no epoch until the threshold rises again.
    __device__ void demote(u32 last)
    {
        const Counters& total = state.total;
        Position before = state.at;
        begin_sorting(last, NO_EPOCH);
        push_again(piles.near_of(state.at.phase),
                   min(total.count[NEAR + state.at.phase % 3], piles.capacity));
        for (u32 slot = 0; slot < SLOTS; ++slot) {
            if (before.epoch == NO_EPOCH || before.epoch * SLOTS + slot <= before.last) continue;
            push_again(piles.far(SLOT + slot), min(total.count[SLOT + slot], piles.capacity));
        }
        u32 from = BEYOND + before.beyond;
        push_again(piles.far(from), min(total.count[from], piles.capacity));
        flush();
        __syncthreads();
        if (threadIdx.x < SLOTS) state.total.count[SLOT + threadIdx.x] = 0;
    }
};
