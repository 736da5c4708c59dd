// The bottom-up levels of hybrid_packed.cu.
//
// A warp owns groups of vertices and what it lists of them, so warps share only what they read. The first
// bottom-up level scans the best neighbours of all open vertices. What stays open is on two lists of the
// warp, which grow towards each other: vertices with no other neighbour from the front, the others from the
// back. An entry holds a vertex in the low word and its packed best neighbour in the high word, so that a
// later level reads nothing else for most.

#pragma once

#include "_best_neighbours.cuh"
#include "_bottom_up.cuh"

// Words of a bitmap that a warp scans at a time, a sector of memory.
const u32 GROUP_WORDS = 8;

// What bottom-up levels read besides the bitmaps.
struct Packed {
    BottomUp into;        // rows of incoming arcs; `probes` are the packed best neighbours
    const u32* best_ids;  // the best neighbours' ids
    const u32* others;    // OTHERS further ones of each vertex, packed
    const u32* rank;
    const u32* ids;  // the vertex of each rank
};

// The bitmaps of a level: what was visited when it began, of all vertices and of hubs, and when it ends.
struct Visited {
    const u32* now;
    const u32* hubs_now;
    u32* next;
    u32* hubs_next;

    __device__ __forceinline__ bool contains_packed(u32 entry) const
    {
        u32 id = entry & PACKED_ID;
        if (entry & HUB) return contains(hubs_now, id);  // in shared memory
        return contains(now, id);
    }
};

// Where a level's answers go. While they are `deferred`, a vertex found by its best neighbour is only a bit
// of the next bitmap; another parent is stored and the vertex marked in `stored`.
struct Answer {
    u32* level;
    u32* predecessor;
    u32* stored;
    u32 depth;
    bool deferred;

