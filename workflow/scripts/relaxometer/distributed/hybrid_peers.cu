// Direction-optimising BFS over the GPUs of one host, each in a single persistent kernel: a rank writes what
// it found straight into the memory of the others.
//
// The level is that of hybrid_2d.cu with scheme Px1, where every rank looks for its own vertices alone, and
// so knows their parents without asking; only the bitmap of what was found goes to the others. Messages would
// cost a level several launches and a wait of the host, 50 us and more, where the search of a level takes 10
// to 250. Here a level ends with one meeting of all ranks, a few us, and bitmaps travel while slower warps
// still search.
//
// Each rank lends the others a region of its memory: three bitmaps of the whole graph's vertices in turn, the
// frontier of this level, that of the next, which all ranks write, each the words of its own vertices, and
// one that is cleared for the level after; then what the ranks counted, and a flag of each rank. Words
// without a vertex are not written, so that a small level sends little.
//
// A meeting (`meet`) is a barrier of all blocks of all ranks: blocks arrive at a counter of their device; the
// last to arrive tells every rank what its own found, and then raises its flag there; every block waits until
// all flags are up. What was written before, to any rank, is seen behind it: a fence for the whole system
// stands between a block's writes and its arrival, between the last arrival and the flags, and behind the
// wait.
//
// Waiting ranks spin, so that all must run at once: each needs a GPU of its own. On the host device ranks are
// processes that share memory, and a waiting one sleeps.

#include <cooperative_groups.h>

#include "_search.cuh"
#include "device/clock.cuh"

#ifdef __CUDA_ON_HOST__
extern "C" int usleep(unsigned microseconds);
#endif

namespace cg = cooperative_groups;

// What the blocks of a rank add up during a level; the first two go to the other ranks.
enum Count { FOUND, ARCS, EXAMINED, PIECES, SENT, COUNTS };
const u32 TOLD = 2;

// What an instrumented run keeps of a level: the times at its beginning, when this rank's first block had
// searched and sent, and after the meeting.
enum Entry { MODE, NEW_VERTICES, LOOKS, BEGIN, SEARCHED, MET, WRITTEN, ENTRIES };

// Epochs of a rank, in memory that stays from search to search.
enum State { ARRIVED, EPOCH };

// Four words that are moved together: as much as a thread moves at once.
struct alignas(16) Four {
    u32 words[4];
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
    __device__ u64* told(u32 peer, u32 epoch, u32 from) const
    {
        u64* all = reinterpret_cast<u64*>(reinterpret_cast<u32*>(regions[peer]) + 3ull * n_words);
        return all + (epoch % 3 * n_ranks + from) * TOLD;
    }
    __device__ u32* flag(u32 peer, u32 from) const
    {
        return reinterpret_cast<u32*>(told(peer, 0, 0) + 3 * n_ranks * TOLD) + from;
    }
};

__device__ __forceinline__ void wait_a_little()
{
#ifdef __CUDA_ON_HOST__
    usleep(50);
#endif
    __nanosleep(20);
}

// Waits for all blocks of all ranks; `counts` are this rank's of the epoch, three sets in turn.
__device__ void meet(const Peers& peers, u32 epoch, u64* counts, u64* state)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        u64 arrived = atomicAdd(&state[ARRIVED], 1ull) + 1;
        if (arrived % gridDim.x == 0) {
            __threadfence_system();
            u64* own = counts + epoch % 3 * COUNTS;
            for (u32 peer = 0; peer < peers.n_ranks; ++peer) {
                u64* told = peers.told(peer, epoch, peers.rank);
                for (u32 k = 0; k < TOLD; ++k) store_relaxed(&told[k], load_relaxed(&own[k]));
            }
            // The set of the epoch before is read no more: it is that of the epoch after next.
            u64* cleared = counts + (epoch + 2) % 3 * COUNTS;
            for (u32 k = 0; k < COUNTS; ++k) store_relaxed(&cleared[k], u64(0));
            __threadfence_system();
            for (u32 peer = 0; peer < peers.n_ranks; ++peer)
                store_relaxed(peers.flag(peer, peers.rank), epoch);
        }
        for (u32 peer = 0; peer < peers.n_ranks; ++peer) {
            while (load_relaxed(peers.flag(peers.rank, peer)) - epoch >= 0x80000000u) wait_a_little();
        }
        __threadfence_system();
    }
    __syncthreads();
}

