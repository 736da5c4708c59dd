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
//     lightest first, and stops at the first that is too heavy to help.
//
//     push:  limit = delta
//            repeat                                                                       a bucket
//                frontier = settled vertices with due < limit, from their cursors
//                while frontier is not empty                                              a phase
//                    for v in frontier, for (v, w) with d(v) + weight(v, w) < limit: relax (v, w)
//                    frontier = vertices that came nearer, from their first arcs
//                limit = nearest pending arc + delta
//            until nothing is pending, or arcs of unsettled vertices < beta * arcs read in the last bucket
//     pull:  floor = 0
//            repeat                                                                       a phase
//                for unsettled v, for (u, v) while floor + weight(u, v) < d(v): relax (u, v)
//                floor = limit
//            until nothing changes
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

#include "_pull.cuh"
#include "_push.cuh"

// Labels every vertex unreached except the source, whose first arc is due. A source without arcs is none of
// the n vertices that have some.
__device__ __forceinline__ void start(Search& s, u32 source)
{
    Vertices& all = s.vertices;
    for (u32 v = thread_id(); v < all.n; v += thread_count()) {
        bool is_source = v == source;
        all.best[v] = is_source ? label_of(0, all.ids[v]) : NO_LABEL;
        all.due[v] = is_source ? 0 : NO_PATH;
        if (is_source) all.cursor[v] = 0;
    }
    if (thread_id() != 0) return;
    for (BucketCounters& bucket : s.state->bucket) {
        bucket = {INFINITE, 0};
    }
    for (PhaseCounters& phase : s.state->phases) {
        phase = {};
    }
    s.state->settled_arcs = source < all.n ? degree_of(s.out, source) : 0;
    s.state->overflow = s.state->logged = 0;
}

// `rank` is each vertex's place in the order of degrees.
extern "C" __global__ void __launch_bounds__(512)
    search(const __grid_constant__ Problem problem, const u32* __restrict__ rank, u32 source, u64* log,
           u32 log_size)
{
    cg::grid_group grid = cg::this_grid();
    Search s = {problem,
                {log, log_size},
                {problem.state->phase, 0, 0, problem.frontiers[0], problem.frontiers[1]},
                {INFINITE, 0, 0}};
    start(s, rank[source]);
    grid.sync();
    log_phase(s, false, 1, 0);
    for (u64 nearest = 0; nearest < INFINITE;) {
        begin_bucket(s, bucket_end(nearest, s.delta));
        push_bucket(s);
        const BucketCounters& bucket = bucket_counters(s);
        nearest = load_relaxed(&bucket.nearest);
        float unsettled_arcs = static_cast<float>(s.n_arcs - load_relaxed(&s.state->settled_arcs));
        if (nearest < INFINITE && unsettled_arcs < s.beta * load_relaxed(&bucket.read)) {
            pull(s);
            break;
        }
    }
    if (thread_id() == 0) s.state->phase = s.at.phase;
}

// Writes the answer in the graph's own order. The log has an entry for the start.
extern "C" __global__ void unpack(u32 n, u32 n_with_arcs, const u32* __restrict__ rank,
                                  const u64* __restrict__ best, const State* __restrict__ state, u32 source,
                                  length_t* __restrict__ distance, u32* __restrict__ predecessor,
                                  u32* n_phases, u32* overflow)
{
    if (thread_id() == 0) {
        *n_phases = state->logged - 1;
        *overflow = state->overflow;
    }
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u64 label = rank[v] < n_with_arcs ? best[rank[v]] : NO_LABEL;
        if (v == source) label = WIDE_LENGTHS ? 0 : v;
        distance[v] = static_cast<length_t>(distance_of(label));
        if (!WIDE_LENGTHS) predecessor[v] = static_cast<u32>(label);
    }
}
