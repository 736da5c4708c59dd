// Lists of pieces of rows: the frontier of a top-down level, cut so that no entry has more than PIECE arcs.
//
// The rows of a Kronecker graph have from one arc to millions. An entry holds a vertex in the low word and,
// in the high word, the number of a piece of its row. A hub becomes many entries, so that equal numbers of
// entries are about equal work.

#pragma once

#include "_bfs.cuh"

const u32 PIECE = 128;

// Items that a lane handles at once, so that their loads overlap: arcs of a row, vertices to append.
const u32 IN_FLIGHT = 4;
static_assert(PIECE == 32 * IN_FLIGHT, "a warp follows a whole piece at once");

struct Piece {
    u32 vertex;
    i64 begin;
    i64 end;
};

__device__ __forceinline__ u32 pieces_of(i64 degree)
{
    return static_cast<u32>((degree + PIECE - 1) / PIECE);
}

__device__ __forceinline__ Piece piece_of(u64 entry, const i64* offsets)
{
    u32 v = static_cast<u32>(entry);
    i64 begin = read_only(&offsets[v]) + static_cast<i64>(entry >> 32) * PIECE;
    return {v, begin, min(read_only(&offsets[v + 1]), begin + PIECE)};
}

// Appends the rows of each lane's IN_FLIGHT vertices for which `taken` has a bit, with one atomic addition
// per warp. A row without arcs gets LEAST entries. All lanes call it. Returns the number of arcs of this
// lane's rows.
template <u32 LEAST = 0>
__device__ __forceinline__ u64 append_rows(const u32 (&vertices)[IN_FLIGHT], u32 taken, const i64* offsets,
                                           u64* list, u64* length)
{
    u32 lane = threadIdx.x % WARP;
    u64 arcs = 0;
    u32 pieces[IN_FLIGHT];
    u32 own = 0;
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        // Loads without a condition overlap; where nothing is taken they load row 0.
        bool is_taken = taken >> j & 1;
        u32 v = is_taken ? vertices[j] : 0;
        i64 begin = read_only(&offsets[v]), end = read_only(&offsets[v + 1]);
        i64 degree = is_taken ? end - begin : 0;
        arcs += degree;
        pieces[j] = max(pieces_of(degree), is_taken ? LEAST : 0);
        own += pieces[j];
    }
    u32 below = sum_below(own);
    u32 sum = __shfl_sync(ALL_LANES, below + own, 31);
    if (sum == 0) return 0;
    u64 base = 0;
    if (lane == 0) base = atomicAdd(length, static_cast<u64>(sum));
    u64 at = __shfl_sync(ALL_LANES, base, 0) + below;
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        if (pieces[j]) list[at] = vertices[j];
        // All lanes write the other pieces of a long row.
        u32 longer = __ballot_sync(ALL_LANES, pieces[j] > 1);
        while (longer) {
            u32 owner = __ffs(longer) - 1;
            longer &= longer - 1;
            u32 v = __shfl_sync(ALL_LANES, vertices[j], owner);
            u32 end = __shfl_sync(ALL_LANES, pieces[j], owner);
            u64 first = __shfl_sync(ALL_LANES, at, owner);
            for (u64 piece = 1 + lane; piece < end; piece += 32) {
                list[first + piece] = piece << 32 | v;
            }
        }
        at += pieces[j];
    }
    return arcs;
}

// Appends the rows of the vertices in a word of a bitmap; each lane passes a word and its number. All lanes
// call it. Returns the number of arcs of this lane's rows.
__device__ __forceinline__ u64 append_word(u32 bits, u32 word, const i64* offsets, u64* list, u64* length)
{
    u64 arcs = 0;
    while (__any_sync(ALL_LANES, bits)) {
        u32 vertices[IN_FLIGHT];
        u32 taken = 0;
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            vertices[j] = word * 32 + (bits ? __ffs(bits) - 1 : 0);
            taken |= (bits != 0) << j;
            bits &= bits - 1;
        }
        arcs += append_rows(vertices, taken, offsets, list, length);
    }
    return arcs;
}
