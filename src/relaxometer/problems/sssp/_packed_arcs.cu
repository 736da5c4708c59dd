// Lays out the arcs of a graph for few dependent reads, and sums up their weights; see _packed_arcs.py.

#include "device/block_sum.cuh"
#include "problems/sssp/_packed_arcs.cuh"

// `sums` gets the sum of the weights, and that of their squares in two halves of 32 bits: none overflows with
// fewer than 2^32 arcs. Only sums of 32-bit integers are used.
extern "C" __global__ void __launch_bounds__(256)
    pack_arcs(u64 n_arcs, const u32* __restrict__ targets, const weight_t* __restrict__ weights, Arc* arcs,
              u64* sums)
{
    u64 own[3] = {};
#pragma unroll 4
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        weight_t weight = weights[i];
        arcs[i] = Arc{targets[i], weight};
        u64 square = static_cast<u64>(weight) * weight;
        own[0] += weight;
        own[1] += static_cast<u32>(square);
        own[2] += square >> 32;
    }
    add_block_sums(own, sums);
}

// There are fewer than 2^32 arcs.
extern "C" __global__ void __launch_bounds__(256)
    pack_rows(u32 n, const i64* __restrict__ offsets, uint2* rows)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        rows[v] = make_uint2(static_cast<u32>(offsets[v]), static_cast<u32>(offsets[v + 1]));
    }
}

// Two elements of `first` hold the first four arcs of a vertex.
extern "C" __global__ void __launch_bounds__(256)
    pack_first(u32 n, const uint2* __restrict__ rows, const Arc* __restrict__ arcs, ArcPair* first)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        uint2 row = rows[v];
        u32 degree = row.y - row.x;
        Arc found[FIRST];
        for (u32 k = 0; k < FIRST; ++k) {
            found[k] = k < degree ? arcs[row.x + k] : Arc{NO_ARC, 0};
        }
        if (degree > FIRST) found[FIRST - 1] = Arc{MORE_ARCS, 0};
        u64 place = 2 * static_cast<u64>(v);
        first[place] = ArcPair{found[0].x, found[0].y, found[1].x, found[1].y};
        first[place + 1] = ArcPair{found[2].x, found[2].y, found[3].x, found[3].y};
    }
}
