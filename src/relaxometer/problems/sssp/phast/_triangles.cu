// Where the arcs of a hierarchy are found, for its customization: fans of triangles, the third arc of every
// triangle, and the arc that every arc of the graph bounds. See _customize.cu and _customize.py.
//
// Rows hold the upward arcs of each rank, heads ascending.

#include "device/constants.cuh"

// Returns the arc to `head` in a row that has one.
__device__ __forceinline__ u32 find_arc(const u32* offsets, const u32* up, u32 tail, u32 head)
{
    u32 first = read_only(&offsets[tail]), end = read_only(&offsets[tail + 1]);
    while (end - first > 1) {
        u32 middle = first + (end - first) / 2;
        if (read_only(&up[middle]) <= head) {
            first = middle;
        } else {
            end = middle;
        }
    }
    return first;
}

// Writes the fans of each rank, from the given numbers of its first fan and its first triangle on. The first
// arcs of a rank, as many as it has `within` its chain, have none, nor has the last one.
extern "C" __global__ void list_fans(u32 n_ranks, const u32* __restrict__ offsets,
                                     const u32* __restrict__ within, const u32* __restrict__ first_fan,
                                     const u32* __restrict__ first_triangle, uint4* fans)
{
    for (u32 v = thread_id(); v < n_ranks; v += thread_count()) {
        u32 fan = read_only(&first_fan[v]), triangle = read_only(&first_triangle[v]);
        u32 end = read_only(&offsets[v + 1]);
        for (u32 one = read_only(&offsets[v]) + read_only(&within[v]); one + 1 < end; ++one, ++fan) {
            fans[fan] = make_uint4(one, triangle, end - 1 - one, 0);
            triangle += end - 1 - one;
        }
    }
}

const u32 FAN_LANES = 8;  // a fan has some seven triangles on road maps

// Writes the arc (u, w) of each triangle, fan by fan.
extern "C" __global__ void list_targets(u32 n_fans, const uint4* __restrict__ fans,
                                        const u32* __restrict__ offsets, const u32* __restrict__ up,
                                        u32* targets)
{
    u64 n_lanes = static_cast<u64>(n_fans) * FAN_LANES;
    for (u64 i = thread_id(); i < n_lanes; i += thread_count()) {
        uint4 fan = read_only(&fans[i / FAN_LANES]);
        u32 u = read_only(&up[fan.x]);
        for (u32 k = i % FAN_LANES; k < fan.z; k += FAN_LANES) {
            targets[fan.y + k] = find_arc(offsets, up, u, read_only(&up[fan.x + 1 + k]));
        }
    }
}

// Writes which length each arc of the graph bounds: twice the number of an arc, plus 1 if downward; `no_word`
// for loops.
extern "C" __global__ void find_words(u32 n_vertices, const i64* __restrict__ graph_offsets,
                                      const u32* __restrict__ heads, const u32* __restrict__ rank,
                                      const u32* __restrict__ offsets, const u32* __restrict__ up,
                                      u32 no_word, u32* word_of)
{
    for (u32 v = thread_id(); v < n_vertices; v += thread_count()) {
        u32 tail = read_only(&rank[v]);
        i64 end = read_only(&graph_offsets[v + 1]);
        for (i64 i = read_only(&graph_offsets[v]); i < end; ++i) {
            u32 head = read_only(&rank[read_only(&heads[i])]);
            u32 word = no_word;
            if (tail < head) word = 2 * find_arc(offsets, up, tail, head);
            if (tail > head) word = 2 * find_arc(offsets, up, head, tail) + 1;
            word_of[i] = word;
        }
    }
}
