// BFS from up to 64 sources at once: every vertex has a word with a bit per source. M. Then, M. Kaufmann,
// F. Chirigati, T. Hoang-Vu, K. Pham, A. Kemper, T. Neumann and H. Vo, "The More the Merrier: Efficient
// Multi-Source Graph Traversal" (PVLDB 8, 2014); changes of direction as by Beamer, Asanovic and Patterson
// (SC 2012), on a GPU first by Liu, Huang and Hu, "iBFS: Concurrent Breadth-First Search on GPUs" (SIGMOD
// 2016).
//
// The whole search is one cooperative launch with a barrier of the grid per level. An arc costs one access of
// a word for all sources together.
//
// Top-down, while few arcs leave the frontier. The frontier is a list of pieces of rows (_pieces.cuh) and a
// word per vertex. A warp takes a piece and adds the bits of its vertex to the heads that lack them. A vertex
// joins the next list when it gets its first bits, even if no arcs leave it. Whoever owns the first piece of
// a row adds the frontier's word to the visited one, while others read it: they add the frontier's word
// themselves, so both values serve.
//
// Bottom-up. A vertex collects the visited words of its neighbours, as they were when the level began, until
// no live source lacks it. That is equivalent to the frontier: once all levels up to one are known, a vertex
// that is not visited has no arc from an earlier one. Visited words are read from one array and written to
// another. A source is live if it found something in the last level. Without this, one source in a small
// component would keep every row from ending early. Short rows are a lane's, wide ones a warp's, and pieces
// of long ones are shared out among warps.
//
// Sources that lag behind, since their frontiers are still small, would do the same. So a bottom-up level
// weighs the frontier of each source by its arcs, and searches from the light ones top-down in the same
// level: neighbours get their bits in the array that the level writes.
//
// _multi_source.py numbers the vertices by falling degree, where there are hubs. Then rows begin with the
// neighbours that are visited first, the words of hubs share cache lines, vertices without arcs have no
// words, and the rows of a warp are about equally long.
//
// Levels are kept in planes: bit b of the level of all sources is a word of plane b. A level adds one word
// per bit that its number has. `finish` turns planes into numbers side by side, of as few bytes as the
// deepest level needs; `sum_levels` only adds them up. Predecessors are written when found.
//
// Deviations from Then et al.: words are of 64 bits, not wider; the direction changes; levels and
// predecessors are stored.

#include <cooperative_groups.h>

#include "_pieces.cuh"
#include "_level_log.cuh"
#include "device/clock.cuh"
#include "problems/_inverses.cuh"

namespace cg = cooperative_groups;

const u32 SOURCES = 64;

// Incoming arcs of a row: a lane searches fewer than WIDE_ROW, a warp up to LONG_ROW; a longer row is cut
// into pieces of LONG_ROW arcs.
const u32 WIDE_ROW = 32;
const u32 LONG_ROW = 512;

// Sources for which a lane writes the predecessor of a vertex itself. If any lane has more, the warp writes
// those of one lane at a time.
const int FEW_SOURCES = 4;

// Planes that a search clears at its start; the others follow when they are needed.
const u32 FIRST_PLANES = 3;

// Sums over the threads during a level; LIVE is a union. WEIGHTS is the first of SOURCES sums.
enum Count { FOUND, ARCS, EXAMINED, PIECES, CONVERTED, CONVERTED_ARCS, LIVE, OPEN, WEIGHTS };
const u32 COUNTS = 72;
static_assert(COUNTS == WEIGHTS + SOURCES, "one word for each count");

// Arrays of words have `n` elements, one per vertex that is searched. Bottom-up begins when the arcs of the
// frontier are more than `many_arcs`, and ends when its vertices are fewer than `few_vertices`.
struct Search {
    u32 n;
    u32 n_planes;
    Rows out;
    Rows into;
    const u32* position;   // the searched number of each vertex, UNREACHED for those left out
    const u32* original;   // the vertices by these numbers
    const u64* long_rows;  // pieces of LONG_ROW incoming arcs, as in _pieces.cuh
    u64 n_long;
    u64 many_arcs;
    u64 few_vertices;
    u32 n_heavy;  // the first vertices, with most arcs, by which frontiers are weighed
    u32 lag;
    u64* visited;    // two arrays
    u64* frontiers;  // three arrays
    u64* planes;     // n_planes arrays
    u64* lists;      // three of `list_capacity` pieces
    u64 list_capacity;
    u64* counts;  // three of COUNTS

    __device__ u64* frontier(u32 depth) const
    {
        return frontiers + static_cast<size_t>(depth % 3) * n;
    }
    __device__ u64* list(u32 depth) const
    {
        return lists + static_cast<size_t>(depth % 3) * list_capacity;
    }
    __device__ u64* seen(u32 which) const
    {
        return visited + static_cast<size_t>(which) * n;
    }
};

