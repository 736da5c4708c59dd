// Finds out whether every arc has a reverse arc; see _incoming.py.

#include "device/block_sum.cuh"
#include "problems/_each_arc.cuh"

// `sums` gets two sums over all arcs of hashes that add up to 0 for an arc and its reverse. Both are 0 if
// every arc has a reverse arc, and else only by a chance of 1 in 2^128.
extern "C" __global__ void __launch_bounds__(256)
    compare_directions(u32 n, u64 n_arcs, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                       u64* sums)
{
    u64 own[2] = {};
    for_each_arc(n, static_cast<i64>(n_arcs), offsets, [&](i64 i, u32 tail) {
        u32 head = targets[i];
        if (tail == head) return;
        u64 hashes[2];
        hash_edge(tail, head, hashes);
        for (u32 k = 0; k < 2; ++k) own[k] += signed_hash(tail, head, hashes[k]);
    });
    add_block_sums(own, sums);
}
