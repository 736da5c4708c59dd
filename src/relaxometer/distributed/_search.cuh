// The search of one level among a rank's heads from a frontier among its tails (partition.py). Shared by
// hybrid_2d.cu, where ranks exchange messages between levels, and hybrid_peers.cu, where one launch runs all
// levels.
//
// The bitmap `closed` holds the visited heads, and those that no arc of the rank enters. A level writes the
// heads found into the bitmap `found`, and their tails into `parent`.

#pragma once

#include "problems/bfs/_bottom_up.cuh"

// Top-down: claims the open heads in the listed pieces of rows.
__device__ void expand_pieces(const u64* list, u64 n_pieces, const Rows& out, const u32* closed, u32* found,
                              u32* parent, u32* examined)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 k = thread_id() / WARP; k < n_pieces; k += thread_count() / WARP) {
        Piece piece = piece_of(list[k], out.offsets);
        u32 heads[IN_FLIGHT];
        u32 fresh = 0;
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            i64 i = piece.begin + 32 * j + lane;
            bool inside = i < piece.end;
            heads[j] = inside ? out.target(i) : 0;
            fresh |= inside << j;
            *examined += inside;
        }
        // Testing all bits before any atomic operation overlaps the reads.
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            if ((fresh >> j & 1) && (contains(closed, heads[j]) || contains_now(found, heads[j]))) {
                fresh &= ~(1u << j);
            }
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            if ((fresh >> j & 1) && claim(found, heads[j])) parent[heads[j]] = piece.vertex;
        }
    }
}

// The groups of a warp among those of the words `first_word` to `n_words` - 1: equal contiguous ranges, so
// that each warp's output is contiguous.
__device__ __forceinline__ Groups groups_of_warp(u32 first_word, u32 n_words)
{
    u32 begin = first_word / GROUP_WORDS;
    u32 end = n_words / GROUP_WORDS;
    u32 count = (end - begin + thread_count() / WARP - 1) / (thread_count() / WARP);
    u32 first = min(begin + thread_id() / WARP * count, end);
    return {first, min(first + count, end), 1};
}
