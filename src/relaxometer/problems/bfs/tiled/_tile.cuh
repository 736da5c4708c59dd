// One tile of a map in the shared memory of a block, and the block's queue of vertices to expand.

#pragma once

#include "problems/_phase_queue.cuh"

typedef unsigned short u16;

const u32 RIM = 0x8000u;       // see Balls in _balls.py, as for the next
const u32 NO_ENTRY = 0xffffu;  // fills up a ball

// A map cut into tiles and the balls of its vertices; see sssp/tiled/_device_tiles.py and _balls.py. Vertices
// are numbered tile by tile.
struct Tiling {
    const u32* begins;       // the first vertex of each tile
    const u32* mail_begins;  // the first mail slot of each tile
    const u32* borders;      // the number of its mail slots
    const u32* order;        // the graph's number of each vertex
    const u32* place;        // the new number of each of the graph's vertices
    const uint4* balls;      // of each tile `n_balls` balls
    const u32* slots;        // of each tile `outside` mail slots
    u32 capacity;            // vertices per tile that shared memory holds
    u32 outside;             // maximum number of arcs that leave a tile
    u32 n_balls;
    u32 ball_size;        // entries; n_balls balls have a multiple of 16 bytes
    u32 ball_lanes;       // binary logarithm of the lanes that read a ball
    u32 index_bits;       // of an entry
    u32 balls_in_shared;  // whether shared memory holds them
};

// Vertices to expand in the next phases. A full queue drops vertices and says so.
struct Queue : PhaseQueue<u16> {
    u32* dropped;

    // Lanes read entries before they know how many there are, so that all must be vertices.
    __device__ void initialize()
    {
        for (u32 i = threadIdx.x; i < 2 * QUEUE; i += blockDim.x) entries[i] = 0;
    }

    __device__ u32 size() const
    {
        return min(counts[now], QUEUE);
    }

    __device__ void put(u32 place, u32 vertex, u32 for_phase)
    {
        if (place < QUEUE) {
            entries[(for_phase & 1) * QUEUE + place] = static_cast<u16>(vertex);
        } else {
            store_relaxed(dropped, 1u);
        }
    }

    __device__ void push(u32 vertex)
    {
        put(atomicAdd(&counts[next()], 1u), vertex, phase + 1);
    }

    // Pushes for the phase that is about to start.
    __device__ void push_now(u32 vertex)
    {
        put(atomicAdd(&counts[now], 1u), vertex, phase);
    }

    // Pushes the vertices of those lanes of a warp that have one, with one atomic. For whole warps.
    __device__ void push_together(bool has_one, u32 vertex)
    {
        u32 having = __ballot_sync(ALL_LANES, has_one);
        if (having == 0) return;
        u32 place = place_together(having);
        if (has_one) put(place, vertex, phase + 1);
    }
};

// The block's own tile. Vertices 0 to border - 1 have a mail slot.
struct Tile {
    u32 begin;
    u32 size;
    u32 mail_begin;
    u32 border;
    const u16* balls;
    u16* balls_shared;  // a copy of `balls`, if `balls_in_shared`
    u32* level;         // in shared memory, as the next
    u32* slots;
    bool balls_in_shared;

    __device__ Tile(const Tiling& tiling, u16* memory)
        : begin(read_only(&tiling.begins[blockIdx.x])),
          size(read_only(&tiling.begins[blockIdx.x + 1]) - begin),
          mail_begin(read_only(&tiling.mail_begins[blockIdx.x])),
          border(read_only(&tiling.borders[blockIdx.x])),
          balls(reinterpret_cast<const u16*>(tiling.balls) +
                blockIdx.x * static_cast<size_t>(entries(tiling))),
          balls_shared(memory),
          level(reinterpret_cast<u32*>(memory + (tiling.balls_in_shared ? entries(tiling) : 0))),
          slots(level + tiling.capacity),
          balls_in_shared(tiling.balls_in_shared != 0)
    {
    }

    __device__ static u32 entries(const Tiling& tiling)
    {
        return tiling.n_balls * tiling.ball_size;
    }

    __device__ void initialize(u32 source_place)
    {
        for (u32 v = threadIdx.x; v < size; v += blockDim.x) {
            level[v] = begin + v == source_place ? 0 : UNREACHED;
        }
    }

    __device__ void copy(const Tiling& tiling)
    {
        const u32* own_slots = tiling.slots + blockIdx.x * static_cast<size_t>(tiling.outside);
        for (u32 i = threadIdx.x; i < tiling.outside; i += blockDim.x) slots[i] = read_only(&own_slots[i]);
        const uint4* words = reinterpret_cast<const uint4*>(balls);
        uint4* copied = reinterpret_cast<uint4*>(balls_shared);
        u32 n_words = balls_in_shared ? entries(tiling) * sizeof(u16) / sizeof(uint4) : 0;
        for (u32 i = threadIdx.x; i < n_words; i += blockDim.x) copied[i] = read_only(&words[i]);
    }

    __device__ u32 entry(u32 i) const
    {
        return balls_in_shared ? balls_shared[i] : balls[i];
    }

    // Lowers the level of a vertex; returns whether that was news.
    __device__ bool lower(u32 v, u32 to)
    {
        if (to >= load_relaxed(&level[v])) return false;
        return to < atomicMin(&level[v], to);
    }
};
