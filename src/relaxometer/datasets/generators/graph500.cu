// The edge list of Graph500 with a thread for every edge, bit by bit that of the reference generator.
//
// Edge i starts from the seed's state advanced by i * 2^64 steps. A thread gets there by one matrix for each
// digit of i to the base 16; graph500_device.py works them out. graph500.py does the same on the CPU, says
// where the constants come from, and explains the steps.

#include "device/atomics.cuh"

__device__ const u64 MODULUS = 0x7fffffffull;
__device__ const u64 NEWEST = 107374182;
__device__ const u64 OLDEST = 104480;

// Quadrants b, c and a begin at these ten thousandths; what lies above is d.
__device__ const u32 B_ENDS = 1900;
__device__ const u32 C_ENDS = 3800;
__device__ const u32 A_ENDS = 9500;
__device__ const u32 WHOLE = 10000;
__device__ const u32 REJECTED = 0x7fffffffu % 10000;

// A key of no arc: only a self-loop of the last vertex could have all bits set.
__device__ const u64 NO_ARC = ~0ull;

struct State {
    u64 z[5];
};

__device__ __forceinline__ u64 reduced(u64 x)
{
    x = (x & MODULUS) + (x >> 31);
    x = (x & MODULUS) + (x >> 31);
    return x >= MODULUS ? x - MODULUS : x;
}

// Advances the state by one step and returns the number drawn.
__device__ __forceinline__ u32 draw(State& state)
{
    u64 next = reduced(state.z[0] * NEWEST + state.z[4] * OLDEST);
    for (int i = 4; i > 0; --i) state.z[i] = state.z[i - 1];
    state.z[0] = next;
    return static_cast<u32>(next);
}

__device__ __forceinline__ State product(const u32* matrix, const State& state)
{
    State result;
    for (int row = 0; row < 5; ++row) {
        const u32* m = matrix + 5 * row;
        // Each product is below 2^62: four of them fit a word.
        u64 sum = m[0] * state.z[0] + m[1] * state.z[1] + m[2] * state.z[2] + m[3] * state.z[3];
        result.z[row] = reduced(reduced(sum) + m[4] * state.z[4]);
    }
    return result;
}

__device__ __forceinline__ u32 scrambled(u64 v, u32 scale, u64 first, u64 second)
{
    v = (v + first + second) * (first | 0x4519840211493211ull);
    v = __brevll(v) >> (64 - scale);
    v *= second | 0x3050852102c843a5ull;
    return static_cast<u32>(__brevll(v) >> (64 - scale));
}

// Edges start to start + size - 1: both ends and the weight from 0 to 1.
extern "C" __global__ void kronecker_edges(i64 start, i64 size, u32 scale, u64 first, u64 second,
                                           const u64* __restrict__ seed, const u32* __restrict__ jumps,
                                           u32* __restrict__ tails, u32* __restrict__ heads,
                                           float* __restrict__ weights)
{
    for (i64 i = thread_id(); i < size; i += thread_count()) {
        State state;
        for (int k = 0; k < 5; ++k) state.z[k] = seed[k];
        const u32* matrices = jumps;
        for (u64 left = start + i; left > 0; left >>= 4, matrices += 16 * 25) {
            if (left & 15) state = product(matrices + (left & 15) * 25, state);
        }
        u64 tail = 0, head = 0;
        for (u32 level = 0; level < scale; ++level) {
            u32 number = draw(state);
            while (number < REJECTED) number = draw(state);
            u32 place = number % WHOLE;
            bool down = place >= B_ENDS && (place < C_ENDS || place >= A_ENDS);
            bool right = place < B_ENDS || place >= A_ENDS;
            bool below_diagonal = tail == head && down && !right;
            tail = tail << 1 | (down && !below_diagonal);
            head = head << 1 | (right || below_diagonal);
        }
        tails[i] = scrambled(tail, scale, first, second);
        heads[i] = scrambled(head, scale, first, second);
        weights[i] = static_cast<float>(static_cast<float>(draw(state)) * 0.000000000465661287524579692);
    }
}

// The two arcs of every edge as words that sort by source, target and weight: source, target, weight - low.
extern "C" __global__ void arc_keys(i64 size, u32 scale, u32 weight_bits, u32 span,
                                    const u32* __restrict__ tails, const u32* __restrict__ heads,
                                    const float* __restrict__ weights, u64* __restrict__ keys)
{
    for (i64 i = thread_id(); i < size; i += thread_count()) {
        u64 tail = tails[i], head = heads[i];
        u64 weight = static_cast<u64>(static_cast<double>(weights[i]) * span);
        if (weight >= span) weight = span - 1;
        bool loop = tail == head;
        keys[2 * i] = loop ? NO_ARC : (tail << scale | head) << weight_bits | weight;
        keys[2 * i + 1] = loop ? NO_ARC : (head << scale | tail) << weight_bits | weight;
    }
}
