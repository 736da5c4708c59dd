// One rank's part of a level of the distributed direction-optimising BFS. Hirakushi and Takahashi,
// "Breadth-first search on a GPU cluster", sections 2.4 and 3; hybrid_2d.py calls the kernels in the order of
// the paper's twelve steps.
//
// Ranks exchange what they find only after the level. So several may find the same vertex; any of their
// parents is right. Both directions are those of hybrid.cu in problems/bfs. `decide` chooses the direction on
// the device, and the kernels of the other one return at once: so the host can launch a level before the last
// one ends.

#include "_top_down.cuh"
#include "problems/bfs/_bottom_up.cuh"

// The ranks add up the vertices found by a level and the arcs that leave them.
enum Count { FOUND, ARCS };

const u32 NOTES = 4;

// What the level does, the same on all ranks.
struct Plan {
    u32 number;  // of the level, from 1
    u32 bottom_up;
    u32 scans;  // the first level bottom-up after one top-down
    u32 unused;
    u64 many_arcs;     // bottom-up begins when the arcs of the frontier are more
    u64 few_vertices;  // and ends when its vertices are fewer
};

// Begins a level, from the vertices found by each rank in the last one and the arcs that leave them: decides
// its direction, and clears this rank's own `counts` among these and the length of its list. Tells the host
// in `notes`, NOTES of them in turn, that the level has begun and whether it can find anything: not if each
// vertex found last has as many arcs as lead back, `arcs_back`, which is 1 if every arc has a reverse, else
// 0. One thread.
extern "C" __global__ void decide(u32 n_ranks, u32 arcs_back, const u64* counts_of, Plan* plan, u64* counts,
                                  u64* length, u64* notes)
{
    u64 vertices = 0;
    u64 arcs = 0;
    for (u32 rank = 0; rank < n_ranks; ++rank) {
        vertices += counts_of[2 * rank + FOUND];
        arcs += counts_of[2 * rank + ARCS];
    }
    bool turns = !plan->bottom_up && arcs > plan->many_arcs;
    plan->bottom_up = plan->bottom_up ? vertices >= plan->few_vertices : turns;
    plan->scans = turns;
    u32 number = ++plan->number;
    // The arcs of the source are not counted.
    bool goes_on = number == 1 || (vertices != 0 && arcs != vertices * arcs_back);
    counts[FOUND] = counts[ARCS] = *length = 0;
    __threadfence_system();
    store_relaxed(&notes[number % NOTES], static_cast<u64>(number) << 1 | goes_on);
}

// The source: its numbers among the heads, tails and owned vertices of this rank, or UNREACHED, and its
// vertex.
struct Source {
    u32 head;
    u32 tail;
    u32 own;
    u32 vertex;
};

// What `begin` writes.
struct Blank {
    u32 n_own;
    u32 head_words;
    u32 arrived_words;
    u32 n_ranks;
    u32* level;
    u32* predecessor;
    const u32* empty;
    u32* closed;
    u32* found;
    u32* candidates;
    u32* arrived;
    u64* counts_of;
    Plan* plan;
};

// Begins a search, in which only the source is found.
extern "C" __global__ void begin(const __grid_constant__ Blank to, const __grid_constant__ Source source)
{
    for (u64 v = thread_id(); v < to.n_own; v += thread_count()) {
        to.level[v] = v == source.own ? 0 : UNREACHED;
        to.predecessor[v] = v == source.own ? source.vertex : NO_PREDECESSOR;
    }
    for (u32 word = thread_id(); word < to.head_words; word += thread_count()) {
        to.closed[word] = to.empty[word] | (word == source.head / 32 ? bit_of(source.head) : 0);
        to.found[word] = to.candidates[word] = 0;
    }
    for (u32 word = thread_id(); word < to.arrived_words; word += thread_count()) {
        to.arrived[word] = word == source.tail / 32 ? bit_of(source.tail) : 0;
    }
    if (thread_id() != 0) return;
    for (u32 k = 0; k < 2 * to.n_ranks; ++k) to.counts_of[k] = k == FOUND;
    to.plan->number = to.plan->bottom_up = to.plan->scans = 0;
}

