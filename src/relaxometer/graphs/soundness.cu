// Counts what is wrong with the arrays of a graph; see soundness.py.

#include "device/block_sum.cuh"

#ifndef WEIGHT_TYPE
#define WEIGHT_TYPE u32
#endif

// `found` gets the number of offsets, targets and weights that are wrong, and that of arcs whose head is less
// than the head before, without those that begin a row. A weight is wrong if its word, with the bits of
// `flip` inverted, is `least_wrong` or more. The second number means nothing unless the first is 0.
extern "C" __global__ void __launch_bounds__(256)
    check_graph(u32 n, u64 n_arcs, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                const WEIGHT_TYPE* __restrict__ weights, WEIGHT_TYPE flip, WEIGHT_TYPE least_wrong,
                u64* found)
{
    u64 own[2] = {};
#pragma unroll 4
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 head = targets[i];
        own[0] += head >= n;
        own[1] += i > 0 && head < targets[i - 1];
        if (weights != nullptr) own[0] += (weights[i] ^ flip) >= least_wrong;
    }
    i64 end_of_arcs = static_cast<i64>(n_arcs);
    for (u64 v = thread_id(); v < n; v += thread_count()) {
        i64 begin = offsets[v];
        i64 end = offsets[v + 1];
        own[0] += begin > end || (v == 0 && begin != 0) || (v == n - 1 && end != end_of_arcs);
        // Within the arrays, even if other offsets are wrong.
        if (begin > 0 && begin < end && end <= end_of_arcs) own[1] -= targets[begin] < targets[begin - 1];
    }
    add_block_sums(own, found);
}

// Makes a graph of arrays in which something is wrong: all arcs lead from the last vertex to the first. So
// what has been launched meanwhile stays within the arrays.
extern "C" __global__ void __launch_bounds__(256)
    mend_graph(u32 n, u64 n_arcs, i64* offsets, u32* targets, WEIGHT_TYPE* weights, const u64* found)
{
    if (found[0] == 0 && found[1] == 0) return;
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        targets[i] = 0;
        if (weights != nullptr) weights[i] = 1;
    }
    for (u64 v = thread_id(); v <= n; v += thread_count()) offsets[v] = v == n ? static_cast<i64>(n_arcs) : 0;
}
