// Direction-optimising BFS in one persistent kernel: top-down while the frontier has few arcs, bottom-up
// while it has many. Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 2, after
// Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search" (SC 2012).
//
// The whole search is one cooperative launch with one barrier of the grid per level. The direction of the
// next level follows from counts that every thread reads after the barrier.
//
// Top-down. The frontier is a list of pieces of rows (_pieces.cuh). A warp takes a piece, reads its heads,
// four per lane, claims those that are not visited in an exact bitmap, and appends their rows to the next
// list.
//
// Bottom-up. See _bottom_up.cuh. The scan probes one neighbour, which _prepare.cu has packed into an array:
// among the first arcs of the row, the neighbour of highest degree, which is the most likely to be in the
// frontier. A warp owns what it lists, so warps share only the bitmap in which they look up parents.
//
// The scan looks up parents in `visited` as it was when the level began. That is equivalent to the frontier:
// once all vertices up to a level are known, a vertex that is not visited has no arc from an earlier level.
// So top-down levels keep no bitmap of their frontier. Bottom-up levels rotate three: one is read, one
// written, one cleared for the next level.
//
// _prepare.cu marks isolated vertices as visited.
//
// Bytes moved with n vertices: the start writes 8 n and copies n / 8; the scan reads n / 8 and 4 n of packed
// neighbours and writes 8 per vertex found; a listed vertex costs 20, and 32 per 8 neighbours; a top-down
// level costs 20 per vertex and 4 per arc. The bitmaps, n / 8 each, stay in the L2 cache. At Graph500 scale
// 24 (n = 16.8 million, of which 8.9 million have arcs) the start moves 135 MB and the scan 140 MB.
//
// Deviations from the paper:
//   - |E| is the number of arcs, since it is compared with m_f, the arcs out of the frontier; the paper does
//     not say which it counts.
//   - its search of rows by degree (figures 4 and 6, see bottom_up.cu) serves the lists only.
//   - nothing is partitioned: one GPU holds the graph.

#include <cooperative_groups.h>

#include "_bottom_up.cuh"
#include "_level_log.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

// Sums over the blocks during a level.
enum Count { FOUND, ARCS, EXAMINED, PIECES, CONVERTED };
const u32 COUNTS = 5;
static_assert(COUNTS == CONVERTED + 1, "one word for each count");

// Bitmaps have `n_words`, a multiple of GROUP_WORDS. Bottom-up begins when the arcs of the frontier are more
// than `many_arcs`, and ends when its vertices are fewer than `few_vertices`;
// see _switching.py.
struct Search {
    u32 n;
    u32 n_words;
    Rows out;
    BottomUp into;
    const u32* isolated;
    u64 many_arcs;
    u64 few_vertices;
    u32* visited;
    u32* frontiers;  // three bitmaps
    u32* listed;     // of each warp `warp_capacity`, the vertices that it scans
    u32 warp_capacity;
    u64* lists;  // two of `list_capacity` pieces
    u64 list_capacity;
    u64* counts;  // three of COUNTS

    // The frontier of a bottom-up level.
    __device__ u32* frontier(u32 depth) const
    {
        return frontiers + depth % 3 * n_words;
    }
};

struct Answer {
    u32* level;
    u32* predecessor;

    __device__ __forceinline__ void settle(u32 v, u32 parent, u32 depth) const
    {
        level[v] = depth + 1;
        predecessor[v] = parent;
    }
};

// Counts of a thread during a level.
struct Tally {
    u32 found;
    u32 examined;
    u64 arcs;
};

// Prepares a search from `source`; the list holds its row.
__device__ void start(const Search& search, const Answer& answer, u32 source)
{
    for (u64 v = thread_id(); v < search.n; v += thread_count()) {
        answer.level[v] = v == source ? 0 : UNREACHED;
        answer.predecessor[v] = v == source ? source : NO_PREDECESSOR;
    }
    for (u32 word = thread_id(); word < search.n_words; word += thread_count()) {
        search.visited[word] = search.isolated[word] | (word == source / 32 ? bit_of(source) : 0);
    }
    u64 n_pieces = pieces_of(search.out.begin(source + 1) - search.out.begin(source));
    for (u64 piece = thread_id(); piece < n_pieces; piece += thread_count()) {
        search.lists[piece] = piece << 32 | source;
    }
    if (thread_id() < 3 * COUNTS) search.counts[thread_id()] = 0;
}

// A top-down level over a list of pieces; the rows of the vertices found go to `next`.
__device__ void expand(const Search& search, const Answer& answer, const u64* list, u64 n_pieces, u32 depth,
                       u64* next, u64* length, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    for (u64 k = thread_id() / WARP; k < n_pieces; k += thread_count() / WARP) {
        Piece piece = piece_of(list[k], search.out.offsets);
        u32 heads[IN_FLIGHT];
        u32 fresh = 0;
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            i64 i = piece.begin + 32 * j + lane;
            heads[j] = i < piece.end ? search.out.target(i) : piece.vertex;
            tally->examined += i < piece.end;
        }
        // Each kind of access for all heads before the next kind, so that they overlap.
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            fresh |= !contains_now(search.visited, heads[j]) << j;
        }
        u32 before[IN_FLIGHT];
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            before[j] = fresh >> j & 1 ? atomicOr(&search.visited[heads[j] / 32], bit_of(heads[j])) : ~0u;
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            if (before[j] & bit_of(heads[j])) {
                fresh &= ~(1u << j);
                continue;
            }
            answer.settle(heads[j], piece.vertex, depth);
            ++tally->found;
        }
        tally->arcs += append_rows(heads, fresh, search.out.offsets, next, length);
    }
}

