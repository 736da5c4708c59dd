// One rank's part of a phase of the distributed near-far search; sssp_1d.py calls the kernels in order.
//
// A rank has all arcs that leave its own vertices. `best` holds, for every vertex of the graph, the shortest
// distance known to this rank in the high word, and its predecessor in the low word. For another rank's
// vertex this is the last request to its owner. `changed` is a bitmap of the vertices improved since the last
// request or, for own vertices, since `take_near`.
//
// A word changes only for a shorter distance: with another predecessor at the same distance, two vertices
// could become each other's predecessors along arcs of weight zero.

#include "problems/bfs/_pieces.cuh"

// A rank's counts: near vertices, least distance of the waiting ones, arcs relaxed, whether a distance
// overflowed.
const u32 NEAR = 0, LEAST = 1, RELAXED = 2, OVERFLOWED = 3;

// Words of a request: vertex, distance, predecessor.
const u32 REQUEST = 3;

__device__ __forceinline__ u32 distance_in(u64 word)
{
    return static_cast<u32>(word >> 32);
}

// Stores a distance if it is shorter than the word's; returns whether it was.
__device__ __forceinline__ bool improve(u64* word, u32 distance, u32 predecessor)
{
    u64 shorter = static_cast<u64>(distance) << 32 | predecessor;
    u64 held = load_relaxed(word);
    while (distance < distance_in(held)) {
        u64 found = atomicCAS(word, held, shorter);
        if (found == held) return true;
        held = found;
    }
    return false;
}

__device__ __forceinline__ void mark(u32* bitmap, u32 v)
{
    if (!contains_now(bitmap, v)) atomicOr(&bitmap[v / 32], bit_of(v));
}

// Lists the rows of the owned vertices that have changed or wait and are nearer than `limit`; the others wait
// in `pending`. `changed` and `best` are those of the owned vertices only.
extern "C" __global__ void take_near(u32 n_words, u64 limit, u32* changed, u32* pending,
                                     const u64* __restrict__ best, const i64* __restrict__ offsets, u64* list,
                                     u64* length, u64* counts)
{
    u64 near = 0;
    u64 least = ~0ull;
    for (u32 first = 0; first < n_words; first += thread_count()) {
        u32 word = first + thread_id();
        u32 waiting = 0;
        u32 taken = 0;
        if (word < n_words) {
            waiting = pending[word] | changed[word];
            for (u32 bits = waiting; bits; bits &= bits - 1) {
                u32 bit = __ffs(bits) - 1;
                u64 distance = distance_in(best[word * 32 + bit]);
                if (distance < limit) {
                    taken |= 1u << bit;
                } else {
                    least = min(least, distance);
                }
            }
            pending[word] = waiting & ~taken;
            changed[word] = 0;
        }
        near += __popc(taken);
        append_word(taken, word, offsets, list, length);
    }
    near = sum_of_warp(near);
    if (threadIdx.x % WARP == 0 && near) atomicAdd(&counts[NEAR], near);
    if (least != ~0ull) atomicMin(&counts[LEAST], least);
}

// Relaxes the listed pieces of rows. `first` is the first owned vertex.
extern "C" __global__ void relax(const u64* __restrict__ list, const u64* __restrict__ length, u32 first,
                                 const i64* __restrict__ offsets, const u32* __restrict__ targets,
                                 const u32* __restrict__ weights, u64* best, u32* changed, u64* counts)
{
    u32 lane = threadIdx.x % WARP;
    u64 relaxed = 0;
    for (u64 k = thread_id() / WARP; k < *length; k += thread_count() / WARP) {
        Piece piece = piece_of(list[k], offsets);
        u32 u = first + piece.vertex;
        u64 own = distance_in(load_relaxed(&best[u]));
        for (i64 i = piece.begin + lane; i < piece.end; i += WARP) {
            u64 through = own + weights[i];
            ++relaxed;
            if (through >= 0xffffffffull) {
                if (!load_relaxed(&counts[OVERFLOWED])) store_relaxed(&counts[OVERFLOWED], u64(1));
            } else if (improve(&best[targets[i]], static_cast<u32>(through), u)) {
                mark(changed, targets[i]);
            }
        }
    }
    relaxed = sum_of_warp(relaxed);
    if (lane == 0 && relaxed) atomicAdd(&counts[RELAXED], relaxed);
}

// Counts the bits of each word, except for the words of owned vertices, `own_begin` to `own_end` - 1.
extern "C" __global__ void count_requests(u32 n_words, u32 own_begin, u32 own_end,
                                          const u32* __restrict__ changed, u32* bits)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        bool own = word >= own_begin && word < own_end;
        bits[word] = own ? 0 : __popc(changed[word]);
    }
}

// Writes and clears the changes to vertices of other ranks, in the order of the vertices; `through[word]`
// counts the requests up to the end of a word.
extern "C" __global__ void write_requests(u32 n_words, u32 own_begin, u32 own_end,
                                          const i64* __restrict__ through, const u64* __restrict__ best,
                                          u32* changed, u32* requests)
{
    for (u32 word = thread_id(); word < n_words; word += thread_count()) {
        if (word >= own_begin && word < own_end) continue;
        u32 bits = changed[word];
        i64 at = (through[word] - __popc(bits)) * REQUEST;
        for (; bits; bits &= bits - 1) {
            u32 v = word * 32 + __ffs(bits) - 1;
            requests[at++] = v;
            requests[at++] = distance_in(best[v]);
            requests[at++] = static_cast<u32>(best[v]);
        }
        changed[word] = 0;
    }
}

// Applies the requests of another rank.
extern "C" __global__ void apply_requests(u32 n_requests, const u32* __restrict__ requests, u64* best,
                                          u32* changed)
{
    for (u32 k = thread_id(); k < n_requests; k += thread_count()) {
        const u32* request = requests + static_cast<u64>(REQUEST) * k;
        if (improve(&best[request[0]], request[1], request[2])) mark(changed, request[0]);
    }
}
