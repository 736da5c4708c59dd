// Kernels of the distributed direction-optimising BFS: one rank's part of a level. Hirakushi and Takahashi,
// "Breadth-first search on a GPU cluster", sections 2.4 and 3; hybrid_2d.py puts them in order and names the
// source's twelve steps.
//
// A rank looks for vertices among its heads, from a frontier among its tails (partition.py). `closed` is a
// bitmap of the heads that need not be looked for: visited ones and those that no arc of the rank enters.
// What a level finds goes into the bitmap `found`, and the tail that it was found from into `parent`. No
// other rank's finds are known before the level is over, so that several may find the same vertex; all of
// them do so in the same level, and any of their parents will do.
//
// Top-down and bottom-up as in ../bfs/hybrid.cu, which one GPU with the whole graph runs: the frontier as a
// list of pieces of rows with an exact bitmap; one packed neighbour of each open vertex probed first, then
// the rows of those that it does not settle, which every warp keeps on a list of its own. There it is one
// launch a search, here several a level, since ranks exchange their finds between levels.
//
// Bytes a level moves beside messages, n_h heads and n_t tails: top-down n_t / 8 for the frontier's bitmap,
// 20 for each of its vertices and 4 an arc; the first bottom-up level n_h / 8 and 4 for each open head, and
// 36 for a row that is searched.

#include "_search.cuh"

// Words that the ranks add up after a level: vertices found and arcs that leave them.
enum Count { FOUND, ARCS };

// Step 2, top-down: the frontier's bitmap, from a word on, as a list of pieces of rows; `length` is 0 before.
extern "C" __global__ void list_frontier(u32 first_word, u32 n_words, const u32* __restrict__ frontier,
                                         const i64* __restrict__ offsets, u64* list, u64* length)
{
    for (u32 first = first_word; first < n_words; first += thread_count()) {
        u32 word = first + thread_id();
        append_word(word < n_words ? frontier[word] : 0, word, offsets, list, length);
    }
}

// Step 2, top-down: claims the heads in the listed pieces that are not closed.
extern "C" __global__ void expand(const u64* __restrict__ list, const u64* __restrict__ length,
                                  const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                  const u32* __restrict__ closed, u32* found, u32* parent, u64* examined)
{
    u64 looks = 0;
    expand_pieces(list, *length, offsets, targets, closed, found, parent, &looks);
    looks = warp_sum(looks);
    if (threadIdx.x % 32 == 0 && looks) atomicAdd(examined, looks);
}

// Step 2, bottom-up. `listed` has room for `room` vertices a warp and `lengths` says how many there are:
// every launch of a search has the same grid. With `first` the heads are scanned and listed; else the lists
// of the level before are gone on with, and `found` is empty at the beginning. Heads before `first_word` are
// left to the CPU.
extern "C" __global__ void bottom_up(u32 first_word, u32 n_words, u32 first, const i64* __restrict__ offsets,
                                     const u32* __restrict__ targets, const u32* __restrict__ probes,
                                     u32 long_row, const u32* __restrict__ closed,
                                     const u32* __restrict__ frontier, u32* found, u32* parent,
                                     u32* all_listed, u32 room, u32* lengths, u64* examined)
{
    u32 warp = thread_id() / 32;
    u32* listed = all_listed + static_cast<u64>(warp) * room;
    u64 looks = 0;
    u32 n_listed = 0;
    if (first) {
        Groups groups = groups_of_warp(first_word, n_words);
        n_listed = scan(groups.first, groups.end, closed, probes, frontier, found, parent, listed, &looks);
    } else {
        n_listed = lengths[warp];
    }
    n_listed =
        search_listed(offsets, targets, long_row, closed, frontier, found, parent, listed, n_listed, &looks);
    looks = warp_sum(looks);
    if (threadIdx.x % 32 == 0) {
        lengths[warp] = n_listed;
        if (looks) atomicAdd(examined, looks);
    }
}

// Steps 3 and 4, where CPU and GPU share a level: adds what the CPU found, and its parents where the GPU did
// not find the same.
extern "C" __global__ void adopt(u32 n_vertices, const u32* __restrict__ vertices,
                                 const u32* __restrict__ parents, u32* found, u32* parent)
{
    for (u32 k = thread_id(); k < n_vertices; k += thread_count()) {
        if (claim(found, vertices[k])) parent[vertices[k]] = parents[k];
    }
}

// Steps 4 and 6, at the owner: merges what `n_ranks` ranks found among its vertices, `n_words` each, and
// leaves to each only those that none before it found, for it to send the parents of.
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

// At the owner: levels of what was found, and the counts that decide the next level's direction.
extern "C" __global__ void settle(u32 n_words, u32 depth, const u32* __restrict__ merged,
                                  const u32* __restrict__ degrees, u32* level, u64* counts)
{
    u32 lane = threadIdx.x % 32;
    u64 vertices = 0;
    u64 arcs = 0;
    for (u32 word = thread_id() / 32; word < n_words; word += thread_count() / 32) {
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

// Behind step 7: closes what any rank found, notes what this one found, and clears `found` for the next
// level. The pieces of the heads come in the places of `arrived` that `slots` says, `piece_words` each.
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

// How many bits each word has, ahead of a sum over them.
extern "C" __global__ void count_bits(u32 n_words, const u32* __restrict__ bitmap, u32* counts)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) counts[word] = __popc(bitmap[word]);
}

// Steps 8 to 10: the parents of the vertices of a bitmap, packed in their order; `through[word]` counts the
// bits up to the word's end. Parents are tails, `piece` to a piece, whose vertices begin at `first`.
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

// Step 12: writes packed parents to the owner's vertices; the bitmap holds its `n_words` for each rank.
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

// Marks the heads that no arc of the rank enters, and those beyond the graph.
extern "C" __global__ void mark_empty(u32 n_words, const i64* __restrict__ offsets, u32* bitmap)
{
    u32 lane = threadIdx.x % 32;
    for (u32 word = thread_id() / 32; word < n_words; word += thread_count() / 32) {
        u32 v = word * 32 + lane;
        u32 bits = __ballot_sync(ALL_LANES, offsets[v + 1] == offsets[v]);
        if (lane == 0) bitmap[word] = bits;
    }
}

// Chooses the tail that the scan probes for each head: the one with the most arcs of the rank, the smallest
// among equals.
extern "C" __global__ void choose_probes(u32 n_heads, const i64* __restrict__ offsets,
                                         const u32* __restrict__ targets, const i64* __restrict__ out_offsets,
                                         u32* probes)
{
    u32 lane = threadIdx.x % 32;
    for (u64 v = thread_id() / 32; v < n_heads; v += thread_count() / 32) {
        u32 best = 0;
        i64 most = -1;
        for (i64 i = offsets[v] + lane; i < offsets[v + 1]; i += 32) {
            u32 u = targets[i];
            i64 degree = out_offsets[u + 1] - out_offsets[u];
            if (degree > most) {
                most = degree;
                best = u;
            }
        }
        for (u32 distance = 16; distance > 0; distance /= 2) {
            i64 other_most = __shfl_xor_sync(ALL_LANES, most, distance);
            u32 other = __shfl_xor_sync(ALL_LANES, best, distance);
            if (other_most > most || (other_most == most && other < best)) {
                most = other_most;
                best = other;
            }
        }
        if (lane == 0) probes[v] = best;
    }
}