// Counts of a thread during a level.
struct Tally {
    u32 found;
    u32 examined;
    u64 arcs;
    u64 live;
};

// Where predecessors go: a row of SOURCES per vertex, or nowhere.
template <bool WANTED>
struct Predecessors {
    u32* rows;
    const u32* original;

    // Each lane passes sources that find vertex v from u. All lanes call it.
    __device__ __forceinline__ void write(u32 v, u32 u, u64 sources) const
    {
        if (!WANTED) return;
        if (!__any_sync(ALL_LANES, sources != 0)) return;
        u32* row = rows + static_cast<size_t>(sources ? read_only(&original[v]) : 0) * SOURCES;
        u32 name = sources ? read_only(&original[u]) : 0;
        if (!__any_sync(ALL_LANES, __popcll(sources) > FEW_SOURCES)) {
            for (; sources; sources &= sources - 1) {
                store_relaxed(&row[__ffsll(sources) - 1], name);
            }
            return;
        }
        u32 lane = threadIdx.x % WARP;
        u32 lanes = __ballot_sync(ALL_LANES, sources != 0);
        while (lanes) {
            u32 owner = __ffs(lanes) - 1;
            lanes &= lanes - 1;
            u64 found = __shfl_sync(ALL_LANES, sources, owner);
            u32* of_vertex = rows + __shfl_sync(ALL_LANES, static_cast<u64>(row - rows), owner);
            u32 predecessor = __shfl_sync(ALL_LANES, name, owner);
            if (found >> lane & 1) store_relaxed(&of_vertex[lane], predecessor);
            if (found >> (lane + WARP) & 1) store_relaxed(&of_vertex[lane + WARP], predecessor);
        }
    }
};

// Sets the level of a vertex for some sources. No other thread writes the vertex's words.
__device__ __forceinline__ void set_level(const Search& search, u32 v, u64 sources, u32 level)
{
    for (u32 plane = 0; level >> plane; ++plane) {
        if (level >> plane & 1) search.planes[static_cast<size_t>(plane) * search.n + v] |= sources;
    }
}

// The same where other threads may set the level for other sources.
__device__ __forceinline__ void set_level_together(const Search& search, u32 v, u64 sources, u32 level)
{
    for (u32 plane = 0; level >> plane; ++plane) {
        if (level >> plane & 1) atomicOr(&search.planes[static_cast<size_t>(plane) * search.n + v], sources);
    }
}

__device__ void clear(u64* words, u64 count)
{
    for (u64 i = thread_id(); i < count; i += thread_count()) {
        words[i] = 0;
    }
}

// Clears the words of a list's vertices.
__device__ void clear_listed(u64* words, const u64* list, u64 n_pieces)
{
    for (u64 k = thread_id(); k < n_pieces; k += thread_count()) {
        u64 entry = list[k];
        if (entry >> 32 == 0) words[static_cast<u32>(entry)] = 0;
    }
}

// The first frontier; none in a graph without arcs, whose vertices are all left out.
__device__ void start(const Search& search, const u32* sources, u32 n_sources, u64* counts)
{
    if (search.n == 0) return;
    u64 arcs = 0;
    for (u32 first = 0; first < n_sources; first += WARP) {
        if (thread_id() / WARP != first / WARP) continue;
        u32 source = first + threadIdx.x % WARP;
        u32 v = source < n_sources ? search.position[sources[source]] : UNREACHED;
        u64 bit = 1ull << source % SOURCES;
        bool is_new = v != UNREACHED && atomicOr(&search.frontier(0)[v], bit) == 0;
        u32 vertices[IN_FLIGHT] = {is_new ? v : 0, 0, 0, 0};
        arcs = append_rows<1>(vertices, is_new, search.out.offsets, search.list(0), &counts[PIECES]);
        if (v != UNREACHED) atomicOr(&counts[LIVE], bit);
        atomicAdd(&counts[FOUND], static_cast<u64>(is_new));
        atomicAdd(&counts[ARCS], arcs);
    }
}

// A list of pieces with the words of their vertices. `width` lanes share a piece, a power of two.
struct Frontier {
    const u64* list;
    u64 n_pieces;
    const u64* words;
    u32 width;
};

// Few lanes for short rows, so that a warp has many of them in flight.
__device__ __forceinline__ u32 width_for(u64 arcs, u64 n_pieces)
{
    return arcs <= 4 * n_pieces ? 4 : arcs <= 16 * n_pieces ? 8 : WARP;
}

