// Prepares one uploaded graph for the kernels of `iterative-tree`, which trust what they read.

#pragma once

#include "device/constants.cuh"

// What an uploaded graph is; zeros before the launches.
struct GraphFacts {
    u32 has_bad_target;  // a target is not a vertex
    u32 is_unordered;    // a vertex other than 0 has no predecessor with a smaller number
};

// Finds the tail of every arc and the smallest predecessor of every vertex; `lowest` is filled with
// UNREACHED.
extern "C" __global__ void read_arcs(u32 n, u64 n_arcs, const i64* __restrict__ offsets,
                                     const u32* __restrict__ targets, u32* __restrict__ tails, u32* lowest,
                                     GraphFacts* facts)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 tail = 0;  // the last vertex whose arcs begin at or before i
        for (u32 end = n; end - tail > 1;) {
            u32 middle = tail + (end - tail) / 2;
            if (static_cast<u64>(offsets[middle]) <= i) {
                tail = middle;
            } else {
                end = middle;
            }
        }
        tails[i] = tail;
        u32 head = targets[i];
        if (head >= n) {
            store_relaxed(&facts->has_bad_target, 1u);
        } else if (tail < load_relaxed(&lowest[head])) {
            atomicMin(&lowest[head], tail);
        }
    }
}

// Looks whether every vertex but 0 has a smaller predecessor; vertex 0 becomes its own.
extern "C" __global__ void read_order(u32 n, u32* lowest, GraphFacts* facts)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        if (v == 0) {
            lowest[v] = 0;
        } else if (lowest[v] >= v) {
            store_relaxed(&facts->is_unordered, 1u);
        }
    }
}
