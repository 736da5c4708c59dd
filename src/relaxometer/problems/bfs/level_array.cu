// BFS with one thread per vertex at every level (Harish and Narayanan 2007).
//
// The vertices of a level examine all their arcs and write the next level to unreached heads. If two find the
// same head, they write the same level, and either is a right predecessor. So relaxed accesses suffice.

#include "_bfs.cuh"

// `last_depth` gets the depth of the last level that found a vertex, so that it need not be cleared.
extern "C" __global__ void level_array(u32 n, const i64* __restrict__ offsets,
                                       const u32* __restrict__ targets, u32 depth, u32* level,
                                       u32* predecessor, u32* last_depth)
{
    u32 v = thread_id();
    if (v >= n || load_relaxed(&level[v]) != depth) return;
    i64 end = offsets[v + 1];
    for (i64 i = offsets[v]; i < end; ++i) {
        u32 head = targets[i];
        if (load_relaxed(&level[head]) == UNREACHED) {
            store_relaxed(&level[head], depth + 1);
            store_relaxed(&predecessor[head], v);
            store_relaxed(last_depth, depth + 1);
        }
    }
}
