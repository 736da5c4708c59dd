// Prepares a graph for push-pull on the device; see _prepare.py.
//
// Vertices are numbered by falling degree and the arcs of each vertex sorted by weight. Both are sorts of
// 64-bit keys, which these kernels make and read; the device's library sorts them.

#include "device/block_sum.cuh"
#include "problems/_each_arc.cuh"
#include "problems/sssp/_weights.cuh"

// `sums` gets the sum of the weights, and two sums over all arcs from a lower vertex to a higher one of a
// hash of their ends and weight, less the same over the arcs back. Both are 0 if every arc has a reverse arc
// of the same weight, and else only by a chance of 1 in 2^128. `bits` gets all bits that are set in a weight
// of 32 bits.
extern "C" __global__ void __launch_bounds__(256)
    survey(u32 n, u64 n_arcs, const i64* __restrict__ offsets, const u32* __restrict__ targets,
           const weight_t* __restrict__ weights, u64* sums, u32* bits)
{
    u64 own[3] = {};
    u32 own_bits = 0;
    for_each_arc(n, static_cast<i64>(n_arcs), offsets, [&](i64 i, u32 tail) {
        u32 head = targets[i];
        weight_t weight = weights[i];
        own[0] += weight;
        own_bits |= static_cast<u32>(weight);
        if (tail == head) return;
        u64 hashes[2];
        hash_edge(tail, head, hashes);
        for (u32 k = 0; k < 2; ++k) own[1 + k] += signed_hash(tail, head, mix(hashes[k] + weight));
    });
    add_block_sums(own, sums);
    own_bits = __reduce_or_sync(ALL_LANES, own_bits);
    if (threadIdx.x % WARP == 0 && own_bits != 0) atomicOr(bits, own_bits);
}

// Twice the number of outgoing arcs, and 1 more if there are incoming ones. 0 only if there are neither.
__device__ __forceinline__ u64 rank_of(const i64* offsets, const u32* in_degrees, u32 v)
{
    u64 out = static_cast<u64>(offsets[v + 1] - offsets[v]);
    return 2 * out + (in_degrees != nullptr && in_degrees[v] != 0);
}

// Keys that sort the vertices by falling number of outgoing arcs. `counts` gets the numbers of vertices that
// have arcs, and that have more than `many` outgoing ones.
extern "C" __global__ void __launch_bounds__(256)
    vertex_keys(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ in_degrees, u32 many,
                u64* keys, u64* counts)
{
    u64 own[2] = {};
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u64 rank = rank_of(offsets, in_degrees, v);
        own[0] += rank != 0;
        own[1] += static_cast<u64>(offsets[v + 1] - offsets[v]) > many;
        keys[v] = (0xffffffffull - min(rank, 0xffffffffull)) << 32 | v;
    }
    add_block_sums(own, counts);
}

// From sorted keys: the old number of each vertex, the new number of each, and the lengths of the first
// `n_with_arcs` rows in the new order.
extern "C" __global__ void __launch_bounds__(256)
    number_vertices(u32 n, u32 n_with_arcs, const u64* __restrict__ keys, const i64* __restrict__ offsets,
                    const u32* __restrict__ in_degrees, u32* ids, u32* rank, i64* out, i64* into)
{
    for (u32 i = thread_id(); i < n; i += thread_count()) {
        u32 v = static_cast<u32>(keys[i]);
        rank[v] = i;
        if (i >= n_with_arcs) continue;
        ids[i] = v;
        out[i] = offsets[v + 1] - offsets[v];
        if (into != nullptr) into[i] = in_degrees[v];
    }
}

// Keys that sort the arcs by row, weight and other end, which all fit 64 bits: row << end_bits + weight_bits
// | weight << end_bits | end. The row is that of the tail, or of the head.
extern "C" __global__ void __launch_bounds__(256)
    arc_keys(u32 n, u64 n_arcs, const i64* __restrict__ offsets, const u32* __restrict__ targets,
             const weight_t* __restrict__ weights, const u32* __restrict__ rank, bool by_head,
             u32 weight_bits, u32 end_bits, u64* keys)
{
    for_each_arc(n, static_cast<i64>(n_arcs), offsets, [&](i64 i, u32 tail) {
        u64 from = rank[tail], to = rank[targets[i]];
        u64 row = by_head ? to : from, end = by_head ? from : to;
        keys[i] = (row << weight_bits | weights[i]) << end_bits | end;
    });
}

// Turns sorted keys into arcs, weight << 32 | other end, in their place.
extern "C" __global__ void __launch_bounds__(256)
    read_keys(u64 n_arcs, u32 weight_bits, u32 end_bits, u64* keys)
{
    u64 weights = (1ull << weight_bits) - 1, ends = (1ull << end_bits) - 1;
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u64 key = keys[i];
        keys[i] = (key >> end_bits & weights) << 32 | (key & ends);
    }
}

// For weights that leave no room for the ends: keys row << 32 | weight, and the other ends apart.
extern "C" __global__ void __launch_bounds__(256)
    wide_keys(u32 n, u64 n_arcs, const i64* __restrict__ offsets, const u32* __restrict__ targets,
              const weight_t* __restrict__ weights, const u32* __restrict__ rank, bool by_head, u64* keys,
              u32* ends)
{
    for_each_arc(n, static_cast<i64>(n_arcs), offsets, [&](i64 i, u32 tail) {
        u64 from = rank[tail], to = rank[targets[i]];
        keys[i] = (by_head ? to : from) << 32 | weights[i];
        ends[i] = static_cast<u32>(by_head ? from : to);
    });
}

// For weights of 64 bits: row and other end of each arc.
extern "C" __global__ void __launch_bounds__(256)
    rows_and_ends(u32 n, u64 n_arcs, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                  const weight_t* __restrict__, const u32* __restrict__ rank, bool by_head, u32* rows,
                  u32* ends)
{
    for_each_arc(n, static_cast<i64>(n_arcs), offsets, [&](i64 i, u32 tail) {
        u32 from = rank[tail], to = rank[targets[i]];
        rows[i] = by_head ? to : from;
        ends[i] = by_head ? from : to;
    });
}
