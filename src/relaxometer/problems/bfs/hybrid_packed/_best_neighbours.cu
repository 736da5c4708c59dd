// Packs the best neighbours of every vertex, once per graph; see _best_neighbours.cuh.

#include "_best_neighbours.cuh"

const u32 BEST = OTHERS + 1;
const u32 NO_RANK = 0xffffffffu;
const u32 IN_FLIGHT = 4;  // arcs that a lane reads at once

// Inserts a rank into ascending ranks, of which the greatest is dropped, unless it is there already.
__device__ __forceinline__ void insert(u32 (&ranks)[BEST], u32 rank)
{
    if (rank >= ranks[BEST - 1]) return;
#pragma unroll
    for (u32 k = 0; k < BEST; ++k) {
        if (rank == ranks[k]) return;
    }
#pragma unroll
    for (u32 k = BEST - 1; k > 0; --k) {
        ranks[k] = rank < ranks[k - 1] ? ranks[k - 1] : min(rank, ranks[k]);
    }
    ranks[0] = min(rank, ranks[0]);
}

// Each of `lanes`, a power of two above the number of best ones, keeps the best of its arcs of a row, and
// they take the best of all, one by one. They look at the first `most` arcs only: a vertex with more arcs is
// marked as having others. The rows are those of `n` vertices from `first_vertex` on. `rank` numbers all
// vertices, `ids` inverts it. `best` gets the packed best neighbour of each of the `n`, `best_ids` its id,
// and `others` the next ones.
extern "C" __global__ void __launch_bounds__(256)
    pack_neighbours(u32 n, u32 first_vertex, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                    const u32* __restrict__ rank, const u32* __restrict__ ids, u32 n_hubs, u32 most,
                    u32 lanes, u32* best, u32* best_ids, u32* others)
{
    u32 lane = threadIdx.x % lanes;
    u32 rows = WARP / lanes;
    u64 step = thread_count() / WARP * rows;
    for (u64 first = thread_id() / WARP * rows; first < n; first += step) {
        u64 v = first + threadIdx.x % WARP / lanes;
        u32 self = first_vertex + static_cast<u32>(v);
        i64 begin = v < n ? offsets[v] : 0, end = v < n ? offsets[v + 1] : 0;
        i64 looked_at = min(end, begin + most);
        u32 ranks[BEST] = {NO_RANK, NO_RANK, NO_RANK, NO_RANK, NO_RANK};
        for (i64 i = begin + lane; i < looked_at; i += lanes * IN_FLIGHT) {
            u32 heads[IN_FLIGHT], found[IN_FLIGHT];
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) heads[j] = targets[min(i + j * lanes, looked_at - 1)];
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) found[j] = rank[heads[j]];
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) {
                if (heads[j] != self) insert(ranks, found[j]);
            }
        }
        u32 own = NO_RANK;  // the lane'th best of the row
        u32 n_found = 0;
        for (u32 k = 0; k < BEST; ++k) {
            u32 least = ranks[0];
            for (u32 distance = lanes / 2; distance > 0; distance /= 2) {
                least = min(least, __shfl_xor_sync(ALL_LANES, least, distance));
            }
            n_found += least != NO_RANK;
            if (lane == k) own = least;
            if (ranks[0] == least) {
#pragma unroll
                for (u32 j = 1; j < BEST; ++j) ranks[j - 1] = ranks[j];
                ranks[BEST - 1] = NO_RANK;
            }
        }
        if (v >= n || lane >= BEST) continue;
        u32 id = own == NO_RANK ? self : ids[own];
        u32 packed = own < n_hubs ? IS_RANK | own : id;
        if (lane == 0) {
            best_ids[v] = id;
            bool has_unseen = looked_at < end;
            u32 row = n_found > 1 || has_unseen ? HAS_OTHERS : 0;
            if (end - begin > BEST || has_unseen) row |= MAY_HAVE_FURTHER;
            best[v] = packed | row | (rank[self] < n_hubs ? SELF_HUB : 0);
        } else {
            others[OTHERS * v + lane - 1] = packed;
        }
    }
}
