// Direction-optimising BFS for graphs with hubs, in one persistent kernel: few bytes, and each of them once.
//
// Like hybrid.cu it goes top-down while few arcs leave the frontier and bottom-up while many do (Beamer,
// Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012), with one barrier of the grid
// per level. The differences:
//
//   - Best neighbours (_best_neighbours.cuh). In Graph500's graphs most vertices find their parent in the
//     neighbour of largest degree, and nearly all in one of the five largest, which are packed. Most best
//     neighbours are among a few thousand hubs, whose bits every block keeps in shared memory.
//   - Deferred answers. Every bottom-up level leaves a bitmap of all vertices visited so far. One pass at the
//     end reads the levels off these bitmaps, and most predecessors are best neighbours. It writes level and
//     predecessor once, in order, also those of unreached vertices, so nothing is initialised. Top-down
//     levels store what they find, and bottom-up levels the few predecessors that are not best neighbours.
//   - The arcs of the source and those of its neighbours are one step without a barrier: every block marks
//   all
//     neighbours itself, so none claims them again. (With more neighbours than a block has threads these are
//     two levels.)
//   - Bottom-up begins earlier, since a probe costs less than an arc does top-down.
//   - Bitmaps are as the next search needs them when a search ends, so none begins with a pass.
//
// If bottom-up levels go on for long (SNAPSHOTS), or many vertices stay open while few are found, the answer
// is written early; from then on all levels store what they find, and in the second case go top-down again.
//
// Bytes moved with n vertices: the scan reads 4 n of best neighbours, the last pass 4 n of their ids and
// writes 8 n; an open vertex costs 16 after the scan, of which 8 are read once per level, 16 for the other
// packed neighbours, and more only if all five are missed. The bitmaps, n / 8 each, stay in the L2 cache.

#include <cooperative_groups.h>

#include "_packed_bottom_up.cuh"
#include "device/block_scan.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

// Bitmaps of visited vertices, used in turn: the answer is deferred over one level less.
const u32 SNAPSHOTS = 8;

const u32 THREADS = 1024;

// Most words of the bitmap of hubs.
const u32 MAX_HUB_WORDS = 8192;

// Sums over the blocks during a level.
enum Count { FOUND, ARCS, EXAMINED, OPEN, PIECES, CONVERTED };
const u32 COUNTS = 6;
static_assert(COUNTS == CONVERTED + 1, "one word for each count");

// A level of an instrumented run; one more entry than levels holds the time at the end.
struct Entry {
    u64 is_top_down;
    u64 found;
    u64 examined;
    u64 begin_ns;
};

// When a search changes direction: bottom-up begins when more than `many_arcs` leave the frontier. It ends
// when more than `patience` vertices are open, and more than `beta` for each one found.
struct Rule {
    u64 many_arcs;
    u64 patience;
    float beta;
};

// Bitmaps have `n_words`, a multiple of GROUP_WORDS. Between two searches `visited` begins with a copy of
// `closed`, and `hubs` and the counts of the next epoch are zero.
struct Search {
    u32 n;
    u32 n_words;
    u32 hub_words;
    Rows out;
    Packed packed;
    Rule rule;
    const u32* closed;  // bitmap of vertices without arcs
    u32* visited;       // SNAPSHOTS bitmaps
    u32* hubs;          // three bitmaps of `hub_words`
    u32* stored;
    u64* listed;  // of each warp `warp_capacity`
    u32 warp_capacity;
    u64* lists;  // two of `list_capacity` pieces
    u64 list_capacity;
    u64* counts;  // two epochs of three sets of COUNTS
    u32* epoch;

    // What was visited before bottom-up level number k.
    __device__ __forceinline__ u32* snapshot(u32 k) const
    {
        return visited + static_cast<u64>(k % SNAPSHOTS) * n_words;
    }
    __device__ __forceinline__ u32* hubs_of(u32 k) const
    {
        return hubs + k % 3 * hub_words;
    }
    __device__ __forceinline__ u32 n_groups() const
    {
        return n_words / GROUP_WORDS;
    }
    __device__ __forceinline__ i64 degree(u32 v) const
    {
        return out.begin(v + 1ull) - out.begin(v);
    }
};

// Where a search stands; the same in every thread, but for the lists of its warp.
struct State {
    u32 depth;
    u32 vertices;  // of the frontier
    u64 arcs;      // that leave it
    u64 pieces;    // of its rows
    u64 open;
    bool top_down;
    bool deferring;
    bool written;     // the answer, early
    u32 snapshot;     // in use
    u32 first;        // snapshot before the answer was deferred
    u32 first_depth;  // and the level then
    Lists lists;
};

