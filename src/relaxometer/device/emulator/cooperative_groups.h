// The part of NVIDIA's cooperative groups that kernels use: the grid, the block, and tiles of a warp.

#pragma once

#include "collectives.h"
#include "intrinsics.h"

namespace cooperative_groups {

using emulator::Site;

struct thread_block {
    void sync(Site site = Site::here()) const
    {
        emulator::barrier(0, site);
    }
    unsigned size() const
    {
        return emulator::launch.threads_per_block;
    }
    unsigned num_threads() const
    {
        return size();
    }
    unsigned thread_rank() const
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    dim3 group_index() const
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    dim3 thread_index() const
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
};

struct grid_group {
    void sync(Site site = Site::here()) const
    {
        emulator::grid_sync(site);
    }
    bool is_valid() const
    {
        return emulator::launch.cooperative != 0;
    }
    unsigned long long num_blocks() const
    {
        return emulator::launch.blocks;
    }
    unsigned long long block_rank() const
    {
        return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    unsigned long long size() const
    {
        return num_blocks() * emulator::launch.threads_per_block;
    }
    unsigned long long num_threads() const
    {
        return size();
    }
    unsigned long long thread_rank() const
    {
        return block_rank() * emulator::launch.threads_per_block + thread_block().thread_rank();
    }
};

inline thread_block this_thread_block()
{
    return {};
}

inline grid_group this_grid()
{
    return {};
}

// SIZE neighbouring lanes of a warp; SIZE is a power of two up to 32.
template <unsigned SIZE>
class thread_block_tile {
    static_assert(SIZE > 0 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0,
                  "a tile has 1, 2, 4, 8, 16 or 32 lanes");

    static unsigned first_lane()
    {
        return emulator::current->lane() & ~(SIZE - 1);
    }
    static unsigned mask()
    {
        return (0xffffffffu >> (32 - SIZE)) << first_lane();
    }

public:
    static constexpr unsigned size()
    {
        return SIZE;
    }
    static constexpr unsigned num_threads()
    {
        return SIZE;
    }
    unsigned thread_rank() const
    {
        return emulator::current->lane() & (SIZE - 1);
    }
    unsigned meta_group_rank() const
    {
        return this_thread_block().thread_rank() / SIZE;
    }
    unsigned meta_group_size() const
    {
        return (emulator::launch.threads_per_block + SIZE - 1) / SIZE;
    }
    void sync(Site site = Site::here()) const
    {
        __syncwarp(mask(), site);
    }
    template <class T>
    T shfl(T value, int source, Site site = Site::here()) const
    {
        return __shfl_sync(mask(), value, source, SIZE, site);
    }
    template <class T>
    T shfl_up(T value, unsigned distance, Site site = Site::here()) const
    {
        return __shfl_up_sync(mask(), value, distance, SIZE, site);
    }
    template <class T>
    T shfl_down(T value, unsigned distance, Site site = Site::here()) const
    {
        return __shfl_down_sync(mask(), value, distance, SIZE, site);
    }
    template <class T>
    T shfl_xor(T value, int flipped, Site site = Site::here()) const
    {
        return __shfl_xor_sync(mask(), value, flipped, SIZE, site);
    }
    int any(int predicate, Site site = Site::here()) const
    {
        return __any_sync(mask(), predicate, site);
    }
    int all(int predicate, Site site = Site::here()) const
    {
        return __all_sync(mask(), predicate, site);
    }
    unsigned ballot(int predicate, Site site = Site::here()) const
    {
        return __ballot_sync(mask(), predicate, site) >> first_lane();
    }
    template <class T>
    unsigned match_any(T value, Site site = Site::here()) const
    {
        return __match_any_sync(mask(), value, site) >> first_lane();
    }
};

template <unsigned SIZE>
inline thread_block_tile<SIZE> tiled_partition(const thread_block&)
{
    return {};
}

}  // namespace cooperative_groups
