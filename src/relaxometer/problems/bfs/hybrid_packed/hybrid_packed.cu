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
//     all neighbours itself, so none claims them again. (With more neighbours than a block has threads these
//     are two levels.)
//   - Bottom-up begins earlier, since a probe costs less than an arc does top-down.
//   - A top-down level from many arcs, which a bottom-up one follows, only marks what it finds. To list it,
//     with levels and degrees, takes half a dozen scattered accesses per vertex.
//   - Once few vertices are open, one block searches on alone, while the others write the answer.
//   - Bitmaps are as the next search needs them when a search ends, so none begins with a pass.
//
// Arcs examined are those read: whole sectors of a row, and all packed neighbours of a vertex.
//
// If bottom-up levels go on for long (SNAPSHOTS), or many vertices stay open while few are found, the answer
// is written early; from then on all levels store what they find, and in the second case go top-down again.
//
// Bytes moved with n vertices: the scan reads 4 n of best neighbours, the last pass 4 n of their ids and
// writes 8 n; an open vertex costs 16 after the scan, of which 8 are read once per level, 16 for the other
// packed neighbours, and more only if all five are missed. The bitmaps, n / 8 each, stay in the L2 cache.

#include <cooperative_groups.h>

#include "_deferred_answer.cuh"
#include "problems/bfs/_pieces.cuh"
#include "device/block_scan.cuh"
#include "problems/bfs/_level_log.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

// Bitmaps of visited vertices, used in turn: the answer is deferred over one level less.
const u32 SNAPSHOTS = 8;

// A top-down level only marks if more arcs leave the frontier than one in MARKING_PART of those that turn the
// search bottom-up. The next level then goes bottom-up without a count of its arcs.
const u32 MARKING_PART = 8;

// Threads per block; an option of the compiler.
#ifndef THREADS
#define THREADS 1024
#endif

// Sums over the blocks during a level.
enum Count { FOUND, ARCS, EXAMINED, OPEN, SEVERAL, LISTED, CONVERTED, PIECES };
const u32 COUNTS = 8;
static_assert(COUNTS == PIECES + 1, "one word for each count");

// When a search changes direction: bottom-up begins when more than `many_arcs` leave the frontier. It ends
// when more than `patience` vertices are open, and more than `beta` for each one found. One block goes on
// alone when at most `tail` are open.
struct Rule {
    u64 many_arcs;
    u64 patience;
    u64 tail;
    float beta;
};

// Bitmaps have `n_words`, a multiple of GROUP_WORDS. Between two searches `visited` begins with a copy of
// `closed`, and `stored`, `hubs` and the counts of the next epoch are zero.
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
    u32* found;         // two lists of n vertices that top-down levels find
    u64* pieces;        // of a frontier's rows
    u64* tail;          // open vertices that one block handles
    u32* tail_parents;  // what a level finds of them
    u64* counts;        // two epochs of three sets of COUNTS
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
    // The frontier of a top-down level.
    __device__ __forceinline__ u32* frontier(u32 depth) const
    {
        return found + static_cast<u64>(depth % 2) * n;
    }
    __device__ __forceinline__ i64 degree(u32 v) const
    {
        return out.begin(v + 1ull) - out.begin(v);
    }
};

struct Visited : Bitmaps {
    u32* hubs_next;

    __device__ __forceinline__ void mark_hub(u32 hub) const
    {
        atomicOr(&hubs_next[hub / 32], bit_of(hub));
    }
};

const u64 CLOSED = ~0ull;  // an entry of the tail that has been found

// Where a search stands; the same in every thread, but for the lists of its warp.
struct State {
    u32 depth;
    u32 vertices;  // of the frontier
    u64 arcs;      // that leave it
    u64 open;
    u64 several;  // open vertices with several neighbours
    bool top_down;
    bool marking;  // top-down
    bool deferring;
    bool written;     // the answer, early
    u32 snapshot;     // in use
    u32 first;        // snapshot before the answer was deferred
    u32 first_depth;  // and the level then
    Lists lists;
};

// A frontier so small that every block cuts its rows itself, and knows where the pieces of each row begin.
struct SmallFrontier {
    const u32* ids;
    u32 count;
    u64 n_pieces;
    u64* first_piece;  // in shared memory, one for each thread
};

// Adds a visited vertex to the bitmap of hubs if it is one.
__device__ __forceinline__ void visit_hub(const Search& search, const State& state, u32 v, u32 rank)
{
    if (rank / 32 >= search.hub_words) return;
    atomicOr(&search.hubs_of(state.snapshot)[rank / 32], bit_of(rank));
}

