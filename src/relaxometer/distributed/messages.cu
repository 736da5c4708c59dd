// Encodes bitmaps as the gaps between their bits, and decodes them; messages.py describes the messages.
//
// Each kernel is one cooperative launch for several bitmaps of fewer than 2^32 bits each. The blocks of one
// `blockIdx.y` share a bitmap. Each warp passes twice over a contiguous slice of it: first to measure, then
// to write. In between, the blocks publish their measurements in `parts`, and a grid barrier follows.
//
// Encoding, the first gap begins before the slice, so a slice is described by its first and last bit and the
// bytes of the gaps between these; two such runs join into one. If the message would not be shorter than the
// bitmap, nothing is written. Decoding, a byte adds its digit, times its place value, to the position of
// every later bit, and the last byte of a gap adds one more; the four bytes before a digit determine its
// place value.

#include <cooperative_groups.h>

#include "device/block_scan.cuh"

namespace cg = cooperative_groups;

const u32 MAX_BITMAPS = 64;  // per launch
const u32 DIGIT = 7;         // bits of a gap in a byte
const u32 MORE = 0x80;       // marks a byte followed by another of the same gap
const u32 MORE_IN_ALL = MORE * 0x01010101u;
const u32 NO_BIT = 0xffffffffu;

struct Bitmaps {
    u64 addresses[MAX_BITMAPS];
};

struct Messages {
    u64 addresses[MAX_BITMAPS];  // multiples of 4
    u32 bytes[MAX_BITMAPS];
};

// A warp's words of a bitmap or a message.
struct Slice {
    u32 begin;
    u32 end;
};

// This warp's slice of `count` words, among all warps of its bitmap: a multiple of 32 words, except the last.
__device__ __forceinline__ Slice slice_of_warp(u32 count)
{
    u32 warps = thread_count() / WARP;
    u32 share = (count + warps * WARP - 1) / (warps * WARP) * WARP;
    u32 begin = min(thread_id() / WARP * share, count);
    return {begin, min(begin + share, count)};
}

// Description of a run of words.
struct Run {
    u32 first;  // bit; NO_BIT if no bit is set
    u32 last;   // bit
    u32 bytes;  // of all gaps except that before the first bit
};

// Before a bitmap's first bit comes one at -1.
__device__ const Run START = {0, NO_BIT, 0};
__device__ const Run EMPTY_RUN = {NO_BIT, NO_BIT, 0};

__device__ __forceinline__ u32 bytes_of(u32 gap)
{
    u32 bits = 32 - __clz(static_cast<int>(gap | 1));
    return (bits + DIGIT - 1) / DIGIT;
}

__device__ __forceinline__ u32 gap_between(u32 bit, u32 next)
{
    return next - bit - 1;
}

__device__ __forceinline__ Run join(const Run& before, const Run& behind)
{
    if (before.first == NO_BIT) return behind;
    if (behind.first == NO_BIT) return before;
    u32 gap = gap_between(before.last, behind.first);
    return {before.first, behind.last, before.bytes + bytes_of(gap) + behind.bytes};
}

__device__ __forceinline__ Run run_of_lane(const Run& run, u32 lane)
{
    u32 first = __shfl_sync(ALL_LANES, run.first, lane);
    u32 last = __shfl_sync(ALL_LANES, run.last, lane);
    u32 bytes = __shfl_sync(ALL_LANES, run.bytes, lane);
    return {first, last, bytes};
}

// Joins the runs of all lanes through this one.
__device__ Run join_lanes(Run run)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        Run before = run_of_lane(run, lane - distance);
        if (lane >= distance) run = join(before, run);
    }
    return run;
}

// A lane's word of a round, in which a warp reads 32 consecutive words.
struct Word {
    u32 bits;
    u32 occupied;   // lanes with bits
    u32 first_bit;  // undefined in a word without bits, as are the results below
    u32 bit_before;
    u32 last_in_round;

    // `last` is the last bit before the round.
    __device__ Word(const u32* words, u32 at, u32 end, u32 last)
    {
        u32 lane = threadIdx.x % WARP;
        bits = at < end ? words[at] : 0;
        occupied = __ballot_sync(ALL_LANES, bits != 0);
        u32 before = occupied & ((1u << lane) - 1);
        first_bit = at * 32 + __ffs(static_cast<int>(bits)) - 1;
        u32 last_bit = at * 32 + 31 - __clz(static_cast<int>(bits));
        u32 from_lane = __shfl_sync(ALL_LANES, last_bit, highest(before));
        bit_before = before != 0 ? from_lane : last;
        from_lane = __shfl_sync(ALL_LANES, last_bit, highest(occupied));
        last_in_round = occupied != 0 ? from_lane : last;
    }

