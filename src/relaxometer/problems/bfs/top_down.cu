// Top-down BFS in two phases, expand and contract, after Merrill, Garland and Grimshaw (PPoPP 2012) in the
// form of Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 3.1.
//
// A level is three kernels: `list_frontier` turns the frontier from a bitmap into a list, `expand` gathers
// the heads of all arcs that leave it, `contract` keeps the heads that were not visited before. As in the
// paper by Hirakushi and Takahashi, atomics keep the bitmap of visited vertices exact, so that bottom-up
// levels can use it. Merrill et al. let duplicates pass and remove them by warp and block.
//
// Errata of the paper: its pseudo-code (figure 1) adds the frontier's vertex u to the next frontier; the
// vertex found, v, is meant.
//
// Deviations from the papers:
//   - Merrill et al. spread a row over a block, a warp or a scan, by its length; here the list holds pieces
//     of rows of bounded length, which a block's scan lays end to end (see _pieces.cuh).
//   - The lengths of the lists stay on the device: counts[0] pieces, counts[1] arcs gathered, counts[2]
//     vertices found. So the host launches the three kernels of a level without waiting in between.

#include "_pieces.cuh"

// Lists the pieces of the frontier's words `first_word` to `last_word` - 1.
extern "C" __global__ void list_frontier(u32 first_word, u32 last_word, const i64* __restrict__ offsets,
                                         const u32* __restrict__ frontier, u64* list, u64* counts)
{
    u32 word = first_word + thread_id();
    append_word(word < last_word ? frontier[word] : 0, word, offsets, list, &counts[0]);
}

// Finds the last of the block's pieces that begins at or before `arc`.
__device__ u32 piece_at(const u32* begins, u32 arc)
{
    u32 low = 0;
    for (u32 step = blockDim.x / 2; step > 0; step /= 2) {
        if (begins[low + step] <= arc) low += step;
    }
    return low;
}

// Gathers the arcs of the list. A block takes as many pieces as it has threads, a power of two at most 256.
extern "C" __global__ void expand(const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                  const u64* __restrict__ list, u64* counts, u32* heads, u32* tails)
{
    __shared__ u32 vertices[256];
    __shared__ i64 rows[256];
    __shared__ u32 begins[256];
    __shared__ u32 warp_sums[8];
    __shared__ u64 base;
    u64 n_pieces = counts[0];
    for (u64 first = u64{blockIdx.x} * blockDim.x; first < n_pieces; first += thread_count()) {
        u64 own = first + threadIdx.x;
        Piece piece = own < n_pieces ? piece_of(list[own], offsets) : Piece{0, 0, 0};
        u32 length = static_cast<u32>(piece.end - piece.begin);
        u32 total;
        u32 below = sum_below_in_block(length, warp_sums, &total);
        vertices[threadIdx.x] = piece.vertex;
        rows[threadIdx.x] = piece.begin;
        begins[threadIdx.x] = below;
        if (threadIdx.x == 0) base = atomicAdd(&counts[1], static_cast<u64>(total));
        __syncthreads();
        for (u32 arc = threadIdx.x; arc < total; arc += blockDim.x) {
            u32 at = piece_at(begins, arc);
            heads[base + arc] = targets[rows[at] + (arc - begins[at])];
            tails[base + arc] = vertices[at];
        }
        __syncthreads();
    }
}

// Adds each gathered head that was not visited to the next frontier.
extern "C" __global__ void contract(const u32* __restrict__ heads, const u32* __restrict__ tails, u32 depth,
                                    u32* visited, u32* next, u32* level, u32* predecessor, u64* counts)
{
    u64 n_arcs = counts[1];
    u64 found = 0;
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 head = heads[i];
        if (contains_now(visited, head) || !claim(visited, head)) continue;
        atomicOr(&next[head / 32], bit_of(head));
        level[head] = depth + 1;
        predecessor[head] = tails[i];
        ++found;
    }
    found = sum_of_warp(found);
    if (threadIdx.x % WARP == 0 && found) atomicAdd(&counts[2], found);
}
