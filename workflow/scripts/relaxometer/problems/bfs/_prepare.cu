// Done once per graph, before the first source: vertices that need no search, and the neighbour that each of
// the others probes first.

#include "_bfs.cuh"

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

// Chooses the neighbour that the scan probes: the one with the most arcs by `degree_offsets`, the smallest
// among equals; or, unless `largest`, the first of the row. A vertex without incoming arcs gets itself, which
// is never a hit.
extern "C" __global__ void choose_probes(u32 n, const i64* __restrict__ offsets,
                                         const u32* __restrict__ targets,
                                         const i64* __restrict__ degree_offsets, u32 largest, u32* probes)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 v = thread_id() / WARP; v < n; v += thread_count() / WARP) {
        i64 begin = offsets[v];
        i64 end = largest ? offsets[v + 1] : min(offsets[v + 1], begin + 1);
        u32 best = static_cast<u32>(v);
        i64 most = -1;
        for (i64 i = begin + lane; i < end; i += WARP) {
            u32 u = targets[i];
            i64 degree = degree_offsets[u + 1] - degree_offsets[u];
            if (degree > most) {
                most = degree;
                best = u;
            }
        }
        for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
            i64 other_most = __shfl_xor_sync(ALL_LANES, most, distance);
            u32 other = __shfl_xor_sync(ALL_LANES, best, distance);
            if (other_most > most || (other_most == most && other < best)) {
                most = other_most;
                best = other;
            }
        }
        if (lane == 0) probes[v] = best;
    }
}