// Step 2, top-down: lists the pieces of the frontier's rows, from `first_word` on; `length` is 0 before.
extern "C" __global__ void list_frontier(const Plan* __restrict__ plan, u32 first_word, u32 n_words,
                                         const u32* __restrict__ frontier, const i64* __restrict__ offsets,
                                         u64* list, u64* length)
{
    if (plan->bottom_up) return;
    for (u32 first = first_word; first < n_words; first += thread_count()) {
        u32 word = first + thread_id();
        append_word(word < n_words ? frontier[word] : 0, word, offsets, list, length);
    }
}

// Step 2, top-down: claims the open heads in the listed pieces.
extern "C" __global__ void expand(const Plan* __restrict__ plan, const u64* __restrict__ list,
                                  const u64* __restrict__ length, const i64* __restrict__ offsets,
                                  const u32* __restrict__ targets, const u32* __restrict__ closed, u32* found,
                                  u32* parent, u64* examined)
{
    if (plan->bottom_up) return;
    u32 own_examined = 0;
    expand_pieces(list, *length, {offsets, targets}, closed, found, parent, &own_examined);
    u64 sum = sum_of_warp(own_examined);
    if (threadIdx.x % WARP == 0 && sum) atomicAdd(examined, sum);
}

// The heads that each warp still searches for. Every launch of a search has the same grid.
struct Lists {
    u32* listed;  // of each warp `warp_capacity`
    u32 warp_capacity;
    u32* lengths;  // of each warp
};

// The groups of a warp among those of the words `first_word` to `n_words` - 1: equal contiguous ranges, so
// that each warp's output is contiguous.
__device__ __forceinline__ Groups groups_of_warp(u32 first_word, u32 n_words)
{
    u32 begin = first_word / GROUP_WORDS;
    u32 end = n_words / GROUP_WORDS;
    u32 count = (end - begin + thread_count() / WARP - 1) / (thread_count() / WARP);
    u32 first = min(begin + thread_id() / WARP * count, end);
    return {first, min(first + count, end), 1};
}

