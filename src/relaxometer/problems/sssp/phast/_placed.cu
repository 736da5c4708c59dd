// Where the arcs of a hierarchy lie in the order of the search, of all ranks at once. See _placed.py, and
// _slices.py for slices.
//
// Weights are left UNREACHED; those of arcs are lengths that follow (_customize.cu), in the words that
// `up_place` and `down_place` have for each arc. The row of a rank is `up` from its offset to the next.

#include "device/constants.cuh"

// Writes the parent, or itself, of each position, and its arcs upward with the depths of their heads.
extern "C" __global__ void list_upward(u32 n, const u32* __restrict__ ranks, const u32* __restrict__ offsets,
                                       const u32* __restrict__ up, const u32* __restrict__ position,
                                       const u32* __restrict__ depth, const u32* __restrict__ up_offsets,
                                       u32* parent, uint2* up_arcs, u32* up_place)
{
    for (u32 p = thread_id(); p < n; p += thread_count()) {
        u32 rank = read_only(&ranks[p]), to = read_only(&up_offsets[p]);
        u32 begin = read_only(&offsets[rank]), end = read_only(&offsets[rank + 1]);
        parent[p] = begin < end ? read_only(&position[read_only(&up[begin])]) : p;
        for (u32 i = begin; i < end; ++i, ++to) {
            up_arcs[to] = make_uint2(read_only(&depth[read_only(&up[i])]), UNREACHED);
            up_place[i] = 2 * to + 1;
        }
    }
}

// Writes slices of rows: the arcs of each rank from the one in `begins` to the one in `ends`, whose heads
// have these numbers in the bits of `mask`. `first` is the first position of each slice; `first_word` is that
// of `arcs`.
extern "C" __global__ void list_rows(u32 n_slices, const uint2* __restrict__ table,
                                     const u32* __restrict__ first, const u32* __restrict__ ranks,
                                     const u32* __restrict__ begins, const u32* __restrict__ ends,
                                     const u32* __restrict__ up, const u32* __restrict__ numbers, u32 mask,
                                     u32 first_word, uint2* arcs, u32* down_place)
{
    u64 n_lanes = static_cast<u64>(n_slices) * WARP;
    for (u64 t = thread_id(); t < n_lanes; t += thread_count()) {
        u32 own = t % WARP;
        uint2 slice = read_only(&table[t / WARP]);
        u32 log_lanes = slice.y >> 21 & 7, row = own >> log_lanes, next = 0, end = 0;
        if (row <= (slice.y >> 16 & 31)) {
            u32 rank = read_only(&ranks[read_only(&first[t / WARP]) + row]);
            next = read_only(&begins[rank]) + own - (row << log_lanes);
            end = read_only(&ends[rank]);
        }
        u32 to = slice.x * WARP + own;
        for (u32 k = 0; k < slice.y >> 24; ++k, to += WARP, next += 1u << log_lanes) {
            arcs[to] =
                make_uint2(next < end ? read_only(&numbers[read_only(&up[next])]) & mask : 0, UNREACHED);
            if (next < end) down_place[next] = first_word + 2 * to + 1;
        }
    }
}

// Writes slices of chains, a lane per vertex; `first` is the first of `members` of each.
extern "C" __global__ void list_chains(u32 n_slices, const uint2* __restrict__ table,
                                       const u32* __restrict__ first, const u32* __restrict__ members,
                                       const u32* __restrict__ begins, const u32* __restrict__ ends,
                                       const u32* __restrict__ up, const u32* __restrict__ places,
                                       u32 place_bit, u32 first_word, uint2* arcs, u32* down_place)
{
    u64 n_lanes = static_cast<u64>(n_slices) * WARP;
    for (u64 t = thread_id(); t < n_lanes; t += thread_count()) {
        uint2 slice = read_only(&table[t / WARP]);
        u32 own = t % WARP, to = slice.x * WARP + own, member = read_only(&first[t / WARP]) + own;
        for (u32 k = 0; k < slice.y >> 24; ++k) arcs[to + k * WARP] = make_uint2(UNREACHED, UNREACHED);
        if (member >= read_only(&first[t / WARP + 1])) continue;
        u32 rank = read_only(&members[member]), place = read_only(&places[rank]);
        u32 row = place & ((1u << place_bit) - 1), first_lane = own - (place >> place_bit);
        arcs[to].x = row | first_lane << 16;
        for (u32 i = read_only(&begins[rank]); i < read_only(&ends[rank]); ++i) {
            u32 word = 1 + (read_only(&places[read_only(&up[i])]) >> place_bit);
            down_place[i] = first_word + 2 * (to + word / 2 * WARP) + word % 2;
        }
    }
}
