// One rank's part of a level of the distributed direction-optimising BFS. Hirakushi and Takahashi,
// "Breadth-first search on a GPU cluster", sections 2.4 and 3; hybrid_2d.py calls the kernels in the order of
// the paper's twelve steps.
//
// Ranks exchange what they find only after the level. So several may find the same vertex, in the same level;
// any of their parents is right.
//
// Both directions are those of hybrid.cu in problems/bfs. There a search is one launch; here a level is
// several, since ranks exchange what they find between levels.
//
// Bytes that a level moves apart from messages, with n_h heads and n_t tails: top-down n_t / 8 for the bitmap
// of the frontier, 20 for each of its vertices and 4 per arc; the first bottom-up level n_h / 8 and 4 for
// each open head, and 36 for a row that is searched.

#include "_search.cuh"

// The ranks add up the vertices found by a level and the arcs that leave them.
enum Count { FOUND, ARCS };

// Step 2, top-down: lists the pieces of the frontier's rows, from `first_word` on; `length` is 0 before.
extern "C" __global__ void list_frontier(u32 first_word, u32 n_words, const u32* __restrict__ frontier,
                                         const i64* __restrict__ offsets, u64* list, u64* length)
{
    for (u32 first = first_word; first < n_words; first += thread_count()) {
        u32 word = first + thread_id();
        append_word(word < n_words ? frontier[word] : 0, word, offsets, list, length);
    }
}

// Step 2, top-down: claims the open heads in the listed pieces.
extern "C" __global__ void expand(const u64* __restrict__ list, const u64* __restrict__ length,
                                  const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                  const u32* __restrict__ closed, u32* found, u32* parent, u64* examined)
{
    u32 own_examined = 0;
    expand_pieces(list, *length, {offsets, targets}, closed, found, parent, &own_examined);
    u64 sum = warp_sum(own_examined);
    if (threadIdx.x % WARP == 0 && sum) atomicAdd(examined, sum);
}

// The heads that each warp still searches for. Every launch of a search has the same grid.
struct Lists {
    u32* listed;  // of each warp `warp_capacity`
    u32 warp_capacity;
    u32* lengths;  // of each warp
};

// Step 2, bottom-up. With `scans` the level scans the heads and lists them; else it uses the lists of the
// last level, and `found` is empty before. The CPU searches the heads before `first_word`.
extern "C" __global__ void bottom_up(const __grid_constant__ BottomUp search,
                                     const __grid_constant__ Lists lists, u32 first_word, u32 n_words,
                                     u32 scans, const u32* __restrict__ closed,
                                     const u32* __restrict__ frontier, u32* found, u32* parent, u64* examined)
{
    u32 warp = thread_id() / WARP;
    u32* listed = lists.listed + static_cast<u64>(warp) * lists.warp_capacity;
    Bitmaps bitmaps = {closed, frontier, found};
    auto settle = [&](u32 v, u32 u) { parent[v] = u; };
    u32 own_examined = 0;
    u32 n_listed =
        scans ? scan(search, bitmaps, groups_of_warp(first_word, n_words), listed, &own_examined, settle)
              : lists.lengths[warp];
    n_listed = search_listed(search, bitmaps, listed, n_listed, &own_examined, settle);
    u64 sum = warp_sum(own_examined);
    if (threadIdx.x % WARP == 0) {
        lists.lengths[warp] = n_listed;
        if (sum) atomicAdd(examined, sum);
    }
}

// Steps 3 and 4, if the CPU searches as well: adds what it found, with its parents unless the GPU found the
// same.
extern "C" __global__ void adopt(u32 n_vertices, const u32* __restrict__ vertices,
                                 const u32* __restrict__ parents, u32* found, u32* parent)
{
    for (u32 k = thread_id(); k < n_vertices; k += thread_count()) {
        if (claim(found, vertices[k])) parent[vertices[k]] = parents[k];
    }
}

// Steps 4 and 6, at the owner: merges the bitmaps of `n_ranks` ranks, `n_words` each. Every rank keeps the
// vertices that no rank before it found; it will send their parents.
extern "C" __global__ void merge(u32 n_words, u32 n_ranks, u32* received, u32* merged)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        u32 all = 0;
        for (u32 rank = 0; rank < n_ranks; ++rank) {
            u32 bits = received[static_cast<u64>(rank) * n_words + word];
            received[static_cast<u64>(rank) * n_words + word] = bits & ~all;
            all |= bits;
        }
        merged[word] = all;
    }
}

// At the owner: writes the levels of the vertices found, and counts what decides the next level's direction.
extern "C" __global__ void settle(u32 n_words, u32 depth, const u32* __restrict__ merged,
                                  const u32* __restrict__ degrees, u32* level, u64* counts)
{
    u32 lane = threadIdx.x % WARP;
    u64 vertices = 0;
    u64 arcs = 0;
    for (u32 word = thread_id() / WARP; word < n_words; word += thread_count() / WARP) {
        u32 bits = merged[word];
        if (bits >> lane & 1) {
            u32 v = word * 32 + lane;
            level[v] = depth + 1;
            arcs += degrees[v];
            ++vertices;
        }
    }
    vertices = warp_sum(vertices);
    arcs = warp_sum(arcs);
    if (lane == 0 && vertices) {
        atomicAdd(&counts[FOUND], vertices);
        atomicAdd(&counts[ARCS], arcs);
    }
}

// After step 7: closes what any rank found, adds what this one found to `candidates`, and clears `found` for
// the next level. The pieces of the heads, `piece_words` each, lie at the places `slots` of `arrived`.
extern "C" __global__ void close_found(u32 n_words, u32 piece_words, const u32* __restrict__ arrived,
                                       const u32* __restrict__ slots, u32* closed, u32* found,
                                       u32* candidates)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        u32 slot = slots[word / piece_words];
        closed[word] |= arrived[slot * piece_words + word % piece_words];
        candidates[word] |= found[word];
        found[word] = 0;
    }
}

// Counts the bits of each word, for a prefix sum.
extern "C" __global__ void count_bits(u32 n_words, const u32* __restrict__ bitmap, u32* counts)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) counts[word] = __popc(bitmap[word]);
}

// Steps 8 to 10: packs the parents of the vertices of a bitmap in their order; `through[word]` counts the
// bits up to the end of a word. Parents are tails, `piece` per piece, whose vertices begin at `first`.
extern "C" __global__ void pack_parents(u32 n_words, const u32* __restrict__ bitmap,
                                        const i64* __restrict__ through, const u32* __restrict__ parent,
                                        const u32* __restrict__ first, u32 piece, u32* packed)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        u32 bits = bitmap[word];
        i64 at = through[word] - __popc(bits);
        for (; bits; bits &= bits - 1) {
            u32 tail = parent[word * 32 + __ffs(bits) - 1];
            packed[at++] = first[tail / piece] + tail % piece;
        }
    }
}

// Step 12: writes packed parents to the owner's vertices; the bitmap has `n_words` for each rank.
extern "C" __global__ void write_parents(u32 n_all_words, u32 n_words, const u32* __restrict__ bitmap,
                                         const i64* __restrict__ through, const u32* __restrict__ packed,
                                         u32* predecessor)
{
    for (u32 word = thread_id(); word < n_all_words; word += thread_count()) {
        u32 bits = bitmap[word];
        i64 at = through[word] - __popc(bits);
        for (; bits; bits &= bits - 1) predecessor[word % n_words * 32 + __ffs(bits) - 1] = packed[at++];
    }
}
