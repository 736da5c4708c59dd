// Checks the arcs of a rank's block, for levels (weights are null: every arc has length 1) or distances.
// certify.cu of problems/sssp and problems/bfs explain why the rules prove an answer.

#include "device/constants.cuh"

enum Rule { LEFT_OUT, OVERSTRETCHED };

// Marks of a head: its predecessor has an arc to it, and that arc is tight.
const u32 IS_ARC = 1, IS_TIGHT = 2;

__device__ void broken(u64* report, Rule rule, u32 v)
{
    atomicAdd(&report[2 * rule], 1ull);
    atomicMin(&report[2 * rule + 1], static_cast<u64>(v));
}

// `predecessor` is a tail of this rank, or NO_PREDECESSOR if the arc from it is not in this block. Reports
// name heads. A warp takes a row.
extern "C" __global__ void check_arcs(u32 n_tails, const i64* __restrict__ offsets,
                                      const u32* __restrict__ targets, const u32* __restrict__ weights,
                                      const u32* __restrict__ of_tails, const u32* __restrict__ of_heads,
                                      const u32* __restrict__ predecessor, u32* marks, u64* report)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 u = thread_id() / WARP; u < n_tails; u += thread_count() / WARP) {
        u32 own = of_tails[u];
        for (i64 i = offsets[u] + lane; i < offsets[u + 1]; i += WARP) {
            u32 v = targets[i];
            u64 through = static_cast<u64>(own) + (weights ? weights[i] : 1);
            if (own == UNREACHED) {
                if (predecessor[v] == u) atomicOr(&marks[v], IS_ARC);
                continue;
            }
            if (of_heads[v] == UNREACHED) {
                broken(report, LEFT_OUT, v);
            } else if (through < of_heads[v]) {
                broken(report, OVERSTRETCHED, v);
            }
            if (predecessor[v] == u) {
                u32 mark = IS_ARC | (through == of_heads[v] ? IS_TIGHT : 0);
                atomicOr(&marks[v], mark);
            }
        }
    }
}
