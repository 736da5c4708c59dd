// Dominators of a graph whose arcs do not fit the device: the rounds of iterative_tree.cu over pieces of the
// arcs, one launch per piece.
//
// The arrays of the vertices stay on the device. Breadth-first levels also come from rounds, since the arcs
// of a frontier may be in any piece: an arc lowers the level of its head, in place, until nothing changes.
// Vertices are then numbered by level.

#include "_rounds.cuh"

// Lowers the levels of the heads of a piece; sets `moved` to 1 if any changed.
extern "C" __global__ void lower_levels(u64 n_arcs, const u32* __restrict__ tails,
                                        const u32* __restrict__ heads, u32* level, u32* moved)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 from = load_relaxed(&level[tails[i]]);
        if (from == UNREACHED || load_relaxed(&level[heads[i]]) <= from + 1) continue;
        if (atomicMin(&level[heads[i]], from + 1) > from + 1) store_relaxed(moved, 1u);
    }
}

// Makes the predecessor of the smallest number the parent of every vertex; `parent` is filled with UNREACHED.
extern "C" __global__ void choose_parents(u64 n_arcs, const u32* __restrict__ tails,
                                          const u32* __restrict__ heads, const u32* __restrict__ number,
                                          u32* parent)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 u = number[tails[i]];
        u32 w = number[heads[i]];
        if (u < w && u < load_relaxed(&parent[w])) atomicMin(&parent[w], u);
    }
}

extern "C" __global__ void point_jumps(u32 n, u32* parent, u32* jump)
{
    begin_jumps({parent, jump}, n);
}

extern "C" __global__ void stretch_jumps(u32 n, u32* parent, u32* jump)
{
    double_jumps({parent, jump}, n);
}

// Applies the arcs of one piece.
extern "C" __global__ void follow_piece(u64 n_arcs, const u32* __restrict__ from, const u32* __restrict__ to,
                                        u32* parent, u32* jump, u32 span, u64* moved, u64* longest)
{
    follow_arcs({parent, jump}, n_arcs, from, to, span, moved, longest);
}