// Appends each lane's vertices for which `taken` has a bit, with one atomic addition per warp. All lanes call
// it.
__device__ __forceinline__ void append(const u32 (&vertices)[IN_FLIGHT], u32 taken, u32* list, u64* length)
{
    u32 below = sum_below(__popc(taken));
    u32 sum = __shfl_sync(ALL_LANES, below + __popc(taken), WARP - 1);
    if (sum == 0) return;
    u64 base = 0;
    if (threadIdx.x % WARP == 0) base = atomicAdd(length, static_cast<u64>(sum));
    u64 at = __shfl_sync(ALL_LANES, base, 0) + below;
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        if (taken >> j & 1) list[at++] = vertices[j];
    }
}

// Calls `visit` with numbers below `count`, each in one warp. The first ones are in different blocks.
template <typename Visit>
__device__ __forceinline__ void for_each_in_a_warp(u64 count, Visit visit)
{
    for (u64 k = threadIdx.x / WARP * gridDim.x + blockIdx.x; k < count; k += thread_count() / WARP) {
        visit(k);
    }
}

// Expands a piece of a row: claims the heads that are not visited and, unless the level only marks, lists
// them.
__device__ __forceinline__ void expand(const Search& search, const State& state, const Answer& answer,
                                       Piece piece, u64* length, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    u32* visited = search.snapshot(state.snapshot + state.marking);
    u32 heads[IN_FLIGHT];
    u32 fresh = 0;
    // Each kind of access for all heads before the next kind, so that they overlap.
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        i64 i = piece.begin + 32 * j + lane;
        heads[j] = i < piece.end ? search.out.target(i) : piece.vertex;
        tally->examined += i < piece.end;
    }
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        fresh |= !contains_now(visited, heads[j]) << j;
    }
    u32 before[IN_FLIGHT];
    if (state.marking) {
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            before[j] = fresh >> j & 1 ? atomicOr(&visited[heads[j] / 32], bit_of(heads[j])) : ~0u;
        }
#pragma unroll
        for (u32 j = 0; j < IN_FLIGHT; ++j) {
            if (!(before[j] & bit_of(heads[j]))) answer.predecessor[heads[j]] = piece.vertex;
        }
        return;
    }
    u32 ranks[IN_FLIGHT];
    i64 begins[IN_FLIGHT], ends[IN_FLIGHT];
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        bool claims = fresh >> j & 1;
        u32 v = claims ? heads[j] : 0;
        ranks[j] = read_only(&search.packed.rank[v]);
        begins[j] = search.out.begin(v);
        ends[j] = search.out.begin(v + 1ull);
        before[j] = claims ? atomicOr(&visited[v / 32], bit_of(v)) : ~0u;
    }
#pragma unroll
    for (u32 j = 0; j < IN_FLIGHT; ++j) {
        if (before[j] & bit_of(heads[j])) {
            fresh &= ~(1u << j);
            continue;
        }
        answer.settle(heads[j], piece.vertex);
        visit_hub(search, state, heads[j], ranks[j]);
        tally->arcs += ends[j] - begins[j];
        ++tally->found;
    }
    append(heads, fresh, search.frontier(state.depth + 1), length);
}

// Cuts the rows of a small frontier, one vertex per thread. A thread that does not count its vertex makes no
// pieces.
__device__ void cut_in_block(const Search& search, const u32* ids, u32 count, bool counts, u64 degree,
                             SmallFrontier* small)
{
    small->ids = ids;
    small->count = count;
    u64 first = block_exclusive_sum(counts ? pieces_of(degree) : 0, &small->n_pieces);
    small->first_piece[threadIdx.x] = first;
    __syncthreads();
}

// Marks the source and, if a block has a thread for each, its neighbours, which are then the frontier. Every
// block does the same.
__device__ void start(const Search& search, const Answer& answer, u32 source, State* state,
                      SmallFrontier* small)
{
    u32 t = threadIdx.x;
    const u32* row = search.out.targets + search.out.begin(source);
    u64 degree = search.degree(source);
    state->arcs = degree;
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
    u32 v = t < degree ? row[t] : source;
    // Arcs are sorted, so parallel ones are next to each other.
    bool counts = v != source && (t == 0 || row[t - 1] != v);
    u64 arcs = counts ? search.degree(v) : 0;
    if (counts) {
        mark(v);
        if (blockIdx.x == 0) answer.settle(v, source);
    }
    const u32 bits = 16;  // hold the number of vertices, at most one per thread
    u64 sums = 0;
    block_exclusive_sum(arcs << bits | counts, &sums);
    state->vertices = static_cast<u32>(sums & ((1u << bits) - 1));
    state->arcs = sums >> bits;
    state->depth = 1;
    cut_in_block(search, row, static_cast<u32>(degree), counts, arcs, small);
}

