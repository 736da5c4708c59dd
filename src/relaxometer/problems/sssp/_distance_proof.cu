// Proves distances from many sources that come without predecessors, in O(n + m) work per source.
//
// If d[s] = 0 and no arc u -> v of weight w has d[v] > d[u] + w, no path is shorter than d says (the
// optimality conditions of linear programming; Ahuja, Magnanti and Orlin, "Network Flows", theorem 5.1). It
// remains to show that a path of length d[v] exists. Call an arc tight if d[v] = d[u] + w. If every reached
// vertex but s has a tight incoming arc, one can go back along tight arcs. The distance falls at each arc of
// positive weight, so the way back ends at s, unless it runs around a cycle of arcs of weight zero. Therefore
// vertices on such cycles are taken together: for each strongly connected component of the arcs of weight
// zero, a tight arc must enter from outside. Its vertices are equally far by the first condition, and reach
// each other at no cost. The components have no cycle among them.
//
// Rule SOURCE: d[s] = 0.
// Rule OVERSTRETCHED: d[v] <= d[u] + w for every arc from a reached vertex; v is reached, too.
// Rule TIGHT: a tight arc leads to every reached vertex but s, or to the component of the vertex from
// outside.
//
// For each rule, kernels report the number of violations and the smallest vertex that violates it, and they
// mark the places of sources with a violation. Distances of k sources are side by side; a warp takes 32 of
// them.

#include "problems/_inverses.cuh"
#include "problems/sssp/_lengths.cuh"

enum Rule { SOURCE, OVERSTRETCHED, TIGHT };

// Arcs by their heads. `component` numbers the components with several vertices of the arcs of weight zero;
// UNREACHED for vertices in none. It is null if there are none.
struct Incoming {
    u32 n;
    const i64* offsets;
    const uint2* arcs;  // tail and weight
    const u32* component;
    u32 n_components;
};

// Distances by batch, vertex, and place in the batch. Places without a source have UNREACHED as a source.
struct Distances {
    u32 k;
    const u32* sources;
    const length_t* of;
};

struct Findings {
    u64* report;
    u32* wrong;    // by place: whether a rule is broken
    u32* entered;  // by component and place: whether a tight arc enters, or the source lies in it
    u32* reached;  // by place: vertices reached, their greatest distance, sums of distances and of inverses
    length_t* farthest;
    u64* total;
    u64* inverses;  // or null
};

__device__ void broken(const Findings& findings, Rule rule, u32 v, u32 place)
{
    atomicAdd(&findings.report[2 * rule], 1ull);
    atomicMin(&findings.report[2 * rule + 1], static_cast<u64>(v));
    store_relaxed(&findings.wrong[place], 1u);
}

__device__ size_t component_at(const Incoming& graph, const Distances& distances, u32 batch, u32 component,
                               u32 in_batch)
{
    return (static_cast<size_t>(batch) * graph.n_components + component) * distances.k + in_batch;
}

const u32 TOGETHER = 4;  // arcs whose tails are loaded together; after the last one, it repeats

// Checks one vertex, with the arcs from `begin` to `end`, for one source; returns the vertex's distance.
__device__ __forceinline__ length_t check_vertex(const Incoming& graph, const Distances& distances,
                                                 const Findings& findings, u32 v, i64 begin, i64 end,
                                                 u32 place, u32 source)
{
    u32 k = distances.k, batch = place / k, in_batch = place % k;
    const length_t* row = distances.of + static_cast<size_t>(batch) * graph.n * k + in_batch;
    length_t own = row[static_cast<size_t>(v) * k];
    u32 component = graph.component == nullptr ? UNREACHED : read_only(&graph.component[v]);
    bool is_tight = false, is_overstretched = false;
    for (i64 i = begin; i < end; i += TOGETHER) {
        uint2 arc[TOGETHER];
        length_t before[TOGETHER];
        for (u32 j = 0; j < TOGETHER; ++j) arc[j] = read_only(&graph.arcs[min(i + j, end - 1)]);
        for (u32 j = 0; j < TOGETHER; ++j) before[j] = row[static_cast<size_t>(arc[j].x) * k];
        for (u32 j = 0; j < TOGETHER; ++j) {
            u64 length = extended_length(before[j], arc[j].y);
            bool is_reached = before[j] != NO_PATH, is_outside = arc[j].x != v;
            if (component != UNREACHED) is_outside = read_only(&graph.component[arc[j].x]) != component;
            is_overstretched |= is_reached && (own > length || own == NO_PATH);
            is_tight |= is_reached && is_outside && own == length;
        }
    }
    if (is_overstretched) broken(findings, OVERSTRETCHED, v, place);
    if (v == source && own != 0) broken(findings, SOURCE, v, place);
    is_tight |= v == source;
    if (component != UNREACHED) {
        if (is_tight) {
            store_relaxed(&findings.entered[component_at(graph, distances, batch, component, in_batch)], 1u);
        }
    } else if (own != NO_PATH && !is_tight) {
        broken(findings, TIGHT, v, place);
    }
    return own;
}

// One warp per `rows` vertices and 32 places; blockIdx.y numbers groups of 32 places. Adds up the distances.
extern "C" __global__ void check_distances(const __grid_constant__ Incoming graph,
                                           const __grid_constant__ Distances distances,
                                           const __grid_constant__ Findings findings, u32 rows)
{
    u32 place = blockIdx.y * WARP + threadIdx.x % WARP;
    u32 source = read_only(&distances.sources[place]);
    u32 reached = 0;
    length_t farthest = 0;
    u64 total = 0, inverses = 0, n = graph.n, first = static_cast<u64>(thread_id() / WARP) * rows;
    u64 last = min(first + rows, n);
    const double unit = findings.inverses ? inverse_unit(n) : 0;
    i64 begin = read_only(&graph.offsets[min(first, n)]), end = read_only(&graph.offsets[min(first + 1, n)]);
    for (u64 v = first; v < last; ++v) {
        i64 next_end = read_only(&graph.offsets[min(v + 2, n)]);
        length_t own =
            check_vertex(graph, distances, findings, static_cast<u32>(v), begin, end, place, source);
        begin = end;
        end = next_end;
        if (own == NO_PATH) continue;
        ++reached;
        farthest = max(farthest, own);
        total += own;
        if (unit != 0) inverses += inverse_of(own, unit);
    }
    if (reached == 0) return;
    atomicAdd(&findings.reached[place], reached);
    atomicMax(&findings.farthest[place], farthest);
    atomicAdd(&findings.total[place], total);
    if (unit != 0) atomicAdd(&findings.inverses[place], inverses);
}

// The rule TIGHT for components: `members` has one vertex of each. One thread per place; blockIdx.x numbers
// components, of which there may be more than a grid has blocks in its second dimension.
extern "C" __global__ void check_components(const __grid_constant__ Incoming graph,
                                            const __grid_constant__ Distances distances,
                                            const __grid_constant__ Findings findings,
                                            const u32* __restrict__ members, u32 places)
{
    u32 component = blockIdx.x, place = blockIdx.y * blockDim.x + threadIdx.x;
    if (place >= places) return;
    u32 k = distances.k, batch = place / k, in_batch = place % k, v = members[component];
    length_t own = distances.of[(static_cast<size_t>(batch) * graph.n + v) * k + in_batch];
    if (own == NO_PATH) return;
    if (findings.entered[component_at(graph, distances, batch, component, in_batch)] == 0) {
        broken(findings, TIGHT, v, place);
    }
}
