// Direction-optimising BFS on the GPUs of one host, each in a single persistent kernel: a rank writes what it
// finds directly into the memory of the others.
//
// The scheme is Px1: every rank searches only for its own vertices, so only the bitmap of the vertices found
// goes to the others, while slower warps still search. An inter-GPU barrier of a few us ends a level, where
// messages and a wait of the host would take 50 us or more. While they wait at it, ranks clear bitmaps and,
// in the last levels, write parts of the answer.
//
// Bottom-up levels are those of hybrid_packed.cu: packed best neighbours, hubs' bits in shared memory, and an
// answer that is written once. Here a vertex looks for its parent in the frontier, and top-down levels leave
// a snapshot too, so that their levels are read off as well.
//
// The region that a rank lends holds FRONTIERS bitmaps of all vertices and as many of hubs, in rotation; then
// the mailbox of the barrier (_peers.cuh). Empty words are not written. A level reads the frontier of its
// number and all ranks write that of the next one; the one before is cleared while its barrier is waited for.
// Numbers count on from search to search; the first level reads no frontier. So the one that a level writes
// is clear, and a rank may send what it finds first while another still writes the answer of the last search.
//
// In most searches of Graph500's graphs the vertices found last have only the arc that leads back, so that no
// level is needed to find nothing.

#include <cooperative_groups.h>

#include "_peers.cuh"
#include "_top_down.cuh"
#include "problems/bfs/hybrid_packed/_deferred_answer.cuh"

namespace cg = cooperative_groups;

const u32 FRONTIERS = 4;
static_assert(LAPS % FRONTIERS == 0, "a whole number of turns");

// Bitmaps of visited vertices, used in turn. A level leaves one and a copy for the next level to add to.
const u32 SNAPSHOTS = 12;

// A warp of whose vertices at most one in OPEN_PART is open writes a part of its answer at each barrier, one
// in ANSWER_PART.
const u32 OPEN_PART = 32;
const u32 ANSWER_PART = 6;

const u32 THREADS = 1024;  // most threads per block

// Sums over the blocks of a rank during a level; the first TOLD go to the other ranks.
enum Count { FOUND, ARCS, OPEN, EXAMINED, SENT, PIECES };
const u32 COUNTS = 6;
const u32 TOLD = 3;
static_assert(COUNTS == PIECES + 1 && TOLD == OPEN + 1, "as in Count");

// A level of an instrumented run. `searched_ns` is when this rank's first block had searched and sent, and
// `end_ns` when it had passed the barrier.
struct LevelRecord {
    u64 is_top_down;
    u64 found;
    u64 examined;
    u64 begin_ns;
    u64 searched_ns;
    u64 end_ns;
    u64 sent_bytes;
};

// Words of a bitmap moved by one access of a thread.
struct alignas(16) Four {
    u32 words[4];

    __device__ __forceinline__ u32 any() const
    {
        return words[0] | words[1] | words[2] | words[3];
    }
};

// When a search changes direction: bottom-up begins when more than `many_arcs` leave the frontier. It ends
// when more than `patience` vertices are open, and more than `beta` for each one found.
struct Rule {
    u64 many_arcs;
    u64 patience;
    float beta;
};

// Between two searches the first two snapshots are copies of `closed`, and `stored` and the counts of the
// next epoch are zero.
struct Search {
    Peers peers;
    u32 n;          // this rank's vertices
    u32 own_words;  // of their bitmaps, a multiple of GROUP_WORDS
    u32 n_words;    // of the bitmap of all vertices
    u32 hub_words;
    Rows out;
    Packed packed;
    const u32* degrees;  // of this rank's vertices, in the whole graph
    u32 arcs_back;       // 1 if every arc has a reverse, else 0
    Rule rule;
    const u32* closed;  // bitmap of this rank's vertices that no arc enters
    u32* visited;       // SNAPSHOTS bitmaps
    u32* stored;
    u64* listed;  // of each warp `warp_capacity`
    u32 warp_capacity;
    u64* pieces;  // of a frontier's rows
    u64* counts;  // EPOCHS of COUNTS