// Cuts the rows of a frontier that is too large for a block to do it alone.
__device__ void cut(const Search& search, const State& state, u64* n_pieces)
{
    const u32* frontier = search.frontier(state.depth);
    for_each_in_a_warp(state.vertices, [&](u64 k) {
        u32 lane = threadIdx.x % WARP;
        u32 v = frontier[k];
        u32 pieces = pieces_of(search.degree(v));
        u64 base = 0;
        if (lane == 0 && pieces != 0) base = atomicAdd(n_pieces, static_cast<u64>(pieces));
        base = __shfl_sync(ALL_LANES, base, 0);
        for (u64 piece = lane; piece < pieces; piece += WARP) search.pieces[base + piece] = piece << 32 | v;
    });
}

// A top-down level. At depth 1, `small` may have the source's neighbours already.
__device__ void top_down(const Search& search, const State& state, const Answer& answer, u32 source,
                         SmallFrontier* small, u64* counts, Tally* tally)
{
    const i64* offsets = search.out.offsets;
    u64* length = &counts[LISTED];
    if (state.depth == 0) {
        for_each_in_a_warp(pieces_of(state.arcs), [&](u64 k) {
            expand(search, state, answer, piece_of(k << 32 | source, offsets), length, tally);
        });
        return;
    }
    if (state.vertices > blockDim.x) {
        cut(search, state, &counts[PIECES]);
        cg::this_grid().sync();
        for_each_in_a_warp(load_relaxed(&counts[PIECES]), [&](u64 k) {
            expand(search, state, answer, piece_of(search.pieces[k], offsets), length, tally);
        });
        return;
    }
    if (state.depth > 1 || small->count == 0) {
        const u32* ids = search.frontier(state.depth);
        bool own = threadIdx.x < state.vertices;
        u64 degree = own ? search.degree(ids[threadIdx.x]) : 0;
        cut_in_block(search, ids, state.vertices, own, degree, small);
    }
    for_each_in_a_warp(small->n_pieces, [&](u64 k) {
        u32 i = last_not_above(small->first_piece, small->count, k);
        u64 entry = (k - small->first_piece[i]) << 32 | small->ids[i];
        expand(search, state, answer, piece_of(entry, offsets), length, tally);
    });
}

// Copies the bits of hubs to shared memory. For whole blocks.
__device__ __forceinline__ void load_hubs(const Search& search, u32 snapshot, u32* hubs)
{
    const u32* now = search.hubs_of(snapshot);
    for (u32 i = threadIdx.x; i < search.hub_words; i += blockDim.x) hubs[i] = now[i];
    __syncthreads();
}

// Copies the warp's words of the bitmap to the next one, four words of a lane at once.
__device__ __forceinline__ void copy_own_words(const Search& search, const Bitmaps& visited)
{
    const u32 AT_ONCE = 4;
    u32 lane = threadIdx.x % WARP;
    u64 n_warps = thread_count() / WARP;
    u64 group = thread_id() / WARP + lane / GROUP_WORDS * n_warps;
    const u64 step = WARP / GROUP_WORDS * n_warps;
    for (; group < search.n_groups(); group += AT_ONCE * step) {
        u32 words[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            u64 from = min(group + j * step, static_cast<u64>(search.n_groups() - 1));
            words[j] = visited.own[from * GROUP_WORDS + lane % GROUP_WORDS];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            u64 to = group + j * step;
            if (to < search.n_groups()) visited.next[to * GROUP_WORDS + lane % GROUP_WORDS] = words[j];
        }
    }
}

