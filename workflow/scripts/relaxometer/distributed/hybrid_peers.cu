// Direction-optimising BFS on the GPUs of one host, each in a single persistent kernel: a rank writes what it
// finds directly into the memory of the others.
//
// A level is that of hybrid_2d.cu with scheme Px1: every rank searches only for its own vertices, so only the
// bitmap of the vertices found goes to the others. Messages would cost several launches and a wait of the
// host per level, 50 us or more; the search of a level takes 10 to 250 us. Here a level ends with an
// inter-GPU barrier of a few us, and bitmaps travel while slower warps still search.
//
// Each rank lends the others a region of its memory. It holds three bitmaps of all vertices of the graph, in
// rotation the frontier of this level, that of the next, into which all ranks write their words, and one that
// is cleared; then the counts that the ranks publish, and a flag per rank. Empty words are not written.
//
// The inter-GPU barrier: blocks arrive at a counter of their GPU; the last to arrive publishes its rank's
// counts to every rank and then raises its rank's flag there; every block waits for all flags. All writes
// before the barrier, to any rank, are visible after it: a system-wide fence comes between a block's writes
// and its arrival, between the last arrival and the flags, and after the wait.
//
// Waiting ranks spin, so each needs a GPU of its own. On the host device, ranks are processes that share
// memory, and a waiting one sleeps.

#include <cooperative_groups.h>

#include "_search.cuh"
#include "device/clock.cuh"

#ifdef __CUDA_ON_HOST__
extern "C" int usleep(unsigned microseconds);
#endif

namespace cg = cooperative_groups;

// Sums over the blocks of a rank during a level; the first PUBLISHED go to the other ranks.
enum Count { FOUND, ARCS, EXAMINED, SENT, PIECES };
const u32 COUNTS = 5;
const u32 PUBLISHED = 2;
static_assert(COUNTS == PIECES + 1 && PUBLISHED == ARCS + 1, "as in Count");

// A level of an instrumented run. `searched_ns` is when this rank's first block had searched and sent, and
// `end_ns` when it had passed the barrier.
struct Entry {
    u64 is_top_down;
    u64 found;
    u64 examined;
    u64 begin_ns;
    u64 searched_ns;
    u64 end_ns;
    u64 sent_bytes;
};

// Stays from search to search.
struct State {
    u64 arrived;  // blocks at all barriers
    u64 epoch;    // barriers
};

// The words of a group, moved by one access of a thread.
struct alignas(16) Four {
    u32 words[DEEP];

    __device__ u32 any() const
    {
        return words[0] | words[1] | words[2] | words[3];
    }
};

// The regions that ranks lend each other, and this rank's place among them.
struct Peers {
    const u64* regions;
    u32 rank;
    u32 n_ranks;
    u32 n_words;  // of the bitmap of all vertices

    __device__ u32* frontier(u32 peer, u32 depth) const
    {
        return reinterpret_cast<u32*>(regions[peer]) + static_cast<u64>(depth % 3) * n_words;
    }
    __device__ u64* published(u32 peer, u32 epoch, u32 from) const
    {
        u64* all = reinterpret_cast<u64*>(reinterpret_cast<u32*>(regions[peer]) + 3ull * n_words);
        return all + (epoch % 3 * n_ranks + from) * PUBLISHED;
    }
    __device__ u32* flag(u32 peer, u32 from) const
    {
        return reinterpret_cast<u32*>(published(peer, 0, 0) + 3 * n_ranks * PUBLISHED) + from;
    }
};

// Bottom-up begins when the arcs of the frontier are more than `many_arcs`, and ends when its vertices are
// fewer than `few_vertices`.
struct Search {
    Peers peers;
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
    u64* counts;  // three of COUNTS
    State* state;
};

// Counts of a thread during a level.
struct Tally {
    u32 found;
    u32 examined;
    u64 arcs;
    u64 sent;
};

__device__ __forceinline__ void back_off()
{
#ifdef __CUDA_ON_HOST__
    usleep(50);
#endif
    __nanosleep(20);
}

// Publishes this rank's counts of an epoch to all ranks, then raises its flags.
__device__ void publish(const Search& search, u32 epoch)
{
    const Peers& peers = search.peers;
    const u64* own = search.counts + epoch % 3 * COUNTS;
    for (u32 peer = 0; peer < peers.n_ranks; ++peer) {
        u64* published = peers.published(peer, epoch, peers.rank);
        for (u32 k = 0; k < PUBLISHED; ++k) store_relaxed(&published[k], load_relaxed(&own[k]));
    }
    // The epoch after next will use the counts of the epoch before, which nobody reads any more.
    u64* cleared = search.counts + (epoch + 2) % 3 * COUNTS;
    for (u32 k = 0; k < COUNTS; ++k) store_relaxed(&cleared[k], u64(0));
    __threadfence_system();
    for (u32 peer = 0; peer < peers.n_ranks; ++peer) store_relaxed(peers.flag(peer, peers.rank), epoch);
}

