// A fingerprint of an array: the sum of a hash of every word and its position. A change of any word changes
// it, but for one chance in 2^64; the order in which threads add does not matter.

#include "device/atomics.cuh"

// The finalizer of SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
// OOPSLA 2014.
__device__ __forceinline__ u64 mix(u64 z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

extern "C" __global__ void fingerprint(u64 n_words, const u32* __restrict__ words, u64* sum)
{
    u64 own = 0;
    for (u64 i = thread_id(); i < n_words; i += thread_count()) {
        own += mix((i << 32 | words[i]) + 0x9e3779b97f4a7c15ull * (i >> 32));
    }
    if (own) atomicAdd(sum, own);
}
