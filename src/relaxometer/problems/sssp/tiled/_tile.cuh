// One tile of a map and the near vertices of its block. The tile's distances are in the block's shared
// memory, if they fit, else in global memory, of which the search touches only the part that it is passing.

#pragma once

#include "problems/_phase_queue.cuh"
#include "problems/sssp/_lengths.cuh"
#include "problems/sssp/_packed_arcs.cuh"

const u32 REMOTE = 0x80000000u;  // marks the head of an arc into another tile; the rest is its mail slot

// A map cut into tiles; see _device_tiles.py and _packed_arcs.py. Vertices are numbered tile by tile.
struct Tiling {
    u32* begins;       // the first vertex of each tile
    u32* mail_begins;  // the first mail slot of each tile
    u32* borders;      // the number of its mail slots
    u32* order;        // the graph's number of each vertex
    u32* place;        // the new number of each of the graph's vertices
    uint2* rows;
    Arc* first;
    Arc* arcs;
};

const u32 CHUNK_VERTICES = 128;  // that a warp scans; in global memory they share a bound of what waits

struct Settings {
    u32 capacity;        // vertices of the largest tile
    u32 arcs_in_shared;  // whether it also holds their first arcs
    length_t delta;
    length_t leash;  // NO_PATH for none
};

// Sets the length of a path and one more arc; returns whether the type holds it.
__device__ __forceinline__ bool extend(length_t before, weight_t weight, length_t& length)
{
#ifdef FLOAT_LENGTHS
    length = static_cast<length_t>(extended_length(before, weight));
    return length != NO_PATH;
#else
    length = before + weight;
    return length >= before && length != NO_PATH;
#endif
}

// A threshold at most this much above a length, at least the next number, at most NO_PATH. A small width may
// vanish in a rounded sum.
__device__ __forceinline__ length_t raised(length_t length, length_t width)
{
#ifdef FLOAT_LENGTHS
    return max(static_cast<length_t>(extended_length(length, width)), length + 1);
#else
    return length + min(width, NO_PATH - length);
#endif
}

// A vertex and the distance at which it was pushed.
template <bool IS_WIDE>
struct EntryOf {
    typedef uint2 type;
};

template <>
struct EntryOf<true> {
    struct type {
        u32 x;
        u64 y;
    };
};

typedef EntryOf<WIDE_LENGTHS>::type Entry;

// Near vertices with the distances at which they were pushed. A full queue drops entries.
struct NearQueue : PhaseQueue<Entry> {
    // Functions that push return whether there was room.
    __device__ bool put(u32 place, u32 vertex, length_t length, u32 for_phase)
    {
        if (place >= QUEUE) return false;
        entries[(for_phase & 1) * QUEUE + place] = Entry{vertex, length};
        return true;
    }

    __device__ bool push(u32 vertex, length_t length)
    {
        return put(atomicAdd(&counts[next()], 1u), vertex, length, phase + 1);
    }

    // Pushes for the phase that is about to start.
    __device__ bool push_now(u32 vertex, length_t length)
    {
        return put(atomicAdd(&counts[now], 1u), vertex, length, phase);
    }

    // Pushes the entries of those lanes of a warp that have one, with one atomic. For whole warps.
    __device__ bool push_together(bool has_one, u32 vertex, length_t length)
    {
        u32 having = __ballot_sync(ALL_LANES, has_one);
        if (having == 0) return true;
        u32 place = place_together(having);
        return !has_one || put(place, vertex, length, phase + 1);
    }
};

// The memory of a block: all of it shared, or the labels `distance` and `expanded_at` global.
struct Memory {
    Entry* queue;
    length_t* distance;
    length_t* expanded_at;
    Arc* first_arcs;
    length_t* bounds;

    __device__ Memory(uint4* shared, u32 capacity)
        : queue(reinterpret_cast<Entry*>(shared)),
          distance(reinterpret_cast<length_t*>(queue + 2 * QUEUE)),
          expanded_at(distance + capacity),
          first_arcs(reinterpret_cast<Arc*>(expanded_at + capacity)),
          bounds(nullptr)
    {
    }