    __device__ static u32 highest(u32 lanes)
    {
        return (31 - __clz(static_cast<int>(lanes))) & 31;
    }

    // Gaps within a word take a byte each.
    __device__ u32 bytes_behind_first() const
    {
        return __popc(bits) - 1;
    }

    __device__ u32 bytes_of_first() const
    {
        return bytes_of(gap_between(bit_before, first_bit));
    }
};

// Describes a warp's slice.
__device__ Run measure(const u32* words, Slice slice)
{
    u32 lane = threadIdx.x % WARP;
    Run run = EMPTY_RUN;
    for (u32 begin = slice.begin; begin < slice.end; begin += WARP) {
        Word word(words, begin + lane, slice.end, run.last);
        if (word.occupied == 0) continue;
        u32 leader = __ffs(static_cast<int>(word.occupied)) - 1;
        bool begins_run = run.first == NO_BIT && lane == leader;
        if (run.first == NO_BIT) run.first = __shfl_sync(ALL_LANES, word.first_bit, leader);
        if (word.bits != 0) run.bytes += word.bytes_behind_first() + (begins_run ? 0 : word.bytes_of_first());
        run.last = word.last_in_round;
    }
    run.bytes = __reduce_add_sync(ALL_LANES, run.bytes);
    return run;
}

__device__ __forceinline__ u8* put_gap(u8* to, u32 gap)
{
    for (; gap >= MORE; gap >>= DIGIT) *to++ = static_cast<u8>(gap | MORE);
    *to++ = static_cast<u8>(gap);
    return to;
}

// Writes the bytes of a warp's slice after those of the run `before`.
__device__ void write(const u32* words, Slice slice, const Run& before, u8* message)
{
    u32 lane = threadIdx.x % WARP;
    u32 last = before.last;
    message += before.bytes;
    for (u32 begin = slice.begin; begin < slice.end; begin += WARP) {
        Word word(words, begin + lane, slice.end, last);
        if (word.occupied == 0) continue;
        u32 bytes = word.bits != 0 ? word.bytes_behind_first() + word.bytes_of_first() : 0;
        u32 through = static_cast<u32>(warp_inclusive_sum(bytes));
        u8* to = message + through - bytes;
        u32 bit = word.bit_before;
        for (u32 bits = word.bits; bits != 0; bits &= bits - 1) {
            u32 next = (begin + lane) * 32 + __ffs(static_cast<int>(bits)) - 1;
            to = put_gap(to, gap_between(bit, next));
            bit = next;
        }
        message += __shfl_sync(ALL_LANES, through, WARP - 1);
        last = word.last_in_round;
    }
}

// Joins the runs of all blocks before this one, and of all blocks of the bitmap; for the first warp.
__device__ void join_parts(const Run* parts, Run* before, Run* all)
{
    u32 lane = threadIdx.x % WARP;
    Run known = START;
    if (blockIdx.x == 0 && lane == 0) *before = START;
    for (u32 begin = 0; begin < gridDim.x; begin += WARP) {
        u32 block = begin + lane;
        Run through = join(known, join_lanes(block < gridDim.x ? parts[block] : EMPTY_RUN));
        if (block + 1 == blockIdx.x) *before = through;
        known = run_of_lane(through, WARP - 1);
    }
    if (lane == 0) *all = known;
}

// `lengths` gets the bytes of each message, or those of the bitmap if the message would not be shorter. Each
// message has the capacity of a bitmap.
extern "C" __global__ void __launch_bounds__(1024)
    encode(u32 n_words, Bitmaps bitmaps, Run* all_parts, u8* messages, u32* lengths)
{
    __shared__ Run runs[WARP];  // through the end of each warp
    __shared__ Run before;
    __shared__ Run all;
    cg::grid_group grid = cg::this_grid();
    u32 lane = threadIdx.x % WARP;
    u32 warp = threadIdx.x / WARP;
    u32 n_bytes = 4 * n_words;
    const u32* words = reinterpret_cast<const u32*>(bitmaps.addresses[blockIdx.y]);
    Run* parts = all_parts + blockIdx.y * gridDim.x;
    Slice slice = slice_of_warp(n_words);
    Run run = measure(words, slice);
    if (lane == 0) runs[warp] = run;
    __syncthreads();
    if (warp == 0) {
        Run through = join_lanes(lane < blockDim.x / WARP ? runs[lane] : EMPTY_RUN);
        runs[lane] = through;
        if (lane == WARP - 1) parts[blockIdx.x] = through;
    }
    grid.sync();
    if (warp == 0) join_parts(parts, &before, &all);
    __syncthreads();
    bool is_shorter = all.bytes < n_bytes;
    if (thread_id() == 0) lengths[blockIdx.y] = is_shorter ? all.bytes : n_bytes;
    if (!is_shorter) return;
    u8* message = messages + static_cast<u64>(blockIdx.y) * n_bytes;
    write(words, slice, warp == 0 ? before : join(before, runs[warp - 1]), message);
}

