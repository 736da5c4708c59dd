// Direction-optimising BFS in one persistent kernel: top-down while the frontier has few arcs, bottom-up
// while it has many. Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 2, after
// Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search" (SC 2012).
//
// The whole search is one cooperative launch with one barrier of the grid a level; the direction of the next
// level follows from counts that every thread reads behind the barrier.
//
// Top-down. The frontier is a list of pieces of rows (_pieces.cuh). A warp takes a piece, reads its heads
// four a lane, claims those that are not visited in an exact bitmap, and appends their rows to the next list.
//
// Bottom-up. The first level scans: a warp takes 128 vertices and probes, for each that is not visited, one
// neighbour only, which _prepare.cu has chosen and packed into an array of its own: the one with the most
// arcs, the likeliest to be in the frontier. A vertex that this probe does not settle goes on the warp's own
// list; then the warp searches the rows of its list, a thread a row, several neighbours in flight, long rows
// by all lanes. What is left stays on the list, and the further bottom-up levels search the lists alone. A
// warp owns what it lists, so that nothing is shared but the bitmap that parents are looked for in.
//
// The scan looks for parents in `visited` as it was when the level began. That is the same as in the
// frontier: once all vertices up to a level are known, a vertex that is not visited has no arc from an
// earlier level. So top-down levels keep no bitmap of their frontier. Bottom-up levels do, three in turn: one
// is read, one written, one cleared for the level after.
//
// Isolated vertices are marked as visited by _prepare.cu, so that no loop meets them.
//
// Bytes moved, n vertices of which k have arcs, beside latency: the start writes 8 n and copies n / 8; the
// scan reads n / 8 + 4 n packed neighbours and writes 8 bytes for each vertex found; a row of a list costs 20
// bytes and a sector of 32 for every 8 neighbours; a top-down level 20 bytes a vertex and 4 an arc. The
// bitmaps, n / 8 bytes each, stay in the second-level cache. At Graph500 scale 24 (n = 16.8 million, k = 8.9
// million) that is 135 MB for the start and 140 MB for the scan.
//
// Deviations from the source:
//   - |E| is the number of arcs, as m_f is a sum of degrees; the source does not say which it counts.
//   - its search of rows by degree (figures 4 and 6, see bottom_up.cu) serves the lists only.
//   - nothing is partitioned: one GPU holds the graph.

#include <cooperative_groups.h>

#include "_pieces.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

// Vertices that a warp scans at a time: four words.
const u32 GROUP = 128;

// What the blocks add up during a level.
enum Count { FOUND, ARCS, EXAMINED, PIECES, CONVERTED, COUNTS };

// What an instrumented run keeps of a level.
enum Entry { MODE, NEW_VERTICES, EXAMINED_ARCS, START_TIME, ENTRIES };

struct Search {
    const i64* out_offsets;
    const u32* out_targets;
    const i64* in_offsets;
    const u32* in_targets;
    const u32* probes;
    u32 long_row;
    u32* visited;
    u32* level;
    u32* predecessor;
};

// What a thread counts of the level that is running.
struct Tally {
    u32 found;
    u32 examined;
    u64 arcs;
};

__device__ __forceinline__ void settle(const Search& search, u32 v, u32 parent, u32 depth)
{
    search.level[v] = depth + 1;
    search.predecessor[v] = parent;
}

// A top-down level over a list of pieces; the rows of what it finds go to `next`.
__device__ void expand(const Search& search, const u64* list, u64 n_pieces, u32 depth, u64* next, u64* length,
                       Tally* tally)
{
    u32 lane = threadIdx.x % 32;
    for (u64 k = thread_id() / 32; k < n_pieces; k += thread_count() / 32) {
        Piece piece = piece_of(list[k], search.out_offsets);
        u32 heads[DEEP];
        u32 fresh = 0;
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            i64 i = piece.begin + 32 * j + lane;
            heads[j] = i < piece.end ? search.out_targets[i] : piece.vertex;
            tally->examined += i < piece.end;
        }
        // The bits are looked at together, ahead of any atomic, so that the reads overlap.
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            fresh |= !contains_now(search.visited, heads[j]) << j;
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            if ((fresh >> j & 1) && claim(search.visited, heads[j])) {
                settle(search, heads[j], piece.vertex, depth);
                ++tally->found;
            } else {
                fresh &= ~(1u << j);
            }
        }
        tally->arcs += append_rows(heads, fresh, search.out_offsets, next, length);
    }
}

// Looks for a parent in a row, several neighbours in flight.
__device__ __forceinline__ u32 search_row(const u32* row, u32 length, const u32* frontier, Tally* tally)
{
    for (u32 i = 0; i < length; i += DEEP) {
        u32 parent = NO_PREDECESSOR;
#pragma unroll
        for (u32 j = DEEP; j > 0; --j) {
            u32 u = row[min(i + j, length) - 1];
            if (contains(frontier, u)) parent = u;
        }
        tally->examined += min(length - i, DEEP);
        if (parent != NO_PREDECESSOR) return parent;
    }
    return NO_PREDECESSOR;
}

