// One row of the min-plus matrix-vector product y = min(x, A^T x). A holds the weights; the product adds a
// weight, the sum takes the minimum. Row v of A^T lists the arcs into v.

#pragma once

#include "_fixed_point.cuh"

// The shortest path to a row's vertex so far: its length and its last arc's tail.
struct Nearest {
    length_t distance = NO_PATH;
    u32 tail = 0;

    __device__ __forceinline__ void offer(length_t length, u32 from)
    {
        if (length < distance) {
            distance = length;
            tail = from;
        }
    }
};

// Writes the result of row v. The predecessor changes only if the distance falls, and its own distance is
// from the phase before. Predecessors therefore form a tree, even along arcs of weight zero.
__device__ __forceinline__ bool settle(u32 v, Nearest nearest, const length_t* x, length_t* y,
                                       u32* predecessor)
{
    length_t before = x[v];
    bool nearer = nearest.distance < before;
    y[v] = nearer ? nearest.distance : before;
    if (nearer) predecessor[v] = nearest.tail;
    return nearer;
}