// Waits for all blocks of all ranks.
__device__ void inter_gpu_barrier(const Search& search, u32 epoch)
{
    const Peers& peers = search.peers;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        u64 arrived = atomicAdd(&search.state->arrived, 1ull) + 1;
        if (arrived % gridDim.x == 0) {
            __threadfence_system();
            publish(search, epoch);
        }
        for (u32 peer = 0; peer < peers.n_ranks; ++peer) {
            while (load_relaxed(peers.flag(peers.rank, peer)) - epoch >= 0x80000000u) back_off();
        }
        __threadfence_system();
    }
    __syncthreads();
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
    const Peers& peers = search.peers;
    for (u32 word = thread_id(); word < peers.n_words; word += thread_count()) {
        peers.frontier(peers.rank, 0)[word] = word == source / 32 ? bit_of(source) : 0;
        peers.frontier(peers.rank, 1)[word] = 0;
    }
}

// Turns the frontier into a list of pieces of rows.
__device__ void list_frontier(const Search& search, const u32* frontier, u64* length)
{
    u32 n_groups = search.peers.n_words / DEEP;
    for (u32 first = 0; first < n_groups; first += thread_count()) {
        u32 group = first + thread_id();
        Four bits = {0, 0, 0, 0};
        if (group < n_groups) bits = reinterpret_cast<const Four*>(frontier)[group];
        if (!__any_sync(ALL_LANES, bits.any())) continue;
        for (u32 k = 0; k < DEEP; ++k) {
            append_word(bits.words[k], group * DEEP + k, search.out.offsets, search.list, length);
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
__device__ void clear_frontier(const Peers& peers, u32 depth)
{
    Four* cleared = reinterpret_cast<Four*>(peers.frontier(peers.rank, depth + 2));
    for (u32 group = thread_id(); group < peers.n_words / DEEP; group += thread_count()) {
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
        u32* next = peers.frontier(peer, depth + 1) + peers.rank * search.own_words;
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
            for (u32 k = 0; k < DEEP; ++k) closed.words[k] |= bits.words[k];
            *seen = closed;
            *found = {0, 0, 0, 0};
        }
        u32 left = __ballot_sync(ALL_LANES, has);
        while (left) {
            u32 owner = __ffs(left) - 1;
            left &= left - 1;
#pragma unroll
            for (u32 k = 0; k < DEEP; ++k) {
                u32 word = __shfl_sync(ALL_LANES, bits.words[k], owner);
                if (word >> lane & 1) {
                    u32 v = (base + owner) * GROUP + k * 32 + lane;
                    level[v] = depth + 1;
                    tally->arcs += read_only(&search.degrees[v]);
                    ++tally->found;
                }
            }
        }
    }
    __syncwarp();
}

__device__ void record(Entry* entry, bool is_top_down, u64 found, u64 begin_ns, u64 searched_ns,
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
                 u32* predecessor, u32* rounds, Entry* log)
{
    cg::grid_group grid = cg::this_grid();
    const Peers& peers = search.peers;
    u32 epoch = static_cast<u32>(load_relaxed(&search.state->epoch));
    bool is_first = thread_id() == 0;
    start(search, source, own_source, level, predecessor);
    inter_gpu_barrier(search, ++epoch);

    u64 vertices = 1;
    u64 arcs = 0;
    bool top_down = true;
    u32 n_listed = 0;
    u32 depth = 0;
    while (vertices > 0) {
        u64* now = search.counts + ++epoch % 3 * COUNTS;
        const u32* frontier = peers.frontier(peers.rank, depth);
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
        clear_frontier(peers, depth);
        settle_found(search, depth, level, &tally);
        add_up({tally.found, tally.arcs, tally.examined, tally.sent}, now);
        u64 searched_ns = is_first && log ? nanoseconds() : 0;
        inter_gpu_barrier(search, epoch);
        vertices = 0;
        arcs = 0;
        for (u32 peer = 0; peer < peers.n_ranks; ++peer) {
            const u64* published = peers.published(peers.rank, epoch, peer);
            vertices += load_relaxed(&published[FOUND]);
            arcs += load_relaxed(&published[ARCS]);
        }
        if (is_first && log) record(&log[depth], top_down, vertices, begin_ns, searched_ns, now);
        ++depth;
    }
    // No block reads the epoch after the barrier that began the search.
    if (is_first) {
        *rounds = depth;
        store_relaxed(&search.state->epoch, static_cast<u64>(epoch));
    }
}