// The frontier when the source's neighbours are expanded.
struct Neighbours {
    u32 count;
    const u32* ids;
    const u64* first_piece;  // in shared memory
};

// Adds a visited vertex to the bitmap of hubs if it is one.
__device__ __forceinline__ void visit_hub(const Search& search, const State& state, u32 v, u32 rank)
{
    if (rank / 32 >= search.hub_words) return;
    atomicOr(&search.hubs_of(state.snapshot)[rank / 32], bit_of(rank));
}

// A top-down level over the pieces that `piece_at` gives; the rows of the vertices found go to `next`.
template <typename PieceAt>
__device__ __forceinline__ void expand(const Search& search, const State& state, const Answer& answer,
                                       PieceAt piece_at, u64 n_pieces, u64* next, u64* length, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32* visited = search.snapshot(state.snapshot);
    for (u64 k = thread_id() / WARP; k < n_pieces; k += thread_count() / WARP) {
        Piece piece = piece_at(k);
        u32 heads[DEEP];
        u32 fresh = 0;
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            i64 i = piece.begin + 32 * j + lane;
            heads[j] = i < piece.end ? search.out.target(i) : piece.vertex;
            tally->examined += i < piece.end;
        }
        // Each kind of access for all heads before the next kind, so that they overlap.
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            fresh |= !contains_now(visited, heads[j]) << j;
        }
        u32 ranks[DEEP];
        u32 before[DEEP];
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            bool claims = fresh >> j & 1;
            ranks[j] = claims ? read_only(&search.packed.rank[heads[j]]) : 0;
            before[j] = claims ? atomicOr(&visited[heads[j] / 32], bit_of(heads[j])) : ~0u;
        }
#pragma unroll
        for (u32 j = 0; j < DEEP; ++j) {
            if (before[j] & bit_of(heads[j])) {
                fresh &= ~(1u << j);
                continue;
            }
            answer.settle(heads[j], piece.vertex);
            visit_hub(search, state, heads[j], ranks[j]);
            ++tally->found;
        }
        tally->arcs += append_rows(heads, fresh, search.out.offsets, next, length);
    }
}

// Marks the source and, if a block has a thread for each, its neighbours, which are then the frontier. Every
// block does the same.
__device__ void start(const Search& search, const Answer& answer, u32 source, State* state, u64* first_piece,
                      Neighbours* neighbours)
{
    u32 t = threadIdx.x;
    i64 begin = search.out.begin(source);
    u64 degree = search.degree(source);
    neighbours->ids = search.out.targets + begin;
    neighbours->count = degree <= blockDim.x ? static_cast<u32>(degree) : 0;
    state->arcs = degree;
    state->pieces = pieces_of(degree);
    auto mark = [&](u32 v) {
        atomicOr(&search.snapshot(0)[v / 32], bit_of(v));
        visit_hub(search, *state, v, read_only(&search.packed.rank[v]));
    };
    if (t == 0) mark(source);
    if (blockIdx.x == 0 && t == 0) {
        answer.level[source] = 0;
        answer.predecessor[source] = source;
    }
    __syncthreads();  // no thread may find the source before it is marked
    if (degree > blockDim.x) return;
    u32 v = t < degree ? neighbours->ids[t] : source;
    // Arcs are sorted, so parallel ones are next to each other.
    bool counts = v != source && (t == 0 || neighbours->ids[t - 1] != v);
    u64 arcs = counts ? search.degree(v) : 0;
    if (counts) {
        mark(v);
        if (blockIdx.x == 0) answer.settle(v, source);
    }
    const u32 bits = 16;
    u64 sums = 0;
    block_exclusive_sum(arcs << bits | counts, &sums);
    first_piece[t] = block_exclusive_sum(pieces_of(arcs), &state->pieces);
    neighbours->first_piece = first_piece;
    state->vertices = static_cast<u32>(sums & ((1u << bits) - 1));
    state->arcs = sums >> bits;
    state->depth = 1;
    __syncthreads();
}

