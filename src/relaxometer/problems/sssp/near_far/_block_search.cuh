// Near-far SSSP by one block: a whole search of `many-sources`, or the narrow phases of `near-far`.

#pragma once

#include "_piles.cuh"

// Arcs after the first three that one thread relaxes; the block shares the arcs of vertices with more.
const u32 FEW_ARCS = 16;
const u32 MAX_HUBS = 256;

struct Hubs {
    u32 count;
    Entry entry[MAX_HUBS];
};

struct BlockRule {
    u32 target;  // a phase with fewer near entries takes the next buckets along
    u32 most;    // the block stops when it has more entries to expand or to sort
};

// The first QUEUE near entries of a phase are in shared memory, the others at their places in the near pile.
struct BlockSearch : Search<BlockSearch> {
    Position at;
    BlockRule rule;
    Hubs& hubs;
    u32 expanded, relaxed;  // by this thread in this phase

    __device__ Position position() const
    {
        return at;
    }

    __device__ void move_to(const Position& next)
    {
        at = next;
    }

    __device__ Entry near_entry(u32 i) const
    {
        return i < QUEUE ? queue[at.phase % 2 * QUEUE + i] : piles.near_of(at.phase)[i];
    }

    __device__ void push(const Entry& entry)
    {
        u32 pile = pile_of(entry);
        u32 place = atomicAdd(&state.total.count[pile], 1u);
        if (pile < BEYOND && place < QUEUE) {
            queue[(at.phase + 1) % 2 * QUEUE + place] = entry;
        } else {
            store(entry, pile, place);
        }
        note_distance(entry, pile, &state.total.least);
    }

    // Pushes the fresh ones of these entries to the piles where they belong now.
    __device__ void push_again(const Entry* entries, u32 count)
    {
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            Entry entry = entries[i];
            if (is_fresh(entry)) push(entry);
        }
        __syncthreads();
    }

    __device__ void relax(const Entry& from, u32 i)
    {
        Arc arc = read_only(&graph.arcs[i]);
        length_t length = path_length(from, arc.x, arc.y);
        ++relaxed;
        if (length == NO_PATH) return;
        if (length < atomicMin(&tree.distance[arc.x], length)) push({length, arc.x, from.vertex, 0});
    }

    // Relaxes two arcs. Both atomics are issued before either result is used.
    __device__ void relax_both(const Entry& from, const ArcPair& pair)
    {
        length_t one = path_length(from, pair.x, pair.y);
        length_t other = path_length(from, pair.z, pair.w);
        length_t before_one = 0;
        length_t before_other = 0;
        if (one != NO_PATH) before_one = atomicMin(&tree.distance[pair.x], one);
        if (other != NO_PATH) before_other = atomicMin(&tree.distance[pair.z], other);
        if (one < before_one) push({one, pair.x, from.vertex, 0});
        if (other < before_other) push({other, pair.z, from.vertex, 0});
        relaxed += (pair.x != NO_ARC) + (pair.z < MORE_ARCS);
    }

    // The arcs of an entry except the vertex's first three.
    __device__ uint2 rest_of(const Entry& entry) const
    {
        uint2 row = read_only(&graph.rows[entry.vertex]);
        if (entry.piece == 0) return make_uint2(row.x + FIRST - 1, row.y);
        u32 begin = row.x + entry.piece * PIECE;
        return make_uint2(begin, min(row.y, begin + PIECE));
    }

    // Relaxes the rest of an entry's arcs, or leaves them to the block and returns true.
    __device__ bool relax_rest(const Entry& from)
    {
        uint2 rest = rest_of(from);
        if (rest.y - rest.x > FEW_ARCS) {
            u32 place = atomicAdd(&hubs.count, 1u);
            if (place < MAX_HUBS) {
                hubs.entry[place] = from;
                return true;
            }
        }
        for (u32 i = rest.x; i < rest.y; ++i) {
            relax(from, i);
        }
        return false;
    }

    // Expands the near entries and those taken along, two threads per entry. Returns whether this thread left
    // arcs to the block.
    __device__ bool expand(u32 near_count, const Taken& taken)
    {
        u32 half = threadIdx.x % 2;
        u32 total = near_count + taken.count;
        bool left = false;
        for (u32 begin = threadIdx.x / WARP * 16; begin < total; begin += blockDim.x / 2) {
            u32 i = begin + threadIdx.x % WARP / 2;
            Entry entry = {};
            if (taken.count != 0 && begin + 16 > near_count)
                entry = taken_entry(piles, taken, i - near_count);
            if (i >= total) continue;
            if (i < near_count) entry = near_entry(i);
            length_t distance = load_relaxed(&tree.distance[entry.vertex]);
            ArcPair pair = read_only(&graph.first[2 * static_cast<size_t>(entry.vertex) + half]);
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

    // All threads relax the arcs that were left to them, one entry after another.
    __device__ void expand_hubs()
    {
        u32 count = min(hubs.count, MAX_HUBS);
        for (u32 h = 0; h < count; ++h) {
            Entry entry = hubs.entry[h];
            uint2 rest = rest_of(entry);
            for (u32 i = rest.x + threadIdx.x; i < rest.y; i += blockDim.x) {
                relax(entry, i);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) hubs.count = 0;
        __syncthreads();
    }

    // Runs phases until the search has ended or has grown too wide for the rule. All threads see the complete
    // state before and after.
    __device__ void run()
    {
        for (;;) {
            u32 near_count = min(state.total.count[NEAR + at.phase % 3], piles.capacity);
            Taken taken = {};
            if (near_count < rule.target) {
                taken = take_slots(state, at.last, at.epoch, near_count, rule.target, piles.capacity);
                u32 beyond_count = state.total.count[BEYOND + at.beyond];
                __syncthreads();
                if (taken.count == 0 && beyond_count != 0) {
                    if (beyond_count > rule.most) break;
                    next_epoch();
                    continue;
                }
                if (near_count + taken.count == 0) break;
            }
            if (near_count + taken.count > rule.most) break;
            if (taken.count != 0) at.last = at.epoch * SLOTS + taken.last;
            if (threadIdx.x == 0) state.total.count[NEAR + (at.phase + 2) % 3] = 0;
            bool left = expand(near_count, taken);
            if (__syncthreads_or(left)) expand_hubs();
            log.count(at.phase, expanded, relaxed);
            if (threadIdx.x == 0) log.end(at.phase, BLOCK);
            expanded = relaxed = 0;
            ++at.phase;
        }
        __syncthreads();
        if (threadIdx.x == 0) state.at = at;
        __syncthreads();
    }
};
