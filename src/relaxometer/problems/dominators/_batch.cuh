// Shared by the kernels for batches: one graph of a batch, and its solution by a block.

#pragma once

#include "_tree.cuh"

__device__ const u32 NO_PARENT = 0xffffffffu;
__device__ const u32 THREADS = 128;  // per block
// Shared memory for a tree; larger trees are built in the array of the answer.
__device__ const u32 TREE_WORDS = 8192;

// One graph: its vertices are 0 to n - 1 in reverse post-order; all are reached from 0, the entry.
struct FlowGraph {
    u32 n;
    const i64* offsets;
    const u32* targets;
    u32* idom;
};

__device__ __forceinline__ FlowGraph graph_of_batch(u32 graph, const i64* first_vertex, const i64* offsets,
                                                    const u32* targets, u32* idom)
{
    i64 first = first_vertex[graph];
    u32 n = static_cast<u32>(first_vertex[graph + 1] - first);
    return {n, offsets + first, targets, idom + first};
}

// Takes the next ticket of a queue for the block; `ticket` is in shared memory.
__device__ __forceinline__ u32 next_ticket(u32* queue, u32* ticket)
{
    __syncthreads();
    if (threadIdx.x == 0) *ticket = atomicAdd(queue, 1u);
    __syncthreads();
    return *ticket;
}

// Moves vertices up the tree until nothing changes. Threads take vertices in reverse post-order, so later
// vertices of a sweep see what earlier ones moved, and few sweeps are needed. `parent` holds n words, in
// shared memory if they fit.
__device__ __forceinline__ void solve_by_block(const FlowGraph& graph, u32* parent)
{
    for (u32 v = threadIdx.x; v < graph.n; v += blockDim.x) store_relaxed(&parent[v], v == 0 ? 0 : NO_PARENT);
    __syncthreads();
    for (u32 u = threadIdx.x; u < graph.n; u += blockDim.x) {
        i64 end = graph.offsets[u + 1];
        for (i64 i = graph.offsets[u]; i < end; ++i) {
            u32 w = graph.targets[i];
            if (u < w) atomicMin(&parent[w], u);
        }
    }
    __syncthreads();
    bool changed = true;
    while (changed) {
        bool moved = false;
        for (u32 u = threadIdx.x; u < graph.n; u += blockDim.x) {
            i64 end = graph.offsets[u + 1];
            for (i64 i = graph.offsets[u]; i < end; ++i) {
                u32 w = graph.targets[i];
                if (w != 0 && follow_arc(parent, u, w)) moved = true;
            }
        }
        changed = __syncthreads_or(moved);
    }
    if (parent == graph.idom) return;
    for (u32 v = threadIdx.x; v < graph.n; v += blockDim.x) graph.idom[v] = parent[v];
}