// Calls `enter(v, bits)` for each vertex of a frontier, by one lane, and `pass(v, bits, heads, inside)` for
// its arcs, IN_FLIGHT per lane, by all lanes of a warp; `inside` has a bit for each head that is one.
template <typename Enter, typename Pass>
__device__ __forceinline__ void walk(const Search& search, const Frontier& frontier, Tally* tally,
                                     Enter enter, Pass pass)
{
    u32 lane = threadIdx.x % WARP, width = frontier.width, at_once = WARP / width;
    u64 stride = static_cast<u64>(thread_count() / WARP) * at_once;
    for (u64 first = static_cast<u64>(thread_id() / WARP) * at_once; first < frontier.n_pieces;
         first += stride) {
        u64 k = first + lane / width;
        bool is_own = k < frontier.n_pieces;
        u64 entry = is_own ? frontier.list[k] : 0;
        Piece piece = {0, 0, 0};
        if (is_own) piece = piece_of(entry, search.out.offsets);
        u64 bits = is_own ? frontier.words[piece.vertex] : 0;
        if (is_own && lane % width == 0 && entry >> 32 == 0) enter(piece.vertex, bits);
        for (i64 begin = piece.begin + lane % width; __any_sync(ALL_LANES, begin < piece.end);
             begin += width * IN_FLIGHT) {
            u32 heads[IN_FLIGHT];
            u32 inside = 0;
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) {
                i64 i = begin + width * j;
                heads[j] = i < piece.end ? search.out.target(i) : piece.vertex;
                inside |= (i < piece.end) << j;
            }
            tally->examined += __popc(inside);
            pass(piece.vertex, bits, heads, inside);
        }
    }
}

// A top-down level.
template <bool WANTED>
__device__ void expand(const Search& search, const Predecessors<WANTED>& predecessors, u64* seen,
                       const Frontier& frontier, u32 depth, u64* length, Tally* tally)
{
    const u64* now = frontier.words;
    u64* next = search.frontier(depth + 1);
    auto enter = [&](u32 v, u64 bits) {
        store_relaxed(&seen[v], load_relaxed(&seen[v]) | bits);
        set_level(search, v, bits, depth);
    };
    auto pass = [&](u32 v, u64 bits, const u32(&heads)[IN_FLIGHT], u32 inside) {
        u64 lacking[IN_FLIGHT];
        u32 taken = 0;
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            u64 known = load_relaxed(&seen[heads[j]]) | now[heads[j]];
            lacking[j] = inside >> j & 1 ? bits & ~known : 0;
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            u64 before = lacking[j] ? atomicOr(&next[heads[j]], lacking[j]) : 0;
            taken |= (lacking[j] && before == 0) << j;
            lacking[j] &= ~before;
            tally->live |= lacking[j];
            predecessors.write(heads[j], v, lacking[j]);
        }
        tally->found += __popc(taken);
        tally->arcs += append_rows<1>(heads, taken, search.out.offsets, search.list(depth + 1), length);
    };
    walk(search, frontier, tally, enter, pass);
}

// Adds a top-down frontier to the visited words, before a bottom-up level, and clears it.
__device__ void absorb(const Search& search, u64* seen, u64 n_pieces, u32 depth)
{
    const u64* list = search.list(depth);
    u64* frontier = search.frontier(depth);
    for (u64 k = thread_id(); k < n_pieces; k += thread_count()) {
        u32 v = static_cast<u32>(list[k]);
        if (list[k] >> 32) continue;
        u64 bits = frontier[v];
        seen[v] |= bits;
        set_level(search, v, bits, depth);
        frontier[v] = 0;
    }
}

// Turns what the last level, a bottom-up one, has found for some sources into a list and words.
__device__ void convert(const Search& search, const u64* seen, const u64* seen_before, u64 sources, u32 depth,
                        u64* counts)
{
    u64 arcs = 0;
    for (u64 first = 0; first < search.n; first += static_cast<u64>(thread_count()) * IN_FLIGHT) {
        u32 vertices[IN_FLIGHT];
        u32 taken = 0;
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            u64 v = first + static_cast<u64>(j) * thread_count() + thread_id();
            u64 bits = v < search.n ? seen[v] & ~seen_before[v] & sources : 0;
            if (bits) search.frontier(depth)[v] = bits;
            vertices[j] = static_cast<u32>(v);
            taken |= (bits != 0) << j;
        }
        arcs += append_rows<1>(vertices, taken, search.out.offsets, search.list(depth), &counts[CONVERTED]);
    }
    arcs = sum_of_warp(arcs);
    if (threadIdx.x % WARP == 0 && arcs) atomicAdd(&counts[CONVERTED_ARCS], arcs);
}

