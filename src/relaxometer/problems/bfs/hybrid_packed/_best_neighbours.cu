// Packs the best neighbours of every vertex, once per graph; see _best_neighbours.cuh.

#include "_best_neighbours.cuh"

const u32 BEST = OTHERS + 1;
const u32 NO_RANK = 0xffffffffu;

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

// A warp takes a row. Each lane keeps the best of its arcs, and the warp takes the best of all, one by one.
// It looks at the first `most` arcs only: a vertex with more arcs is marked as having others. `rank` numbers
// the vertices, `ids` inverts it. `best` gets the packed best neighbour of each vertex, `best_ids` its id,
// and `others` the next ones.
extern "C" __global__ void __launch_bounds__(256)
    pack_neighbours(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ targets,
                    const u32* __restrict__ rank, const u32* __restrict__ ids, u32 n_hubs, u32 most,
                    u32* best, u32* best_ids, u32* others)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 v = thread_id() / WARP; v < n; v += thread_count() / WARP) {
        u32 self = static_cast<u32>(v);
        i64 begin = offsets[v], end = offsets[v + 1];
        i64 looked_at = min(end, begin + most);
        u32 ranks[BEST] = {NO_RANK, NO_RANK, NO_RANK, NO_RANK, NO_RANK};
        for (i64 i = begin + lane; i < looked_at; i += WARP) {
            u32 u = targets[i];
            if (u != self) insert(ranks, rank[u]);
        }
        u32 own = NO_RANK;  // the lane'th best of the row
        u32 found = 0;
        for (u32 k = 0; k < BEST; ++k) {
            u32 least = __reduce_min_sync(ALL_LANES, ranks[0]);
            found += least != NO_RANK;
            if (lane == k) own = least;
            if (ranks[0] != least || least == NO_RANK) continue;
#pragma unroll
            for (u32 j = 1; j < BEST; ++j) ranks[j - 1] = ranks[j];
            ranks[BEST - 1] = NO_RANK;
        }
        if (lane >= BEST) continue;
        u32 id = own == NO_RANK ? self : ids[own];
        u32 packed = own < n_hubs ? IS_RANK | own : id;
        if (lane == 0) {
            best_ids[v] = id;
            bool has_unseen = looked_at < end;
            u32 row = found > 1 || has_unseen ? HAS_OTHERS : 0;
            if (end - begin > BEST || has_unseen) row |= MAY_HAVE_FURTHER;
            best[v] = packed | row | (rank[v] < n_hubs ? SELF_HUB : 0);
        } else {
            others[OTHERS * v + lane - 1] = packed;
        }
    }
}
