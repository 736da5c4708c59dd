// Dominators of thousands of vertices by bitmasks of many words: the paper's fixed point widened.
//
// Bit d of Dom(v) depends only on bit d of the sets of v's predecessors, so each word of the sets is solved
// independently. A block takes 64 candidates and keeps, for every vertex, the word that says which of them
// dominate it, in shared memory if it fits. It sweeps over the vertices until its words no longer change.
// Persistent blocks take words from a queue; none waits for another.
//
// Vertices have breadth-first numbers. Threads intersect in place: sets only shrink, and a later sweep reads
// again what was read too early.
//
// A second kernel finds the immediate dominators. The dominators of v form a chain, so its immediate
// dominator is the one that has one dominator less than v.

#include "device/constants.cuh"

// Writes the lists of predecessors by number; unreached ones become UNREACHED.
extern "C" __global__ void renumber(u32 n, const i64* __restrict__ predecessor_offsets,
                                    const u32* __restrict__ predecessors, const u32* __restrict__ number,
                                    u32* __restrict__ by_number)
{
    u32 v = thread_id();
    if (v >= n) return;
    for (i64 i = predecessor_offsets[v]; i < predecessor_offsets[v + 1]; ++i) {
        by_number[i] = number[predecessors[i]];
    }
}

// The dynamic shared memory holds `capacity` words; `masks` holds `reached` words for every 64 vertices;
// `sizes` are zeros.
extern "C" __global__ void intersect(const u32* __restrict__ reached, const u32* __restrict__ order,
                                     const i64* __restrict__ predecessor_offsets,
                                     const u32* __restrict__ by_number, u32 capacity, u64* masks, u32* sizes,
                                     u32* queue, u32* most_sweeps)
{
    extern __shared__ u64 words[];
    __shared__ u32 ticket;
    u32 n = *reached;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) ticket = atomicAdd(queue, 1u);
        __syncthreads();
        u64 first = static_cast<u64>(ticket) * 64;
        if (first >= n) break;
        u64* kept = masks + static_cast<u64>(ticket) * n;
        u64* word = n <= capacity ? words : kept;
        for (u32 v = threadIdx.x; v < n; v += blockDim.x)
            store_relaxed(&word[v], v == 0 ? u64(first == 0) : ~0ull);
        u32 sweeps = 0;
        bool changed = true;
        while (changed) {
            ++sweeps;
            bool shrunk = false;
            __syncthreads();
            for (u32 v = threadIdx.x; v < n; v += blockDim.x) {
                if (v == 0) continue;
                u32 vertex = order[v];
                u64 set = ~0ull;
                for (i64 i = predecessor_offsets[vertex]; i < predecessor_offsets[vertex + 1]; ++i) {
                    u32 p = by_number[i];
                    if (p != UNREACHED) set &= load_relaxed(&word[p]);
                }
                if (v >= first && v - first < 64) set |= 1ull << (v - first);
                if (set == load_relaxed(&word[v])) continue;
                store_relaxed(&word[v], set);
                shrunk = true;
            }
            changed = __syncthreads_or(shrunk);
        }
        if (threadIdx.x == 0) atomicMax(most_sweeps, sweeps);
        for (u32 v = threadIdx.x; v < n; v += blockDim.x) {
            u64 set = load_relaxed(&word[v]);
            if (word != kept) kept[v] = set;
            if (set) atomicAdd(&sizes[v], static_cast<u32>(__popcll(static_cast<i64>(set))));
        }
    }
}

// One thread per reached vertex; `idom` is filled with NO_DOMINATOR.
extern "C" __global__ void nearest_dominators(const u32* __restrict__ reached, const u32* __restrict__ order,
                                              const u64* __restrict__ masks, const u32* __restrict__ sizes,
                                              u32* __restrict__ idom)
{
    u32 n = *reached;
    u32 v = thread_id();
    if (v >= n) return;
    if (v == 0) idom[order[0]] = order[0];
    for (u32 first = 0, k = 0; first < v; first += 64, ++k) {
        u64 set = masks[static_cast<u64>(k) * n + v];
        for (; set; set &= set - 1) {
            u32 d = first + static_cast<u32>(__ffsll(static_cast<i64>(set))) - 1;
            if (sizes[d] + 1 == sizes[v]) idom[order[v]] = order[d];
        }
    }
}
