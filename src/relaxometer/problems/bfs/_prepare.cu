// Done once per graph, before the first source: vertices that need no search, and the neighbour that each of
// the others probes first.

#include "_bfs.cuh"

const u32 IN_FLIGHT = 4;  // arcs that a lane reads at once

// Marks the vertices without arcs, and bits beyond the last vertex, in a bitmap.
extern "C" __global__ void mark_isolated(u32 n, u32 n_words, const i64* __restrict__ out_offsets,
                                         const i64* __restrict__ in_offsets, u32* isolated)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 word = thread_id() / WARP; word < n_words; word += thread_count() / WARP) {
        u64 v = word * 32 + lane;
        bool has_arcs = v < n && (out_offsets[v + 1] > out_offsets[v] || in_offsets[v + 1] > in_offsets[v]);
        u32 bits = __ballot_sync(ALL_LANES, !has_arcs);
        if (lane == 0) isolated[word] = bits;
    }
}

// Chooses the neighbour that the scan probes: of the first `most` arcs of the row, the one whose vertex has
// the most arcs by `degree_offsets`, the smallest among equals. A vertex without incoming arcs gets itself,
// which is never a hit. `lanes`, a power of two, take a row together.
extern "C" __global__ void choose_probes(u32 n, const i64* __restrict__ offsets,
                                         const u32* __restrict__ targets,
                                         const i64* __restrict__ degree_offsets, u32 most, u32 lanes,
                                         u32* probes)
{
    u32 lane = threadIdx.x % lanes;
    u32 rows = WARP / lanes;
    u64 step = thread_count() / WARP * rows;
    for (u64 first = thread_id() / WARP * rows; first < n; first += step) {
        u64 v = first + threadIdx.x % WARP / lanes;
        i64 begin = v < n ? offsets[v] : 0;
        i64 end = v < n ? min(offsets[v + 1], begin + most) : 0;
        u32 best = static_cast<u32>(v);
        i64 highest = -1;
        for (i64 i = begin + lane; i < end; i += lanes * IN_FLIGHT) {
            u32 heads[IN_FLIGHT];
            i64 degrees[IN_FLIGHT];
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) heads[j] = targets[min(i + j * lanes, end - 1)];
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) {
                degrees[j] = degree_offsets[heads[j] + 1] - degree_offsets[heads[j]];
            }
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) {
                bool is_better = degrees[j] > highest || (degrees[j] == highest && heads[j] < best);
                highest = is_better ? degrees[j] : highest;
                best = is_better ? heads[j] : best;
            }
        }
        for (u32 distance = lanes / 2; distance > 0; distance /= 2) {
            i64 other_highest = __shfl_xor_sync(ALL_LANES, highest, distance);
            u32 other = __shfl_xor_sync(ALL_LANES, best, distance);
            bool is_better = other_highest > highest || (other_highest == highest && other < best);
            highest = is_better ? other_highest : highest;
            best = is_better ? other : best;
        }
        if (v < n && lane == 0) probes[v] = best;
    }
}
