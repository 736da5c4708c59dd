// New weights for a contraction hierarchy: those of all its arcs, and of their copies in the search's order.
//
// A vertex v and two of its higher neighbours u < w form a triangle. The arc between u and w is at most as
// long as the path by way of v, once the arcs of v are final. These are final when all vertices below v in
// the elimination tree are done, so the tree's levels follow one another, from the leaves to the roots:
//
//     for level: for v of the level: for u < w above v:   up(u, w)   = min(up(u, w),   down(v, u) + up(v, w))
//                                                         down(u, w) = min(down(u, w), down(v, w) + up(v, u))
//
// Paper: Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016, section 8.3:
// their basic customization, which enumerates lower triangles from each arc (u, w) or looks them up.
// Deviations:
//
//   - One launch, with a grid barrier per level.
//   - Far up, a level has few vertices, but there are hundreds of such levels. There the tree is cut into
//     chains, paths of up to 16 vertices, and a level consists of chains. One block finishes the arcs of a
//     chain's own vertices in shared memory, as one factors a panel of a matrix; after a grid barrier, all
//     blocks follow the triangles from the chain to the arcs above it.
//   - The triangles of an arc (v, u) lie together. The arcs (v, w) follow it in the row of v; the arcs (u, w)
//     are listed, 4 bytes per triangle. So all reads but those of u's row are contiguous, and no lane
//     searches.
//   - Several vertices lower the same arc at once, so minima are atomic.

#include <cooperative_groups.h>

#include "device/clock.cuh"
#include "problems/_saturating.cuh"

namespace cg = cooperative_groups;

const u32 NO_WORD = 0xffffffffu;  // of an arc that no arc of the hierarchy stands for: a loop

const u32 HAS_ZERO = 1;    // some weight is zero
const u32 IS_NOT_ONE = 2;  // some weight is UNREACHED

// Everything that does not depend on weights; see _customize.py. An arc's two lengths, upward and downward,
// are words 2 k and 2 k + 1 of `lengths`.
struct Topology {
    u32 n_graph_arcs;
    u32 n_arcs;
    u32 n_levels;             // those of single vertices, then those of chains
    u32 n_low_levels;         // of single vertices
    const u32* word_of;       // of each arc of the graph: the length that it bounds
    const uint2* levels;      // the first fan, and the logarithm of the lanes per fan
    const uint4* fans;        // arc (v, u); its first triangle; number of triangles
    const u32* targets;       // the arc (u, w) of each triangle
    const u32* chain_levels;  // the first chain
    const uint4* chains;      // first arc in chain_arcs, its end, vertices, columns
    const uint2* chain_arcs;  // arc, and its place in the matrix of its chain
    const u32* up_place;      // of each arc: the words that hold its lengths in the search's order; or null
    const u32* down_place;
    u32 n_inside;  // words of `inside`; further places are in `outside`
};

// The arrays of lengths that the search reads.
struct Copies {
    u32* inside;
    u32* outside;
    u32* up_arcs;
};

// Lowers the upward and the downward length of an arc.
__device__ __forceinline__ void lower(u32* lengths, u32 arc, u32 upward, u32 downward)
{
    u32* words = lengths + 2 * static_cast<size_t>(arc);
    u64 both = load_relaxed(reinterpret_cast<const u64*>(words));
    if (upward < static_cast<u32>(both)) atomicMin(words, upward);
    if (downward < static_cast<u32>(both >> 32)) atomicMin(words + 1, downward);
}

// Lowers the lengths of arcs to the weights of the graph's arcs. Sets bits of `facts`.
__device__ __forceinline__ void take_weights(const Topology& topology, const u32* weights, u32* lengths,
                                             u32* facts)
{
    u32 found = 0;
    for (u32 i = thread_id(); i < topology.n_graph_arcs; i += thread_count()) {
        u32 weight = read_only(&weights[i]), word = read_only(&topology.word_of[i]);
        if (weight == 0) found |= HAS_ZERO;
        if (weight == UNREACHED) found |= IS_NOT_ONE;
        if (word != NO_WORD) atomicMin(&lengths[word], weight);
    }
    if (found & ~load_relaxed(facts)) atomicOr(facts, found);
}

// A level, and what the calling thread needs first of it. No length is among it, so it is loaded before the
// barrier that ends the level below.
struct Level {
    u32 first;  // the thread's first fan
    u32 log_lanes;
    uint4 fan;
    u32 target;
};

__device__ __forceinline__ Level load_level(const Topology& topology, u32 number)
{
    Level level = {};
    if (number == topology.n_levels) return level;
    uint2 begin = read_only(&topology.levels[number]);
    level.log_lanes = begin.y;
    level.first = begin.x + (thread_id() >> level.log_lanes);
    if (level.first >= read_only(&topology.levels[number + 1]).x) return level;
    level.fan = read_only(&topology.fans[level.first]);
    u32 k = threadIdx.x & ((1u << level.log_lanes) - 1);
    if (k < level.fan.z) level.target = read_only(&topology.targets[level.fan.y + k]);
    return level;
}