// Adds up the arcs that leave the frontier of each source, and those that enter open vertices, of the first
// vertices. The frontier is what `seen` has and `seen_before` lacks; more than the frontier does no harm.
__device__ void weigh(const Search& search, const u64* seen, const u64* seen_before, u64 live, u64* counts)
{
    u32 lane = threadIdx.x % WARP;
    u64 weights[2] = {0, 0};
    u64 open = 0;
    for (u64 first = thread_id() / WARP * WARP; first < search.n_heavy; first += thread_count()) {
        bool is_inside = first + lane < search.n_heavy;
        u64 v = is_inside ? first + lane : 0;
        u64 own = seen[v];
        u64 bits = is_inside ? own & ~seen_before[v] & live : 0;
        u32 arcs = static_cast<u32>(min(search.out.begin(v + 1) - search.out.begin(v), 1ll << 26));
        if (is_inside && live & ~own) open += search.into.begin(v + 1) - search.into.begin(v);
        if (!__any_sync(ALL_LANES, bits != 0)) continue;
        for (u32 source = 0; source < WARP; ++source) {
            u32 low = __reduce_add_sync(ALL_LANES, bits >> source & 1 ? arcs : 0u);
            u32 high = __reduce_add_sync(ALL_LANES, bits >> (source + WARP) & 1 ? arcs : 0u);
            if (lane == source) {
                weights[0] += low;
                weights[1] += high;
            }
        }
    }
    open = sum_of_warp(open);
    if (lane == 0 && open) atomicAdd(&counts[OPEN], open);
    for (u32 half = 0; half < 2; ++half) {
        if (weights[half]) atomicAdd(&counts[WEIGHTS + half * WARP + lane], weights[half]);
    }
}

// The live sources whose frontiers are not light, the same for all threads.
__device__ u64 heavy_sources(const u64* counts, u64 live, u32 lag)
{
    u32 lane = threadIdx.x % WARP;
    u64 open = load_relaxed(&counts[OPEN]);
    u64 low = load_relaxed(&counts[WEIGHTS + lane]), high = load_relaxed(&counts[WEIGHTS + WARP + lane]);
    u64 heavy = __ballot_sync(ALL_LANES, low * lag >= open);
    heavy |= static_cast<u64>(__ballot_sync(ALL_LANES, high * lag >= open)) << 32;
    return heavy & live;
}

// The light part of a bottom-up level: the vertices of a list pass their words on. What they add is not in
// `seen`, so that others may add to `seen_next` at the same time.
template <bool WANTED>
__device__ void push_light(const Search& search, const Predecessors<WANTED>& predecessors, const u64* seen,
                           u64* seen_next, const Frontier& frontier, u32 depth, Tally* tally)
{
    auto pass = [&](u32 v, u64 bits, const u32(&heads)[IN_FLIGHT], u32 inside) {
        u64 before[IN_FLIGHT];
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            before[j] = seen[heads[j]];
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            u64 found = inside >> j & 1 ? bits & ~before[j] : 0;
            u64 known = found ? atomicOr(&seen_next[heads[j]], found) : 0;
            tally->found += found && (known & ~before[j]) == 0;
            found &= ~known;
            if (found) set_level_together(search, heads[j], found, depth + 1);
            predecessors.write(heads[j], v, found);
            tally->live |= found;
        }
    };
    walk(search, frontier, tally, [](u32, u64) {}, pass);
}

// Collects the words of the neighbours of one vertex per lane, up to `length` from `begin`, until the lane
// has all that it needs; returns what it still needs.
template <bool WANTED>
__device__ __forceinline__ u64 collect_row(const Search& search, const Predecessors<WANTED>& predecessors,
                                           const u64* seen, u32 v, i64 begin, u32 length, u64 needed,
                                           Tally* tally)
{
    for (u32 i = 0; __any_sync(ALL_LANES, needed && i < length); i += IN_FLIGHT) {
        bool is_open = needed && i < length;
        u32 neighbours[IN_FLIGHT];
        u64 words[IN_FLIGHT];
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            neighbours[j] = is_open ? search.into.target(begin + min(i + j, length - 1)) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            words[j] = is_open ? seen[neighbours[j]] : 0;
        }
        tally->examined += is_open ? min(length - i, IN_FLIGHT) : 0;
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            u64 found = words[j] & needed;
            predecessors.write(v, neighbours[j], found);
            needed &= ~found;
        }
    }
    return needed;
}

// The union of a value over the lanes of a warp.
__device__ __forceinline__ u64 warp_union(u64 value)
{
    u64 high = __reduce_or_sync(ALL_LANES, static_cast<u32>(value >> 32));
    return high << 32 | __reduce_or_sync(ALL_LANES, static_cast<u32>(value));
}

// The bits of a value that no lower lane has.
__device__ __forceinline__ u64 first_of_warp(u64 value)
{
    u32 lane = threadIdx.x % WARP;
    u64 below = value;
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        u64 other = __shfl_up_sync(ALL_LANES, below, distance);
        if (lane >= distance) below |= other;
    }
    below = __shfl_up_sync(ALL_LANES, below, 1);
    return lane ? value & ~below : value;
}

