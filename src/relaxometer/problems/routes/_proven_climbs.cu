// Proves a contraction hierarchy and climbs in it, and finds distances of pairs; why they are right is in
// _proven_climbs.py.
//
// Each rule is checked where it can be seen, whoever made the arrays: no kernel relies on an order in which
// others have worked. Kernels report the number of violations by rule, and the smallest vertex of each.

#include "device/warp.cuh"
#include "problems/_saturating.cuh"

enum Rule { ORDER, ARCS, TRIANGLES, ATTAINED, CLIMBS };

const u32 NOTHING = 0xffffffffu;  // no arc, or no ancestor
const u32 LANES = 8;              // per fan of triangles

// A rank is a vertex's place in the order of contraction. Arcs are those to higher ranks.
struct Hierarchy {
    u32 n;
    u32 n_arcs;
    const u32* order;    // by rank: the vertex
    const u32* rank;     // by vertex
    const u32* depth;    // by rank: number of ancestors
    const u32* offsets;  // by rank: its first arc
    const u32* heads;    // by arc: the upper end
    u32* tails;          // by arc: the lower end, which `check_order` finds
    const u32* upward;   // by arc: its length, UNREACHED if no path was found
    const u32* downward;
};

struct Graph {
    const i64* offsets;
    const u32* heads;
    const u32* weights;
};

struct Findings {
    u64* report;
    u8* attained;  // of the arcs' lengths, upward and downward: whether something has this length
};

// Climbs from every vertex to its ancestors at the depths from `first` on, in rows of `columns`.
struct Rows {
    u32 first;
    u32 columns;     // a multiple of a warp
    u32* up;         // lengths; UNREACHED without an ancestor
    u32* down;       // those of the way back
    u32* ancestors;  // ranks, or NOTHING
};

__device__ void broken(const Findings& findings, Rule rule, u32 vertex)
{
    atomicAdd(&findings.report[2 * rule], 1ull);
    atomicMin(&findings.report[2 * rule + 1], static_cast<u64>(vertex));
}

// Rule ORDER: ranks number the vertices. Rows do not overlap. In a row heads ascend, all above the tail. A
// vertex is one deeper than its parent, the lowest of the heads. One thread per rank; reads nothing that is
// out of bounds.
extern "C" __global__ void check_order(const __grid_constant__ Hierarchy hierarchy,
                                       const __grid_constant__ Findings findings)
{
    u32 v = thread_id();
    if (v >= hierarchy.n) return;
    u32 vertex = hierarchy.order[v], first = hierarchy.offsets[v], end = hierarchy.offsets[v + 1];
    bool holds = vertex < hierarchy.n && hierarchy.rank[vertex] == v && end <= hierarchy.n_arcs;
    u32 below = v, depth = 0;
    for (u32 i = first; holds && i < end; ++i) {
        u32 head = hierarchy.heads[i];
        holds = below < head && head < hierarchy.n;
        if (holds && i == first) depth = hierarchy.depth[head] + 1;
        below = head;
        store_relaxed(&hierarchy.tails[i], v);  // rows may overlap
    }
    if (!holds || first > end || hierarchy.depth[v] != depth) broken(findings, ORDER, v);
}

