// One pass over the degrees of a graph; see _maps.py.

#include "device/block_sum.cuh"

// Adds the number of vertices that have arcs to found[0], and raises found[1] to the largest out-degree.
extern "C" __global__ void __launch_bounds__(256)
    survey_degrees(u32 n, const i64* __restrict__ offsets, u64* found)
{
    u64 with_arcs[1] = {};
    u32 largest = 0;
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        i64 degree = offsets[v + 1] - offsets[v];
        with_arcs[0] += degree != 0;
        largest = max(largest, static_cast<u32>(min(degree, static_cast<i64>(UNREACHED))));
    }
    largest = __reduce_max_sync(ALL_LANES, largest);
    if (threadIdx.x % WARP == 0 && largest > load_relaxed(&found[1])) {
        atomicMax(&found[1], static_cast<u64>(largest));
    }
    add_block_sums(with_arcs, found);
}
