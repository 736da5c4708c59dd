// The predecessors that shortest distances imply.
//
// An edge is tight if the distances of its ends differ by exactly its weight. Distances grow along tight
// edges of positive weight, so no choice among them makes a cycle. A vertex that only tight edges of weight
// zero reach joins a neighbour that has joined before, once, by a compare-and-swap: no cycle either. Where
// sums are rounded, so does a vertex as far as the neighbour, and with int32 every one: weights along a cycle
// may cancel out.

#include "problems/sssp/_lengths.cuh"
#include "_edge_list.cuh"

// The word of a weight, which is an integer if it is a double.
__device__ __forceinline__ weight_t word_of(weight_t weight)
{
    return weight;
}

__device__ __forceinline__ u32 word_of(double weight)
{
    return static_cast<u32>(static_cast<i64>(weight));
}

#if defined(INT32_LENGTHS)

__device__ __forceinline__ bool is_tight_and_longer(length_t, u64, length_t)
{
    return false;
}

__device__ __forceinline__ bool is_tight(length_t tail_distance, weight_t weight, length_t head_distance)
{
    // NO_PATH marks unreached vertices: a negative weight could turn it into a length, or a sum could equal
    // it.
    return tail_distance != NO_PATH && head_distance != NO_PATH &&
           extended_length(tail_distance, weight) == head_distance;
}

#elif defined(FLOAT_LENGTHS)

__device__ __forceinline__ bool is_tight_and_longer(length_t tail_distance, u64 weight,
                                                    length_t head_distance)
{
    return tail_distance < head_distance &&
           extended_length(tail_distance, static_cast<weight_t>(weight)) == head_distance;
}

__device__ __forceinline__ bool is_tight(length_t tail_distance, weight_t weight, length_t head_distance)
{
    return tail_distance == head_distance && extended_length(tail_distance, weight) == head_distance;
}

#endif

// Among several tight edges the smallest tail wins, whatever the order of threads.
__device__ __forceinline__ void attach(u32 tail, u32 head, u64 weight, length_t tail_distance,
                                       length_t head_distance, u32* predecessor, u32* overflow)
{
    if (tail_distance == NO_PATH) return;
    if (head_distance == NO_PATH) {
        store_relaxed(overflow, 1u);
#if defined(INT32_LENGTHS) || defined(FLOAT_LENGTHS)
    } else if (is_tight_and_longer(tail_distance, weight, head_distance) &&
               tail < load_relaxed(predecessor + head)) {
#else
    } else if (weight > 0 && tail_distance + weight == head_distance &&
               tail < load_relaxed(predecessor + head)) {
#endif
        atomicMin(predecessor + head, tail);
    }
}

// Finds predecessors along edges of positive weight. An edge from a reached vertex to an unreached one means
// that the type does not hold a length.
template <typename W>
__global__ void attach_tight(u32 groups, const u32* __restrict__ starts, const u32* __restrict__ ends,
                             const W* __restrict__ weights, bool both_ways,
                             const length_t* __restrict__ distance, u32* predecessor, u32* overflow)
{
    u32 group = thread_id();
    if (group >= groups) return;
    u32 start[4], end[4];
    W weight[4];
    stream(starts, group, start);
    stream(ends, group, end);
    stream(weights, group, weight);
    for (int e = 0; e < 4; ++e) {
        length_t from = distance[start[e]];
        length_t to = distance[end[e]];
#if defined(INT32_LENGTHS)
        u64 length = word_of(weight[e]);
#else
        u64 length = static_cast<u64>(weight[e]);
#endif
        attach(start[e], end[e], length, from, to, predecessor, overflow);
        if (both_ways) attach(end[e], start[e], length, to, from, predecessor, overflow);
    }
}

__device__ __forceinline__ bool join(u32 tail, u32 head, u32* predecessor)
{
    return load_relaxed(predecessor + tail) != NO_PREDECESSOR &&
           load_relaxed(predecessor + head) == NO_PREDECESSOR &&
           atomicCAS(predecessor + head, NO_PREDECESSOR, tail) == NO_PREDECESSOR;
}

// One round along the other tight edges; `joined` is set if any vertex found a predecessor.
template <typename W>
__global__ void attach_by_zero(u32 groups, const u32* __restrict__ starts, const u32* __restrict__ ends,
                               const W* __restrict__ weights, bool both_ways,
                               const length_t* __restrict__ distance, u32* predecessor, u32* joined)
{
    u32 group = thread_id();
    if (group >= groups) return;
    u32 start[4], end[4];
    W weight[4];
    stream(starts, group, start);
    stream(ends, group, end);
    stream(weights, group, weight);
    for (int e = 0; e < 4; ++e) {
#if defined(INT32_LENGTHS) || defined(FLOAT_LENGTHS)
        length_t from = distance[start[e]];
        length_t to = distance[end[e]];
        weight_t word = word_of(weight[e]);
        bool found = is_tight(from, word, to) && join(start[e], end[e], predecessor);
        if (both_ways && !found) found = is_tight(to, word, from) && join(end[e], start[e], predecessor);
#else
        if (weight[e] != 0 || distance[start[e]] != distance[end[e]]) continue;
        bool found = join(start[e], end[e], predecessor);
        if (both_ways && !found) found = join(end[e], start[e], predecessor);
#endif
        if (found) store_relaxed(joined, 1u);
    }
}

template __global__ decltype(attach_tight<weight_t>) attach_tight<weight_t>;
template __global__ decltype(attach_tight<double>) attach_tight<double>;
template __global__ decltype(attach_by_zero<weight_t>) attach_by_zero<weight_t>;
template __global__ decltype(attach_by_zero<double>) attach_by_zero<double>;
