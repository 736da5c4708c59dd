// One tile of a map in the shared memory of a block, and the block's queue of near vertices.

#pragma once

#include "problems/sssp/_packed_arcs.cuh"

const u32 QUEUE = 2048;          // entries per phase
const u32 REMOTE = 0x80000000u;  // marks the head of an arc into another tile; the rest is its mail slot

// A map cut into tiles; see _device_tiles.py and _packed_arcs.py. Vertices are numbered tile by tile.
struct Tiling {
    u32* begins;       // the first vertex of each tile
    u32* mail_begins;  // the first mail slot of each tile
    u32* borders;      // the number of its mail slots
    u32* order;        // the graph's number of each vertex
    u32* place;        // the new number of each of the graph's vertices
    uint2* rows;
    uint2* first;
    uint2* arcs;
};

struct Settings {
    u32 capacity;        // vertices per tile that shared memory holds
    u32 arcs_in_shared;  // whether it also holds their first arcs
    u32 delta;
    u32 leash;
};

// Near vertices with the distances at which they were pushed. A full queue drops entries.
struct NearQueue {
    uint2* entries;  // for even and odd phases
    u32* counts;     // three: in a phase one is read, one filled and one cleared
    u32 phase;
    u32 now;  // phase % 3

    __device__ u32 next() const
    {
        return now == 2 ? 0 : now + 1;
    }

    __device__ uint2 entry(u32 i) const
    {
        return entries[(phase & 1) * QUEUE + i];
    }

    __device__ void put(u32 place, u32 vertex, u32 length, u32 for_phase)
    {
        if (place < QUEUE) entries[(for_phase & 1) * QUEUE + place] = make_uint2(vertex, length);
    }

    __device__ void push(u32 vertex, u32 length)
    {
        put(atomicAdd(&counts[next()], 1u), vertex, length, phase + 1);
    }

    // Pushes for the phase that is about to start.
    __device__ void push_now(u32 vertex, u32 length)
    {
        put(atomicAdd(&counts[now], 1u), vertex, length, phase);
    }

    // Pushes the entries of those lanes of a warp that have one, with one atomic. For whole warps.
    __device__ void push_together(bool has_one, u32 vertex, u32 length)
    {
        u32 lane = threadIdx.x % WARP;
        u32 having = __ballot_sync(ALL_LANES, has_one);
        if (having == 0) return;
        u32 place = 0;
        if (lane == 0) place = atomicAdd(&counts[next()], __popc(having));
        place = __shfl_sync(ALL_LANES, place, 0) + __popc(having & ((1u << lane) - 1));
        if (has_one) put(place, vertex, length, phase + 1);
    }

    // Clears the count of the phase after the next; by one thread.
    __device__ void clear_later()
    {
        counts[next() == 2 ? 0 : next() + 1] = 0;
    }

    __device__ void advance()
    {
        now = next();
        ++phase;
    }
};

// The block's own tile. Vertices 0 to border - 1 have a mail slot.
struct Tile {
    u32 begin;
    u32 size;
    u32 mail_begin;
    u32 border;
    const uint2* rows;
    const uint2* first;
    u32* distance;        // in shared memory, as the next two
    u32* expanded_at;     // the distance at which a vertex was last expanded
    uint2* first_shared;  // a copy of `first`, if `arcs_in_shared`
    bool arcs_in_shared;

    __device__ Tile(const Tiling& tiling, const Settings& settings, u32* memory)
        : begin(read_only(&tiling.begins[blockIdx.x])),
          size(read_only(&tiling.begins[blockIdx.x + 1]) - begin),
          mail_begin(read_only(&tiling.mail_begins[blockIdx.x])),
          border(read_only(&tiling.borders[blockIdx.x])),
          rows(tiling.rows + begin),
          first(tiling.first + FIRST * static_cast<size_t>(begin)),
          distance(memory),
          expanded_at(memory + settings.capacity),
          first_shared(reinterpret_cast<uint2*>(memory + 2 * settings.capacity)),
          arcs_in_shared(settings.arcs_in_shared != 0)
    {
    }

    __device__ void initialize(u32 source_place)
    {
        for (u32 i = threadIdx.x; arcs_in_shared && i < FIRST * size; i += blockDim.x) {
            first_shared[i] = read_only(&first[i]);
        }
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            distance[v] = begin + v == source_place ? 0 : UNREACHED;
            expanded_at[v] = UNREACHED;
        }
    }

    __device__ uint2 first_arc(u32 v, u32 k) const
    {
        u32 i = FIRST * v + k;
        return arcs_in_shared ? first_shared[i] : read_only(&first[i]);
    }

    // Whether a vertex has become nearer since it was last expanded.
    __device__ bool waits(u32 v) const
    {
        return distance[v] < expanded_at[v];
    }

    // Lowers the distance of a vertex; returns whether that was news.
    __device__ bool lower(u32 v, u32 length)
    {
        if (length >= load_relaxed(&distance[v])) return false;
        return length < atomicMin(&distance[v], length);
    }
};
