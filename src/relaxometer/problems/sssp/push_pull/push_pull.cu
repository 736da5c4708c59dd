// SSSP for skewed graphs: push near vertices along light arcs, then pull into the few that are left, in one
// launch.
//
// Delta-stepping reads every arc at least once. On a graph with hubs most of these arcs lead to vertices that
// are settled already. Two measures avoid reading them:
//
//   - the arcs of a vertex are sorted by weight. A vertex at distance d pushes, in the bucket that ends at
//     `limit`, only the arcs with d + weight < limit; a cursor marks the next one. `due` holds the length of
//     the path along it, so the frontier of a new bucket is found by one sweep over n words.
//   - once the settled vertices hold most of the arcs, the others pull: each examines its incoming arcs,
//     lightest first, and stops at the first that is too heavy to help. What the third phase of pulling finds
//     is pushed, in a last bucket without upper bound.
//
//     push:  limit = delta
//            repeat                                                                       a bucket
//                frontier = settled vertices with due < limit, from their cursors
//                while frontier is not empty                                              a phase
//                    for v in frontier, for (v, w) with d(v) + weight(v, w) < limit: relax (v, w)
//                    frontier = vertices that came nearer, from their first arcs
//                limit = nearest pending arc + delta
//            until nothing is pending, or arcs of unsettled vertices < beta * arcs read in the last bucket
//     pull:  for bound = 0, limit, limit                                                   a phase
//                for unsettled v, for (u, v) while bound + weight(u, v) < d(v): relax (u, v)
//     push:  frontier = vertices that came nearer in the last phase, from their first arcs; limit = infinity
//
// It follows Chakaravarthy, Checconi, Petrini and Sabharwal, "Scalable Single Source Shortest Path Algorithms
// for Massively Parallel Systems", IPDPS 2014, who push and pull between the nodes of a cluster; the buckets
// are those of Meyer and Sanders, "Delta-stepping", 2003. Deviations from the former:
//
//   - it classifies arcs as short and long by delta; here sorted arcs and cursors defer every arc that leaves
//     the bucket.
//   - it chooses between pushing and pulling along the long arcs of each bucket; here all buckets push until
//     the search changes direction, once and for all.
//   - vertices are numbered by falling degree, so that the data of hubs share cache lines, and vertices
//     without arcs come last and are never visited.
//   - distance and predecessor share one word, which a compare-and-swap replaces only by a strictly smaller
//     distance. Predecessors therefore form a tree even along arcs of weight zero.

#include "_run.cuh"

__device__ __forceinline__ u32 tail_of(const Search&, u32 head)
{
    return head;
}

__device__ __forceinline__ u32 n_tails(const Search& s)
{
    return s.vertices.n;
}

__device__ __forceinline__ length_t latest_distance(const Search& s, u32 v)
{
    return static_cast<length_t>(distance_of(load_relaxed(&s.vertices.best[v])));
}

__device__ __forceinline__ length_t distance_at(const Search& s, u32 v)
{
    return latest_distance(s, v);
}

// The list that a phase of pushing fills is the frontier of the next one.
__device__ __forceinline__ u32* resumed_list(Search& s)
{
    return s.at.next;
}

__device__ __forceinline__ void push_all(Search& s, const Frontier& frontier)
{
    const u32* filled = s.at.next;
    s.at.next = filled == s.lists[0] ? s.lists[1] : s.lists[0];
    push_frontier(s, frontier, 0, [&](u32 place, bool has_many, bool) {
        return tail_at(s, filled[has_many ? s.vertices.n - 1 - place : place]);
    });
}

__device__ __forceinline__ void deliver(Search&)
{
}

__device__ __forceinline__ void announce(Search& s, bool chosen, u32 head)
{
    enlist(s, chosen, head);
}

__device__ __forceinline__ Frontier next_frontier(const Search& s)
{
    return {load_relaxed(&phase_counters(s).few), load_relaxed(&phase_counters(s).many), false};
}

__device__ __forceinline__ Tally total(const Search& s)
{
    const BucketCounters& bucket = bucket_counters(s);
    return {load_relaxed(&bucket.nearest), load_relaxed(&bucket.read), load_relaxed(&s.state->settled_arcs)};
}

__device__ __forceinline__ u64 meet_all(const Search& s, bool pulled)
{
    cg::this_grid().sync();
    Frontier found = next_frontier(s);
    u32 nearer = found.few + found.many + load_relaxed(&phase_counters(s).improved);
    log_phase(s, pulled, nearer, load_relaxed(&phase_counters(s).read));
    return nearer;
}

// The search. `rank` is each vertex's place in the order of degrees; those without arcs come last. The log
// may have no rows.
extern "C" __global__ void __launch_bounds__(MAX_WARPS* WARP, 2)
    search(const __grid_constant__ Problem problem, const u32* __restrict__ rank, u32 source, u64* log,
           u32 log_size)
{
    __shared__ BlockTally block;
    __shared__ u32 piles[MAX_WARPS][PILE];
    Progress at = {problem.state->phase, 0, 0, problem.lists[NEARER]};
    Search s = {problem, {log, log_size}, at, {INFINITE, 0, 0}, {piles[warp()], 0}, &block};
    u32 from = rank[source] < s.vertices.n ? rank[source] : NO_VERTEX;
#pragma unroll 1
    for (u32 v = thread_id(); v < s.vertices.n; v += thread_count()) {
        s.vertices.best[v] = v == from ? label_of(0, from) : NO_LABEL;
        s.vertices.due[v] = NO_PATH;
    }
    Frontier frontier = begin_search(s, from, from == NO_VERTEX ? 0 : degree_of(s.into, from));
    if (from == NO_VERTEX) return;
    run(s, frontier);
    end_search(s);
}

// Writes the answer in the graph's own order; `ids` names the vertex at each of the `n_with_arcs` places. The
// log has an entry for the start.
extern "C" __global__ void unpack(u32 n, u32 n_with_arcs, const u32* __restrict__ rank,
                                  const u32* __restrict__ ids, const u64* __restrict__ best,
                                  const State* __restrict__ state, u32 source,
                                  length_t* __restrict__ distance, u32* __restrict__ predecessor,
                                  u32* n_phases, u32* overflow)
{
    if (thread_id() == 0) {
        *n_phases = state->logged - 1;
        *overflow = state->overflow;
    }
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u64 label = rank[v] < n_with_arcs ? best[rank[v]] : NO_LABEL;
        distance[v] = v == source ? 0 : static_cast<length_t>(distance_of(label));
        if (WIDE_LENGTHS) continue;
        u32 before = label == NO_LABEL ? NO_PREDECESSOR : ids[static_cast<u32>(label)];
        predecessor[v] = v == source ? source : before;
    }
}