    __device__ __forceinline__ u32* snapshot(u32 k) const
    {
        return visited + static_cast<u64>(k % SNAPSHOTS) * own_words;
    }
    __device__ __forceinline__ u32* frontier(u32 peer, u32 number) const
    {
        return peers.at<u32>(peer, static_cast<u64>(number % FRONTIERS) * n_words * sizeof(u32));
    }
    __device__ __forceinline__ u32* hubs(u32 peer, u32 number) const
    {
        u64 words = static_cast<u64>(FRONTIERS) * n_words + number % FRONTIERS * hub_words;
        return peers.at<u32>(peer, words * sizeof(u32));
    }
};

// Where a search stands; the same in every thread, but for the groups and lists of its warp.
struct State {
    static constexpr u32 first = 0, first_depth = 0;  // snapshot and level from which on answers are deferred
    u32 depth;
    u32 epoch;     // of the barrier that ends the level, the number of its frontier
    u64 vertices;  // of the frontier
    u64 arcs;      // that leave it
    u64 open;
    bool top_down;
    bool counts_arcs;  // of what the level finds
    u32 snapshot;      // in use
    u32 written;       // groups of this warp with an answer; that of the others is deferred
    Lists lists;
};

struct Visited : Bitmaps {
    const Search& search;
    u32 next_frontier;

    __device__ __forceinline__ void mark_hub(u32 hub) const
    {
        for (u32 peer = 0; peer < search.peers.n_ranks; ++peer) {
            add_bits(&search.hubs(peer, next_frontier)[hub / 32], bit_of(hub));
        }
    }
};

// Waits for all blocks of all ranks, and publishes this rank's counts of the epoch.
template <typename Meanwhile>
__device__ void meet_all(const Search& search, u32 epoch, Published& published, Meanwhile meanwhile)
{
    const u64* own = search.counts + epoch % EPOCHS * COUNTS;
    auto count_of = [&](u32 count) {
        // The epoch after next will use the counts of the epoch before, which nobody reads any more.
        for (u32 k = count; k < COUNTS; k += TOLD) {
            store_relaxed(&search.counts[(epoch + 2) % EPOCHS * COUNTS + k], u64(0));
        }
        return load_relaxed(&own[count]);
    };
    meet<TOLD>(search.peers, epoch, published, count_of, meanwhile);
}

// The groups of a warp, from `first` on: a contiguous range, so that its output is contiguous.
struct Share {
    u32 first;
    u32 count;
};

__device__ __forceinline__ Share share_of_warp(const Search& search)
{
    u32 n_groups = search.own_words / GROUP_WORDS, n_warps = thread_count() / WARP, warp = thread_id() / WARP;
    u32 share = n_groups / n_warps, rest = n_groups % n_warps;
    return {warp * share + min(warp, rest), share + (warp < rest)};
}

// Marks the source, vertex `own_source` of this rank or UNREACHED, and expands its row among this rank's
// vertices.
__device__ void expand_source(const Search& search, const Answer& answer, u32 source, u32 own_source,
                              Tally* tally)
{
    if (own_source != UNREACHED && threadIdx.x == 0) {
        // Every block does so, as no thread may find the source before it is marked.
        atomicOr(&search.snapshot(1)[own_source / 32], bit_of(own_source));
        if (blockIdx.x == 0) {
            search.snapshot(0)[own_source / 32] |= bit_of(own_source);
            answer.level[own_source] = 0;
            answer.predecessor[own_source] = source;
        }
    }
    __syncthreads();
    const Rows& out = search.out;
    u32 n_pieces = pieces_of(out.begin(source + 1ull) - out.begin(source));
    for (u64 k = thread_id() / WARP; k < n_pieces; k += thread_count() / WARP) {
        expand_piece(piece_of(k << 32 | source, out.offsets), out, nullptr, search.snapshot(1),
                     answer.predecessor, &tally->examined);
    }
    cg::this_grid().sync();
}

