// Bottom-up BFS: every vertex that is not visited searches for a parent in the frontier. Figures 4 and 6 of
// Hirakushi and Takahashi, "Breadth-first search on a GPU cluster".
//
// A thread owns a word of each bitmap: 32 vertices. A warp searches the rows of vertices with many arcs,
// which a bitmap marks, so that reads are adjacent and lanes do not diverge. A thread searches any other row;
// a block first packs its candidates in shared memory, so that no thread is idle while vertices are left.
// Either search ends at the first parent. Words have one owner, so `visited` and `next` need no atomics.
//
// Errata of the paper: its pseudo-code (figure 2) tests `predecessors` instead of the frontier, so that a
// vertex could find a parent of its own level, and adds the parent u to the next frontier instead of v.
//
// Deviations from the paper:
//   - in figure 4 all lanes with work left write `selected[warp]` and one write survives; here a vote elects
//     the lane.
//   - visited |= next, a separate step in the paper, is done by the word's owner.

#include "_bfs.cuh"

const u32 MAX_THREADS = 256;  // most threads of a block, and so words that it owns

// Marks the vertices whose rows a whole warp searches.
extern "C" __global__ void mark_large(u32 n, const i64* __restrict__ offsets, u32 threshold, u32* large)
{
    u32 v = thread_id();
    bool is_large = v < n && offsets[v + 1] - offsets[v] >= threshold;
    u32 word = __ballot_sync(ALL_LANES, is_large);
    if (threadIdx.x % WARP == 0 && v < n) large[v / 32] = word;
}

// Adds the vertices found to counts[0] and, in instrumented runs, the arcs examined to counts[1].
__device__ void count_level(u64* counts, u32 found, u32 examined, u32 instrumented)
{
    u64 warp_found = sum_of_warp(found);
    if (threadIdx.x % WARP == 0 && warp_found) atomicAdd(&counts[0], warp_found);
    if (!instrumented) return;
    u64 warp_examined = sum_of_warp(examined);
    if (threadIdx.x % WARP == 0 && warp_examined) atomicAdd(&counts[1], warp_examined);
}

// Figure 4, warp-bottom-up, for the words `first_word` to `last_word` - 1.
extern "C" __global__ void warp_bottom_up(const __grid_constant__ Rows rows, const u32* __restrict__ large,
                                          u32 first_word, u32 last_word, const u32* __restrict__ frontier,
                                          u32 depth, u32* __restrict__ visited, u32* __restrict__ next,
                                          u32* __restrict__ level, u32* __restrict__ predecessor, u64* counts,
                                          u32 instrumented)
{
    u32 lane = threadIdx.x % WARP;
    u32 word = first_word + thread_id();
    u32 bits = word < last_word ? ~visited[word] & large[word] : 0;
    u32 found = 0;
    u32 examined = 0;
    while (u32 waiting = __ballot_sync(ALL_LANES, bits)) {
        u32 owner = __ffs(waiting) - 1;
        u32 own = word * 32 + 31 - __clz(bits);
        u32 v = __shfl_sync(ALL_LANES, own, owner);
        u32 parent = search_row_by_warp(rows.targets, rows.begin(v), rows.begin(v + 1), frontier, &examined);
        if (lane != owner) continue;
        bits &= ~bit_of(v);
        if (parent == NO_PREDECESSOR) continue;
        level[v] = depth + 1;
        predecessor[v] = parent;
        found |= bit_of(v);
    }
    if (word < last_word) {
        next[word] = found;
        visited[word] |= found;
    }
    count_level(counts, __popc(found), examined, instrumented);
}

// Figure 6, thread-bottom-up, for the words `first_word` to `last_word` - 1; adds to the words of `next` that
// `warp_bottom_up` has written.
extern "C" __global__ void thread_bottom_up(const __grid_constant__ Rows rows, const u32* __restrict__ large,
                                            u32 first_word, u32 last_word, const u32* __restrict__ frontier,
                                            u32 depth, u32* __restrict__ visited, u32* __restrict__ next,
                                            u32* __restrict__ level, u32* __restrict__ predecessor,
                                            u64* counts, u32 instrumented)
{
    __shared__ u32 warp_sums[MAX_THREADS / 32];
    __shared__ u32 scratch[MAX_THREADS * 32];
    u32 word = first_word + thread_id();
    u32 bits = word < last_word ? ~visited[word] & ~large[word] : 0;
    u32 end;
    u32 begin = sum_below_in_block(__popc(bits), warp_sums, &end);
    u32 own_end = begin + __popc(bits);
    for (u32 position = begin; bits; ++position) {
        u32 shift = 31 - __clz(bits);
        scratch[position] = word * 32 + shift;
        bits &= ~(1u << shift);
    }
    __syncthreads();
    u32 examined = 0;
    for (u32 current = threadIdx.x; current < end; current += blockDim.x) {
        u32 v = scratch[current];
        u32 found = 0;
        i64 end_of_row = rows.begin(v + 1);
        for (i64 i = rows.begin(v); i < end_of_row && !found; ++i) {
            u32 u = rows.target(i);
            ++examined;
            if (!contains(frontier, u)) continue;
            level[v] = depth + 1;
            predecessor[v] = u;
            found = bit_of(v);
        }
        scratch[current] = found;
    }
    __syncthreads();
    u32 found = 0;
    for (u32 position = begin; position < own_end; ++position) {
        found |= scratch[position];
    }
    if (found) {
        next[word] |= found;
        visited[word] |= found;
    }
    count_level(counts, __popc(found), examined, instrumented);
}