// Turns the frontier of a bottom-up level into the list of a top-down one, and marks its vertices as visited.
__device__ void convert(const Search& search, const u32* frontier, u64* list, u64* length)
{
    for (u32 first = 0; first < search.n_words; first += thread_count()) {
        u32 word = first + thread_id();
        u32 bits = word < search.n_words ? frontier[word] : 0;
        if (bits) search.visited[word] |= bits;
        append_word(bits, word, search.out.offsets, list, length);
    }
}

// A bottom-up level, which `scans` if it is the first one after a top-down level.
__device__ void bottom_up(const Search& search, const Answer& answer, u32 depth, bool scans, u32* n_listed,
                          Tally* tally)
{
    const u32* frontier = scans ? search.visited : search.frontier(depth);
    u32* next = search.frontier(depth + 1);
    u32* cleared = search.frontier(depth + 2);
    u32* listed = search.listed + static_cast<u64>(thread_id() / WARP) * search.warp_capacity;
    auto settle = [&](u32 v, u32 parent) {
        answer.settle(v, parent, depth);
        ++tally->found;
    };
    for (u32 word = thread_id(); word < search.n_words; word += thread_count()) {
        if (!scans) search.visited[word] |= frontier[word];
        cleared[word] = 0;
    }
    if (scans) {
        Groups groups = {thread_id() / WARP, search.n_words / GROUP_WORDS, thread_count() / WARP};
        *n_listed =
            scan(search.into, {search.visited, frontier, next}, groups, listed, &tally->examined, settle);
    }
    // Only this warp settles the vertices on its list, so all are still open: no bitmap of closed ones.
    *n_listed =
        search_listed(search.into, {nullptr, frontier, next}, listed, *n_listed, &tally->examined, settle);
}

// Where a search stands; the same in every thread, but for the length of its warp's list.
struct State {
    u32 depth;
    u32 vertices;  // of the frontier
    u64 arcs;      // that leave it
    u64 n_pieces;  // of its list; top-down only
    bool top_down;
    u32 n_listed;  // of this warp's list; bottom-up only
};

// Chooses the direction of a level, runs it, and stores what all blocks have found in the state.
__device__ __forceinline__ void run_level(const cg::grid_group& grid, const Search& search,
                                          const Answer& answer, State* state, u64* now)
{
    u32 depth = state->depth;
    u64* list = search.lists + depth % 2 * search.list_capacity;
    u64* next_list = search.lists + (depth + 1) % 2 * search.list_capacity;
    Tally tally = {0, 0, 0};
    bool scans = state->top_down && state->arcs > search.many_arcs;
    if (!state->top_down && state->vertices < search.few_vertices) {
        convert(search, search.frontier(depth), list, &now[CONVERTED]);
        grid.sync();
        state->n_pieces = load_relaxed(&now[CONVERTED]);
        state->top_down = true;
    } else if (scans) {
        state->top_down = false;
    }
    if (state->top_down) {
        expand(search, answer, list, state->n_pieces, depth, next_list, &now[PIECES], &tally);
    } else {
        bottom_up(search, answer, depth, scans, &state->n_listed, &tally);
    }
    add_up({tally.found, tally.arcs, tally.examined}, now);
    grid.sync();
    state->vertices = static_cast<u32>(load_relaxed(&now[FOUND]));
    state->arcs = load_relaxed(&now[ARCS]);
    state->n_pieces = load_relaxed(&now[PIECES]);
}

// The search. `log` is null, or has an entry for each level and one more.
extern "C" __global__ void __launch_bounds__(512, 2)
    hybrid(const __grid_constant__ Search search, u32 source, u32* level, u32* predecessor, u32* n_levels,
           LevelRecord* log)
{
    cg::grid_group grid = cg::this_grid();
    Answer answer = {level, predecessor};
    bool is_first = thread_id() == 0;

    start(search, answer, source);
    grid.sync();
    if (is_first && log) log[0].begin_ns = nanoseconds();

    State state = {};
    state.vertices = 1;
    state.arcs = search.out.begin(source + 1) - search.out.begin(source);
    state.n_pieces = pieces_of(state.arcs);
    state.top_down = true;
    while (state.vertices > 0) {
        // Three sets of counts in turn: one for this level, one cleared here for the next, and the last
        // level's, which some thread may still be reading.
        u64* now = search.counts + state.depth % 3 * COUNTS;
        if (thread_id() < COUNTS) search.counts[(state.depth + 1) % 3 * COUNTS + thread_id()] = 0;
        run_level(grid, search, answer, &state, now);
        if (is_first && log) {
            record(&log[state.depth], state.top_down, load_relaxed(&now[FOUND]),
                   load_relaxed(&now[EXAMINED]));
        }
        ++state.depth;
    }
    if (is_first) *n_levels = state.depth;
}
