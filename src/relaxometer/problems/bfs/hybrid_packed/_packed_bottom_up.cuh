// The bottom-up levels of hybrid_packed.cu and of distributed/hybrid_peers.cu.
//
// A warp owns groups of vertices and what it lists of them, so warps share only what they read. The first
// bottom-up level scans the best neighbours of all open vertices. What stays open is on two lists of the
// warp, which grow towards each other: vertices with no other neighbour from the front, the others from the
// back. An entry holds a vertex in the low word and its packed best neighbour in the high word, so that a
// later level reads nothing else for most.

#pragma once

#include "_best_neighbours.cuh"
#include "problems/bfs/_bfs.cuh"

const u32 GROUP_WORDS = 8;       // words of a bitmap that a warp scans at a time, a sector of memory
const u32 MAX_HUB_WORDS = 8192;  // most words of the bitmap of hubs
const u32 ARCS_AT_ONCE = 8;      // arcs of a row that a lane reads at a time, a sector of memory

// What bottom-up levels read besides the bitmaps.
struct Packed {
    Rows rows;            // of incoming arcs
    u32 long_row;         // arcs of a row that a lane searches before its warp does
    const u32* best;      // packed best neighbours
    const u32* best_ids;  // the best neighbours' ids
    const u32* others;    // OTHERS further ones of each vertex, packed
    const u32* rank;
    const u32* ids;  // the vertex of each rank
};

// The bitmaps of a level. A vertex that was not visited when it began finds its parent among `now`: all that
// was visited, or only the frontier. `own` and `next` are the vertices searched for that were visited when it
// began and when it ends. Kernels derive `Visited` from this, with the function `mark_hub(rank)` for what is
// found.
struct Bitmaps {
    const u32* now;
    const u32* hubs_now;  // in shared memory
    const u32* own;
    u32* next;

    __device__ __forceinline__ bool contains_packed(u32 entry) const
    {
        u32 id = entry & PACKED_ID;
        if (entry & IS_RANK) return contains(hubs_now, id);
        return contains(now, id);
    }
};

// Where a level's answers go. The answer of vertices from `deferred_from` on is written later: one found by
// its best neighbour is only a bit of the next bitmap; another parent is stored and the vertex marked in
// `stored`.
struct Answer {
    u32* level;
    u32* predecessor;
    u32* stored;
    u32 depth;
    u32 deferred_from;

    __device__ __forceinline__ void settle(u32 v, u32 parent) const
    {
        level[v] = depth + 1;
        predecessor[v] = parent;
    }
    __device__ __forceinline__ void settle_by_best(u32 v, const u32* best_ids) const
    {
        if (v < deferred_from) settle(v, read_only(&best_ids[v]));
    }
    __device__ __forceinline__ void settle_by_other(u32 v, u32 parent) const
    {
        if (v < deferred_from) {
            settle(v, parent);
            return;
        }
        predecessor[v] = parent;
        atomicOr(&stored[v / 32], bit_of(v));
    }
};

// Counts of a thread during a level.
struct Tally {
    u32 found;
    u32 examined;
    u32 open;
    u32 several;
    u64 arcs;
};

// The open vertices of a warp.
struct Lists {
    u64* entries;
    u32 capacity;
    u32 n_only;     // with no other neighbour, from the front
    u32 n_several;  // from the back
};

__device__ __forceinline__ u64 entry_of(u32 v, u32 best)
{
    return static_cast<u64>(best) << 32 | v;
}

