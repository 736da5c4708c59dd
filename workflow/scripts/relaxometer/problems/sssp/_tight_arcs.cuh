// Predecessors of finished distances: any arc of positive weight that is exactly as long as the difference of
// its ends' distances will do. Vertices that only arcs of weight zero lead to get theirs in rounds, from
// vertices that have one already, so that no circle can form.

#pragma once

#include <cooperative_groups.h>

#include "device/constants.cuh"

// The predecessors of vertices that an arc of positive weight leads to. `predecessor` holds the source's own,
// and UNREACHED for all others. Notes a path that is longer than 32 bits hold.
__device__ inline void find_predecessors(u32 n, const i64* offsets, const u32* targets, const u32* weights,
                                         const u32* distance, u32* predecessor, u32* overflowed)
{
    for (u32 u = thread_id(); u < n; u += thread_count()) {
        u32 before = distance[u];
        if (before == UNREACHED) continue;
        i64 end = offsets[u + 1];
        for (i64 i = offsets[u]; i < end; ++i) {
            u64 length = static_cast<u64>(before) + weights[i];
            if (length >= UNREACHED) {
                store_relaxed(overflowed, 1u);
            } else if (weights[i] != 0 && length == distance[targets[i]]) {
                store_relaxed(&predecessor[targets[i]], u);
            }
        }
    }
}

// The predecessors of the rest, along the arcs of weight zero, which are listed. A vertex gets one only from
// a vertex that has one. `changed` holds three words, the first of them zero. For the whole grid.
__device__ inline void follow_zero_arcs(const cooperative_groups::grid_group& grid, const uint2* zero_arcs,
                                        u32 n_zero_arcs, const u32* distance, u32* predecessor, u32* changed)
{
    for (u32 round = 0;; ++round) {
        if (thread_id() == 0) changed[(round + 1) % 3] = 0;
        for (u32 i = thread_id(); i < n_zero_arcs; i += thread_count()) {
            uint2 arc = zero_arcs[i];
            if (distance[arc.x] != distance[arc.y] || load_relaxed(&predecessor[arc.x]) == NO_PREDECESSOR)
                continue;
            if (load_relaxed(&predecessor[arc.y]) != NO_PREDECESSOR) continue;
            atomicCAS(&predecessor[arc.y], NO_PREDECESSOR, arc.x);
            store_relaxed(&changed[round % 3], 1u);
        }
        grid.sync();
        if (load_relaxed(&changed[round % 3]) == 0) return;
    }
}
