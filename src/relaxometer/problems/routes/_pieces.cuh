// A contraction hierarchy, queries, and their paths as pieces: what the kernels of queries share.

#pragma once

#include "device/constants.cuh"

const u32 NO_RANK = 0xffffffffu;  // parent of a root

// Vertices are numbered by rank, in the order of contraction. Depths are counted from the root.
struct Hierarchy {
    const u32* rank;     // of each vertex of the graph
    const uint4* nodes;  // by rank: the first upward arc, their end, the parent, the depth
    const u32* heads;    // by arc: the depth of its upper end
    u32 height;          // depths are less; 16 bits hold them where labels fit in shared memory
};

struct Queries {
    u32 count;
    const u32* origins;
    const u32* targets;
    u32 cutoff;
};

// The arcs of the hierarchy on all paths: for each, its number, and the arcs of the graph up to its end.
struct Pieces {
    u32* size;     // by query: vertices of its path
    uint4* spans;  // by query: the first piece, the first that leads down, their end, 0
    uint2* list;
    u32 capacity;
    u64* wanted;  // pieces of all queries
};

// How arcs of the hierarchy are unpacked. Entries 2 k and 2 k + 1 are those of arc k upward and downward.
struct Shortcuts {
    const u32* high;    // by arc: the rank of its upper end
    const uint2* arcs;  // how many arcs of the graph are behind it, and the vertex at its end
    // Of an arc with more than one behind it: its two parts, the first followed downward and the second
    // upward, how many arcs of the graph are behind the first, and the vertex between them.
    const uint4* parts;
};

__device__ __forceinline__ size_t entry_of(u32 arc, bool is_down)
{
    return 2 * static_cast<size_t>(arc) + is_down;
}