// A bottom-up level, which `scans` if it is the first one after a top-down level. `hubs` is shared memory.
__device__ void bottom_up(const Search& search, State* state, const Answer& answer, bool scans, u32* hubs,
                          Tally* tally)
{
    u32 k = state->snapshot;
    const u32* own = search.snapshot(k);
    Visited visited = {{own, hubs, own, search.snapshot(k + 1)}, search.hubs_of(k + 1)};
    const u32* hubs_now = search.hubs_of(k);
    for (u32 i = thread_id(); i < search.hub_words; i += thread_count()) {
        if (hubs_now[i]) atomicOr(&visited.hubs_next[i], hubs_now[i]);
        search.hubs_of(k + 2)[i] = 0;
    }
    load_hubs(search, k, hubs);
    u32 warp = thread_id() / WARP, n_warps = thread_count() / WARP;
    if (scans) {
        state->lists = {search.listed + static_cast<u64>(warp) * search.warp_capacity, search.warp_capacity,
                        0, 0};
        for (u32 group = warp; group < search.n_groups(); group += n_warps) {
            scan_group(search.packed, visited, answer, group, &state->lists, tally);
        }
    } else {
        copy_own_words(search, visited);
    }
    // Other lanes read the lists and add to the words of the next bitmap.
    __syncwarp();
    search_lists(search.packed, visited, answer, scans, &state->lists, tally);
}

// Leaves a copy of what has been visited for a level that only marks. Its answers are deferred.
__device__ void begin_marking(const Search& search, State* state)
{
    u32 k = state->snapshot;
    state->deferring = true;
    state->first = k;
    state->first_depth = state->depth;
    copy_own_words(search, {nullptr, nullptr, search.snapshot(k), search.snapshot(k + 1)});
    cg::this_grid().sync();
}

// Counts the vertices that a level has marked, whose predecessors it has stored, and adds the hubs among
// them.
__device__ void end_marking(const Search& search, const State& state, const Answer& answer, Tally* tally)
{
    u32 k = state.snapshot;
    const u32 *own = search.snapshot(k), *next = search.snapshot(k + 1);
    cg::this_grid().sync();
    for (u32 word = thread_id(); word < search.n_words; word += thread_count()) {
        u32 found = next[word] & ~own[word];
        if (found) answer.stored[word] |= found;
        tally->found += __popc(found);
    }
    for (u32 hub = thread_id(); hub < search.hub_words * 32; hub += thread_count()) {
        bool is_visited = hub < search.n && contains(next, read_only(&search.packed.ids[hub]));
        u32 bits = __ballot_sync(ALL_LANES, is_visited);
        if (hub % 32 == 0) search.hubs_of(k + 1)[hub / 32] = bits;
    }
}