    // `labels` are those of the first tile, which begins with vertex 0 of n.
    __device__ Memory(uint4* shared, length_t* labels, u32 begin, u32 n)
        : queue(reinterpret_cast<Entry*>(shared)),
          distance(labels + begin),
          expanded_at(distance + n),
          first_arcs(nullptr),
          bounds(reinterpret_cast<length_t*>(queue + 2 * QUEUE))
    {
    }
};

// The block's own tile. Vertices 0 to border - 1 have a mail slot.
template <bool BOUNDED>
struct Tile {
    u32 begin;
    u32 size;
    u32 mail_begin;
    u32 border;
    const uint2* rows;
    const Arc* first;
    length_t* distance;
    length_t* expanded_at;  // the distance at which a vertex was last expanded
    length_t* bounds;   // in shared memory; of the distances that wait in each chunk, if they are not queued
    Arc* first_shared;  // a copy of `first` in shared memory, if `arcs_in_shared`
    bool arcs_in_shared;

    __device__ Tile(const Tiling& tiling, const Settings& settings, const Memory& memory)
        : begin(read_only(&tiling.begins[blockIdx.x])),
          size(read_only(&tiling.begins[blockIdx.x + 1]) - begin),
          mail_begin(read_only(&tiling.mail_begins[blockIdx.x])),
          border(read_only(&tiling.borders[blockIdx.x])),
          rows(tiling.rows + begin),
          first(tiling.first + FIRST * static_cast<size_t>(begin)),
          distance(memory.distance),
          expanded_at(memory.expanded_at),
          bounds(memory.bounds),
          first_shared(memory.first_arcs),
          arcs_in_shared(settings.arcs_in_shared != 0)
    {
    }

    __device__ u32 chunks() const
    {
        return (size + CHUNK_VERTICES - 1) / CHUNK_VERTICES;
    }

    __device__ void initialize(u32 source_place)
    {
        for (u32 i = threadIdx.x; arcs_in_shared && i < FIRST * size; i += blockDim.x) {
            first_shared[i] = read_only(&first[i]);
        }
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            distance[v] = begin + v == source_place ? 0 : NO_PATH;
            expanded_at[v] = NO_PATH;
        }
        u32 of_source = source_place - begin < size ? (source_place - begin) / CHUNK_VERTICES : chunks();
        for (u32 c = threadIdx.x; BOUNDED && c < chunks(); c += blockDim.x) {
            bounds[c] = c == of_source ? 0 : NO_PATH;
        }
    }

    __device__ Arc first_arc(u32 v, u32 k) const
    {
        u32 i = FIRST * v + k;
        return arcs_in_shared ? first_shared[i] : read_only(&first[i]);
    }

    // The distance of a vertex, if it has become nearer since it was last expanded; else NO_PATH.
    __device__ length_t waiting(u32 v) const
    {
        length_t now = load_relaxed(&distance[v]);
        return now < expanded_at[v] ? now : NO_PATH;
    }

    // Whether a vertex of a chunk may wait nearer than this.
    __device__ bool may_wait(u32 chunk, length_t distance) const
    {
        return !BOUNDED || bounds[chunk] < distance;
    }

    // Notes that a vertex waits and is not queued.
    __device__ void note(u32 v, length_t length)
    {
        if (BOUNDED) atomicMin(&bounds[v / CHUNK_VERTICES], length);
    }

    // The thread's share of the least waiting distance; a lower bound of it if `BOUNDED`.
    __device__ length_t least_waiting() const
    {
        length_t least = NO_PATH;
        for (u32 c = threadIdx.x; BOUNDED && c < chunks(); c += blockDim.x) least = min(least, bounds[c]);
        for (u32 v = threadIdx.x; !BOUNDED && v < size; v += blockDim.x) least = min(least, waiting(v));
        return least;
    }

    // Lowers the distance of a vertex; returns whether that was news.
    __device__ bool lower(u32 v, length_t length)
    {
        if (length >= load_relaxed(&distance[v])) return false;
        return length < atomicMin(&distance[v], length);
    }
};
