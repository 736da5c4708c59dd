// The barrier between the GPUs of one host that read and write each other's memory, and the counts that it
// carries.
//
// At the end of the region that a rank lends is a mailbox: for each of three epochs in turn, and for each
// rank, the counts that this rank publishes. A rank may be one epoch ahead of another, whose blocks still
// read.
//
// Blocks arrive at a counter of their GPU. The last to arrive writes its rank's counts into the mailbox of
// every rank; every block waits until all counts of the epoch have come. A word of the mailbox has 32 bits of
// a count and the epoch, so that it is its own flag: no fence, and so no round trip over NVLink, lies between
// counts and flags. All writes before the barrier, to any rank, are visible after it: a fence comes between a
// block's writes and its arrival, one for the whole system between the last arrival and the words, and one
// after the wait. Each synchronizes with the next, and causality order is transitive across their scopes.
//
// Waiting ranks spin, so each needs a GPU of its own. On the host device, ranks are processes that share
// memory, and a waiting one sleeps. A rank that waits too long reports the rank that it missed, and stops.

#pragma once

#include "device/clock.cuh"
#include "device/constants.cuh"

#ifdef __CUDA_ON_HOST__
extern "C" int usleep(unsigned microseconds);
#endif

const u32 MAX_RANKS = 16;
const u32 MAX_COUNTS = 8;  // that a rank publishes at a barrier
const u32 EPOCHS = 3;

// Stays from search to search.
struct Meetings {
    u64 arrived;  // blocks at all barriers
    u64 epoch;    // barriers, less whole LAPS
};

// Numbers of barriers choose places in turn, among EPOCHS and others. A search leaves the next one a number
// below this multiple of all turns, so that none exceeds 32 bits, where the turns would break.
const u32 LAPS = 3u << 30;
static_assert(LAPS % EPOCHS == 0, "a whole number of turns");

// The regions that ranks lend each other, and this rank's place among them.
struct Peers {
    const u64* regions;
    u64 mailbox;  // bytes of a region before its mailbox
    u64 patience_ns;
    u64* missed;  // in host memory: the number of the rank that did not arrive, plus 1
    u32 rank;
    u32 n_ranks;
    Meetings* meetings;

    template <typename Item>
    __device__ Item* at(u32 peer, u64 bytes) const
    {
        return reinterpret_cast<Item*>(regions[peer] + bytes);
    }
    __device__ u64* mail(u32 peer, u32 epoch, u32 from) const
    {
        return at<u64>(peer, mailbox) + (epoch % EPOCHS * n_ranks + from) * (2 * MAX_COUNTS);
    }
    // Notes the number of the last barrier of a search; one thread of a rank.
    __device__ void leave(u32 epoch) const
    {
        store_relaxed(&meetings->epoch, static_cast<u64>(epoch % LAPS));
    }
};

// What the ranks published at the last barrier, in the memory of a block.
struct Published {
    u32 halves[MAX_RANKS][2 * MAX_COUNTS];
    bool is_last;

    __device__ u64 of(u32 rank, u32 count) const
    {
        return static_cast<u64>(halves[rank][2 * count + 1]) << 32 | halves[rank][2 * count];
    }
    __device__ u64 sum(const Peers& peers, u32 count) const
    {
        u64 total = 0;
#pragma unroll 1
        for (u32 rank = 0; rank < peers.n_ranks; ++rank) total += of(rank, count);
        return total;
    }
    __device__ u64 least(const Peers& peers, u32 count) const
    {
        u64 least = ~0ull;
#pragma unroll 1
        for (u32 rank = 0; rank < peers.n_ranks; ++rank) least = min(least, of(rank, count));
        return least;
    }
};

// `__threadfence` and `__threadfence_system` are sequentially consistent, which the barrier does not need.
__device__ __forceinline__ void fence_on_gpu()
{
#ifdef __CUDA_ON_HOST__
    __threadfence();
#else
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

__device__ __forceinline__ void fence_on_system()
{
#ifdef __CUDA_ON_HOST__
    __threadfence_system();
#else
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

// Adds bits to a word in the memory of any rank, which others may change as well.
__device__ __forceinline__ void add_bits(u32* word, u32 bits)
{
#ifdef __CUDA_ON_HOST__
    atomicOr(word, bits);
#else
    atomicOr_system(word, bits);
#endif
}

__device__ __forceinline__ void back_off()
{
#ifdef __CUDA_ON_HOST__
    usleep(50);
#endif
    __nanosleep(20);
}

// Waits for a word of the mailbox of an epoch; returns its 32 bits.
__device__ u32 await_word(const Peers& peers, const u64* word, u32 epoch, u32 from)
{
    u64 begin = 0;
    for (u32 turn = 1;; ++turn) {
        u64 value = load_relaxed(word);
        if (static_cast<u32>(value >> 32) == epoch) return static_cast<u32>(value);
        back_off();
        if (turn % 256 != 0) continue;
        u64 now = nanoseconds();
        if (begin == 0) begin = now;
        if (now - begin > peers.patience_ns) {
            store_relaxed(peers.missed, static_cast<u64>(from) + 1);
            __threadfence_system();
            __trap();
        }
    }
}

// Waits for all blocks of all ranks, and exchanges N counts. The last block of a rank to arrive calls
// `count_of(k)` for each, when all others have arrived. Every thread does `meanwhile` between its arrival and
// its wait; other threads see what it writes there after the next barrier.
template <u32 N, typename CountOf, typename Meanwhile>
__device__ void meet(const Peers& peers, u32 epoch, Published& published, CountOf count_of,
                     Meanwhile meanwhile)
{
    static_assert(N <= MAX_COUNTS, "counts fit the mailbox");
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_on_gpu();
        u64 arrived = atomicAdd(&peers.meetings->arrived, 1ull) + 1;
        published.is_last = arrived % gridDim.x == 0;
        if (published.is_last) fence_on_gpu();
    }
    __syncthreads();
    u32 n_words = peers.n_ranks * 2 * N;
    if (published.is_last && threadIdx.x < n_words) {
        fence_on_system();
        for (u32 i = threadIdx.x; i < n_words; i += blockDim.x) {
            u64 count = count_of(i % (2 * N) / 2);
            u64 half = i % 2 ? count >> 32 : count & 0xffffffffull;
            u64* mail = peers.mail(i / (2 * N), epoch, peers.rank) + i % (2 * N);
            store_relaxed(mail, static_cast<u64>(epoch) << 32 | half);
        }
    }
    meanwhile();
#ifdef __CUDA_ON_HOST__
    // Only one thread of a block sleeps.
    for (u32 from = 0; threadIdx.x == 0 && from < peers.n_ranks; ++from) {
        await_word(peers, peers.mail(peers.rank, epoch, from), epoch, from);
    }
    __syncthreads();
#endif
    for (u32 i = threadIdx.x; i < n_words; i += blockDim.x) {
        u32 from = i / (2 * N), half = i % (2 * N);
        published.halves[from][half] =
            await_word(peers, peers.mail(peers.rank, epoch, from) + half, epoch, from);
        fence_on_system();
    }
    __syncthreads();
}

template <u32 N, typename CountOf>
__device__ void meet(const Peers& peers, u32 epoch, Published& published, CountOf count_of)
{
    meet<N>(peers, epoch, published, count_of, [] {});
}