// Like collect_row, but a whole warp reads one row, from `begin` to `end`: all lanes pass the same vertex and
// get the same answer.
template <bool WANTED>
__device__ __forceinline__ u64 collect_by_warp(const Search& search, const Predecessors<WANTED>& predecessors,
                                               const u64* seen, u32 v, i64 begin, i64 end, u64 needed,
                                               Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    // The first step is narrow, as most rows end there if hubs come first.
    for (i64 step = WARP; begin < end && needed; begin += step, step = WARP * IN_FLIGHT) {
        u32 neighbours[IN_FLIGHT];
        u64 words[IN_FLIGHT];
        i64 stop = min(begin + step, end);
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            i64 i = begin + WARP * j + lane;
            neighbours[j] = i < stop ? search.into.target(i) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            bool is_inside = begin + WARP * j + lane < stop;
            words[j] = is_inside ? seen[neighbours[j]] & needed : 0;
            tally->examined += is_inside;
        }
        if (WANTED) {
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) {
                u64 found = words[j] & needed;
                if (!__any_sync(ALL_LANES, found != 0)) continue;
                predecessors.write(v, neighbours[j], first_of_warp(found));
                needed &= ~warp_union(found);
            }
        } else {
            needed &= ~warp_union(words[0] | words[1] | words[2] | words[3]);
        }
    }
    return needed;
}

// The pieces of long rows in a bottom-up level, all first ones before all second ones: few of these lack
// anything that has not been found. Several warps may find the same; the last predecessor stays.
template <bool WANTED>
__device__ void pull_long_rows(const Search& search, const Predecessors<WANTED>& predecessors,
                               const u64* seen, u64* seen_next, u64 live, u32 depth, Tally* tally)
{
    for (u64 k = thread_id() / WARP; k < search.n_long; k += thread_count() / WARP) {
        u64 entry = read_only(&search.long_rows[k]);
        u32 v = static_cast<u32>(entry);
        i64 begin = search.into.begin(v) + static_cast<i64>(entry >> 32) * LONG_ROW;
        i64 end = min(search.into.begin(v + 1), begin + LONG_ROW);
        u64 own = seen[v];
        // All lanes need the same, even if others add to the word meanwhile.
        u64 needed = __shfl_sync(ALL_LANES, live & ~own & ~load_relaxed(&seen_next[v]), 0);
        u64 found = needed & ~collect_by_warp(search, predecessors, seen, v, begin, end, needed, tally);
        if (threadIdx.x % WARP == 0 && (found || entry >> 32 == 0)) {
            u64 before = atomicOr(&seen_next[v], own | found);
            // Once, by whoever adds the first bits beyond those of the level before.
            bool is_first = found && (before & ~own) == 0;
            tally->found += is_first;
            tally->arcs += is_first ? search.out.begin(v + 1) - search.out.begin(v) : 0;
            tally->live |= found;
            if (found) set_level_together(search, v, found, depth + 1);
        }
    }
}

// Like collect_row, but the whole warp reads each wide row, one lane's after another's. Lanes whose rows are
// not wide get back what they pass.
template <bool WANTED>
__device__ __forceinline__ u64 collect_wide_rows(const Search& search,
                                                 const Predecessors<WANTED>& predecessors, const u64* seen,
                                                 u32 v, i64 begin, u32 length, u64 needed, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32 wide = __ballot_sync(ALL_LANES, needed && length >= WIDE_ROW && length <= LONG_ROW);
    while (wide) {
        u32 owner = __ffs(wide) - 1;
        wide &= wide - 1;
        i64 row = __shfl_sync(ALL_LANES, begin, owner);
        u64 rest = collect_by_warp(search, predecessors, seen, __shfl_sync(ALL_LANES, v, owner), row,
                                   row + __shfl_sync(ALL_LANES, length, owner),
                                   __shfl_sync(ALL_LANES, needed, owner), tally);
        if (lane == owner) needed = rest;
    }
    return needed;
}

// A bottom-up level for some sources: reads `seen`, writes `seen_next`, to which other warps add if it is
// shared.
template <bool WANTED>
__device__ void pull(const Search& search, const Predecessors<WANTED>& predecessors, const u64* seen,
                     u64* seen_next, u64 sources, bool is_shared, u32 depth, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    pull_long_rows(search, predecessors, seen, seen_next, sources, depth, tally);
    u64 following = thread_id() < search.n ? seen[thread_id()] : 0;
    for (u64 first = thread_id() / WARP * WARP; first < search.n; first += thread_count()) {
        bool is_inside = first + lane < search.n;
        u32 v = is_inside ? static_cast<u32>(first + lane) : 0;
        u64 own = following;
        u64 ahead = first + lane + thread_count();
        following = ahead < search.n ? seen[ahead] : 0;
        u64 needed = is_inside ? sources & ~own : 0;
        i64 begin = needed ? search.into.begin(v) : 0;
        i64 end = needed ? search.into.begin(v + 1) : 0;
        u32 length = static_cast<u32>(min(end - begin, static_cast<i64>(LONG_ROW) + 1));
        bool is_narrow = length < WIDE_ROW;
        u64 narrow = collect_row(search, predecessors, seen, v, begin, length, is_narrow ? needed : 0, tally);
        u64 lacking = is_narrow ? narrow : needed;
        lacking = collect_wide_rows(search, predecessors, seen, v, begin, length, lacking, tally);
        u64 found = needed & ~lacking;
        // If nothing is needed the row may be a long one, whose first piece then writes the same.
        bool is_long = needed && length > LONG_ROW;
        u64 before = 0;
        if (is_inside && !is_long) {
            if (is_shared) {
                before = atomicOr(&seen_next[v], own | found);
            } else {
                store_relaxed(&seen_next[v], own | found);
            }
        }
        if (found == 0) continue;
        if (is_shared) {
            set_level_together(search, v, found, depth + 1);
        } else {
            set_level(search, v, found, depth + 1);
        }
        tally->found += (before & ~own) == 0;
        tally->arcs += search.out.begin(v + 1) - search.out.begin(v);
        tally->live |= found;
    }
}