// Searches the rows of the vertices that the warp has listed, and keeps those on the list that found no
// parent. Returns how many these are.
__device__ u32 search_listed(const Search& search, u32* listed, u32 n_listed, u32 depth, const u32* frontier,
                             u32* next, Tally* tally)
{
    u32 lane = threadIdx.x % 32;
    u32 kept = 0;
    for (u32 k = 0; k < n_listed; k += 32) {
        bool own = k + lane < n_listed;
        u32 v = own ? listed[k + lane] : 0;
        i64 begin = own ? search.in_offsets[v] : 0;
        u32 length = own ? static_cast<u32>(search.in_offsets[v + 1] - begin) : 0;
        bool is_long = length >= search.long_row;
        u32 parent = NO_PREDECESSOR;
        if (!is_long) parent = search_row(&search.in_targets[begin], length, frontier, tally);
        u32 longer = __ballot_sync(ALL_LANES, own && is_long);
        while (longer) {
            u32 owner = __ffs(longer) - 1;
            longer &= longer - 1;
            i64 row = __shfl_sync(ALL_LANES, begin, owner);
            i64 end = row + __shfl_sync(ALL_LANES, length, owner);
            u32 found = search_row_by_warp(search.in_targets, row, end, frontier, &tally->examined);
            if (lane == owner) parent = found;
        }
        if (parent != NO_PREDECESSOR) {
            settle(search, v, parent, depth);
            atomicOr(&next[v / 32], bit_of(v));
            ++tally->found;
        }
        u32 stay = __ballot_sync(ALL_LANES, own && parent == NO_PREDECESSOR);
        // All have read their entries before any is written over, and written before the next are read.
        __syncwarp();
        if (stay >> lane & 1) listed[kept + __popc(stay & ((1u << lane) - 1))] = v;
        kept += __popc(stay);
        __syncwarp();
    }
    return kept;
}

// Probes one neighbour of every vertex that is not visited. What finds a parent is written into `next`, whose
// every word is; what does not is listed. Returns how many are listed.
__device__ u32 scan(const Search& search, u32 n_words, u32 depth, u32* next, u32* cleared, u32* listed,
                    Tally* tally)
{
    u32 lane = threadIdx.x % 32;
    u32 n_listed = 0;
    for (u32 group = thread_id() / 32; group < n_words / DEEP; group += thread_count() / 32) {
        u32 first = group * GROUP;
        u32 open[DEEP];
        u32 probes[DEEP];
        u32 hits = 0;
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            open[j] = ~search.visited[group * DEEP + j];
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            u32 v = first + 32 * j + lane;
            probes[j] = open[j] >> lane & 1 ? search.probes[v] : 0;
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            hits |= ((open[j] >> lane & 1) && contains(search.visited, probes[j])) << j;
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            u32 v = first + 32 * j + lane;
            if (hits >> j & 1) settle(search, v, probes[j], depth);
            u32 found = __ballot_sync(ALL_LANES, hits >> j & 1);
            if (lane == j) {
                next[group * DEEP + j] = found;
                cleared[group * DEEP + j] = 0;
                tally->found += __popc(found);
                tally->examined += __popc(open[j]);
            }
            u32 rest = open[j] & ~found;
            if (rest >> lane & 1) listed[n_listed + __popc(rest & ((1u << lane) - 1))] = v;
            n_listed += __popc(rest);
        }
    }
    // The lists are read, and `next` is added to, by other lanes than those that wrote them.
    __syncwarp();
    return n_listed;
}

// Turns the frontier of a bottom-up level into the list of a top-down one, and adds it to the visited.
__device__ void convert(const Search& search, const u32* frontier, u32 n_words, u64* list, u64* length)
{
    for (u32 first = 0; first < n_words; first += thread_count()) {
        u32 word = first + thread_id();
        u32 bits = word < n_words ? frontier[word] : 0;
        if (bits) search.visited[word] |= bits;
        append_word(bits, word, search.out_offsets, list, length);
    }
}

// Adds the frontier to the visited, and clears the bitmap that the level after this one writes.
__device__ void keep_visited(const Search& search, u32 n_words, const u32* frontier, u32* cleared)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        search.visited[word] |= frontier[word];
        cleared[word] = 0;
    }
}

// Adds up what the threads of the block counted, and adds that to the counts of the level.
__device__ void add_up(const Tally& tally, u64* counts)
{
    __shared__ u64 sums[EXAMINED + 1];
    if (threadIdx.x <= EXAMINED) sums[threadIdx.x] = 0;
    __syncthreads();
    u64 found = warp_sum(tally.found);
    u64 arcs = warp_sum(tally.arcs);
    u64 examined = warp_sum(tally.examined);
    if (threadIdx.x % 32 == 0 && examined) {
        atomicAdd(&sums[FOUND], found);
        atomicAdd(&sums[ARCS], arcs);
        atomicAdd(&sums[EXAMINED], examined);
    }
    __syncthreads();
    if (threadIdx.x <= EXAMINED && sums[threadIdx.x]) atomicAdd(&counts[threadIdx.x], sums[threadIdx.x]);
}

