// Direction-optimising BFS on the GPUs of one host, each in a single persistent kernel: a rank writes what it
// finds directly into the memory of the others.
//
// A level is that of hybrid_2d.cu with scheme Px1: every rank searches only for its own vertices, so only the
// bitmap of the vertices found goes to the others, while slower warps still search. An inter-GPU barrier of a
// few us ends a level, where messages and a wait of the host would take 50 us or more.
//
// The region that a rank lends holds three bitmaps of all vertices, in rotation the frontier of this level,
// that of the next, into which all ranks write their words, and one that is cleared; then the mailbox of the
// barrier (_peers.cuh). Empty words are not written.

#include <cooperative_groups.h>

#include "_peers.cuh"
#include "_search.cuh"

namespace cg = cooperative_groups;

// Sums over the blocks of a rank during a level; the first TOLD go to the other ranks.
enum Count { FOUND, ARCS, EXAMINED, SENT, PIECES };
const u32 COUNTS = 5;
const u32 TOLD = 2;
static_assert(COUNTS == PIECES + 1 && TOLD == ARCS + 1, "as in Count");

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

// The words of a group, moved by one access of a thread.
struct alignas(16) Four {
    u32 words[GROUP_WORDS];

    __device__ u32 any() const
    {
        return words[0] | words[1] | words[2] | words[3];
    }
};

// Bottom-up begins when the arcs of the frontier are more than `many_arcs`, and ends when its vertices are
// fewer than `few_vertices`.
struct Search {
    Peers peers;
    u32 n_words;    // of the bitmap of all vertices
    u32 own_words;  // of this rank's vertices
    Rows out;
    BottomUp into;
    const u32* empty;    // bitmap of the vertices that no arc enters
    const u32* degrees;  // of this rank's vertices, in the whole graph
    u64 many_arcs;
    u64 few_vertices;
    u32* closed;
    u32* found;
    u32* listed;  // of each warp `warp_capacity`, the vertices that it scans
    u32 warp_capacity;
    u64* list;    // pieces of rows
    u64* counts;  // EPOCHS of COUNTS

    __device__ u32* frontier(u32 peer, u32 depth) const
    {
        return peers.at<u32>(peer, static_cast<u64>(depth % 3) * n_words * sizeof(u32));
    }
};

// Counts of a thread during a level.
struct Tally {
    u32 found;
    u32 examined;
    u64 arcs;
    u64 sent;
};

// Waits for all blocks of all ranks, and publishes this rank's counts of the epoch.
__device__ void meet_all(const Search& search, u32 epoch, Published& published)
{
    const u64* own = search.counts + epoch % EPOCHS * COUNTS;
    meet<TOLD>(search.peers, epoch, published, [&](u32 count) {
        // The epoch after next will use the counts of the epoch before, which nobody reads any more.
        for (u32 k = count; k < COUNTS; k += TOLD) {
            store_relaxed(&search.counts[(epoch + 2) % EPOCHS * COUNTS + k], u64(0));
        }
        return load_relaxed(&own[count]);
    });
}

// Prepares a search from vertex `source` of the graph, which is `own_source` on this rank, or UNREACHED.
__device__ void start(const Search& search, u32 source, u32 own_source, u32* level, u32* predecessor)
{
    for (u64 v = thread_id(); v < search.own_words * 32ull; v += thread_count()) {
        level[v] = v == own_source ? 0 : UNREACHED;
        predecessor[v] = v == own_source ? source : NO_PREDECESSOR;
    }
    for (u32 word = thread_id(); word < search.own_words; word += thread_count()) {
        search.closed[word] = search.empty[word] | (word == own_source / 32 ? bit_of(own_source) : 0);
        search.found[word] = 0;
    }
    u32 rank = search.peers.rank;
    for (u32 word = thread_id(); word < search.n_words; word += thread_count()) {
        search.frontier(rank, 0)[word] = word == source / 32 ? bit_of(source) : 0;
        search.frontier(rank, 1)[word] = 0;
    }
}

// Turns the frontier into a list of pieces of rows.
__device__ void list_frontier(const Search& search, const u32* frontier, u64* length)
{
    u32 n_groups = search.n_words / GROUP_WORDS;
    for (u32 first = 0; first < n_groups; first += thread_count()) {
        u32 group = first + thread_id();
        Four bits = {0, 0, 0, 0};
        if (group < n_groups) bits = reinterpret_cast<const Four*>(frontier)[group];
        if (!__any_sync(ALL_LANES, bits.any())) continue;
        for (u32 k = 0; k < GROUP_WORDS; ++k) {
            append_word(bits.words[k], group * GROUP_WORDS + k, search.out.offsets, search.list, length);
        }
    }
}

// Searches a level bottom-up, and `scans` in the first one after a top-down level.
__device__ void bottom_up(const Search& search, const u32* frontier, bool scans, u32* parent, u32* n_listed,
                          u32* examined)
{
    u32* listed = search.listed + static_cast<u64>(thread_id() / WARP) * search.warp_capacity;
    Bitmaps bitmaps = {search.closed, frontier, search.found};
    auto settle = [&](u32 v, u32 u) { parent[v] = u; };
    if (scans) {
        Groups groups = groups_of_warp(0, search.own_words);
        *n_listed = scan(search.into, bitmaps, groups, listed, examined, settle);
    }
    *n_listed = search_listed(search.into, bitmaps, listed, *n_listed, examined, settle);
    __syncwarp();
}