// Writes the answer, unless that has happened, and with `last` makes the bitmaps ready for the next search.
// The first `absent` blocks do not take part.
__device__ void write_answer(const Search& search, const State& state, const Answer& answer, u32 source,
                             bool last, u32 absent)
{
    if (blockIdx.x < absent) return;
    u32 lane = threadIdx.x % WARP;
    u32 n_absent = absent * blockDim.x;
    u32 n_warps = (thread_count() - n_absent) / WARP;
    for (u32 group = (thread_id() - n_absent) / WARP; group < search.n_groups(); group += n_warps) {
        if (!state.written) write_group<SNAPSHOTS>(search, state, answer, source, group);
        u32 word = group * GROUP_WORDS + lane;
        __syncwarp();
        if (!last || lane >= GROUP_WORDS) continue;
        search.visited[word] = search.closed[word];
        search.stored[word] = 0;
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

// Lists what the last bottom-up level found.
__device__ void convert(const Search& search, const State& state, u64* length)
{
    const u32* now = search.snapshot(state.snapshot);
    const u32* before = search.snapshot(state.snapshot - 1);
    u32* list = search.frontier(state.depth);
    for (u32 first = 0; first < search.n_words; first += thread_count()) {
        u32 word = first + thread_id();
        u32 bits = word < search.n_words ? now[word] & ~before[word] : 0;
        while (__any_sync(ALL_LANES, bits)) {
            u32 vertices[IN_FLIGHT];
            u32 taken = 0;
#pragma unroll
            for (u32 j = 0; j < IN_FLIGHT; ++j) {
                vertices[j] = word * 32 + (bits ? __ffs(bits) - 1 : 0);
                taken |= (bits != 0) << j;
                bits &= bits - 1;
            }
            append(vertices, taken, list, length);
        }
    }
}

// Decides on the direction of the next level; returns whether it scans. May write the answer.
__device__ bool turn(const Search& search, State* state, const Answer& answer, u32 source, u64* converted)
{
    const Rule& rule = search.rule;
    cg::grid_group grid = cg::this_grid();
    if (state->top_down) {
        if (state->arcs <= rule.many_arcs) return false;
        state->top_down = false;
        if (!state->written && !state->deferring) {
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
    write_answer(search, *state, answer, source, false, 0);
    state->deferring = false;
    state->written = true;
    grid.sync();
    state->top_down = back;
    return false;
}

// Whether a level only marks what it finds.
__device__ __forceinline__ bool marks(const Rule& rule, const State& state)
{
    bool is_first = !state.deferring && !state.written;
    return state.top_down && is_first && state.arcs > rule.many_arcs / MARKING_PART;
}

// Whether so few vertices are open that one block is faster alone: with one for each of its threads or a few,
// of which only some have more than one neighbour.
__device__ __forceinline__ bool is_tail(const Search& search, const State& state)
{
    return !state.top_down && state.open <= search.rule.tail && state.several <= search.rule.tail / 8;
}

// Gathers the open vertices of all warps. The last pass leaves them out, as it does what was visited before
// answers were deferred.
__device__ void gather_tail(const Search& search, const State& state, u64* length)
{
    u32 lane = threadIdx.x % WARP;
    const Lists& lists = state.lists;
    u32 count = lists.n_only + lists.n_several;
    if (count == 0) return;
    u64 base = 0;
    if (lane == 0) base = atomicAdd(length, static_cast<u64>(count));
    base = __shfl_sync(ALL_LANES, base, 0);
    for (u32 i = lane; i < count; i += WARP) {
        u64 entry = lists.entries[i < lists.n_only ? i : lists.capacity - 1 - (i - lists.n_only)];
        search.tail[base + i] = entry;
        u32 v = static_cast<u32>(entry);
        if (state.deferring) atomicOr(&search.snapshot(state.first)[v / 32], bit_of(v));
    }
}

// Probes all neighbours of the tail's open vertices. For one block.
__device__ void probe_tail(const Search& search, const Bitmaps& visited, u32 count, u32* examined)
{
    for (u32 i = threadIdx.x; i / WARP * WARP < count; i += blockDim.x) {
        u64 entry = i < count ? search.tail[i] : CLOSED;
        bool own = entry != CLOSED;
        u32 v = static_cast<u32>(entry), best = static_cast<u32>(entry >> 32);
        u32 parent = NO_PREDECESSOR;
        if (own && visited.contains_packed(best)) {
            parent = read_only(&search.packed.best_ids[v]);
        } else if (own && (best & HAS_OTHERS)) {
            parent = probe_others(search.packed, visited, v);
        }
        *examined += own;
        bool further = own && (best & MAY_HAVE_FURTHER) && parent == NO_PREDECESSOR;
        if (__any_sync(ALL_LANES, further)) {
            u32 in_row = search_row_of(search.packed, visited, further, v, examined);
            if (further) parent = in_row;
        }
        if (i < count) search.tail_parents[i] = parent;
    }
}

// Stores what the block has found and takes it off the tail. Returns the number of vertices found, the same
// in all threads of the block.
__device__ u32 settle_tail(const Search& search, const State& state, const Answer& answer, u32 count,
                           u32* hubs)
{
    u32 found = 0;
    for (u32 first = 0; first < count; first += blockDim.x) {
        u32 i = first + threadIdx.x;
        u32 parent = i < count ? search.tail_parents[i] : NO_PREDECESSOR;
        bool is_found = parent != NO_PREDECESSOR;
        if (is_found) {
            u32 v = static_cast<u32>(search.tail[i]);
            answer.settle(v, parent);
            atomicOr(&search.snapshot(state.snapshot)[v / 32], bit_of(v));
            if (static_cast<u32>(search.tail[i] >> 32) & SELF_HUB) {
                u32 hub = read_only(&search.packed.rank[v]);
                atomicOr(&hubs[hub / 32], bit_of(hub));
            }
            search.tail[i] = CLOSED;
        }
        found += __syncthreads_count(is_found);
    }
    return found;
}

// Searches to the end from the tail's `count` open vertices, for one block: its barrier costs a fraction of
// the grid's. Returns the number of levels. `hubs` is shared memory and has been loaded. The state is a copy,
// so that the caller's can stay in registers.
__device__ __noinline__ u32 search_tail(const Search& search, State state, Answer answer, u32 count,
                                        u32* hubs, LevelRecord* log)
{
    Bitmaps visited = {search.snapshot(state.snapshot), hubs, nullptr, nullptr};
    u32 found = 0;
    do {
        u32 examined = 0;
        answer.depth = state.depth;
        probe_tail(search, visited, count, &examined);
        __syncthreads();
        found = settle_tail(search, state, answer, count, hubs);
        __syncthreads();
        u64 all_examined = 0;
        if (log) block_exclusive_sum(examined, &all_examined);
        if (log && threadIdx.x == 0) record(&log[state.depth], false, found, all_examined);
        ++state.depth;
    } while (found > 0);
    for (u32 i = threadIdx.x; state.deferring && i < count; i += blockDim.x) {
        u32 v = static_cast<u32>(search.tail[i]);
        if (search.tail[i] == CLOSED) continue;
        answer.level[v] = UNREACHED;
        answer.predecessor[v] = NO_PREDECESSOR;
    }
    return state.depth;
}

// The last levels, by the first block. Returns the number of blocks that will not write the answer.
__device__ __forceinline__ u32 last_levels(const cg::grid_group& grid, const Search& search, State* state,
                                           const Answer& answer, u64* counts, u32* hubs, LevelRecord* log)
{
    u64* length = &counts[state->depth % 3 * COUNTS + LISTED];
    gather_tail(search, *state, length);
    if (blockIdx.x == 0) load_hubs(search, state->snapshot, hubs);
    grid.sync();
    u32 count = static_cast<u32>(load_relaxed(length));
    if (blockIdx.x == 0) state->depth = search_tail(search, *state, answer, count, hubs, log);
    // The others write the answer meanwhile, unless they would clear the bitmap that the tail uses.
    u32 absent = state->deferring && state->snapshot % SNAPSHOTS != 0 && gridDim.x > 1;
    if (absent == 0) grid.sync();
    return absent;
}

// Chooses the direction of a level, runs it, and stores what all blocks have found in the state.
__device__ __forceinline__ void run_level(const cg::grid_group& grid, const Search& search, State* state,
                                          Answer* answer, u32 source, SmallFrontier* small, u32* hubs,
                                          u64* now)
{
    Tally tally = {};
    bool scans = turn(search, state, *answer, source, &now[CONVERTED]);
    state->marking = marks(search.rule, *state);
    if (state->marking) begin_marking(search, state);
    answer->depth = state->depth;
    answer->deferred_from = state->deferring ? 0 : search.n;
    if (state->top_down) {
        top_down(search, *state, *answer, source, small, now, &tally);
        if (state->marking) end_marking(search, *state, *answer, &tally);
    } else {
        bottom_up(search, state, *answer, scans, hubs, &tally);
        ++state->snapshot;
    }
    add_up({tally.found, tally.arcs, tally.examined, tally.open, tally.several}, now);
    grid.sync();
    state->vertices = static_cast<u32>(load_relaxed(&now[FOUND]));
    state->arcs = state->marking ? ~0ull : load_relaxed(&now[ARCS]);  // the next level goes bottom-up
    state->snapshot += state->marking;
    state->open = load_relaxed(&now[OPEN]);
    state->several = load_relaxed(&now[SEVERAL]);
}

// The search. `log` is null, or has an entry for each level and one more.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    hybrid_packed(const __grid_constant__ Search search, u32 source, u32* level, u32* predecessor,
                  u32* n_levels, LevelRecord* log)
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
    Answer answer = {level, predecessor, search.stored, 0, search.n};
    SmallFrontier small = {nullptr, 0, 0, first_piece};
    bool has_tail = false;

    if (is_first && log) log[0].begin_ns = nanoseconds();
    start(search, answer, source, &state, &small);
    if (is_first && log && state.depth == 1) {
        record(&log[0], true, state.vertices, search.degree(source));
    }
    // No block may copy the bitmap, go bottom-up or end while another one still marks.
    if (state.vertices == 0 || state.arcs > search.rule.many_arcs / MARKING_PART) grid.sync();
    while (state.vertices > 0) {
        // Three sets of counts in turn: one for this level, one cleared here for the next, and the last
        // level's, which some thread may still be reading.
        u64* now = counts + state.depth % 3 * COUNTS;
        if (thread_id() < COUNTS) counts[(state.depth + 1) % 3 * COUNTS + thread_id()] = 0;
        run_level(grid, search, &state, &answer, source, &small, hubs, now);
        if (is_first && log) {
            record(&log[state.depth], state.top_down, state.vertices, load_relaxed(&now[EXAMINED]));
        }
        ++state.depth;
        if (state.vertices == 0 || !is_tail(search, state)) continue;
        has_tail = true;
        break;
    }
    u32 absent = has_tail ? last_levels(grid, search, &state, answer, counts, hubs, log) : 0;
    if (!state.deferring && !state.written) state.first = state.snapshot;
    write_answer(search, state, answer, source, true, absent);
    clear(search, epoch);
    if (is_first) *n_levels = state.depth;
}
