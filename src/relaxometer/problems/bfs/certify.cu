// Proof that levels and predecessors are those of a breadth-first search: Graph500's five rules, for arcs.
//
// If the source is at level 0, every other reached vertex is one level below a predecessor with an arc to it,
// no arc leads more than one level down and none leaves the reached set, then each level is the number of
// arcs on a real path and no path has fewer. Levels fall along predecessors, so these cannot form a cycle.

#include "device/constants.cuh"
#include "problems/_arc_search.cuh"
#include "problems/certificate.cuh"

enum Rule { TREE, TREE_LEVELS, ARC_LEVELS, SPANNING, TREE_ARCS };

// Rules ARC_LEVELS and SPANNING, a warp per row: a thread would take too long for a Kronecker graph's hubs.
extern "C" __global__ void check_arcs(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                      const u32* __restrict__ level, u64* report)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 u = thread_id() / WARP; u < n; u += thread_count() / WARP) {
        u32 own = level[u];
        if (own == UNREACHED) continue;
        i64 end = offsets[u + 1];
        for (i64 i = offsets[u] + lane; i < end; i += WARP) {
            u32 v = targets[i];
            if (level[v] == UNREACHED) {
                broken(report, SPANNING, v);
            } else if (level[v] > own && level[v] - own > 1) {
                broken(report, ARC_LEVELS, v);
            }
        }
    }
}

// Returns whether there is an arc from u to v; targets ascend within a row.
__device__ bool has_arc(const i64* offsets, const u32* targets, u32 u, u32 v)
{
    i64 low = lower_bound(offsets, targets, u, v);
    return low < offsets[u + 1] && targets[low] == v;
}

// Rules TREE, TREE_LEVELS and TREE_ARCS.
extern "C" __global__ void check_tree(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                      u32 source, const u32* __restrict__ level,
                                      const u32* __restrict__ predecessor, u64* report)
{
    for (u64 v = thread_id(); v < n; v += thread_count()) {
        u32 own = level[v];
        u32 u = predecessor[v];
        if (v == source) {
            if (own != 0 || u != v) broken(report, TREE, v);
        } else if (own == UNREACHED) {
            if (u != UNREACHED) broken(report, TREE, v);
        } else if (u >= n || level[u] == UNREACHED) {
            broken(report, TREE, v);
        } else {
            if (level[u] >= own) broken(report, TREE, v);
            if (level[u] >= own || own - level[u] != 1) broken(report, TREE_LEVELS, v);
            if (!has_arc(offsets, targets, u, v)) broken(report, TREE_ARCS, v);
        }
    }
}