// Probes the best neighbour of every open vertex of a group and lists the vertices that this does not settle.
template <typename Visited>
__device__ __forceinline__ void scan_group(const Packed& search, const Visited& visited, const Answer& answer,
                                           u32 group, Lists* lists, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32 below = (1u << lane) - 1;
    u32 word = group * GROUP_WORDS + lane % GROUP_WORDS;
    u32 visited_word = visited.own[word];
    u32 best[GROUP_WORDS];
    u32 open = 0, hits = 0;
#pragma unroll
    for (u32 j = 0; j < GROUP_WORDS; ++j) {
        u32 v = (group * GROUP_WORDS + j) * 32 + lane;
        bool is_open = !(__shfl_sync(ALL_LANES, visited_word, j) >> lane & 1);
        best[j] = is_open ? read_only(&search.best[v]) : 0;
        open |= is_open << j;
    }
#pragma unroll
    for (u32 j = 0; j < GROUP_WORDS; ++j) {
        hits |= ((open >> j & 1) && visited.contains_packed(best[j])) << j;
    }
    u32 next_word = visited_word;
#pragma unroll
    for (u32 j = 0; j < GROUP_WORDS; ++j) {
        u32 v = (group * GROUP_WORDS + j) * 32 + lane;
        bool hit = hits >> j & 1;
        if (hit && (best[j] & SELF_HUB)) visited.mark_hub(read_only(&search.rank[v]));
        if (hit) answer.settle_by_best(v, search.best_ids);
        u32 settled = __ballot_sync(ALL_LANES, hit);
        if (lane == j) next_word |= settled;
        bool missed = (open >> j & 1) && !hit;
        bool has_more = best[j] & HAS_OTHERS;
        u32 only = __ballot_sync(ALL_LANES, missed && !has_more);
        u32 several = __ballot_sync(ALL_LANES, missed && has_more);
        u32 at = has_more ? lists->capacity - 1 - lists->n_several - __popc(several & below)
                          : lists->n_only + __popc(only & below);
        if (missed) lists->entries[at] = entry_of(v, best[j]);
        lists->n_only += __popc(only);
        lists->n_several += __popc(several);
    }
    if (lane < GROUP_WORDS) visited.next[word] = next_word;
    tally->examined += __popc(open);
    tally->found += __popc(hits);
}

// Probes the other packed neighbours of a vertex, hubs first. Returns a parent or NO_PREDECESSOR.
__device__ __forceinline__ u32 probe_others(const Packed& search, const Bitmaps& visited, u32 v)
{
    const uint4 packed = read_only(&reinterpret_cast<const uint4*>(search.others)[v]);
    const u32 entries[OTHERS] = {packed.x, packed.y, packed.z, packed.w};
    u32 hub = NO_PREDECESSOR;
#pragma unroll
    for (u32 k = OTHERS; k > 0; --k) {
        u32 rank = entries[k - 1] & PACKED_ID;
        if ((entries[k - 1] & IS_RANK) && contains(visited.hubs_now, rank)) hub = rank;
    }
    if (hub != NO_PREDECESSOR) return read_only(&search.ids[hub]);
    u32 parent = NO_PREDECESSOR;
#pragma unroll
    for (u32 k = OTHERS; k > 0; --k) {
        u32 id = entries[k - 1] & PACKED_ID;
        if (!(entries[k - 1] & IS_RANK) && contains(visited.now, id)) parent = id;
    }
    return parent;
}

// Searches arcs of a row for a visited head, a sector of memory at a time.
__device__ __forceinline__ u32 search_arcs(const u32* targets, i64 begin, i64 end, const u32* visited,
                                           u32* examined)
{
    for (i64 i = begin; i < end; i += ARCS_AT_ONCE) {
        u32 heads[ARCS_AT_ONCE];
        u32 parent = NO_PREDECESSOR;
#pragma unroll
        for (u32 j = 0; j < ARCS_AT_ONCE; ++j) {
            heads[j] = read_only(&targets[min(i + j, end - 1)]);
        }
#pragma unroll
        for (u32 j = 0; j < ARCS_AT_ONCE; ++j) {
            if (contains(visited, heads[j])) parent = heads[j];
        }
        *examined += ARCS_AT_ONCE;
        if (parent != NO_PREDECESSOR) return parent;
    }
    return NO_PREDECESSOR;
}

// A parent for the lane's `own` vertex in its row: a lane searches the first `long_row` arcs, the whole warp
// the rest. All lanes call it.
__device__ __forceinline__ u32 search_row_of(const Packed& search, const Bitmaps& visited, bool own, u32 v,
                                             u32* examined)
{
    u32 lane = threadIdx.x % WARP;
    const Rows& rows = search.rows;
    i64 begin = own ? rows.begin(v) : 0;
    i64 end = own ? rows.begin(v + 1ull) : 0;
    i64 middle = min(end, begin + search.long_row);
    u32 parent = search_arcs(rows.targets, begin, middle, visited.now, examined);
    u32 longer = __ballot_sync(ALL_LANES, parent == NO_PREDECESSOR && middle < end);
    while (longer) {
        u32 owner = __ffs(longer) - 1;
        longer &= longer - 1;
        i64 from = __shfl_sync(ALL_LANES, middle, owner);
        i64 to = __shfl_sync(ALL_LANES, end, owner);
        u32 hit = search_row_by_warp(rows.targets, from, to, visited.now, examined);
        if (lane == owner) parent = hit;
    }
    return parent;
}