// Sets everything for a search from `source`; the list holds its row.
__device__ void start(const Search& search, u32 n, u32 n_words, const u32* isolated, u32 source, u64* list,
                      u64* counts)
{
    for (u64 v = thread_id(); v < n; v += thread_count()) {
        search.level[v] = v == source ? 0 : UNREACHED;
        search.predecessor[v] = v == source ? source : NO_PREDECESSOR;
    }
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        search.visited[word] = isolated[word] | (word == source / 32 ? bit_of(source) : 0);
    }
    u64 n_pieces = pieces_of(search.out_offsets[source + 1] - search.out_offsets[source]);
    for (u64 piece = thread_id(); piece < n_pieces; piece += thread_count()) {
        list[piece] = piece << 32 | source;
    }
    if (thread_id() < 3 * COUNTS) counts[thread_id()] = 0;
}

// The search. `visited` and the three `frontiers` are bitmaps of `n_words`, a multiple of four; `listed` has
// room for every vertex that a warp scans, `room` a warp; `lists` are two lists of pieces, `list_room` long;
// `counts` is three times COUNTS words. Bottom-up begins where the arcs of the frontier are more than
// `many_arcs`, and ends where its vertices are fewer than `few_vertices`. `log` is null, or holds ENTRIES
// words a level and one level more.
extern "C" __global__ void __launch_bounds__(512, 2)
    hybrid(u32 n, u32 n_words, const i64* __restrict__ out_offsets, const u32* __restrict__ out_targets,
           const i64* __restrict__ in_offsets, const u32* __restrict__ in_targets,
           const u32* __restrict__ probes, const u32* __restrict__ isolated, u32 source, u64 many_arcs,
           u64 few_vertices, u32 long_row, u32* visited, u32* frontiers, u32* all_listed, u32 room,
           u64* lists, u64 list_room, u64* counts, u32* level, u32* predecessor, u32* rounds, u64* log)
{
    cg::grid_group grid = cg::this_grid();
    Search search = {out_offsets, out_targets, in_offsets, in_targets, probes,
                     long_row,    visited,     level,      predecessor};
    u32* listed = all_listed + static_cast<u64>(thread_id() / 32) * room;
    bool is_first = thread_id() == 0;

    start(search, n, n_words, isolated, source, lists, counts);
    grid.sync();
    if (is_first && log) log[START_TIME] = nanoseconds();

    u32 vertices = 1;
    u64 arcs = out_offsets[source + 1] - out_offsets[source];
    u64 n_pieces = pieces_of(arcs);
    bool top_down = true;
    u32 n_listed = 0;
    u32 bottom_up_levels = 0;
    u32* frontier = frontiers;
    u32 depth = 0;
    while (vertices > 0) {
        // Three sets of counts in turn: this level's; the next one's, cleared here; and the last one's, which
        // some thread may still be reading.
        u64* now = counts + depth % 3 * COUNTS;
        if (thread_id() < COUNTS) counts[(depth + 1) % 3 * COUNTS + thread_id()] = 0;
        u64* list = lists + depth % 2 * list_room;
        u64* next_list = lists + (depth + 1) % 2 * list_room;
        Tally tally = {0, 0, 0};

        if (!top_down && vertices < few_vertices) {
            convert(search, frontier, n_words, list, &now[CONVERTED]);
            grid.sync();
            top_down = true;
            n_pieces = load_relaxed(&now[CONVERTED]);
        } else if (top_down && arcs > many_arcs) {
            top_down = false;
            bottom_up_levels = 0;
        }

        if (top_down) {
            expand(search, list, n_pieces, depth, next_list, &now[PIECES], &tally);
        } else {
            u32* next = frontiers + bottom_up_levels % 3 * n_words;
            u32* cleared = frontiers + (bottom_up_levels + 1) % 3 * n_words;
            if (bottom_up_levels == 0) {
                n_listed = scan(search, n_words, depth, next, cleared, listed, &tally);
                frontier = visited;
            } else {
                keep_visited(search, n_words, frontier, cleared);
            }
            n_listed = search_listed(search, listed, n_listed, depth, frontier, next, &tally);
            frontier = next;
            ++bottom_up_levels;
        }
        add_up(tally, now);
        grid.sync();
        vertices = static_cast<u32>(load_relaxed(&now[FOUND]));
        arcs = load_relaxed(&now[ARCS]);
        n_pieces = load_relaxed(&now[PIECES]);
        if (is_first && log) {
            u64* entry = log + ENTRIES * depth;
            entry[MODE] = top_down;
            entry[NEW_VERTICES] = vertices;
            entry[EXAMINED_ARCS] = load_relaxed(&now[EXAMINED]);
            entry[ENTRIES + START_TIME] = nanoseconds();
        }
        ++depth;
    }
    if (is_first) *rounds = depth;
}