// A top-down level.
__device__ void top_down(const Search& search, const State& state, const Answer& answer, u32 source,
                         const Neighbours& neighbours, u64* length, Tally* tally)
{
    const u64* list = search.lists + state.depth % 2 * search.list_capacity;
    u64* next = search.lists + (state.depth + 1) % 2 * search.list_capacity;
    const i64* offsets = search.out.offsets;
    bool from_neighbours = state.depth == 1 && neighbours.count > 0;
    auto piece_at = [&](u64 k) {
        if (state.depth == 0) return piece_of(k << 32 | source, offsets);
        if (!from_neighbours) return piece_of(list[k], offsets);
        u32 i = last_not_above(neighbours.first_piece, neighbours.count, k);
        return piece_of((k - neighbours.first_piece[i]) << 32 | neighbours.ids[i], offsets);
    };
    expand(search, state, answer, piece_at, state.pieces, next, length, tally);
}

// A bottom-up level, which `scans` if it is the first one after a top-down level. `hubs` is shared memory.
__device__ void bottom_up(const Search& search, State* state, const Answer& answer, bool scans, u32* hubs,
                          Tally* tally)
{
    u32 k = state->snapshot;
    Visited visited = {search.snapshot(k), hubs, search.snapshot(k + 1), search.hubs_of(k + 1)};
    const u32* hubs_now = search.hubs_of(k);
    for (u32 i = threadIdx.x; i < search.hub_words; i += blockDim.x) hubs[i] = hubs_now[i];
    for (u32 i = thread_id(); i < search.hub_words; i += thread_count()) {
        if (hubs_now[i]) atomicOr(&visited.hubs_next[i], hubs_now[i]);
        search.hubs_of(k + 2)[i] = 0;
    }
    __syncthreads();
    u32 warp = thread_id() / WARP, lane = threadIdx.x % WARP, n_warps = thread_count() / WARP;
    if (scans) {
        state->lists = {search.listed + static_cast<u64>(warp) * search.warp_capacity, search.warp_capacity,
                        0, 0};
        for (u32 group = warp; group < search.n_groups(); group += n_warps) {
            scan_group(search.packed, visited, answer, group, &state->lists, tally);
        }
    } else {
        const u32 at_once = WARP / GROUP_WORDS;
        for (u64 first = warp; first < search.n_groups(); first += static_cast<u64>(at_once) * n_warps) {
            u64 group = first + static_cast<u64>(lane / GROUP_WORDS) * n_warps;
            u64 word = group * GROUP_WORDS + lane % GROUP_WORDS;
            if (group < search.n_groups()) visited.next[word] = visited.now[word];
        }
    }
    // Other lanes read the lists and add to the words of the next bitmap.
    __syncwarp();
    search_lists(search.packed, visited, answer, scans, &state->lists, tally);
}

// Writes the answer for the vertices of a word that were not visited when deferring began: their levels are
// those of the snapshots that have them first.
__device__ __forceinline__ void write_word(const Search& search, const State& state, const Answer& answer,
                                           u32 source, u32 word)
{
    u32 lane = threadIdx.x % WARP;
    u32 v = word * 32 + lane;
    u32 closed = search.closed[word];
    u32 before = search.snapshot(state.first)[word] & ~closed;
    u32 level = UNREACHED;
    for (u32 k = state.snapshot; k > state.first; --k) {
        if (search.snapshot(k)[word] >> lane & 1) level = state.first_depth + (k - state.first);
    }
    if (closed >> lane & 1) level = UNREACHED;
    if (v >= search.n || v == source || (before >> lane & 1)) return;
    answer.level[v] = level;
    if (level == UNREACHED) {
        answer.predecessor[v] = NO_PREDECESSOR;
    } else if (!(answer.stored[word] >> lane & 1)) {
        answer.predecessor[v] = read_only(&search.packed.best_ids[v]);
    }
}

// Writes the answer, unless that has happened, and with `last` makes the bitmaps ready for the next search.
__device__ void write_answer(const Search& search, const State& state, const Answer& answer, u32 source,
                             bool last)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 group = thread_id() / WARP; group < search.n_groups(); group += thread_count() / WARP) {
        u32 first = group * GROUP_WORDS;
        if (!state.written) {
#pragma unroll
            for (u32 j = 0; j < GROUP_WORDS; ++j) {
                write_word(search, state, answer, source, first + j);
            }
        }
        __syncwarp();
        if (last && lane < GROUP_WORDS) search.visited[first + lane] = search.closed[first + lane];
    }
}

// Makes hubs and counts ready for the next search.
__device__ void clear(const Search& search, u32 epoch)
{
    for (u32 i = thread_id(); i < 3 * search.hub_words; i += thread_count()) search.hubs[i] = 0;
    u64* of_next = search.counts + (epoch + 1) % 2 * 3 * COUNTS;
    if (thread_id() < 3 * COUNTS) of_next[thread_id()] = 0;
    if (thread_id() == 0) *search.epoch = epoch + 1;
}