// Adds up what the threads of the block counted, and adds that to the counts of the epoch.
__device__ void add_up(u64 found, u64 arcs, u64 examined, u64 sent, u64* counts)
{
    __shared__ u64 sums[COUNTS];
    if (threadIdx.x < COUNTS) sums[threadIdx.x] = 0;
    __syncthreads();
    found = warp_sum(found);
    arcs = warp_sum(arcs);
    examined = warp_sum(examined);
    sent = warp_sum(sent);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums[FOUND], found);
        atomicAdd(&sums[ARCS], arcs);
        atomicAdd(&sums[EXAMINED], examined);
        atomicAdd(&sums[SENT], sent);
    }
    __syncthreads();
    if (threadIdx.x < COUNTS && sums[threadIdx.x]) atomicAdd(&counts[threadIdx.x], sums[threadIdx.x]);
}

// What a thread counts of the level that is running.
struct Tally {
    u64 found;
    u64 arcs;
    u64 examined;
    u64 sent;
};

__device__ __forceinline__ u32 any_of(const Four& four)
{
    return four.words[0] | four.words[1] | four.words[2] | four.words[3];
}

// Settles what was found in the warp's groups, and writes it into the next frontier of every rank. A lane
// loads a group, so that empty ones, which most are in most levels, are passed over 32 at a time.
__device__ void tell(const Peers& peers, Groups groups, u32 depth, const u32* __restrict__ degrees,
                     u32* closed, u32* found, u32* __restrict__ level, Tally* tally)
{
    u32 lane = threadIdx.x % 32;
    u32 own_words = peers.n_words / peers.n_ranks;
    for (u32 base = groups.first; base < groups.end; base += 32) {
        u32 group = base + lane;
        Four bits = {0, 0, 0, 0};
        if (group < groups.end) bits = reinterpret_cast<const Four*>(found)[group];
        bool has = any_of(bits) != 0;
        for (u32 step = 0; has && step < peers.n_ranks; ++step) {
            // Each rank begins with another, so that none is written to by all at once.
            u32 peer = (peers.rank + step) % peers.n_ranks;
            u32* next = peers.frontier(peer, depth + 1) + peers.rank * own_words;
            reinterpret_cast<Four*>(next)[group] = bits;
        }
        if (has) {
            tally->sent += (peers.n_ranks - 1) * sizeof(Four);
            Four* seen = reinterpret_cast<Four*>(closed) + group;
            Four before = *seen;
            for (u32 k = 0; k < DEEP; ++k) before.words[k] |= bits.words[k];
            *seen = before;
            reinterpret_cast<Four*>(found)[group] = {0, 0, 0, 0};
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
                    tally->arcs += degrees[v];
                    ++tally->found;
                }
            }
        }
    }
    __syncwarp();
}

// Turns the frontier into a list of pieces of rows.
__device__ void list_frontier(const u32* frontier, u32 n_words, const i64* offsets, u64* list, u64* length)
{
    for (u32 first = 0; first < n_words / DEEP; first += thread_count()) {
        u32 group = first + thread_id();
        Four bits = {0, 0, 0, 0};
        if (group < n_words / DEEP) bits = reinterpret_cast<const Four*>(frontier)[group];
        if (!__any_sync(ALL_LANES, any_of(bits))) continue;
        for (u32 k = 0; k < DEEP; ++k) append_word(bits.words[k], group * DEEP + k, offsets, list, length);
    }
}