// Step 2, bottom-up. If the plan `scans`, the level scans the heads and lists them; else it uses the lists of
// the last level, and `found` is empty before. The CPU searches the heads before `first_word`.
extern "C" __global__ void bottom_up(const Plan* __restrict__ plan, const __grid_constant__ BottomUp search,
                                     const __grid_constant__ Lists lists, u32 first_word, u32 n_words,
                                     const u32* __restrict__ closed, const u32* __restrict__ frontier,
                                     u32* found, u32* parent, u64* examined)
{
    if (!plan->bottom_up) return;
    u32 warp = thread_id() / WARP;
    u32* listed = lists.listed + static_cast<u64>(warp) * lists.warp_capacity;
    Bitmaps bitmaps = {closed, frontier, found};
    auto settle = [&](u32 v, u32 u) { parent[v] = u; };
    u32 own_examined = 0;
    u32 n_listed = plan->scans ? scan(search, bitmaps, groups_of_warp(first_word, n_words), listed,
                                      &own_examined, settle)
                               : lists.lengths[warp];
    n_listed = search_listed(search, bitmaps, listed, n_listed, &own_examined, settle);
    u64 sum = sum_of_warp(own_examined);
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

// Calls `visit(word, bits)` on every lane whose bit is set in a word of a bitmap. A lane loads a word, so
// that a warp skips empty ones 32 at a time.
template <typename Visit>
__device__ __forceinline__ void for_each_bit(const u32* bitmap, u32 n_words, Visit visit)
{
    u32 lane = threadIdx.x % WARP;
    for (u32 base = thread_id() - lane; base < n_words; base += thread_count()) {
        u32 own = base + lane < n_words ? bitmap[base + lane] : 0;
        u32 left = __ballot_sync(ALL_LANES, own != 0);
        while (left) {
            u32 k = __ffs(left) - 1;
            left &= left - 1;
            u32 bits = __shfl_sync(ALL_LANES, own, k);
            if (bits >> lane & 1) visit(base + k, bits);
        }
    }
}

// The place of this lane's vertex of a word among those of a bitmap; `through` counts the bits up to the end
// of each word.
__device__ __forceinline__ i64 place_of(const i64* through, u32 word, u32 bits)
{
    return through[word] - __popc(bits >> threadIdx.x % WARP);
}

// At the owner: writes the levels of the vertices found, and counts what decides the next level's direction.
extern "C" __global__ void settle(const Plan* __restrict__ plan, u32 n_words, const u32* __restrict__ merged,
                                  const u32* __restrict__ degrees, u32* level, u64* counts)
{
    u32 lane = threadIdx.x % WARP, number = plan->number;
    u64 vertices = 0;
    u64 arcs = 0;
    for_each_bit(merged, n_words, [&](u32 word, u32) {
        u32 v = word * 32 + lane;
        level[v] = number;
        arcs += degrees[v];
        ++vertices;
    });
    vertices = sum_of_warp(vertices);
    arcs = sum_of_warp(arcs);
    if (lane == 0 && vertices) {
        atomicAdd(&counts[FOUND], vertices);
        atomicAdd(&counts[ARCS], arcs);
    }
}

// After step 7: closes what any rank found, adds what this one found to `candidates`, and clears `found` for
// the next level. The pieces of the heads, `piece_words` each, lie at the places `slots` of `arrived`; the
// `only_seeker` of its heads puts there what it found.
extern "C" __global__ void close_found(u32 n_words, u32 piece_words, u32 only_seeker, u32* arrived,
                                       const u32* __restrict__ slots, u32* closed, u32* found,
                                       u32* candidates)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        u32* at = &arrived[slots[word / piece_words] * piece_words + word % piece_words];
        u32 own = found[word];
        if (only_seeker) *at = own;
        closed[word] |= only_seeker ? own : *at;
        candidates[word] |= own;
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
    u32 lane = threadIdx.x % WARP;
    for_each_bit(bitmap, n_words, [&](u32 word, u32 bits) {
        u32 tail = parent[word * 32 + lane];
        packed[place_of(through, word, bits)] = first[tail / piece] + tail % piece;
    });
}

// Step 12: writes packed parents to the owner's vertices; the bitmap has `n_words` for each rank.
extern "C" __global__ void write_parents(u32 n_all_words, u32 n_words, const u32* __restrict__ bitmap,
                                         const i64* __restrict__ through, const u32* __restrict__ packed,
                                         u32* predecessor)
{
    u32 lane = threadIdx.x % WARP;
    for_each_bit(bitmap, n_all_words, [&](u32 word, u32 bits) {
        predecessor[word % n_words * 32 + lane] = packed[place_of(through, word, bits)];
    });
}

// Instead of steps 8 to 12, at the owner of a piece of `n_vertices`: takes each parent from the first rank
// that found the vertex. `bitmaps` and `parents` are the addresses of what each of `n_ranks` ranks has found
// and of its parents, which are tails, `n_vertices` per piece; the vertices of its pieces begin at `first`,
// of which it has `n_first`.
extern "C" __global__ void choose_parents(u32 n_vertices, u32 n_ranks, const u64* __restrict__ bitmaps,
                                          const u64* __restrict__ parents, const u32* __restrict__ first,
                                          u32 n_first, u32* predecessor)
{
    for (u32 v = thread_id(); v < n_vertices; v += thread_count()) {
        for (u32 rank = 0; rank < n_ranks; ++rank) {
            if (!contains(reinterpret_cast<const u32*>(bitmaps[rank]), v)) continue;
            u32 tail = reinterpret_cast<const u32*>(parents[rank])[v];
            predecessor[v] = first[rank * n_first + tail / n_vertices] + tail % n_vertices;
            break;
        }
    }
}
