// Johnson's potentials: weights that are not negative, and the distances that theirs stand for. An arc u -> v
// of weight w gets w + h(u) - h(v), so a path from s to t gets its length + h(s) - h(t).

#ifndef INT32_LENGTHS
#define INT32_LENGTHS  // only weights of this type may be negative
#endif
#include "problems/sssp/_lengths.cuh"

// Writes the new weights, one warp per vertex. `too_large` is set if 32 bits do not hold one.
extern "C" __global__ void reweight(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                    const int* __restrict__ weights, const i64* __restrict__ potentials,
                                    u32* __restrict__ reweighted, u32* too_large)
{
    u32 u = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (u >= n) return;
    i64 end = offsets[u + 1];
    for (i64 i = offsets[u] + threadIdx.x % WARP; i < end; i += WARP) {
        i64 weight = weights[i] + potentials[u] - potentials[targets[i]];
        if (weight >= UNREACHED) store_relaxed(too_large, 1u);
        reweighted[i] = static_cast<u32>(weight);
    }
}

// Turns distances along new weights into words of those along the old ones. A vertex at a length that int32
// does not hold counts as unreached, and `overflow` is set. Predecessors are left to the caller, who needs
// the whole tree to find what hangs on such a vertex.
template <typename Found>
__global__ void map_back(u32 n, u32 source, const i64* __restrict__ potentials,
                         const Found* __restrict__ found, u32* __restrict__ words, u32* overflow)
{
    u32 v = thread_id();
    if (v >= n) return;
    words[v] = NO_PATH;
    if (found[v] == static_cast<Found>(~static_cast<Found>(0))) return;
    i64 length = static_cast<i64>(found[v]) - potentials[source] + potentials[v] + ZERO_LENGTH;
    if (length <= TOO_SHORT || length >= NO_PATH) {
        store_relaxed(overflow, 1u);
    } else {
        words[v] = static_cast<u32>(length);
    }
}

template __global__ decltype(map_back<u32>) map_back<u32>;
template __global__ decltype(map_back<u64>) map_back<u64>;
