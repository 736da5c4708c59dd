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
inline T read_only(const T* address)
{
    return *address;
}

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

// Loads through the read-only cache, of words that no thread writes during the kernel. Unlike `__ldg`, whose
// assembly is volatile, the compiler may move these loads past others and past atomic operations.
__device__ __forceinline__ u32 read_only(const u32* address)
{
    u32 value;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(address));
    return value;
}

__device__ __forceinline__ i64 read_only(const i64* address)
{
    i64 value;
    asm("ld.global.nc.s64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
}

__device__ __forceinline__ u64 read_only(const u64* address)
{
    u64 value;
    asm("ld.global.nc.u64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
}

__device__ __forceinline__ uint2 read_only(const uint2* address)
{
    uint2 value;
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(address));
    return value;
}

__device__ __forceinline__ uint4 read_only(const uint4* address)
{
    uint4 value;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
        : "l"(address));
    return value;
}

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
