// What the min-plus matrix-vector products share: y = min(x, A^T x), where A holds the weights, multiplying
// is adding a weight and adding is taking the minimum. Row v of A^T lists the arcs that end at v.

#pragma once

#include "_fixed_point.cuh"

// The shortest length found so far, and the tail that it comes by.
struct Nearest {
    u32 distance = UNREACHED;
    u32 tail = 0;

    __device__ __forceinline__ void offer(u32 length, u32 by)
    {
        if (length < distance) {
            distance = length;
            tail = by;
        }
    }
};

// Write the result of row v. The predecessor changes only where the distance falls, and what it falls to was
// read from the phase before: so predecessors form a tree, along arcs of weight zero too.
__device__ __forceinline__ bool settle(u32 v, Nearest nearest, const u32* x, u32* y, u32* predecessor)
{
    u32 before = x[v];
    bool nearer = nearest.distance < before;
    y[v] = nearer ? nearest.distance : before;
    if (nearer) predecessor[v] = nearest.tail;
    return nearer;
}
