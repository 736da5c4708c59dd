// Finds graphs of a batch that the kernels for batches cannot take as they are.

#pragma once

#include "device/constants.cuh"

// Lists graphs in which a target is not a vertex, or a vertex other than the root has no predecessor with a
// smaller number. If each has one, all are reached, and no number is smaller than that of a dominator: a path
// of falling numbers leads from each vertex to the root and passes all its dominators.
//
// One warp per graph. An arc's tail has a smaller number than w if the arc comes before those of w. `mark`
// holds a word per vertex. `found` receives a count, 0 before the launch, and the graphs in any order.
extern "C" __global__ void find_unordered(u32 n_graphs, const i64* __restrict__ first_vertex,
                                          const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                          u32* mark, u32* found)
{
    u32 lane = threadIdx.x % WARP;
    u32 graph = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (graph >= n_graphs) return;
    i64 first = first_vertex[graph];
    u32 n = static_cast<u32>(first_vertex[graph + 1] - first);
    for (u32 v = lane; v < n; v += WARP) mark[first + v] = v == 0;
    __syncwarp();
    bool wrong = false;
    for (i64 i = offsets[first] + lane; i < offsets[first + n]; i += WARP) {
        u32 w = targets[i];
        if (w >= n) {
            wrong = true;
        } else if (i < offsets[first + w]) {
            store_relaxed(&mark[first + w], 1u);
        }
    }
    __syncwarp();
    for (u32 v = lane; v < n; v += WARP) wrong = wrong || mark[first + v] == 0;
    if (__any_sync(ALL_LANES, wrong) && lane == 0) found[1 + atomicAdd(found, 1u)] = graph;
}