// The bytes of a message, four to a word.
struct Digits {
    const u32* words;
    u32 n_bytes;

    __device__ u32 n_words() const
    {
        return n_bytes / 4 + (n_bytes % 4 != 0);
    }

    // Calls `set` with each bit whose gap ends in a word. `place` is the position of the next bit if its gap
    // had no more bytes than those before the word; returns the same for the end of the word.
    template <typename Set>
    __device__ __forceinline__ u32 read(u32 at, u32 place, Set set) const
    {
        u32 word = words[at];
        u32 before = at > 0 ? words[at - 1] : 0;
        u32 digit = __clz(static_cast<int>(~before & MORE_IN_ALL)) / 8;  // bytes of this gap before the word
        u32 count = min(n_bytes - 4 * at, 4u);
        for (u32 k = 0; k < count; ++k, word >>= 8) {
            place += (word & (MORE - 1)) << DIGIT * digit;
            ++digit;
            if ((word & MORE) != 0) continue;
            set(place);
            ++place;
            digit = 0;
        }
        return place;
    }
};

// Bits of one word of a bitmap, to be set by one atomic.
struct Pending {
    u32* bitmap;
    u32 word;
    u32 bits;

    __device__ void add(u32 bit)
    {
        if (bit / 32 != word) {
            set();
            word = bit / 32;
        }
        bits |= 1u << bit % 32;
    }

    __device__ void set()
    {
        if (bits != 0) atomicOr(&bitmap[word], bits);
        bits = 0;
    }
};

// The distance that the bytes of a warp's slice add to later positions, in parts per lane.
__device__ u32 measure(const Digits& digits, Slice slice)
{
    u32 distance = 0;
    for (u32 at = slice.begin + threadIdx.x % WARP; at < slice.end; at += WARP) {
        distance = digits.read(at, distance, [](u32) {});
    }
    return distance;
}

// Sets the bits of a warp's slice; `place` is as in Digits::read.
__device__ void set_bits(const Digits& digits, Slice slice, u32 place, u32* bitmap)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 begin = slice.begin; begin < slice.end; begin += WARP) {
        u32 at = begin + lane;
        u32 distance = at < slice.end ? digits.read(at, 0, [](u32) {}) : 0;
        u32 through = static_cast<u32>(warp_inclusive_sum(distance));
        Pending pending = {bitmap, 0, 0};
        if (at < slice.end) digits.read(at, place + through - distance, [&](u32 bit) { pending.add(bit); });
        pending.set();
        place += __shfl_sync(ALL_LANES, through, WARP - 1);
    }
}

// Each message is in memory of whole words.
extern "C" __global__ void __launch_bounds__(1024)
    decode(u32 n_words, Bitmaps bitmaps, Messages messages, u32* all_parts)
{
    cg::grid_group grid = cg::this_grid();
    u32 lane = threadIdx.x % WARP;
    u32* bitmap = reinterpret_cast<u32*>(bitmaps.addresses[blockIdx.y]);
    for (u32 word = thread_id(); word < n_words; word += thread_count()) bitmap[word] = 0;
    const u32* message = reinterpret_cast<const u32*>(messages.addresses[blockIdx.y]);
    Digits digits = {message, messages.bytes[blockIdx.y]};
    u32* parts = all_parts + blockIdx.y * gridDim.x;
    Slice slice = slice_of_warp(digits.n_words());
    u64 of_block;
    u64 place = block_exclusive_sum(measure(digits, slice), &of_block);
    if (threadIdx.x == 0) parts[blockIdx.x] = static_cast<u32>(of_block);
    grid.sync();
    u32 of_blocks = 0;
    for (u32 block = lane; block < blockIdx.x; block += WARP) of_blocks += parts[block];
    of_blocks = __reduce_add_sync(ALL_LANES, of_blocks);
    u32 of_warps = static_cast<u32>(__shfl_sync(ALL_LANES, place, 0));
    set_bits(digits, slice, of_blocks + of_warps, bitmap);
}