// What a pass over a list probes: the best neighbours, the other packed ones, or whole rows.
enum Probe { BEST_ONE, OTHER_ONES, ROWS };

// Stores what a lane has found for a vertex, if anything; returns whether it has.
template <typename Visited>
__device__ __forceinline__ bool settle_entry(const Packed& search, const Visited& visited,
                                             const Answer& answer, u64 entry, bool by_best, u32 parent)
{
    u32 v = static_cast<u32>(entry), best = static_cast<u32>(entry >> 32);
    if (by_best) answer.settle_by_best(v, search.best_ids);
    if (parent != NO_PREDECESSOR) answer.settle_by_other(v, parent);
    bool found = by_best || parent != NO_PREDECESSOR;
    if (!found) return false;
    atomicOr(&visited.next[v / 32], bit_of(v));
    if (best & SELF_HUB) visited.mark_hub(read_only(&search.rank[v]));
    return true;
}

// Searches for parents of `count` listed vertices, the first at `entries` and the others `step` apart,
// several of a lane at once. Takes those found off the list and returns how many stay.
template <Probe PROBE, u32 AT_ONCE, typename Visited>
__device__ __forceinline__ u32 search_list(const Packed& search, const Visited& visited, const Answer& answer,
                                           u64* entries, i64 step, u32 count, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32 kept = 0;
    for (u32 k = 0; k < count; k += WARP * AT_ONCE) {
        u64 entry[AT_ONCE];
        u32 parent[AT_ONCE];
        u32 own = 0, by_best = 0;
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            u32 at = k + j * WARP + lane;
            own |= (at < count) << j;
            entry[j] = at < count ? entries[step * static_cast<i64>(at)] : 0;
            parent[j] = NO_PREDECESSOR;
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            bool is_own = own >> j & 1;
            u32 v = static_cast<u32>(entry[j]), best = static_cast<u32>(entry[j] >> 32);
            if (PROBE == BEST_ONE) {
                by_best |= (is_own && visited.contains_packed(best)) << j;
                tally->examined += is_own;
            } else if (PROBE == OTHER_ONES) {
                if (is_own) parent[j] = probe_others(search, visited, v);
                tally->examined += is_own ? OTHERS : 0;
            } else {
                parent[j] =
                    search_row_of(search, visited, is_own && (best & MAY_HAVE_FURTHER), v, &tally->examined);
            }
        }
        // Lanes overwrite the list after all have read it.
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            bool found = settle_entry(search, visited, answer, entry[j], by_best >> j & 1, parent[j]);
            tally->found += found;
            u32 stay = __ballot_sync(ALL_LANES, (own >> j & 1) && !found);
            u32 at = kept + __popc(stay & ((1u << lane) - 1));
            if (stay >> lane & 1) entries[step * static_cast<i64>(at)] = entry[j];
            kept += __popc(stay);
        }
    }
    __syncwarp();
    return kept;
}

// Searches for parents of all listed vertices. Best neighbours that have just been probed are not probed
// again.
template <typename Visited>
__device__ __forceinline__ void search_lists(const Packed& search, const Visited& visited,
                                             const Answer& answer, bool best_probed, Lists* lists,
                                             Tally* tally)
{
    u64* only = lists->entries;
    u64* several = lists->entries + lists->capacity - 1;
    if (!best_probed) {
        lists->n_only = search_list<BEST_ONE, 4>(search, visited, answer, only, 1, lists->n_only, tally);
        lists->n_several =
            search_list<BEST_ONE, 4>(search, visited, answer, several, -1, lists->n_several, tally);
    }
    lists->n_several =
        search_list<OTHER_ONES, 2>(search, visited, answer, several, -1, lists->n_several, tally);
    lists->n_several = search_list<ROWS, 1>(search, visited, answer, several, -1, lists->n_several, tally);
    if (threadIdx.x % WARP == 0) {
        tally->open += lists->n_only + lists->n_several;
        tally->several += lists->n_several;
    }
}
