// The state of a push-pull search and its counters; see push_pull.cu.
//
// The search is written once, for one GPU and for several: sssp_peers.cu of distributed/ pushes and pulls to
// the heads that a GPU owns, from the tails of all. On one GPU heads and tails are the same vertices. So the
// functions of _lists.cuh, _push.cuh, _pull.cuh and _run.cuh are templates over the search, which provides:
//
//   tail_of(s, head)            the number of a head among the tails
//   n_tails(s)
//   resumed_list(s)             a list for the tails whose next arc is due in a new bucket
//   distance_at(s, tail)        last heard on this GPU
//   latest_distance(s, tail)    its owner's
//   push_all(s, frontier)       calls push_frontier for each part of a frontier
//   deliver(s)                  after a phase of pushing, tells other GPUs which heads came nearer
//   announce(s, chosen, head)   lists heads that the last phase of pulling brought nearer, and tells others
//   meet_all(s, pulled)         the barrier at the end of a phase; returns how many heads came nearer
//   next_frontier(s), total(s)  what to push, and what has been counted, after a barrier

#pragma once

#include <cooperative_groups.h>

#include "device/block_sum.cuh"
#include "device/clock.cuh"
#include "device/warp.cuh"
#include "problems/sssp/_lengths.cuh"

namespace cg = cooperative_groups;

__device__ const u32 GROUP_LANES = 4;  // lanes that share a vertex of few arcs
__device__ const u32 GROUPS_PER_WARP = 32 / GROUP_LANES;

const u32 MAX_WARPS = 16;          // of a block
const u32 NO_VERTEX = 0xffffffff;  // in place of a head or a tail, of a vertex without arcs

// Searches begin below this phase, so that none exceeds 32 bits; a multiple of all turns that phases take.
const u32 PHASES = 3u << 30;

__device__ const u64 INFINITE = NO_PATH;  // a length

// A label is distance << 32 | tail before, or a distance of 64 bits; then the host finds predecessors at the
// end.
__device__ const u64 NO_LABEL = WIDE_LENGTHS ? INFINITE : INFINITE << 32 | NO_PREDECESSOR;

// An arc is one word, weight << 32 | other end, or two if weights have 64 bits.
struct __align__(16) WideArc {
    u64 weight;
    u64 end;
};

template <typename Weight>
struct ArcOf {
    typedef u64 type;
};

template <>
struct ArcOf<u64> {
    typedef WideArc type;
};

typedef ArcOf<weight_t>::type Arc;

// The arcs of each vertex, lightest first.
struct Graph {
    const i64* offsets;
    const Arc* arcs;
};

// `n`, `best` and `stamp` are those of heads, the others those of tails.
struct Vertices {
    u32 n;          // vertices that have arcs
    u32 n_many;     // the first of them, which have many
    u64* best;      // label
    length_t* due;  // least length of a path along the next arc to push
    u32* cursor;    // arcs pushed
    u32* stamp;     // last phase that queued the vertex
};

struct BucketCounters {
    u64 nearest;  // least length of a path along a pending arc
    u64 read;     // arcs read
};

struct PhaseCounters {
    u64 read;      // arcs read
    u32 few;       // vertices of few arcs in the next frontier
    u32 many;      // vertices of many arcs in the next frontier
    u32 tasks;     // pieces of long windows
    u32 pulling;   // vertices that pull in the next phase
    u32 improved;  // vertices that pulling brought nearer
};

// Counters rotate: one set is in use, the previous one may still be read, the next one is being cleared.
struct State {
    u32 phase;  // continues over all searches, so that no old stamp equals a new phase; see end_search
    u32 overflow;
    u32 logged;
    u64 settled_arcs;  // into reached vertices
    BucketCounters bucket[3];
    PhaseCounters phases[3];
};

// The graph, the rule and the memory of all searches.
struct Problem {
    Graph out;
    Graph into;  // arcs by their heads
    Vertices vertices;
    u64 n_arcs;
    u64 delta;  // a length
    float beta;
    u32* lists[2];  // of heads; see List
    u64* tasks;     // vertex << 32 | first of TASK_ARCS arcs
    State* state;
};

// Where the search stands; the same in every thread.
struct Progress {
    u32 phase;
    u32 bucket;
    u64 limit;  // end of the bucket
    u32* next;  // list of heads that came nearer: few arcs from the front, many arcs from the back
};

enum List { NEARER, TO_PULL };

// The tails that push in a phase, from their cursors if they are resumed, else from their first arcs.
struct Frontier {
    u32 few;
    u32 many;
    bool resumed;
};

// What a thread has counted since the last barrier.
struct Tally {
    u64 nearest;
    u64 read;
    u64 settled_arcs;
};

// The same of a block.
struct BlockTally {
    Tally tally;
    u32 nearer_heads;  // in phases of pulling that announce none
};

// Items of a warp in shared memory; see _lists.cuh.
struct Pile {
    u32* items;
    u32 size;
};

// Each row: whether the phase pulled, vertices improved, arcs read, nanoseconds at its end.
struct Log {
    u64* rows;
    u32 size;
};

