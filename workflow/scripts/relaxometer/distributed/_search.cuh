// The search of one level, top-down and bottom-up, among a rank's heads from a frontier among its tails
// (partition.py): shared by hybrid_2d.cu, where ranks exchange messages between levels, and hybrid_peers.cu,
// where one launch runs all levels.
//
// `closed` is a bitmap of the heads that need not be looked for: visited ones and those that no arc of the
// rank enters. What a level finds goes into the bitmap `found`, and the tail that it was found from into
// `parent`.

#pragma once

#include "problems/bfs/_pieces.cuh"

const u32 GROUP = 128;

// Top-down: claims the heads in the listed pieces of rows that are not closed.
__device__ void expand_pieces(const u64* list, u64 n_pieces, const i64* offsets, const u32* targets,
                              const u32* closed, u32* found, u32* parent, u64* looks)
{
    u32 lane = threadIdx.x % 32;
    for (u64 k = thread_id() / 32; k < n_pieces; k += thread_count() / 32) {
        Piece piece = piece_of(list[k], offsets);
        u32 heads[DEEP];
        u32 fresh = 0;
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            i64 i = piece.begin + 32 * j + lane;
            bool inside = i < piece.end;
            heads[j] = inside ? targets[i] : 0;
            fresh |= inside << j;
            *looks += inside;
        }
        // The bits are looked at together, ahead of any atomic, so that the reads overlap.
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            if ((fresh >> j & 1) && (contains(closed, heads[j]) || contains_now(found, heads[j]))) {
                fresh &= ~(1u << j);
            }
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            if ((fresh >> j & 1) && claim(found, heads[j])) parent[heads[j]] = piece.vertex;
        }
    }
}

// Looks for a parent in a row, several neighbours in flight.
__device__ __forceinline__ u32 search_row(const u32* row, u32 length, const u32* frontier, u64* looks)
{
    for (u32 i = 0; i < length; i += DEEP) {
        u32 found = NO_PREDECESSOR;
#pragma unroll
        for (u32 j = DEEP; j > 0; --j) {
            u32 u = row[min(i + j, length) - 1];
            if (contains(frontier, u)) found = u;
        }
        *looks += min(length - i, DEEP);
        if (found != NO_PREDECESSOR) return found;
    }
    return NO_PREDECESSOR;
}

// Bottom-up, first level: probes one neighbour of every open vertex of some groups and lists those that it
// does not settle; returns how many. The warp writes every word of `found` in its groups.
__device__ u32 scan(u32 first_group, u32 end_group, const u32* closed, const u32* probes, const u32* frontier,
                    u32* found, u32* parent, u32* listed, u64* looks)
{
    u32 lane = threadIdx.x % 32;
    u32 n_listed = 0;
    for (u32 group = first_group; group < end_group; ++group) {
        u32 open[DEEP];
        u32 probed[DEEP];
        u32 hits = 0;
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) open[j] = ~closed[group * DEEP + j];
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            u32 v = group * GROUP + 32 * j + lane;
            probed[j] = open[j] >> lane & 1 ? probes[v] : 0;
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            hits |= ((open[j] >> lane & 1) && contains(frontier, probed[j])) << j;
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            u32 v = group * GROUP + 32 * j + lane;
            if (hits >> j & 1) parent[v] = probed[j];
            u32 settled = __ballot_sync(ALL_LANES, hits >> j & 1);
            if (lane == j) {
                found[group * DEEP + j] = settled;
                *looks += __popc(open[j]);
            }
            u32 rest = open[j] & ~settled;
            if (rest >> lane & 1) listed[n_listed + __popc(rest & ((1u << lane) - 1))] = v;
            n_listed += __popc(rest);
        }
    }
    // The list is read, and `found` is added to, by other lanes than those that wrote them.
    __syncwarp();
    return n_listed;
}

// Searches the rows of listed vertices that are still open, and keeps those that found no parent.
__device__ u32 search_listed(const i64* offsets, const u32* targets, u32 long_row, const u32* closed,
                             const u32* frontier, u32* found, u32* parent, u32* listed, u32 n_listed,
                             u64* looks)
{
    u32 lane = threadIdx.x % 32;
    u32 kept = 0;
    for (u32 k = 0; k < n_listed; k += 32) {
        bool own = k + lane < n_listed;
        u32 v = own ? listed[k + lane] : 0;
        // All three are read at once, whether the vertex is still open or not.
        i64 begin = own ? offsets[v] : 0;
        u32 length = own ? static_cast<u32>(offsets[v + 1] - begin) : 0;
        own = own && !contains(closed, v);
        bool is_long = own && length >= long_row;
        u32 from = NO_PREDECESSOR;
        if (own && !is_long) from = search_row(&targets[begin], length, frontier, looks);
        u32 longer = __ballot_sync(ALL_LANES, is_long);
        while (longer) {
            u32 owner = __ffs(longer) - 1;
            longer &= longer - 1;
            i64 row = __shfl_sync(ALL_LANES, begin, owner);
            i64 end = row + __shfl_sync(ALL_LANES, length, owner);
            u32 examined = 0;
            u32 hit = search_row_by_warp(targets, row, end, frontier, &examined);
            *looks += examined;
            if (lane == owner) from = hit;
        }
        if (from != NO_PREDECESSOR) {
            parent[v] = from;
            atomicOr(&found[v / 32], bit_of(v));
        }
        u32 stay = __ballot_sync(ALL_LANES, own && from == NO_PREDECESSOR);
        // All have read their entries before any is written over, and written before the next are read.
        __syncwarp();
        if (stay >> lane & 1) listed[kept + __popc(stay & ((1u << lane) - 1))] = v;
        kept += __popc(stay);
        __syncwarp();
    }
    return kept;
}

// The groups of a warp, out of those of some words: as many as another's, one behind the other, so that what
// it finds is, too.
struct Groups {
    u32 first;
    u32 end;
};

__device__ __forceinline__ Groups groups_of_warp(u32 first_word, u32 n_words)
{
    u32 begin = first_word / DEEP;
    u32 end = n_words / DEEP;
    u32 share = (end - begin + thread_count() / 32 - 1) / (thread_count() / 32);
    u32 first = min(begin + thread_id() / 32 * share, end);
    return {first, min(first + share, end)};
}