// The search, a cooperative launch on every rank. `own_words` are those of the rank's vertices; `source` is
// the vertex that all begin at, and `own_source` its number on this rank, or UNREACHED. `listed` has room for
// `room` vertices a warp. Bottom-up begins where the arcs of the frontier are more than `many_arcs`, and ends
// where its vertices are fewer than `few_vertices`. `log` is null, or holds ENTRIES words a level.
extern "C" __global__ void __launch_bounds__(512, 2)
    hybrid_peers(u32 own_words, const u64* regions, u32 rank, u32 n_ranks,
                 const i64* __restrict__ out_offsets, const u32* __restrict__ out_targets,
                 const i64* __restrict__ in_offsets, const u32* __restrict__ in_targets,
                 const u32* __restrict__ probes, const u32* __restrict__ empty,
                 const u32* __restrict__ degrees, u32 source, u32 own_source, u64 many_arcs, u64 few_vertices,
                 u32 long_row, u32* closed, u32* found, u32* all_listed, u32 room, u64* list, u64* counts,
                 u64* state, u32* level, u32* predecessor, u32* rounds, u64* log)
{
    cg::grid_group grid = cg::this_grid();
    Peers peers = {regions, rank, n_ranks, own_words * n_ranks};
    Groups groups = groups_of_warp(0, own_words);
    u32* listed = all_listed + static_cast<u64>(thread_id() / 32) * room;
    u32 epoch = static_cast<u32>(load_relaxed(&state[EPOCH]));
    bool is_first = thread_id() == 0;

    for (u64 v = thread_id(); v < own_words * 32ull; v += thread_count()) {
        level[v] = v == own_source ? 0 : UNREACHED;
        predecessor[v] = v == own_source ? source : NO_PREDECESSOR;
    }
    for (u32 word = thread_id(); word < own_words; word += thread_count()) {
        closed[word] = empty[word] | (word == own_source / 32 ? bit_of(own_source) : 0);
        found[word] = 0;
    }
    for (u32 word = thread_id(); word < peers.n_words; word += thread_count()) {
        peers.frontier(rank, 0)[word] = word == source / 32 ? bit_of(source) : 0;
        peers.frontier(rank, 1)[word] = 0;
    }
    meet(peers, ++epoch, counts, state);

    u64 vertices = 1;
    u64 arcs = 0;
    bool top_down = true;
    u32 n_listed = 0;
    u32 depth = 0;
    while (vertices > 0) {
        u64* now = counts + ++epoch % 3 * COUNTS;
        const u32* frontier = peers.frontier(rank, depth);
        Tally tally = {0, 0, 0, 0};
        u64 begin = is_first && log ? nanoseconds() : 0;
        bool scans = top_down && arcs > many_arcs;
        top_down = top_down ? !scans : vertices < few_vertices;

        if (top_down) {
            list_frontier(frontier, peers.n_words, out_offsets, list, &now[PIECES]);
            grid.sync();
            u64 n_pieces = load_relaxed(&now[PIECES]);
            expand_pieces(list, n_pieces, out_offsets, out_targets, closed, found, predecessor,
                          &tally.examined);
            grid.sync();
        } else {
            if (scans) {
                n_listed = scan(groups.first, groups.end, closed, probes, frontier, found, predecessor,
                                listed, &tally.examined);
            }
            n_listed = search_listed(in_offsets, in_targets, long_row, closed, frontier, found, predecessor,
                                     listed, n_listed, &tally.examined);
            __syncwarp();
        }
        Four* cleared = reinterpret_cast<Four*>(peers.frontier(rank, depth + 2));
        for (u32 group = thread_id(); group < peers.n_words / DEEP; group += thread_count()) {
            cleared[group] = {0, 0, 0, 0};
        }
        tell(peers, groups, depth, degrees, closed, found, level, &tally);
        add_up(tally.found, tally.arcs, tally.examined, tally.sent, now);
        u64 searched = is_first && log ? nanoseconds() : 0;
        meet(peers, epoch, counts, state);
        vertices = 0;
        arcs = 0;
        for (u32 peer = 0; peer < n_ranks; ++peer) {
            const u64* told = peers.told(rank, epoch, peer);
            vertices += load_relaxed(&told[FOUND]);
            arcs += load_relaxed(&told[ARCS]);
        }
        if (is_first && log) {
            u64* entry = log + ENTRIES * depth;
            entry[MODE] = top_down;
            entry[NEW_VERTICES] = vertices;
            entry[LOOKS] = load_relaxed(&now[EXAMINED]);
            entry[BEGIN] = begin;
            entry[SEARCHED] = searched;
            entry[MET] = nanoseconds();
            entry[WRITTEN] = load_relaxed(&now[SENT]);
        }
        ++depth;
    }
    // No block reads the epoch after the meeting that began the search.
    if (is_first) {
        *rounds = depth;
        store_relaxed(&state[EPOCH], static_cast<u64>(epoch));
    }
}
