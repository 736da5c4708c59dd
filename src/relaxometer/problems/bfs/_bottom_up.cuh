// A bottom-up level: every warp searches for parents of vertices of its own. Shared by hybrid.cu, on one GPU,
// and by the kernels of distributed/.
//
// The first bottom-up level scans: a warp takes a group of vertices and probes, for each that is open, one
// chosen neighbour. The vertices that this does not settle go on the warp's own list. Then, as in all further
// levels, the warp searches the rows of its list, a thread per row with several neighbours in flight, and
// long rows by all lanes.

#pragma once

#include "_pieces.cuh"

// A warp scans one group at a time. Sizes of a group in words of a bitmap and in vertices:
const u32 GROUP_WORDS = 4;
const u32 GROUP_VERTICES = 32 * GROUP_WORDS;

struct BottomUp {
    Rows rows;          // of incoming arcs
    const u32* probes;  // the neighbour that each vertex probes first
    u32 long_row;       // arcs from which a whole warp searches a row
};

// The bitmaps of a level. Vertices in `closed` are not searched for; null if none has been closed since the
// list was made. `found` gets the vertices that the level finds.
struct Bitmaps {
    const u32* closed;
    const u32* frontier;
    u32* found;
};

// The groups that a warp scans.
struct Groups {
    u32 first;
    u32 end;
    u32 step;
};

// Searches a row for a vertex of the frontier, several arcs in flight.
__device__ __forceinline__ u32 search_row(const u32* row, u32 length, const u32* frontier, u32* examined)
{
    for (u32 i = 0; i < length; i += IN_FLIGHT) {
        u32 parent = NO_PREDECESSOR;
#pragma unroll
        for (u32 j = IN_FLIGHT; j > 0; --j) {
            u32 u = read_only(&row[min(i + j, length) - 1]);
            if (contains(frontier, u)) parent = u;
        }
        *examined += min(length - i, IN_FLIGHT);
        if (parent != NO_PREDECESSOR) return parent;
    }
    return NO_PREDECESSOR;
}

// Probes one neighbour of every open vertex of some groups, whose words of `found` it writes. Calls
// `settle(v, parent)` for each vertex found, lists the others and returns how many it has listed.
template <typename Settle>
__device__ __forceinline__ u32 scan(const BottomUp& search, const Bitmaps& bitmaps, Groups groups,
                                    u32* listed, u32* examined, Settle settle)
{
    u32 lane = threadIdx.x % WARP;
    u32 n_listed = 0;
    for (u32 group = groups.first; group < groups.end; group += groups.step) {
        u32 first = group * GROUP_VERTICES;
        u32 open[GROUP_WORDS];
        u32 probed[GROUP_WORDS];
        u32 hits = 0;
#pragma unroll
        for (u32 j = 0; j < GROUP_WORDS; ++j) {
            open[j] = ~bitmaps.closed[group * GROUP_WORDS + j];
        }
#pragma unroll
        for (u32 j = 0; j < GROUP_WORDS; ++j) {
            u32 v = first + 32 * j + lane;
            probed[j] = open[j] >> lane & 1 ? read_only(&search.probes[v]) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < GROUP_WORDS; ++j) {
            hits |= ((open[j] >> lane & 1) && contains(bitmaps.frontier, probed[j])) << j;
        }
#pragma unroll
        for (u32 j = 0; j < GROUP_WORDS; ++j) {
            u32 v = first + 32 * j + lane;
            if (hits >> j & 1) settle(v, probed[j]);
            u32 settled = __ballot_sync(ALL_LANES, hits >> j & 1);
            if (lane == j) {
                bitmaps.found[group * GROUP_WORDS + j] = settled;
                *examined += __popc(open[j]);
            }
            u32 rest = open[j] & ~settled;
            if (rest >> lane & 1) listed[n_listed + __popc(rest & ((1u << lane) - 1))] = v;
            n_listed += __popc(rest);
        }
    }
    // Lanes other than the writers read the list and update `found`.
    __syncwarp();
    return n_listed;
}

// Searches the rows of the listed vertices. Calls `settle(v, parent)` for each vertex found, adds it to
// `found` and takes it off the list; returns how many vertices stay on the list.
template <typename Settle>
__device__ __forceinline__ u32 search_listed(const BottomUp& search, const Bitmaps& bitmaps, u32* listed,
                                             u32 n_listed, u32* examined, Settle settle)
{
    u32 lane = threadIdx.x % WARP;
    u32 kept = 0;
    for (u32 k = 0; k < n_listed; k += WARP) {
        bool own = k + lane < n_listed;
        u32 v = own ? listed[k + lane] : 0;
        // Reading the row before testing whether the vertex is open overlaps the loads.
        i64 begin = own ? search.rows.begin(v) : 0;
        u32 length = own ? static_cast<u32>(search.rows.begin(v + 1) - begin) : 0;
        own = own && !(bitmaps.closed && contains(bitmaps.closed, v));
        bool is_long = own && length >= search.long_row;
        u32 parent = NO_PREDECESSOR;
        if (own && !is_long) {
            parent = search_row(&search.rows.targets[begin], length, bitmaps.frontier, examined);
        }
        u32 longer = __ballot_sync(ALL_LANES, is_long);
        while (longer) {
            u32 owner = __ffs(longer) - 1;
            longer &= longer - 1;
            i64 row = __shfl_sync(ALL_LANES, begin, owner);
            i64 end = row + __shfl_sync(ALL_LANES, length, owner);
            u32 hit = search_row_by_warp(search.rows.targets, row, end, bitmaps.frontier, examined);
            if (lane == owner) parent = hit;
        }
        if (parent != NO_PREDECESSOR) {
            settle(v, parent);
            atomicOr(&bitmaps.found[v / 32], bit_of(v));
        }
        u32 stay = __ballot_sync(ALL_LANES, own && parent == NO_PREDECESSOR);
        // Lanes overwrite the list after all have read it, and read on after all have written.
        __syncwarp();
        if (stay >> lane & 1) listed[kept + __popc(stay & ((1u << lane) - 1))] = v;
        kept += __popc(stay);
        __syncwarp();
    }
    return kept;
}