// Adds the counts of a block's threads.
__device__ void sum_up(const Tally& tally, u64* counts)
{
    add_up({tally.found, tally.arcs, tally.examined}, counts);
    u64 live = warp_union(tally.live);
    if (threadIdx.x % WARP == 0 && live & ~load_relaxed(&counts[LIVE])) atomicOr(&counts[LIVE], live);
}

// Clears the planes that the next level is the first to write.
__device__ __forceinline__ void clear_new_planes(const Search& search, u32 depth)
{
    for (u32 plane = FIRST_PLANES; plane < search.n_planes; ++plane) {
        if (depth + 2 == 1u << plane) clear(search.planes + static_cast<size_t>(plane) * search.n, search.n);
    }
}

// A level bottom-up: the sources with heavy frontiers pull; the others push, from a list of their own.
// Returns the number of pieces in that list.
template <bool WANTED>
__device__ __forceinline__ u64 level_bottom_up(const cg::grid_group& grid, const Search& search,
                                               const Predecessors<WANTED>& predecessors, u64* seen,
                                               u64* seen_other, u64 live, u32 depth, u64* now, Tally* tally)
{
    u64 n_listed = 0;
    weigh(search, seen, seen_other, live, now);
    grid.sync();
    u64 heavy = heavy_sources(now, live, search.lag);
    if (heavy != live) {
        convert(search, seen, seen_other, live & ~heavy, depth, now);
        grid.sync();
        n_listed = load_relaxed(&now[CONVERTED]);
        Frontier light = {search.list(depth), n_listed, search.frontier(depth),
                          width_for(load_relaxed(&now[CONVERTED_ARCS]), n_listed)};
        push_light(search, predecessors, seen, seen_other, light, depth, tally);
    }
    pull(search, predecessors, seen, seen_other, heavy, heavy != live, depth, tally);
    return n_listed;
}

// Where a search stands; the same in every thread.
struct State {
    u32 depth;
    u32 which;  // of the two arrays of visited words
    bool top_down;
    u64 n_cleared;  // pieces of the list whose words the level clears
    u64 vertices;   // of the frontier
    u64 arcs;       // that leave it
    u64 n_pieces;   // of its list; top-down only
    u64 live;       // sources that found something in the last level

    // The vertices that a level has found are the next frontier.
    __device__ __forceinline__ void take_over(const u64* counts)
    {
        vertices = load_relaxed(&counts[FOUND]);
        arcs = load_relaxed(&counts[ARCS]);
        n_pieces = load_relaxed(&counts[PIECES]);
        live = load_relaxed(&counts[LIVE]);
    }
};

// Clears the arrays and lists the first frontier. Returns its counts, which lie where a level before the
// first would have left them.
__device__ __forceinline__ const u64* begin_search(const cg::grid_group& grid, const Search& search,
                                                   const u32* sources, u32 n_sources)
{
    clear(search.visited, 2ull * search.n);
    clear(search.frontiers, 3ull * search.n);
    clear(search.planes, static_cast<u64>(FIRST_PLANES) * search.n);
    clear(search.counts, 3ull * COUNTS);
    grid.sync();
    u64* counts = search.counts + 2 * COUNTS;
    start(search, sources, n_sources, counts);
    grid.sync();
    return counts;
}

// Decides on the direction of the next level. If that changes, the frontier takes the other form.
__device__ __forceinline__ void turn(const cg::grid_group& grid, const Search& search, u64* seen,
                                     u64* seen_other, State* state, u64* now)
{
    if (state->top_down && state->arcs > search.many_arcs) {
        absorb(search, seen, state->n_pieces, state->depth);
        grid.sync();
        state->top_down = false;
    } else if (!state->top_down && state->vertices < search.few_vertices) {
        convert(search, seen, seen_other, state->live, state->depth, now);
        grid.sync();
        state->n_pieces = load_relaxed(&now[CONVERTED]);
        state->arcs = load_relaxed(&now[CONVERTED_ARCS]);
        state->top_down = true;
    }
}