// Turns the frontier into a list of pieces of rows.
__device__ void list_frontier(const Search& search, const u32* frontier, u64* length)
{
    u32 n_fours = search.n_words / 4;
    for (u32 first = 0; first < n_fours; first += thread_count()) {
        u32 four = first + thread_id();
        Four bits = {0, 0, 0, 0};
        if (four < n_fours) bits = reinterpret_cast<const Four*>(frontier)[four];
        if (!__any_sync(ALL_LANES, bits.any())) continue;
        for (u32 k = 0; k < 4; ++k) {
            append_word(bits.words[k], four * 4 + k, search.out.offsets, search.pieces, length);
        }
    }
}

// Searches a level top-down.
__device__ void top_down(const Search& search, const State& state, const Answer& answer, u64* n_pieces,
                         Tally* tally)
{
    cg::grid_group grid = cg::this_grid();
    list_frontier(search, search.frontier(search.peers.rank, state.epoch), n_pieces);
    grid.sync();
    expand_pieces(search.pieces, load_relaxed(n_pieces), search.out, nullptr,
                  search.snapshot(state.snapshot + 1), answer.predecessor, &tally->examined);
    grid.sync();
}

// Searches a level bottom-up, and `scans` in the first one after a top-down level. `hubs` is shared memory.
__device__ void bottom_up(const Search& search, State* state, const Answer& answer, bool scans, u32* hubs,
                          Tally* tally)
{
    u32 rank = search.peers.rank;
    const u32* hubs_now = search.hubs(rank, state->epoch);
    for (u32 i = threadIdx.x; i < search.hub_words; i += blockDim.x) hubs[i] = hubs_now[i];
    __syncthreads();
    u32 k = state->snapshot;
    Bitmaps bitmaps = {search.frontier(rank, state->epoch), hubs, search.snapshot(k), search.snapshot(k + 1)};
    Visited visited = {bitmaps, search, state->epoch + 1};
    if (scans) {
        u64 warp = thread_id() / WARP;
        state->lists = {search.listed + warp * search.warp_capacity, search.warp_capacity, 0, 0};
        Share share = share_of_warp(search);
        for (u32 group = share.first; group < share.first + share.count; ++group) {
            scan_group(search.packed, visited, answer, group, &state->lists, tally);
        }
    }
    // Other lanes read the lists and add to the words of the next bitmap.
    __syncwarp();
    search_lists(search.packed, visited, answer, scans, &state->lists, tally);
}

// Writes words of this rank's vertices into a frontier of every rank.
__device__ __forceinline__ void send(const Search& search, u32 number, u32 four, const Four& bits)
{
    const Peers& peers = search.peers;
    for (u32 step = 0; step < peers.n_ranks; ++step) {
        // Ranks begin with different peers, so that not all write to the same one at a time.
        u32 peer = (peers.rank + step) % peers.n_ranks;
        u32* next = search.frontier(peer, number) + peers.rank * search.own_words;
        reinterpret_cast<Four*>(next)[four] = bits;
    }
}

// Counts the arcs of what the level found in each lane's words. Of a top-down level it counts the vertices as
// well, and marks the hubs among them.
__device__ __forceinline__ void settle_each(const Search& search, const State& state, const Answer& answer,
                                            u32 four, const Four& bits, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    Visited visited = {{}, search, state.epoch + 1};
    u32 left = __ballot_sync(ALL_LANES, bits.any() != 0);
    while (left) {
        u32 owner = __ffs(left) - 1;
        left &= left - 1;
        u32 first = __shfl_sync(ALL_LANES, four, owner) * 128 + lane;
        u32 taken = 0, degrees[4], hubs[4];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            u32 word = __shfl_sync(ALL_LANES, bits.words[k], owner);
            taken |= (word >> lane & 1) << k;
            // Loads without a condition overlap; where nothing is taken they load vertex 0.
            u32 v = word >> lane & 1 ? first + k * 32 : 0;
            degrees[k] = read_only(&search.degrees[v]);
            hubs[k] = state.top_down ? read_only(&search.packed.rank[v]) : 0;
        }
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            if (!(taken >> k & 1)) continue;
            u32 v = first + k * 32;
            tally->arcs += degrees[k];
            if (!state.top_down) continue;
            ++tally->found;
            if (hubs[k] / 32 < search.hub_words) visited.mark_hub(hubs[k]);
            if (v < answer.deferred_from) answer.level[v] = answer.depth + 1;
        }
    }
}