// Returns the arc between two ranks, or NOTHING.
__device__ u32 find_arc(const Hierarchy& hierarchy, u32 tail, u32 head)
{
    u32 first = read_only(&hierarchy.offsets[tail]), end = read_only(&hierarchy.offsets[tail + 1]);
    while (first < end) {
        u32 middle = first + (end - first) / 2, found = read_only(&hierarchy.heads[middle]);
        if (found == head) return middle;
        if (found < head) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return NOTHING;
}

// Returns whether an arc is at most as long as something below it; marks its length if both are the same.
__device__ bool is_bounded(const Hierarchy& hierarchy, const Findings& findings, u32 arc, u32 side,
                           u32 length)
{
    u32 own = read_only(side == 0 ? &hierarchy.upward[arc] : &hierarchy.downward[arc]);
    if (own == length) store_relaxed(&findings.attained[2 * static_cast<size_t>(arc) + side], u8(1));
    return own <= length;
}

// Rule ARCS: between the ends of every arc of the graph is one of the hierarchy, which is not longer. One
// thread per vertex of the graph.
extern "C" __global__ void check_arcs(const __grid_constant__ Hierarchy hierarchy,
                                      const __grid_constant__ Graph graph,
                                      const __grid_constant__ Findings findings)
{
    u32 v = thread_id();
    if (v >= hierarchy.n) return;
    u32 tail = read_only(&hierarchy.rank[v]);
    bool holds = true;
    for (i64 i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
        u32 head = read_only(&hierarchy.rank[graph.heads[i]]);
        if (head == tail) continue;
        u32 arc = find_arc(hierarchy, min(tail, head), max(tail, head));
        holds &= arc != NOTHING && is_bounded(hierarchy, findings, arc, tail > head, graph.weights[i]);
    }
    if (!holds) broken(findings, ARCS, v);
}

// Rule TRIANGLES: between any two heads u and w of a rank's arcs is an arc, which is not longer than the way
// by that rank. LANES threads per arc to u.
extern "C" __global__ void check_triangles(const __grid_constant__ Hierarchy hierarchy,
                                           const __grid_constant__ Findings findings)
{
    for (u64 i = thread_id() / LANES; i < hierarchy.n_arcs; i += thread_count() / LANES) {
        u32 tail = read_only(&hierarchy.tails[i]), u = read_only(&hierarchy.heads[i]);
        u32 from_u = read_only(&hierarchy.downward[i]), to_u = read_only(&hierarchy.upward[i]);
        u32 end = read_only(&hierarchy.offsets[tail + 1]);
        bool holds = true;
        for (u32 j = static_cast<u32>(i) + 1 + threadIdx.x % LANES; j < end; j += LANES) {
            u32 arc = find_arc(hierarchy, u, read_only(&hierarchy.heads[j]));
            if (arc == NOTHING) {
                holds = false;
                continue;
            }
            u32 up = sum(from_u, read_only(&hierarchy.upward[j]));
            u32 down = sum(read_only(&hierarchy.downward[j]), to_u);
            holds &= is_bounded(hierarchy, findings, arc, 0, up);
            holds &= is_bounded(hierarchy, findings, arc, 1, down);
        }
        if (!holds) broken(findings, TRIANGLES, read_only(&hierarchy.order[tail]));
    }
}

// Rule ATTAINED: every length is that of an arc of the graph, or of a triangle below. After both are checked.
extern "C" __global__ void check_attained(const __grid_constant__ Hierarchy hierarchy,
                                          const __grid_constant__ Findings findings)
{
    for (u64 i = thread_id(); i < hierarchy.n_arcs; i += thread_count()) {
        bool holds = hierarchy.upward[i] == UNREACHED || findings.attained[2 * i];
        holds &= hierarchy.downward[i] == UNREACHED || findings.attained[2 * i + 1];
        if (!holds) broken(findings, ATTAINED, hierarchy.order[hierarchy.tails[i]]);
    }
}

struct Climb {
    u32 up;
    u32 down;
    u32 ancestor;
};

// Returns a climb from a rank, by way of the heads of its arcs.
__device__ __forceinline__ Climb climb_from(const Hierarchy& hierarchy, const Rows& rows, u32 v, u32 column)
{
    u32 depth = read_only(&hierarchy.depth[v]), at = rows.first + column;
    if (at == depth) return {0, 0, v};
    Climb best = {UNREACHED, UNREACHED, NOTHING};
    if (at > depth) return best;
    u32 first = read_only(&hierarchy.offsets[v]), end = read_only(&hierarchy.offsets[v + 1]);
#pragma unroll 4
    for (u32 i = first; i < end; ++i) {
        size_t k = static_cast<size_t>(read_only(&hierarchy.heads[i])) * rows.columns + column;
        best.up = min(best.up, sum(read_only(&hierarchy.upward[i]), rows.up[k]));
        best.down = min(best.down, sum(read_only(&hierarchy.downward[i]), rows.down[k]));
    }
    size_t parent = read_only(&hierarchy.heads[first]);
    best.ancestor = rows.ancestors[parent * rows.columns + column];
    return best;
}

// Finds the climbs from some ranks of one depth, when those from all above are known; a thread per climb.
extern "C" __global__ void climb(const __grid_constant__ Hierarchy hierarchy,
                                 const __grid_constant__ Rows rows, const u32* __restrict__ ranks, u32 count)
{
    u64 item = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item >= static_cast<u64>(count) * rows.columns) return;
    u32 v = read_only(&ranks[item / rows.columns]), column = static_cast<u32>(item % rows.columns);
    Climb best = climb_from(hierarchy, rows, v, column);
    size_t k = static_cast<size_t>(v) * rows.columns + column;
    rows.up[k] = best.up;
    rows.down[k] = best.down;
    rows.ancestors[k] = best.ancestor;
}

// Rule CLIMBS: every climb follows from those of the heads above. A thread per climb.
extern "C" __global__ void check_climbs(const __grid_constant__ Hierarchy hierarchy,
                                        const __grid_constant__ Rows rows,
                                        const __grid_constant__ Findings findings)
{
    u64 item = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item >= static_cast<u64>(hierarchy.n) * rows.columns) return;
    u32 v = static_cast<u32>(item / rows.columns), column = static_cast<u32>(item % rows.columns);
    Climb best = climb_from(hierarchy, rows, v, column);
    if (rows.up[item] == best.up && rows.down[item] == best.down && rows.ancestors[item] == best.ancestor)
        return;
    broken(findings, CLIMBS, read_only(&hierarchy.order[v]));
}

// Lowers the lengths of pairs to those of climbs to common ancestors, which come first in two rows. A warp
// per pair.
extern "C" __global__ void meet(const u32* __restrict__ rank, const __grid_constant__ Rows rows, u32 n_pairs,
                                const u32* __restrict__ origins, const u32* __restrict__ targets, u32* length)
{
    u32 pair = blockIdx.x * warps() + warp();
    if (pair >= n_pairs) return;
    size_t from = static_cast<size_t>(read_only(&rank[read_only(&origins[pair])])) * rows.columns;
    size_t to = static_cast<size_t>(read_only(&rank[read_only(&targets[pair])])) * rows.columns;
    u32 best = UNREACHED;
    for (u32 column = lane(); column < rows.columns; column += WARP) {
        u32 ancestor = read_only(&rows.ancestors[from + column]);
        bool is_common = ancestor != NOTHING && ancestor == read_only(&rows.ancestors[to + column]);
        if (is_common) {
            best = min(best, sum(read_only(&rows.up[from + column]), read_only(&rows.down[to + column])));
        }
        if (__ballot_sync(ALL_LANES, is_common) != ALL_LANES) break;
    }
    for (u32 flipped = 1; flipped < WARP; flipped *= 2) {
        best = min(best, __shfl_xor_sync(ALL_LANES, best, static_cast<int>(flipped)));
    }
    if (lane() == 0) length[pair] = min(length[pair], best);
}
