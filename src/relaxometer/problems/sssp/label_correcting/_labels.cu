// Splits the labels of a finished search into distances and predecessors.

#include "_labels.cuh"

extern "C" __global__ void split_labels(u32 n, const u64* __restrict__ labels,
                                        length_t* __restrict__ distances, u32* __restrict__ predecessors)
{
    u32 v = thread_id();
    if (v >= n) return;
    length_t distance = distance_of(labels[v]);
    distances[v] = distance;
    if (WIDE_LENGTHS) return;
    predecessors[v] = distance == NO_PATH ? NO_PREDECESSOR : static_cast<u32>(labels[v]);
}
