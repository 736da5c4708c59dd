// Dominators of up to 32 vertices by one warp: the paper's bitmask fixed point in a persistent kernel.
//
// Dom(v) is a word whose bit d says that d dominates v. All sets except the root's start full. Lane v repeats
// Dom(v) = {v} | AND of Dom(p) over its predecessors p, until a ballot finds that no lane changed. The sets
// are in shared memory; as in the paper, `initialize` writes the first ones and the labels of the Gray code
// to global memory.
//
// Deviations from the paper, each of them an error there:
//   - The immediate dominator is the strict dominator with the most dominators of its own. The paper takes
//     the one with the highest number, which is wrong unless vertices are numbered in reverse post-order. The
//     dominators of a vertex form a chain, so the sizes of their sets give their order.
//   - Unreached vertices keep the full set, which is also the right set of the last vertex of a chain. So a
//     second ballot tracks what the root reaches. Full sets of unreached predecessors change no intersection.
//   - With 32 vertices, (1 << n) - 1 shifts by the width of the word; here the full set is shifted down.
//   - The block is a whole warp for any number of vertices. The paper's block has n threads, so its ballot
//     over the full mask is undefined.
//   - The paper's lanes read sets while others write them. Here a round stores after a barrier.

#include "device/constants.cuh"

__device__ const u32 NO_DOMINATOR = 0xffffffffu;

__device__ __forceinline__ u32 full_set(u32 n)
{
    return 0xffffffffu >> (32 - n);
}

extern "C" __global__ void initialize(u32 n, u32 root, u32* __restrict__ dominators, u32* __restrict__ gray)
{
    u32 v = thread_id();
    if (v >= n) return;
    gray[v] = v ^ (v >> 1);
    dominators[v] = v == root ? 1u << v : full_set(n);
}

// The immediate dominator among the strict ones: the one with the most dominators of its own.
__device__ __forceinline__ u32 nearest_of(u32 strict, const u32* sets)
{
    u32 nearest = NO_DOMINATOR;
    int most = 0;
    for (; strict; strict &= strict - 1) {
        u32 d = __ffs(strict) - 1;
        int size = __popc(sets[d]);
        if (size > most) {
            most = size;
            nearest = d;
        }
    }
    return nearest;
}

extern "C" __global__ void persistent_idom(u32 n, u32 root, const i64* __restrict__ predecessor_offsets,
                                           const u32* __restrict__ predecessors, u32* __restrict__ dominators,
                                           u32* __restrict__ idom, u32* __restrict__ rounds)
{
    __shared__ u32 sets[32];
    u32 v = threadIdx.x;
    bool is_vertex = v < n;
    u32 own = 1u << v;
    u32 begin = is_vertex ? static_cast<u32>(__ldg(&predecessor_offsets[v])) : 0;
    u32 end = is_vertex ? static_cast<u32>(__ldg(&predecessor_offsets[v + 1])) : 0;
    u32 set = is_vertex ? dominators[v] : 0;
    sets[v] = set;
    __syncwarp();

    u32 before = 0;
    for (u32 i = begin; i < end; ++i) before |= 1u << __ldg(&predecessors[i]);
    u32 reached = 1u << root;
    u32 round = 0;
    bool changed = true;
    while (changed) {
        ++round;
        u32 smaller = set;
        if (is_vertex && v != root) {
            smaller = full_set(n);
            for (u32 i = begin; i < end; ++i) smaller &= sets[__ldg(&predecessors[i])];
            smaller |= own;
        }
        __syncwarp();
        sets[v] = smaller;
        u32 lowered = __ballot_sync(ALL_LANES, smaller != set);
        u32 entered = __ballot_sync(ALL_LANES, v == root || (before & reached));
        changed = lowered != 0 || entered != reached;
        set = smaller;
        reached = entered;
        __syncwarp();
    }

    if (v == 0) *rounds = round;
    if (!is_vertex) return;
    dominators[v] = set;
    u32 nearest = v == root ? v : NO_DOMINATOR;
    if (v != root && (reached & own)) nearest = nearest_of(set & ~own, sets);
    idom[v] = nearest;
}