struct Search : Problem {
    Log log;
    Progress at;
    Tally tally;
    Pile pile;
    BlockTally* block;
};

__device__ __forceinline__ u32 end_of(u64 arc)
{
    return static_cast<u32>(arc);
}

__device__ __forceinline__ u32 end_of(const WideArc& arc)
{
    return static_cast<u32>(arc.end);
}

__device__ __forceinline__ u32 weight_of(u64 arc)
{
    return static_cast<u32>(arc >> 32);
}

__device__ __forceinline__ u64 weight_of(const WideArc& arc)
{
    return arc.weight;
}

__device__ __forceinline__ u64 distance_of(u64 label)
{
    return WIDE_LENGTHS ? label : label >> 32;
}

__device__ __forceinline__ u64 label_of(u64 distance, u32 predecessor)
{
    return WIDE_LENGTHS ? distance : distance << 32 | predecessor;
}

// The length of a path and one more arc; at least INFINITE if the type does not hold it.
__device__ __forceinline__ u64 extended(u64 length, u64 weight)
{
#ifdef FLOAT_LENGTHS
    return extended_length(static_cast<length_t>(length), static_cast<weight_t>(weight));
#else
    return WIDE_LENGTHS ? extended_length(static_cast<length_t>(length), static_cast<u32>(weight))
                        : length + weight;
#endif
}

// The arcs of a tail that end within the bucket.
struct Window {
    u64 distance;  // of the tail
    u64 limit;
    u64 width;

    __device__ Window(u64 distance, u64 limit) : distance(distance), limit(limit), width(limit - distance)
    {
    }

    __device__ __forceinline__ bool holds(const Arc& arc) const
    {
#ifdef FLOAT_LENGTHS
        return extended(distance, weight_of(arc)) < limit;  // the width is rounded, too
#else
        return weight_of(arc) < width;
#endif
    }
};

// The end of the bucket that begins at `nearest`, and always beyond it.
__device__ __forceinline__ u64 bucket_end(u64 nearest, u64 delta)
{
#ifdef FLOAT_LENGTHS
    return max(extended(nearest, delta), nearest + 1);  // a small delta may vanish in the sum
#else
    return min(nearest + delta, INFINITE);
#endif
}

__device__ __forceinline__ u64 degree_of(const Graph& graph, u32 v)
{
    return graph.offsets[v + 1] - graph.offsets[v];
}

__device__ __forceinline__ BucketCounters& bucket_counters(const Search& s)
{
    return s.state->bucket[s.at.bucket % 3];
}

__device__ __forceinline__ PhaseCounters& phase_counters(const Search& s)
{
    return s.state->phases[s.at.phase % 3];
}

__device__ __forceinline__ void begin_bucket(Search& s, u64 limit)
{
    s.at.limit = limit;
    ++s.at.bucket;
    if (thread_id() == 0) s.state->bucket[(s.at.bucket + 1) % 3] = {INFINITE, 0};
}

__device__ __forceinline__ void begin_phase(Search& s)
{
    ++s.at.phase;
    if (thread_id() == 0) s.state->phases[(s.at.phase + 1) % 3] = {};
}

// Adds the tallies of a block's threads to the counters: all blocks add to the same few, which take about one
// addition per nanosecond. For whole blocks, which wait for each other before they count again.
__device__ __forceinline__ void add_up(Search& s)
{
    Tally &tally = s.tally, &of_block = s.block->tally;
    u64 read = sum_of_warp(tally.read), settled_arcs = sum_of_warp(tally.settled_arcs);
    for (u32 other = WARP / 2; other > 0; other /= 2) {
        tally.nearest = min(tally.nearest, __shfl_xor_sync(ALL_LANES, tally.nearest, other));
    }
    if (lane() == 0) {
        if (read != 0) atomicAdd(&of_block.read, read);
        if (settled_arcs != 0) atomicAdd(&of_block.settled_arcs, settled_arcs);
        if (tally.nearest != INFINITE) atomicMin(&of_block.nearest, tally.nearest);
    }
    tally = {INFINITE, 0, 0};
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (of_block.read != 0) atomicAdd(&phase_counters(s).read, of_block.read);
    if (of_block.read != 0) atomicAdd(&bucket_counters(s).read, of_block.read);
    if (of_block.settled_arcs != 0) atomicAdd(&s.state->settled_arcs, of_block.settled_arcs);
    if (of_block.nearest != INFINITE) atomicMin(&bucket_counters(s).nearest, of_block.nearest);
    if (s.block->nearer_heads != 0) atomicAdd(&phase_counters(s).improved, s.block->nearer_heads);
    *s.block = {{INFINITE, 0, 0}, 0};
}

__device__ __forceinline__ void log_phase(const Search& s, bool pulled, u64 improved, u64 read)
{
    if (thread_id() != 0) return;
    u32 row = s.state->logged++;
    if (row >= s.log.size) return;
    u64* cells = s.log.rows + 4 * row;
    cells[0] = pulled;
    cells[1] = improved;
    cells[2] = read;
    cells[3] = nanoseconds();
}
