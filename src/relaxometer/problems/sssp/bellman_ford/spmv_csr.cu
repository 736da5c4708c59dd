// Bellman-Ford as a min-plus sparse matrix-vector product on CSR, y = min(x, A^T x), repeated until y = x.
//
// The survey names the method but gives no kernel. These are the three usual mappings of rows, after Bell and
// Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors" (SC 2009),
// and Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication" (SC 2016):
//   scalar  one thread per row: neighbouring threads read distant arcs, so loads are not coalesced;
//   vector  one warp per row: coalesced, but short rows leave lanes idle, and a hub occupies a single warp;
//   merge   the arcs and the ends of rows are merged into one list, which is cut into equal tiles.
//
// The product pulls: a row gathers from the tails of the arcs into its vertex, so each vertex has one writer
// and needs no atomics. The rows are those of the transpose. Two vectors alternate, so a phase reads only
// values of the phase before: answers and phases do not depend on the order of threads.
//
// A phase moves at least 8 bytes per arc, one offset per row, and x and y once each. The gathers from x
// decide the rest: 4 bytes per vertex, 16 MB at 2^22 vertices, which a second-level cache of 50 MB holds.

#include "_rows.cuh"

template <typename Index>
__global__ void relax_scalar(u32 n, const Index* __restrict__ offsets, const u32* __restrict__ tails,
                             const weight_t* __restrict__ weights, const length_t* __restrict__ x,
                             length_t* __restrict__ y, u32* __restrict__ predecessor, u32 phase,
                             u32* last_phase)
{
    u32 v = thread_id();
    bool changed = false;
    if (v < n) {
        Nearest nearest;
        Index end = offsets[v + 1];
        for (Index i = offsets[v]; i < end; ++i) {
            u32 u = tails[i];
            nearest.offer(extended(x[u], weights[i]), u);
        }
        changed = settle(v, nearest, x, y, predecessor);
    }
    report_change(changed, phase, last_phase);
}

template <typename Index>
__global__ void relax_vector(u32 n, const Index* __restrict__ offsets, const u32* __restrict__ tails,
                             const weight_t* __restrict__ weights, const length_t* __restrict__ x,
                             length_t* __restrict__ y, u32* __restrict__ predecessor, u32 phase,
                             u32* last_phase)
{
    u32 lane = threadIdx.x % WARP;
    u32 v = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    bool changed = false;
    if (v < n) {
        Nearest nearest;
        Index end = offsets[v + 1];
#pragma unroll 4
        for (Index i = offsets[v] + lane; i < end; i += WARP) {
            u32 u = __ldcs(tails + i);
            nearest.offer(extended(x[u], __ldcs(weights + i)), u);
        }
        length_t least = least_of_warp(nearest.distance);
        u32 holders = __ballot_sync(ALL_LANES, nearest.distance == least);
        nearest.tail = __shfl_sync(ALL_LANES, nearest.tail, __ffs(holders) - 1);
        nearest.distance = least;
        if (lane == 0) changed = settle(v, nearest, x, y, predecessor);
    }
    report_change(changed, phase, last_phase);
}

// Items of the merged list per thread; odd, so that neighbouring threads access different banks.
const u32 ITEMS_PER_THREAD = 7;
const u32 THREADS = 256;
const u32 TILE_ITEMS = ITEMS_PER_THREAD * THREADS;
const u64 NO_PAIR = ~0ull;

// 64-bit lengths leave no bits for a tail; then the host finds predecessors at the end.
__device__ __forceinline__ u64 packed(length_t length, u32 tail)
{
    if (WIDE_LENGTHS) return length;
    return static_cast<u64>(length) << 32 | tail;
}

__device__ __forceinline__ Nearest unpacked(u64 pair)
{
    Nearest nearest;
    nearest.offer(static_cast<length_t>(pair >> (WIDE_LENGTHS ? 0 : 32)),
                  WIDE_LENGTHS ? 0 : static_cast<u32>(pair));
    return nearest;
}