    __device__ __forceinline__ void settle(u32 v, u32 parent) const
    {
        level[v] = depth + 1;
        predecessor[v] = parent;
    }
    __device__ __forceinline__ void settle_by_best(u32 v, const u32* best_ids) const
    {
        if (!deferred) settle(v, read_only(&best_ids[v]));
    }
    __device__ __forceinline__ void settle_by_other(u32 v, u32 parent) const
    {
        if (!deferred) {
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
    u64 arcs;
};

// The open vertices of a warp.
struct Lists {
    u64* entries;
    u32 capacity;
    u32 n_only;     // with no other neighbour, from the front
    u32 n_several;  // from the back
};

// Adds v to a bitmap of hubs.
__device__ __forceinline__ void mark_hub(u32* hubs, const u32* rank, u32 v)
{
    u32 hub = read_only(&rank[v]);
    atomicOr(&hubs[hub / 32], bit_of(hub));
}

__device__ __forceinline__ u64 entry_of(u32 v, u32 best)
{
    return static_cast<u64>(best) << 32 | v;
}

// Probes the best neighbour of every open vertex of a group and lists the vertices that this does not settle.
__device__ __forceinline__ void scan_group(const Packed& search, const Visited& visited, const Answer& answer,
                                           u32 group, Lists* lists, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32 below = (1u << lane) - 1;
    u32 word = group * GROUP_WORDS + lane % GROUP_WORDS;
    u32 visited_word = visited.now[word];
    u32 best[GROUP_WORDS];
    u32 open = 0, hits = 0;
#pragma unroll
    for (u32 j = 0; j < GROUP_WORDS; ++j) {
        u32 v = (group * GROUP_WORDS + j) * 32 + lane;
        bool is_open = !(__shfl_sync(ALL_LANES, visited_word, j) >> lane & 1);
        best[j] = is_open ? read_only(&search.into.probes[v]) : 0;
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
        if (hit && (best[j] & SELF_HUB)) mark_hub(visited.hubs_next, search.rank, v);
        if (hit) answer.settle_by_best(v, search.best_ids);
        u32 settled = __ballot_sync(ALL_LANES, hit);
        if (lane == j) next_word |= settled;
        bool missed = (open >> j & 1) && !hit;
        bool has_more = best[j] & MORE;
        u32 only = __ballot_sync(ALL_LANES, missed && !has_more);
        u32 several = __ballot_sync(ALL_LANES, missed && has_more);
        u32 at = has_more ? lists->capacity - 1 - lists->n_several - __popc(several & below)
                          : lists->n_only + __popc(only & below);
        if (missed) lists->entries[at] = entry_of(v, best[j]);
        lists->n_only += __popc(only);
        lists->n_several += __popc(several);
    }
    if (lane < GROUP_WORDS) {
        visited.next[word] = next_word;
        answer.stored[word] = 0;
    }
    tally->examined += __popc(open);
    tally->found += __popc(hits);
}

// Probes the other packed neighbours of a vertex. Returns a parent, or NO_PREDECESSOR; `further` tells
// whether the row has to be searched then.
__device__ __forceinline__ u32 probe_others(const Packed& search, const Visited& visited, u32 v,
                                            bool* further)
{
    const uint4 packed = read_only(&reinterpret_cast<const uint4*>(search.others)[v]);
    const u32 entries[OTHERS] = {packed.x, packed.y, packed.z, packed.w};
    *further = packed.w & FURTHER;
    u32 hit = 0;
    bool found = false;
#pragma unroll
    for (u32 k = OTHERS; k > 0; --k) {
        if (!visited.contains_packed(entries[k - 1])) continue;
        hit = entries[k - 1];
        found = true;
    }
    if (!found) return NO_PREDECESSOR;
    u32 id = hit & PACKED_ID;
    return hit & HUB ? read_only(&search.ids[id]) : id;
}

// A parent for the lane's `own` vertex among all neighbours but the best. All lanes call it.
__device__ __forceinline__ u32 search_beyond_best(const Packed& search, const Visited& visited, bool own,
                                                  u32 v, u32* examined)
{
    bool further = false;
    u32 parent = NO_PREDECESSOR;
    if (own) {
        parent = probe_others(search, visited, v, &further);
        *examined += OTHERS;
    }
    bool searches = further && parent == NO_PREDECESSOR;
    if (!__any_sync(ALL_LANES, searches)) return parent;
    i64 begin = searches ? search.into.rows.begin(v) : 0;
    u32 length = searches ? static_cast<u32>(search.into.rows.begin(v + 1) - begin) : 0;
    u32 in_row = search_rows(search.into, searches, begin, length, visited.now, examined);
    return searches ? in_row : parent;
}

// Searches for parents of `count` listed vertices, the first at `entries` and the others `step` apart. Takes
// those found off the list and returns how many stay. Best neighbours that have just been probed are not
// probed again.
template <bool HAVE_SEVERAL>
__device__ __forceinline__ u32 search_list(const Packed& search, const Visited& visited, const Answer& answer,
                                           u64* entries, i64 step, u32 count, bool best_probed, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32 kept = 0;
    for (u32 k = 0; k < count; k += WARP) {
        bool own = k + lane < count;
        u64 entry = own ? entries[step * static_cast<i64>(k + lane)] : 0;
        u32 v = static_cast<u32>(entry), best = static_cast<u32>(entry >> 32);
        bool by_best = own && !best_probed && visited.contains_packed(best);
        tally->examined += own && !best_probed;
        u32 other = NO_PREDECESSOR;
        if (HAVE_SEVERAL) {
            other = search_beyond_best(search, visited, own && !by_best, v, &tally->examined);
        }
        if (by_best) answer.settle_by_best(v, search.best_ids);
        if (other != NO_PREDECESSOR) answer.settle_by_other(v, other);
        bool found = by_best || other != NO_PREDECESSOR;
        if (found) {
            atomicOr(&visited.next[v / 32], bit_of(v));
            if (best & SELF_HUB) mark_hub(visited.hubs_next, search.rank, v);
            ++tally->found;
        }
        u32 stay = __ballot_sync(ALL_LANES, own && !found);
        // Lanes overwrite the list after all have read it.
        __syncwarp();
        if (stay >> lane & 1) {
            entries[step * static_cast<i64>(kept + __popc(stay & ((1u << lane) - 1)))] = entry;
        }
        kept += __popc(stay);
    }
    __syncwarp();
    return kept;
}

// Searches for parents of all listed vertices.
__device__ __forceinline__ void search_lists(const Packed& search, const Visited& visited,
                                             const Answer& answer, bool best_probed, Lists* lists,
                                             Tally* tally)
{
    if (!best_probed) {
        lists->n_only =
            search_list<false>(search, visited, answer, lists->entries, 1, lists->n_only, false, tally);
    }
    lists->n_several = search_list<true>(search, visited, answer, lists->entries + lists->capacity - 1, -1,
                                         lists->n_several, best_probed, tally);
    if (threadIdx.x % WARP == 0) tally->open += lists->n_only + lists->n_several;
}
