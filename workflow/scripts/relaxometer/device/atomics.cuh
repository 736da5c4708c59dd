// Integer types, the index of a thread, and relaxed access to words that other threads write concurrently.
//
// A plain access to a word that another thread may be writing is a race even if every outcome is correct (a
// flag that several threads set to 1): the compiler may merge, split or repeat it. `load_relaxed` and
// `store_relaxed` are single accesses without ordering; on a GPU they cost as much as a plain access that
// bypasses the first-level cache.

#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// The index of the calling thread in a one-dimensional launch of at most 2^32 threads.
__device__ __forceinline__ u32 thread_id()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

// The number of threads of a one-dimensional launch: the stride of a grid-stride loop.
__device__ __forceinline__ u32 thread_count()
{
    return gridDim.x * blockDim.x;
}

#ifdef __CUDA_ON_HOST__

template <typename T>
inline T load_relaxed(const T* address)
{
    T value;
    __atomic_load(address, &value, __ATOMIC_RELAXED);
    return value;
}

template <typename T>
inline void store_relaxed(T* address, T value)
{
    __atomic_store(address, &value, __ATOMIC_RELAXED);
}

#else

// In PTX, volatile accesses are relaxed accesses of system scope, and the compiler neither merges nor drops
// them. cuda::atomic_ref does the same but needs a large header.
template <typename T>
__device__ __forceinline__ T load_relaxed(const T* address)
{
    return *const_cast<const volatile T*>(address);
}

template <typename T>
__device__ __forceinline__ void store_relaxed(T* address, T value)
{
    *const_cast<volatile T*>(address) = value;
}

#endif