// The number of rows that end before item `item` of the merged list: end i is item ends[i] + i.
__device__ __forceinline__ u32 ends_before(u32 item, const u32* ends, u32 count)
{
    u32 low = 0;
    u32 high = count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (ends[middle] + middle < item) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Goes through this thread's items of the tile's merged list, and lowers `best` of each row among them.
__device__ __forceinline__ void merge_items(const u64* length_of, u32 arcs, const u32* ends, u32 rows,
                                            u64* best)
{
    u32 item = min(threadIdx.x * ITEMS_PER_THREAD, rows + arcs);
    u32 last_item = min(item + ITEMS_PER_THREAD, rows + arcs);
    u32 row = ends_before(item, ends, rows);
    u64 nearest = NO_PAIR;
    bool whole = false;  // whether the row began in this thread
    for (; item < last_item; ++item) {
        u32 arc = item - row;
        if (row == rows || arc < ends[row]) {
            nearest = min(nearest, length_of[arc]);
            continue;
        }
        if (whole) {
            best[row] = nearest;
        } else {
            atomicMin(best + row, nearest);
        }
        nearest = NO_PAIR;
        whole = true;
        ++row;
    }
    if (nearest != NO_PAIR) atomicMin(best + row, nearest);
}

// One block per tile of TILE_ITEMS items; a tile begins in row tile_rows[tile]. Coalesced loads first put the
// lengths of the tile's arcs into shared memory. Then each thread goes through its own items, and atomic
// minima combine rows that several threads share. The tile settles the rows that end in it, and puts its part
// of the unfinished row into carry[tile].
template <typename Index>
__global__ void __launch_bounds__(THREADS)
    relax_merge(u32 n, const Index* __restrict__ offsets, const u32* __restrict__ tails,
                const weight_t* __restrict__ weights, const u32* __restrict__ tile_rows,
                const length_t* __restrict__ x, length_t* __restrict__ y, u32* __restrict__ predecessor,
                u64* __restrict__ carry, u32 phase, u32* last_phase)
{
    __shared__ u64 pairs[TILE_ITEMS + 1];
    __shared__ u32 ends[TILE_ITEMS];
    u32 tile = blockIdx.x;
    u32 first_row = tile_rows[tile];
    u32 rows = tile_rows[tile + 1] - first_row;
    Index first_arc = static_cast<Index>(tile) * TILE_ITEMS - first_row;
    Index arcs_left = offsets[n] - first_arc;
    u32 arcs = arcs_left < TILE_ITEMS - rows ? static_cast<u32>(arcs_left) : TILE_ITEMS - rows;
    u64* length_of = pairs;
    u64* best = pairs + arcs;  // of the rows that end here, then of the unfinished one
#pragma unroll 4
    for (u32 i = threadIdx.x; i < arcs; i += THREADS) {
        u32 u = __ldcs(tails + first_arc + i);
        length_of[i] = packed(extended(x[u], __ldcs(weights + first_arc + i)), u);
    }
    for (u32 i = threadIdx.x; i <= rows; i += THREADS) {
        if (i < rows) ends[i] = static_cast<u32>(offsets[first_row + i + 1] - first_arc);
        best[i] = NO_PAIR;
    }
    __syncthreads();

    merge_items(length_of, arcs, ends, rows, best);
    __syncthreads();

    bool changed = false;
    for (u32 i = threadIdx.x; i < rows; i += THREADS) {
        changed |= settle(first_row + i, unpacked(best[i]), x, y, predecessor);
    }
    if (threadIdx.x == 0) carry[tile] = best[rows];
    report_change(changed, phase, last_phase);
}

// Combines the rows that several tiles share. The thread of the first tile after the row begins takes the
// carries of all tiles before the row's end; the tile of the end has settled the row with its own part.
extern "C" __global__ void settle_carries(u32 tiles, u32 n, const u32* __restrict__ tile_rows,
                                          const u64* __restrict__ carry, length_t* __restrict__ y,
                                          u32* __restrict__ predecessor, u32 phase, u32* last_phase)
{
    u32 tile = thread_id() + 1;
    bool changed = false;
    if (tile < tiles && (tile == 1 || tile_rows[tile - 1] != tile_rows[tile])) {
        u32 v = tile_rows[tile];
        u64 least = NO_PAIR;
        for (; tile < tiles && tile_rows[tile] == v; ++tile) {
            least = min(least, carry[tile - 1]);
        }
        Nearest nearest = unpacked(least);
        if (v < n && nearest.distance < y[v]) {
            y[v] = nearest.distance;
            predecessor[v] = nearest.tail;
            changed = true;
        }
    }
    report_change(changed, phase, last_phase);
}

// Sets `overflow` if an arc leads from a reached vertex to an unreached one: the type does not hold its
// length.
template <typename Index>
__global__ void find_overflow(u32 n, const Index* __restrict__ offsets, const u32* __restrict__ tails,
                              const length_t* __restrict__ distance, u32* overflow)
{
    u32 v = thread_id();
    if (v >= n || distance[v] != NO_PATH) return;
    Index end = offsets[v + 1];
    for (Index i = offsets[v]; i < end; ++i) {
        if (distance[tails[i]] != NO_PATH) {
            store_relaxed(overflow, 1u);
            return;
        }
    }
}

template __global__ decltype(relax_scalar<u32>) relax_scalar<u32>;
template __global__ decltype(relax_scalar<i64>) relax_scalar<i64>;
template __global__ decltype(relax_vector<u32>) relax_vector<u32>;
template __global__ decltype(relax_vector<i64>) relax_vector<i64>;
template __global__ decltype(relax_merge<u32>) relax_merge<u32>;
template __global__ decltype(relax_merge<i64>) relax_merge<i64>;
template __global__ decltype(find_overflow<u32>) find_overflow<u32>;
template __global__ decltype(find_overflow<i64>) find_overflow<i64>;
