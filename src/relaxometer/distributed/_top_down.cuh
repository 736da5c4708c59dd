// The search of a top-down level among a rank's heads from a frontier among its tails (partition.py). Shared
// by hybrid_2d.cu, where ranks exchange messages between levels, and hybrid_peers.cu, where one launch runs
// all levels.
//
// The bitmap `closed` holds the visited heads, and those that no arc of the rank enters. A level adds the
// heads found to the bitmap `found`, and writes their tails into `parent`. If `found` has the closed heads to
// begin with, `closed` is null, which saves a word per arc.

#pragma once

#include "problems/bfs/_pieces.cuh"

// Claims the open heads in a piece of a row. All lanes of a warp call it.
__device__ __forceinline__ void expand_piece(Piece piece, const Rows& out, const u32* closed, u32* found,
                                             u32* parent, u32* examined)
{
    u32 lane = threadIdx.x % WARP;
    u32 heads[IN_FLIGHT];
    u32 fresh = 0;
    // Each kind of access for all heads before the next kind, so that they overlap; beyond the end, head 0.
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        i64 i = piece.begin + 32 * j + lane;
        bool inside = i < piece.end;
        heads[j] = inside ? out.target(i) : 0;
        fresh |= inside << j;
        *examined += inside;
    }
    u32 visited[IN_FLIGHT];
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        visited[j] = load_relaxed(&found[heads[j] / 32]) | (closed ? closed[heads[j] / 32] : 0);
    }
    u32 before[IN_FLIGHT];
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        bool claims = (fresh >> j & 1) && !(visited[j] & bit_of(heads[j]));
        before[j] = claims ? atomicOr(&found[heads[j] / 32], bit_of(heads[j])) : ~0u;
    }
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        if (!(before[j] & bit_of(heads[j]))) parent[heads[j]] = piece.vertex;
    }
}

// The same in the listed pieces of rows.
__device__ void expand_pieces(const u64* list, u64 n_pieces, const Rows& out, const u32* closed, u32* found,
                              u32* parent, u32* examined)
{
    for (u64 k = thread_id() / WARP; k < n_pieces; k += thread_count() / WARP) {
        expand_piece(piece_of(list[k], out.offsets), out, closed, found, parent, examined);
    }
}