// Runs a level in the direction that turn() has chosen.
template <bool WANTED>
__device__ __forceinline__ void run_level(const cg::grid_group& grid, const Search& search,
                                          const Predecessors<WANTED>& predecessors, u64* seen,
                                          u64* seen_other, State* state, u64* now, Tally* tally)
{
    u32 depth = state->depth;
    if (state->top_down) {
        Frontier frontier = {search.list(depth), state->n_pieces, search.frontier(depth),
                             width_for(state->arcs, state->n_pieces)};
        expand(search, predecessors, seen, frontier, depth, &now[PIECES], tally);
        state->n_cleared = state->n_pieces;
    } else {
        state->n_cleared =
            level_bottom_up(grid, search, predecessors, seen, seen_other, state->live, depth, now, tally);
        state->which = 1 - state->which;
    }
}

// The search. `log` is null, or has an entry for each level and one more. `result` gets the number of levels,
// or UNREACHED if there are too few planes, and the visited words that are the last, 0 or 1.
template <bool WANTED>
__device__ void search_all(const Search& search, const u32* sources, u32 n_sources, u32* rows, u32* result,
                           LevelRecord* log)
{
    cg::grid_group grid = cg::this_grid();
    Predecessors<WANTED> predecessors = {rows, search.original};
    bool is_first = thread_id() == 0;

    const u64* first_counts = begin_search(grid, search, sources, n_sources);
    if (is_first && log) log[0].begin_ns = nanoseconds();
    State state = {};
    state.top_down = true;
    state.take_over(first_counts);
    do {
        // Three sets of counts in turn: one for this level, one cleared here for the next, and the last
        // level's, which some thread may still be reading.
        u64* now = search.counts + state.depth % 3 * COUNTS;
        if (thread_id() < COUNTS) search.counts[(state.depth + 1) % 3 * COUNTS + thread_id()] = 0;
        u64* seen = search.seen(state.which);
        u64* seen_other = search.seen(1 - state.which);
        Tally tally = {0, 0, 0, 0};
        clear_new_planes(search, state.depth);
        clear_listed(search.frontier(state.depth + 2), search.list(state.depth + 2), state.n_cleared);
        turn(grid, search, seen, seen_other, &state, now);
        run_level(grid, search, predecessors, seen, seen_other, &state, now, &tally);
        sum_up(tally, now);
        grid.sync();
        state.take_over(now);
        if (is_first && log) {
            record(&log[state.depth], state.top_down, load_relaxed(&now[FOUND]),
                   load_relaxed(&now[EXAMINED]));
        }
        ++state.depth;
    } while (state.vertices > 0 && state.depth + 1 >> search.n_planes == 0);
    if (is_first) {
        result[0] = state.vertices > 0 ? UNREACHED : state.depth;
        result[1] = state.which;
    }
}

extern "C" __global__ void __launch_bounds__(512, 2)
    search_levels(const __grid_constant__ Search search, const u32* sources, u32 n_sources, u32* result,
                  LevelRecord* log)
{
    search_all<false>(search, sources, n_sources, nullptr, result, log);
}

extern "C" __global__ void __launch_bounds__(512, 2)
    search_trees(const __grid_constant__ Search search, const u32* sources, u32 n_sources, u32* predecessors,
                 u32* result, LevelRecord* log)
{
    search_all<true>(search, sources, n_sources, predecessors, result, log);
}

// Spreads the bits of a byte over the bytes of a word, each 0 or 1.
__device__ __forceinline__ u64 spread(u32 byte)
{
    u64 bits = byte * 0x0101010101010101ull & 0x8040201008040201ull;
    return (bits + 0x7f7f7f7f7f7f7f7full) >> 7 & 0x0101010101010101ull;
}

// Numbers of 8 neighbouring sources.
template <typename NUMBER>
struct alignas(sizeof(NUMBER) < 2 ? 8 : 16) Eight {
    NUMBER of[8];
};