// Turns what the last bottom-up level found into the list of a top-down one.
__device__ void convert(const Search& search, const State& state, u64* length)
{
    const u32* now = search.snapshot(state.snapshot);
    const u32* before = search.snapshot(state.snapshot - 1);
    u64* list = search.lists + state.depth % 2 * search.list_capacity;
    for (u32 first = 0; first < search.n_words; first += thread_count()) {
        u32 word = first + thread_id();
        u32 bits = word < search.n_words ? now[word] & ~before[word] : 0;
        append_word(bits, word, search.out.offsets, list, length);
    }
}

__device__ void record(Entry* entry, bool is_top_down, u64 found, u64 examined)
{
    entry->is_top_down = is_top_down;
    entry->found = found;
    entry->examined = examined;
    entry[1].begin_ns = nanoseconds();
}

// Decides on the direction of the next level; returns whether it scans. May write the answer.
__device__ bool turn(const Search& search, State* state, const Answer& answer, u32 source, u64* converted)
{
    const Rule& rule = search.rule;
    cg::grid_group grid = cg::this_grid();
    if (state->top_down) {
        if (state->arcs <= rule.many_arcs) return false;
        state->top_down = false;
        if (!state->written) {
            state->deferring = true;
            state->first = state->snapshot;
            state->first_depth = state->depth;
        }
        return true;
    }
    bool back = state->open > rule.patience && state->vertices * rule.beta < state->open;
    bool full = state->deferring && state->snapshot - state->first == SNAPSHOTS - 1;
    if (!back && !full) return false;
    if (back) convert(search, *state, converted);
    write_answer(search, *state, answer, source, false);
    state->deferring = false;
    state->written = true;
    grid.sync();
    if (back) {
        state->pieces = load_relaxed(converted);
        state->top_down = true;
    }
    return false;
}

// The search. `log` is null, or has an entry for each level and one more.
extern "C" __global__ void __launch_bounds__(1024, 1)
    hybrid_packed(const __grid_constant__ Search search, u32 source, u32* level, u32* predecessor,
                  u32* rounds, Entry* log)
{
    __shared__ u64 first_piece[THREADS];
    __shared__ u32 hubs[MAX_HUB_WORDS];
    cg::grid_group grid = cg::this_grid();
    bool is_first = thread_id() == 0;
    u32 epoch = *search.epoch;
    u64* counts = search.counts + epoch % 2 * 3 * COUNTS;
    State state = {};
    state.vertices = 1;
    state.top_down = true;
    Answer answer = {level, predecessor, search.stored, 0, false};
    Neighbours neighbours = {};

    if (is_first && log) log[0].begin_ns = nanoseconds();
    start(search, answer, source, &state, first_piece, &neighbours);
    if (is_first && log && state.depth == 1) {
        record(&log[0], true, state.vertices, search.degree(source));
    }
    // No block may go bottom-up or end while another one still marks.
    if (state.vertices == 0 || state.arcs > search.rule.many_arcs) grid.sync();
    while (state.vertices > 0) {
        // Three sets of counts in turn: one for this level, one cleared here for the next, and the last
        // level's, which some thread may still be reading.
        u64* now = counts + state.depth % 3 * COUNTS;
        if (thread_id() < COUNTS) counts[(state.depth + 1) % 3 * COUNTS + thread_id()] = 0;
        Tally tally = {};
        bool scans = turn(search, &state, answer, source, &now[CONVERTED]);
        answer.depth = state.depth;
        answer.deferred = state.deferring;
        if (state.top_down) {
            top_down(search, state, answer, source, neighbours, &now[PIECES], &tally);
        } else {
            bottom_up(search, &state, answer, scans, hubs, &tally);
            ++state.snapshot;
        }
        add_up({tally.found, tally.arcs, tally.examined, tally.open}, now);
        grid.sync();
        state.vertices = static_cast<u32>(load_relaxed(&now[FOUND]));
        state.arcs = load_relaxed(&now[ARCS]);
        state.open = load_relaxed(&now[OPEN]);
        state.pieces = load_relaxed(&now[PIECES]);
        if (is_first && log) {
            record(&log[state.depth], state.top_down, state.vertices, load_relaxed(&now[EXAMINED]));
        }
        ++state.depth;
    }
    if (!state.deferring && !state.written) state.first = state.snapshot;
    write_answer(search, state, answer, source, true);
    clear(search, epoch);
    if (is_first) *rounds = state.depth;
}