// Lowers the lengths of all arcs (u, w) of the triangles of a level. The lanes of a fan are in one block.
__device__ __forceinline__ void follow_triangles(const Topology& topology, Level level, u32 number,
                                                 u32* lengths)
{
    const uint2* pairs = reinterpret_cast<const uint2*>(lengths);
    u32 stride = 1u << level.log_lanes;
    u32 k = threadIdx.x & (stride - 1);
    while (true) {
        uint2 to_u = k < level.fan.z ? pairs[level.fan.x] : make_uint2(0, 0);
        while (k < level.fan.z) {
            uint2 to_w = pairs[level.fan.x + 1 + k];
            lower(lengths, level.target, sum(to_u.y, to_w.x), sum(to_w.y, to_u.x));
            k += stride;
            if (k < level.fan.z) level.target = read_only(&topology.targets[level.fan.y + k]);
        }
        level.first += thread_count() >> level.log_lanes;
        if (level.first >= read_only(&topology.levels[number + 1]).x) return;
        level.fan = read_only(&topology.fans[level.first]);
        k = threadIdx.x & (stride - 1);
        if (k < level.fan.z) level.target = read_only(&topology.targets[level.fan.y + k]);
    }
}

const u32 CHAIN_LANES = 64;  // threads per row of a chain's matrix

// Finds the final lengths of the arcs from the vertices of a chain, of which each is the next one's child in
// the elimination tree; by one block. The vertices have rows of a matrix and come first among its columns;
// all vertices above the last one follow.
__device__ __forceinline__ void finish_chain(const Topology& topology, u32 number, u32* lengths,
                                             uint2* matrix)
{
    uint2* pairs = reinterpret_cast<uint2*>(lengths);
    uint4 chain = read_only(&topology.chains[number]);
    u32 rows = chain.z, columns = chain.w;
    for (u32 k = threadIdx.x; k < rows * columns; k += blockDim.x)
        matrix[k] = make_uint2(UNREACHED, UNREACHED);
    __syncthreads();
    for (u32 k = chain.x + threadIdx.x; k < chain.y; k += blockDim.x) {
        uint2 arc = read_only(&topology.chain_arcs[k]);
        matrix[arc.y] = pairs[arc.x];
    }
    __syncthreads();
    for (u32 i = 0; i + 1 < rows; ++i) {
        const uint2* from = matrix + i * columns;
        for (u32 j = i + 1 + threadIdx.x / CHAIN_LANES; j < rows; j += blockDim.x / CHAIN_LANES) {
            uint2 to_u = from[j];
            uint2* row = matrix + j * columns;
            for (u32 k = j + 1 + threadIdx.x % CHAIN_LANES; k < columns; k += CHAIN_LANES) {
                uint2 to_w = from[k], now = row[k];
                row[k] = make_uint2(min(now.x, sum(to_u.y, to_w.x)), min(now.y, sum(to_w.y, to_u.x)));
            }
        }
        __syncthreads();
    }
    chain = read_only(&topology.chains[number]);  // again: no register holds it meanwhile
    for (u32 k = chain.x + threadIdx.x; k < chain.y; k += blockDim.x) {
        uint2 arc = read_only(&topology.chain_arcs[k]);
        pairs[arc.x] = matrix[arc.y];
    }
    __syncthreads();
}

// Writes all lengths to where the search reads them.
__device__ __forceinline__ void copy_lengths(const Topology& topology, const u32* lengths,
                                             const Copies& copies)
{
    const uint2* pairs = reinterpret_cast<const uint2*>(lengths);
    for (u32 i = thread_id(); i < topology.n_arcs; i += thread_count()) {
        uint2 both = pairs[i];
        copies.up_arcs[read_only(&topology.up_place[i])] = both.x;
        u32 place = read_only(&topology.down_place[i]);
        u32* word =
            place < topology.n_inside ? copies.inside + place : copies.outside + (place - topology.n_inside);
        *word = both.y;
    }
}

__device__ __forceinline__ void record(u64* log, u32 part)
{
    if (log != nullptr && thread_id() == 0) log[part] = nanoseconds();
}

// The whole customization; a cooperative launch, of two blocks per multiprocessor where they fit: 32
// registers per thread. If a weight is UNREACHED, the copies stay as they are. `facts` is zero before.
extern "C" __global__ void __launch_bounds__(1024, 2)
    customize(const __grid_constant__ Topology topology, const __grid_constant__ Copies copies,
              const u32* __restrict__ weights, u32* lengths, u32* facts, u64* log)
{
    extern __shared__ uint4 words[];

    record(log, 0);
    for (u32 i = thread_id(); i < topology.n_arcs; i += thread_count()) {
        reinterpret_cast<uint2*>(lengths)[i] = make_uint2(UNREACHED, UNREACHED);
    }
    cg::this_grid().sync();
    take_weights(topology, weights, lengths, facts);
    cg::this_grid().sync();
    record(log, 1);
    if (load_relaxed(facts) & IS_NOT_ONE) return;
    Level level = load_level(topology, 0);
    for (u32 k = 0; k < topology.n_levels; ++k) {
        if (k >= topology.n_low_levels) {
            u32 number = read_only(&topology.chain_levels[k - topology.n_low_levels]) + blockIdx.x;
            u32 end = read_only(&topology.chain_levels[k - topology.n_low_levels + 1]);
            for (; number < end; number += gridDim.x) {
                finish_chain(topology, number, lengths, reinterpret_cast<uint2*>(words));
            }
            cg::this_grid().sync();
        }
        follow_triangles(topology, level, k, lengths);
        level = load_level(topology, k + 1);
        cg::this_grid().sync();
        record(log, 2 + k);
    }
    if (topology.up_place != nullptr) copy_lengths(topology, lengths, copies);
    cg::this_grid().sync();
    record(log, 2 + topology.n_levels);
}