// Clears the bitmap into which ranks write the frontier after next.
__device__ void clear_frontier(const Search& search, u32 depth)
{
    Four* cleared = reinterpret_cast<Four*>(search.frontier(search.peers.rank, depth + 2));
    for (u32 group = thread_id(); group < search.n_words / GROUP_WORDS; group += thread_count()) {
        cleared[group] = {0, 0, 0, 0};
    }
}

// Writes a group's vertices into the next frontier of every rank.
__device__ __forceinline__ void send(const Search& search, u32 depth, u32 group, const Four& bits)
{
    const Peers& peers = search.peers;
    for (u32 step = 0; step < peers.n_ranks; ++step) {
        // Ranks begin with different peers, so that not all write to the same one at a time.
        u32 peer = (peers.rank + step) % peers.n_ranks;
        u32* next = search.frontier(peer, depth + 1) + peers.rank * search.own_words;
        reinterpret_cast<Four*>(next)[group] = bits;
    }
}

// Settles what the level found in the warp's groups and sends it to every rank. A lane loads a group, so that
// the warp skips empty ones, most of them in most levels, 32 at a time.
__device__ void settle_found(const Search& search, u32 depth, u32* __restrict__ level, Tally* tally)
{
    u32 lane = threadIdx.x % WARP;
    Groups groups = groups_of_warp(0, search.own_words);
    for (u32 base = groups.first; base < groups.end; base += WARP) {
        u32 group = base + lane;
        Four* found = reinterpret_cast<Four*>(search.found) + group;
        Four bits = {0, 0, 0, 0};
        if (group < groups.end) bits = *found;
        bool has = bits.any() != 0;
        if (has) {
            send(search, depth, group, bits);
            tally->sent += (search.peers.n_ranks - 1) * sizeof(Four);
            Four* seen = reinterpret_cast<Four*>(search.closed) + group;
            Four closed = *seen;
            for (u32 k = 0; k < GROUP_WORDS; ++k) closed.words[k] |= bits.words[k];
            *seen = closed;
            *found = {0, 0, 0, 0};
        }
        u32 left = __ballot_sync(ALL_LANES, has);
        while (left) {
            u32 owner = __ffs(left) - 1;
            left &= left - 1;
#pragma unroll
            for (u32 k = 0; k < GROUP_WORDS; ++k) {
                u32 word = __shfl_sync(ALL_LANES, bits.words[k], owner);
                if (word >> lane & 1) {
                    u32 v = (base + owner) * GROUP_VERTICES + k * 32 + lane;
                    level[v] = depth + 1;
                    tally->arcs += read_only(&search.degrees[v]);
                    ++tally->found;
                }
            }
        }
    }
    __syncwarp();
}

__device__ void record(LevelRecord* entry, bool is_top_down, u64 found, u64 begin_ns, u64 searched_ns,
                       const u64* counts)
{
    entry->is_top_down = is_top_down;
    entry->found = found;
    entry->examined = load_relaxed(&counts[EXAMINED]);
    entry->begin_ns = begin_ns;
    entry->searched_ns = searched_ns;
    entry->end_ns = nanoseconds();
    entry->sent_bytes = load_relaxed(&counts[SENT]);
}

// The search, a cooperative launch on every rank. `log` is null, or has an entry for each level.
extern "C" __global__ void __launch_bounds__(512, 2)
    hybrid_peers(const __grid_constant__ Search search, u32 source, u32 own_source, u32* level,
                 u32* predecessor, u32* n_levels, LevelRecord* log)
{
    cg::grid_group grid = cg::this_grid();
    const Peers& peers = search.peers;
    __shared__ Published published;
    u32 epoch = static_cast<u32>(load_relaxed(&peers.meetings->epoch));
    bool is_first = thread_id() == 0;
    start(search, source, own_source, level, predecessor);
    meet_all(search, ++epoch, published);

    u64 vertices = 1;
    u64 arcs = 0;
    bool top_down = true;
    u32 n_listed = 0;
    u32 depth = 0;
    while (vertices > 0) {
        u64* now = search.counts + ++epoch % EPOCHS * COUNTS;
        const u32* frontier = search.frontier(peers.rank, depth);
        Tally tally = {0, 0, 0, 0};
        u64 begin_ns = is_first && log ? nanoseconds() : 0;
        bool scans = top_down && arcs > search.many_arcs;
        top_down = top_down ? !scans : vertices < search.few_vertices;

        if (top_down) {
            list_frontier(search, frontier, &now[PIECES]);
            grid.sync();
            expand_pieces(search.list, load_relaxed(&now[PIECES]), search.out, search.closed, search.found,
                          predecessor, &tally.examined);
            grid.sync();
        } else {
            bottom_up(search, frontier, scans, predecessor, &n_listed, &tally.examined);
        }
        clear_frontier(search, depth);
        settle_found(search, depth, level, &tally);
        add_up({tally.found, tally.arcs, tally.examined, tally.sent}, now);
        u64 searched_ns = is_first && log ? nanoseconds() : 0;
        meet_all(search, epoch, published);
        vertices = published.sum(peers, FOUND);
        arcs = published.sum(peers, ARCS);
        if (is_first && log) record(&log[depth], top_down, vertices, begin_ns, searched_ns, now);
        ++depth;
    }
    // No block reads the epoch after the barrier that began the search.
    if (is_first) {
        *n_levels = depth;
        store_relaxed(&peers.meetings->epoch, static_cast<u64>(epoch));
    }
}
