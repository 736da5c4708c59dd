// The answer of a search, written once at its end: levels are read off the bitmaps that the levels have left
// ("snapshots", `SNAPSHOTS` of them in turn, a multiple of 4), and most predecessors are best neighbours.

#pragma once

#include "_packed_bottom_up.cuh"

// The level of this lane's vertex of word `j`: that of the first snapshot that has it. The warp's lanes hold
// the words of a group, as write_group has read them.
template <u32 SNAPSHOTS, typename State>
__device__ __forceinline__ u32 level_in(const u32 (&snapshots)[SNAPSHOTS / 4], const State& state, u32 j)
{
    u32 lane = threadIdx.x % WARP;
    u32 n_snapshots = state.snapshot - state.first;
    u32 level = UNREACHED;
#pragma unroll
    for (u32 k = SNAPSHOTS; k > 0; --k) {
        if (k > n_snapshots) continue;
        u32 from = (k - 1) % 4 * GROUP_WORDS + j;
        u32 bits = __shfl_sync(ALL_LANES, snapshots[(k - 1) / 4], from);
        if (bits >> lane & 1) level = state.first_depth + k;
    }
    return level;
}

// Writes the answer for the vertices of a group that were not visited when deferring began: their levels are
// those of the snapshots that have them first. Every lane reads some words of every bitmap, so that all are
// read at once.
template <u32 SNAPSHOTS, typename Search, typename State>
__device__ __forceinline__ void write_group(const Search& search, const State& state, const Answer& answer,
                                            u32 source, u32 group)
{
    u32 lane = threadIdx.x % WARP;
    u32 first_word = group * GROUP_WORDS;
    u32 word = first_word + lane % GROUP_WORDS;
    u32 best[GROUP_WORDS];
#pragma unroll
    for (u32 j = 0; j < GROUP_WORDS; ++j) {
        u32 v = (first_word + j) * 32 + lane;
        best[j] = v < search.n ? read_only(&search.packed.best_ids[v]) : 0;
    }
    // Each quarter of the warp reads another bitmap: first those of vertices that are not written or not with
    // their best neighbour, then four snapshots at a time.
    const u32 quarter = lane / GROUP_WORDS;
    const u32* bitmaps[] = {search.closed, answer.stored, search.snapshot(state.first)};
    u32 other = quarter < 3 ? bitmaps[quarter][word] : 0;
    u32 snapshots[SNAPSHOTS / 4];
#pragma unroll
    for (u32 i = 0; i < SNAPSHOTS / 4; ++i) {
        u32 k = state.first + 1 + 4 * i + quarter;
        // A block may still be adding what it finds alone.
        snapshots[i] = k <= state.snapshot ? load_relaxed(&search.snapshot(k)[word]) : 0;
    }
#pragma unroll
    for (u32 j = 0; j < GROUP_WORDS; ++j) {
        u32 v = (first_word + j) * 32 + lane;
        u32 closed = __shfl_sync(ALL_LANES, other, j);
        u32 stored = __shfl_sync(ALL_LANES, other, GROUP_WORDS + j);
        u32 before = __shfl_sync(ALL_LANES, other, 2 * GROUP_WORDS + j);
        u32 level = level_in<SNAPSHOTS>(snapshots, state, j);
        if (closed >> lane & 1) level = UNREACHED;
        if (v >= search.n || v == source || ((before & ~closed) >> lane & 1)) continue;
        __stcs(&answer.level[v], level);
        if (level == UNREACHED) {
            __stcs(&answer.predecessor[v], NO_PREDECESSOR);
        } else if (!(stored >> lane & 1)) {
            __stcs(&answer.predecessor[v], best[j]);
        }
    }
}
