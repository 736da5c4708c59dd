// What the kernels share that find, mark and list vertices in doubt (_detours.cu, _doubts.cu).

#pragma once

#include "device/constants.cuh"

// What may become a new dominator, in `doubt`: the vertex, or all children of the vertex in the dominator
// tree.
__device__ const u32 VERTEX = 1;
__device__ const u32 CHILDREN = 2;

__device__ const u32 MAX_CLIMB = 16;  // steps up the dominator tree

// The tree of a search and the dominators: vertices have numbers, and all but `number` is by number.
struct Known {
    u32* number;
    u32* order;   // the vertex
    u32* parent;  // in the tree of the search
    u32* idom;
};