// Sends what the level found in the warp's groups to every rank, and leaves a copy of what has been visited
// for the next level. A lane loads four words, so that the warp skips empty ones, most of them in most
// levels, many at a time. Returns the bytes sent.
__device__ u64 settle(const Search& search, const State& state, const Answer& answer, Tally* tally)
{
    const u32 FOURS = GROUP_WORDS / 4;
    u64 sent = 0;
    Share share = share_of_warp(search);
    u32 end = (share.first + share.count) * FOURS;
    for (u32 base = share.first * FOURS; base < end; base += WARP) {
        u32 four = base + threadIdx.x % WARP;
        Four bits = {0, 0, 0, 0};
        if (four < end) {
            const Four before = reinterpret_cast<const Four*>(search.snapshot(state.snapshot))[four];
            const Four after = reinterpret_cast<const Four*>(search.snapshot(state.snapshot + 1))[four];
            reinterpret_cast<Four*>(search.snapshot(state.snapshot + 2))[four] = after;
            for (u32 k = 0; k < 4; ++k) bits.words[k] = after.words[k] & ~before.words[k];
        }
        if (bits.any()) {
            send(search, state.epoch + 1, four, bits);
            sent += (search.peers.n_ranks - 1) * sizeof(Four);
        }
        if (!state.counts_arcs) continue;
        if (state.top_down && bits.any()) {
            u32* stored = answer.stored + four * 4ull;
            for (u32 k = 0; k < 4; ++k) stored[k] |= bits.words[k];
        }
        settle_each(search, state, answer, four, bits, tally);
    }
    return sent;
}

// Clears the bitmaps of a frontier that this rank has searched from.
__device__ void clear_frontier(const Search& search, u32 number)
{
    u32 rank = search.peers.rank;
    Four* cleared = reinterpret_cast<Four*>(search.frontier(rank, number));
    for (u32 four = thread_id(); four < search.n_words / 4; four += thread_count()) {
        cleared[four] = {0, 0, 0, 0};
    }
    u32* hubs = search.hubs(rank, number);
    for (u32 i = thread_id(); i < search.hub_words; i += thread_count()) hubs[i] = 0;
}

// Writes the answer of the next groups of the warp, at most `most`.
__device__ void write_answer(const Search& search, State* state, const Answer& answer, u32 own_source,
                             u32 most)
{
    Share share = share_of_warp(search);
    u32 end = state->written + min(most, share.count - state->written);
    for (; state->written < end; ++state->written) {
        write_group<SNAPSHOTS>(search, *state, answer, own_source, share.first + state->written);
    }
}

// What a warp does while it waits at the barrier of a level.
__device__ void work_meanwhile(const Search& search, State* state, const Answer& answer, u32 own_source)
{
    clear_frontier(search, state->epoch - 1);
    u32 n_groups = share_of_warp(search).count;
    u32 n_open = state->lists.n_only + state->lists.n_several;
    if (state->top_down || n_open * OPEN_PART > n_groups * GROUP_WORDS * 32) return;
    write_answer(search, state, answer, own_source, (n_groups + ANSWER_PART - 1) / ANSWER_PART);
}

// Decides on the direction of the next level; returns whether it scans.
__device__ __forceinline__ bool turn(const Rule& rule, State* state)
{
    bool was_top_down = state->top_down;
    if (was_top_down) {
        state->top_down = state->arcs <= rule.many_arcs;
    } else {
        state->top_down = state->open > rule.patience && state->vertices * rule.beta < state->open;
    }
    return was_top_down && !state->top_down;
}