// Writes the levels of all vertices, and marks vertices that are not reached. A thread writes 8 neighbouring
// sources of a vertex; `n` counts all vertices.
template <typename LEVEL, bool WANTED>
__device__ __forceinline__ void finish(const Search& search, u32 n, const u32* result, LEVEL* levels,
                                       u32* predecessors)
{
    u64 n_items = static_cast<u64>(n) * (SOURCES / 8);
    const u64* visited = search.seen(result[1]);
    u32 n_planes = result[0] == UNREACHED ? 0 : 32 - __clz(result[0] - 1);  // bits of the deepest level
    for (u64 item = thread_id(); item < n_items; item += thread_count()) {
        u32 at = read_only(&search.position[item / 8]);
        u32 shift = item % 8 * 8;
        u32 reached = at == UNREACHED ? 0 : visited[at] >> shift & 0xff;
        u64 bytes[sizeof(LEVEL)] = {};
        for (u32 plane = 0; plane < n_planes && reached; ++plane) {
            u32 byte = search.planes[static_cast<size_t>(plane) * search.n + at] >> shift & 0xff;
#pragma unroll
            for (u32 part = 0; part < sizeof(LEVEL); ++part) {
                if (plane / 8 == part) bytes[part] += spread(byte) << plane % 8;
            }
        }
        Eight<LEVEL> eight;
#pragma unroll
        for (u32 j = 0; j < 8; ++j) {
            u32 level = 0;
#pragma unroll
            for (u32 part = 0; part < sizeof(LEVEL); ++part) {
                level |= static_cast<u32>(bytes[part] >> 8 * j & 0xff) << 8 * part;
            }
            eight.of[j] = static_cast<LEVEL>(reached >> j & 1 ? level : UNREACHED);
        }
        reinterpret_cast<Eight<LEVEL>*>(levels)[item] = eight;
        if (!WANTED || reached == 0xff) continue;
        Eight<u32>* row = &reinterpret_cast<Eight<u32>*>(predecessors)[item];
        if (reached == 0) {
            *row = {NO_PREDECESSOR, NO_PREDECESSOR, NO_PREDECESSOR, NO_PREDECESSOR,
                    NO_PREDECESSOR, NO_PREDECESSOR, NO_PREDECESSOR, NO_PREDECESSOR};
            continue;
        }
        for (u32 j = 0; j < 8; ++j) {
            if (!(reached >> j & 1)) row->of[j] = NO_PREDECESSOR;
        }
    }
}

template <typename LEVEL>
__global__ void write_levels(const __grid_constant__ Search search, u32 n, const u32* __restrict__ result,
                             LEVEL* levels)
{
    finish<LEVEL, false>(search, n, result, levels, nullptr);
}

template <typename LEVEL>
__global__ void write_trees(const __grid_constant__ Search search, u32 n, const u32* __restrict__ result,
                            LEVEL* levels, u32* predecessors)
{
    finish<LEVEL, true>(search, n, result, levels, predecessors);
}

// Statistics of the levels of each source: vertices reached, the greatest level, and the sums of the levels
// and of their inverses, for a graph of `n` vertices. A warp takes a vertex at a time, a lane two sources. A
// search that had too few planes adds nothing.
extern "C" __global__ void __launch_bounds__(256)
    sum_levels(const __grid_constant__ Search search, u32 n, const u32* __restrict__ result,
               const u32* __restrict__ sources, u32 n_sources, u32* reached, u32* farthest, u64* total,
               u64* inverses)
{
    if (result[0] == UNREACHED) return;
    const u64* visited = search.seen(result[1]);
    const double unit = inverse_unit(n);
    u32 n_planes = 32 - __clz(result[0] - 1), lane = threadIdx.x % WARP;
    u32 own_reached[2] = {}, own_farthest[2] = {};
    u64 own_total[2] = {}, own_inverses[2] = {};
    for (u32 v = thread_id() / WARP; v < search.n; v += thread_count() / WARP) {
        u64 word = visited[v] >> lane;
        u32 levels[2] = {};
        for (u32 plane = 0; plane < n_planes; ++plane) {
            u64 bits = search.planes[static_cast<size_t>(plane) * search.n + v] >> lane;
            for (u32 half = 0; half < 2; ++half) levels[half] |= (bits >> half * WARP & 1) << plane;
        }
        for (u32 half = 0; half < 2; ++half) {
            u32 level = word >> half * WARP & 1 ? levels[half] : 0;
            own_reached[half] += word >> half * WARP & 1;
            own_farthest[half] = max(own_farthest[half], level);
            own_total[half] += level;
            own_inverses[half] += inverse_of(level, unit);
        }
    }
    for (u32 half = 0; half < 2; ++half) {
        u32 source = half * WARP + lane;
        // A source without arcs has no words.
        bool is_alone =
            thread_id() < WARP && source < n_sources && search.position[sources[source]] == UNREACHED;
        if (own_reached[half] + is_alone == 0) continue;
        atomicAdd(&reached[source], own_reached[half] + is_alone);
        atomicMax(&farthest[source], own_farthest[half]);
        atomicAdd(&total[source], own_total[half]);
        atomicAdd(&inverses[source], own_inverses[half]);
    }
}

// Puts the sources at the roots of their trees, also those without arcs. One thread per source.
template <typename LEVEL>
__global__ void write_sources(const u32* __restrict__ sources, u32 n_sources, LEVEL* levels,
                              u32* predecessors)
{
    u32 i = thread_id();
    if (i >= n_sources) return;
    u64 at = static_cast<u64>(sources[i]) * SOURCES + i;
    levels[at] = 0;
    if (predecessors) predecessors[at] = sources[i];
}
