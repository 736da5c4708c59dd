// Bellman-Ford as a min-plus product with a matrix in ELLPACK, y = min(x, A^T x), repeated until y = x.
//
// ELLPACK stores as many columns as the longest row has entries, each with a place for every row. With one
// thread per row, neighbouring threads read neighbouring words (Bell and Garland, SC 2009). Shorter rows are
// padded at the end, so graphs with hubs do not fit.
//
// As on CSR (spmv_csr.cu), the product pulls along incoming arcs, and two vectors alternate. A phase moves at
// least 8 bytes per arc, and x and y once each.

#include "_rows.cuh"

__device__ const u32 PADDING = 0xffffffffu;

// Copies the rows of a CSR matrix into columns of `stride` places.
extern "C" __global__ void fill_columns(u32 n, u32 stride, u32 width, const i64* __restrict__ offsets,
                                        const u32* __restrict__ csr_tails,
                                        const weight_t* __restrict__ csr_weights, u32* __restrict__ tails,
                                        weight_t* __restrict__ weights)
{
    u32 v = thread_id();
    if (v >= n) return;
    i64 arc = offsets[v];
    i64 end = offsets[v + 1];
    u64 place = v;
    for (u32 column = 0; column < width; ++column, ++arc, place += stride) {
        tails[place] = arc < end ? csr_tails[arc] : PADDING;
        weights[place] = arc < end ? csr_weights[arc] : 0;
    }
}

extern "C" __global__ void relax_rows(u32 n, u32 stride, u32 width, const u32* __restrict__ tails,
                                      const weight_t* __restrict__ weights, const length_t* __restrict__ x,
                                      length_t* __restrict__ y, u32* __restrict__ predecessor, u32 phase,
                                      u32* last_phase)
{
    u32 v = thread_id();
    bool changed = false;
    if (v < n) {
        Nearest nearest;
        u64 place = v;
        for (u32 column = 0; column < width; ++column, place += stride) {
            u32 u = __ldcs(tails + place);
            if (u == PADDING) break;
            nearest.offer(extended(x[u], __ldcs(weights + place)), u);
        }
        changed = settle(v, nearest, x, y, predecessor);
    }
    report_change(changed, phase, last_phase);
}

// Sets `overflow` if an arc leads from a reached vertex to an unreached one: the type does not hold its
// length.
extern "C" __global__ void find_overflow(u32 n, u32 stride, u32 width, const u32* __restrict__ tails,
                                         const length_t* __restrict__ distance, u32* overflow)
{
    u32 v = thread_id();
    if (v >= n || distance[v] != NO_PATH) return;
    u64 place = v;
    for (u32 column = 0; column < width && tails[place] != PADDING; ++column, place += stride) {
        if (distance[tails[place]] != NO_PATH) store_relaxed(overflow, 1u);
    }
}
