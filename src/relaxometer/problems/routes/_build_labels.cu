// Builds the labels of labels.cu, level by level of the elimination tree, from the roots down. Vertices of a
// level with about as many arcs are a band, so that no thread follows many arcs while others wait.

#include <cooperative_groups.h>

#include "problems/_saturating.cuh"
#include "problems/routes/_label_rows.cuh"

namespace cg = cooperative_groups;

const u32 BUILD_THREADS = 1024;  // maximum per block

const u32 LOG_BITS = 5;  // for the logarithm of the parts that share the arcs of a vertex

// What does not depend on weights; see _labels.py.
struct Plan {
    u32 n_bands;
    u32 most;             // labels of a row, a multiple of `UNIT`
    const uint4* bands;   // by depth: the first place, the end, blocks before, the depth and a logarithm
    const uint4* places;  // by band: the first upward arc of a vertex, their end, the row
    const u64* heads;     // by arc: the row of its upper end
};

// Finds four labels of a vertex: the least sums by every `stride`-th of its upward arcs.
__device__ __forceinline__ uint4 find_labels(const u64* heads, const u32* lengths, u32 first, u32 end,
                                             u32 stride, u32 side, u32 quad, const uint4* rows)
{
    const uint4 nothing = make_uint4(UNREACHED, UNREACHED, UNREACHED, UNREACHED);
    uint4 best = nothing;
#pragma unroll 4
    for (u32 arc = first; arc < end; arc += stride) {
        u64 head = read_only(&heads[arc]);
        u32 length = read_only(&lengths[2 * static_cast<size_t>(arc) + side]);
        uint4 other = nothing;  // only the load is conditional, so that several are on their way
        if (4 * quad < size_of(head)) other = rows[first_quad(head) + quad];
        best = lower(best, other, length);
    }
    return best;
}

// Builds the rows of all vertices; a cooperative launch of a power of two of warps per block. If the lengths
// of all arcs are the same in both directions, `n_sides` is 1 and `down` is not written.
extern "C" __global__ void __launch_bounds__(BUILD_THREADS, 1)
    build_labels(const __grid_constant__ Plan plan, const u32* __restrict__ lengths, u32 n_sides, uint4* up,
                 uint4* down)
{
    __shared__ uint4 found[BUILD_THREADS];
    u32 depth = 0;
    for (u32 i = 0; i < plan.n_bands; ++i) {
        uint4 band = read_only(&plan.bands[i]);
        u32 log_parts = band.w & ((1u << LOG_BITS) - 1);
        if (band.w >> LOG_BITS != depth) cg::this_grid().sync();
        depth = band.w >> LOG_BITS;
        u32 count = band.y - band.x, quads = min(depth, plan.most - 1) / 4 + 1;
        u64 items = static_cast<u64>(n_sides) * count * quads;
        u32 parts = 1u << log_parts, per_block = blockDim.x >> log_parts;
        u32 slot = threadIdx.x % per_block, part = threadIdx.x / per_block;
        // Bands of a level take turns, so that they are built at once if there are enough blocks.
        u32 block = (blockIdx.x + gridDim.x - n_sides * band.z % gridDim.x) % gridDim.x;
        for (u64 first = static_cast<u64>(block) * per_block; first < items;
             first += static_cast<u64>(gridDim.x) * per_block) {
            u64 number = (first + slot) / quads;
            u32 quad = static_cast<u32>(first + slot - number * quads);
            u32 side = number >= count;
            bool is_item = first + slot < items;
            uint4* rows = side ? down : up;
            uint4 place = make_uint4(0, 0, 0, 0);
            if (is_item) place = read_only(&plan.places[band.x + static_cast<u32>(number) - side * count]);
            uint4 best = find_labels(plan.heads, lengths, place.x + part, place.y, parts, side, quad, rows);
            if (parts > 1) {
                found[threadIdx.x] = best;
                __syncthreads();
                for (u32 k = slot + per_block; part == 0 && k < blockDim.x; k += per_block) {
                    best = lower(best, found[k], 0);
                }
                __syncthreads();
            }
            if (part != 0 || !is_item) continue;
            uint4* label = &rows[first_quad(join(place.z, place.w)) + quad];
            *label = best;
            if (quad == depth / 4) reinterpret_cast<u32*>(label)[depth % 4] = 0;  // its own
        }
    }
}
