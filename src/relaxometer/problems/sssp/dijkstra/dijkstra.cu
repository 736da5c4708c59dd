// SSSP by Dijkstra's algorithm with one settled vertex per step, algorithm 1 of the survey "Single-source
// shortest paths in parallel with CUDA".
//
// A step has two parts, each done by the whole grid. ExtractMin finds the vertex of the queue with the
// smallest distance by a tree reduction over all vertices; Relax follows its arcs, one thread per arc. The
// work is O(n^2), since every step examines every vertex.
//
// The queue is an array with the distances of the vertices in it, and infinity for all others: those settled,
// which have left it, and those not yet reached. Arcs into settled vertices improve nothing, so no vertex
// enters again.
//
// Deviations from the survey:
//   - It launches kernels for every step; here all steps are one cooperative launch, with a grid barrier
//     after each part.
//   - Every block reduces the minima of all blocks for itself, which saves a third barrier.
//   - Predecessors are kept.

#include <cooperative_groups.h>

#include "_extract_min.cuh"
#include "problems/sssp/_lengths.cuh"

namespace cg = cooperative_groups;

// Parallel arcs may relax the same vertex at once, hence the atomic minima. Whichever wins, the predecessor
// is u.
__device__ void relax_arc(u32 u, u32 distance, u32 v, u32 weight, u32* distances, u32* predecessors,
                          u32* queue, u32* overflow)
{
    u64 length = extended_length(distance, weight);
    if (length >= NO_PATH) {
        store_relaxed(overflow, 1u);
        return;
    }
    u32 proposal = static_cast<u32>(length);
    if (proposal < atomicMin(&distances[v], proposal)) {
        store_relaxed(&predecessors[v], u);
        atomicMin(&queue[v], proposal);
    }
}

// Before the launch only the source is in the queue. `minima` has one entry per block; `steps` gets the
// number of settled vertices.
extern "C" __global__ void dijkstra(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                    const u32* __restrict__ Wa, u32* queue, u32* distances, u32* predecessors,
                                    u64* minima, u32* overflow, u32* steps)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 step = 0;; ++step) {
        Minimum of_block = minimum_of_share(n, queue);
        if (threadIdx.x == 0) minima[blockIdx.x] = packed(of_block);
        grid.sync();
        Minimum nearest = minimum_of_blocks(gridDim.x, minima);
        u32 u = nearest.position;
        if (nearest.value == NO_PATH) {
            if (thread_id() == 0) *steps = step;
            return;
        }
        if (thread_id() == 0) queue[u] = NO_PATH;
        i64 end = Va[u + 1];
        for (i64 i = Va[u] + thread_id(); i < end; i += thread_count()) {
            relax_arc(u, nearest.value, Ea[i], Wa[i], distances, predecessors, queue, overflow);
        }
        grid.sync();
    }
}