// Makes the warp's bitmaps and the frontier of the last level ready for the next search.
__device__ void clear(const Search& search, const State& state)
{
    Share share = share_of_warp(search);
    u32 end = (share.first + share.count) * GROUP_WORDS;
    for (u32 word = share.first * GROUP_WORDS + threadIdx.x % WARP; word < end; word += WARP) {
        search.snapshot(0)[word] = search.snapshot(1)[word] = search.closed[word];
        search.stored[word] = 0;
    }
    clear_frontier(search, state.epoch);
}

// Chooses the direction of a level and searches it, but for what the ranks tell each other.
__device__ __forceinline__ void search_level(const Search& search, State* state, Answer* answer, u32 source,
                                             u32 own_source, u32* hubs, u64* n_pieces, Tally* tally)
{
    if (state->depth == 0) {
        expand_source(search, *answer, source, own_source, tally);
        return;
    }
    // The level leaves two more snapshots.
    if (state->snapshot == SNAPSHOTS - 2) write_answer(search, state, *answer, own_source, UNREACHED);
    bool scans = turn(search.rule, state);
    // Bottom-up, a few vertices may be the last ones.
    state->counts_arcs = state->top_down || (!scans && state->open <= search.n_words);
    answer->depth = state->depth;
    answer->deferred_from = (share_of_warp(search).first + state->written) * GROUP_WORDS * 32;
    if (state->top_down) {
        top_down(search, *state, *answer, n_pieces, tally);
    } else {
        bottom_up(search, state, *answer, scans, hubs, tally);
    }
}

// Whether the search ends: nothing was found, or no arcs lead on.
__device__ __forceinline__ bool is_over(const Search& search, const State& state)
{
    if (state.vertices == 0) return true;
    return state.counts_arcs && state.arcs == state.vertices * search.arcs_back;
}

__device__ void record(LevelRecord* entry, const State& state, u64 begin_ns, u64 searched_ns,
                       const u64* counts)
{
    entry->is_top_down = state.top_down;
    entry->found = state.vertices;
    entry->examined = load_relaxed(&counts[EXAMINED]);
    entry->begin_ns = begin_ns;
    entry->searched_ns = searched_ns;
    entry->end_ns = nanoseconds();
    entry->sent_bytes = load_relaxed(&counts[SENT]);
}

// The search from vertex `source` of the graph, which is `own_source` on this rank, or UNREACHED; a
// cooperative launch on every rank. `log` is null, or has an entry for each level.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    hybrid_peers(const __grid_constant__ Search search, u32 source, u32 own_source, u32* level,
                 u32* predecessor, u32* n_levels, LevelRecord* log)
{
    __shared__ Published published;
    __shared__ u32 hubs[MAX_HUB_WORDS];
    const Peers& peers = search.peers;
    bool is_first = thread_id() == 0;
    Answer answer = {level, predecessor, search.stored, 0, 0};
    State state = {};
    state.epoch = static_cast<u32>(load_relaxed(&peers.meetings->epoch));
    state.top_down = state.counts_arcs = true;

    do {
        u64* now = search.counts + ++state.epoch % EPOCHS * COUNTS;
        u64 begin_ns = is_first && log ? nanoseconds() : 0;
        Tally tally = {};
        search_level(search, &state, &answer, source, own_source, hubs, &now[PIECES], &tally);
        u64 sent = settle(search, state, answer, &tally);
        add_up({tally.found, tally.arcs, tally.open, tally.examined, sent}, now);
        u64 searched_ns = is_first && log ? nanoseconds() : 0;
        ++state.snapshot;
        meet_all(search, state.epoch, published, [&] { work_meanwhile(search, &state, answer, own_source); });
        state.vertices = published.sum(peers, FOUND);
        state.arcs = published.sum(peers, ARCS);
        state.open = published.sum(peers, OPEN);
        if (is_first && log) record(&log[state.depth], state, begin_ns, searched_ns, now);
        ++state.depth;
    } while (!is_over(search, state));
    write_answer(search, &state, answer, own_source, UNREACHED);
    clear(search, state);
    // Every block has read the epoch before the first barrier.
    if (is_first) {
        *n_levels = state.depth;
        peers.leave(state.epoch);
    }
}
