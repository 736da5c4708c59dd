// Dominators of a graph whose arcs lead both ways, by its biconnected components: no step depends on its
// depth.
//
// In an undirected graph, u strictly dominates v if and only if removing u separates v from the root. So all
// vertices of a biconnected component but the one nearest to the root have that one as immediate dominator.
// The components are found from any spanning tree, as in Tarjan and Vishkin, "An Efficient Parallel
// Biconnectivity Algorithm" (1985), with the skeleton of Dong, Wang, Gu and Sun, "Provably Fast and
// Space-Efficient Parallel Biconnectivity" (PPoPP 2023):
//
//   connect   A spanning tree by union-find (_spanning_forest.cuh).
//   tour      An Euler tour of the tree: every vertex keeps a linked list of its tree arcs, and after an arc
//             follows the one behind its reverse in the list of its head.
//   rank      The distance of every arc of the tour to its end, by pointer jumping. Distance and next arc are
//             one word, so a thread may read those that have already jumped.
//   place     The place of an arc in the tour numbers the vertex it leads down to: `first`. The descendants
//             of a vertex have the numbers `first` to `last`.
//   extremes  The smallest and largest numbers of the neighbours of every vertex, and their minima and maxima
//             over groups of FANOUT numbers, groups of groups, and so on.
//   fences    If no arc leads from the subtree of a vertex out of that of its parent, the tree arc between
//             them is a fence. Other vertices are linked to their parents.
//   join      The ends of an arc are united unless one is the ancestor of the other. First two arcs of every
//             vertex, then the arcs whose ends do not have the same label.
//   answer    Components of numbers are biconnected components without their head. The smallest number is the
//             top of the tree inside it, so the head is its parent.
//
// Arcs into the root count for nothing, and those out of it as both ways; so the root may have one-way arcs.
// The whole search is one cooperative launch.

#include "_spanning_forest.cuh"

const u32 FANOUT = 4;

// The clock is read at the start and after each.
enum Stage { CONNECT, TOUR, RANK, PLACE, EXTREMES, FENCES, JOIN, ANSWER };
const u32 STAGES = 8;
static_assert(STAGES == ANSWER + 1, "one place for each stage");

// Arrays of n words by vertex, or of 2 n by arc of the tour or by number; `extremes` has 4 words for each of
// 2 n numbers, which is room for the groups. A tree arc has the place k of the root that it linked; 2 k is
// that arc in the tour, 2 k + 1 its reverse.
struct Work {
    u32* link;
    u32* from;
    u32* to;
    u32* list;   // by vertex, the first tree arc that leaves it
    u32* after;  // by arc of the tour, the next in that list
    u64* ranks;  // by arc of the tour, the next << 32 | arcs to the end
    u32* first;
    u32* last;
    u32* above;  // by number, the parent
    u32* joined;
    u32* extremes;
    u32* votes;  // three words
};

// By number: the smallest and the largest of some numbers.
struct Extremes {
    u32 low;
    u32 high;

    __device__ __forceinline__ void include(const Extremes& other)
    {
        low = min(low, other.low);
        high = max(high, other.high);
    }
};

// The extremes over no numbers.
__device__ __forceinline__ Extremes nothing()
{
    return {0xffffffffu, 0};
}

__device__ __forceinline__ void store(const Work& work, u64 place, const Extremes& extremes)
{
    work.extremes[2 * place] = extremes.low;
    work.extremes[2 * place + 1] = extremes.high;
}

__device__ __forceinline__ Extremes load(const Work& work, u64 place)
{
    return {work.extremes[2 * place], work.extremes[2 * place + 1]};
}

// Arcs into the root count for nothing.
struct IntoRoot {
    u32 root;

    __device__ __forceinline__ bool operator()(u32, u32 w) const
    {
        return w == root;
    }
};

__device__ void connect(cg::grid_group grid, const Graph& graph, const Work& work, u32 root)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        work.list[v] = UNREACHED;
        work.first[v] = UNREACHED;
    }
    if (thread_id() < 3) work.votes[thread_id()] = 0;
    Links links = {work.link, work.from, work.to};
    span(grid, graph, links, IntoRoot{root}, root, root);
}

__device__ __forceinline__ bool in_tour(const Work& work, u32 k, u32 root)
{
    u32 link = work.link[k];
    return link != k && link == work.link[root];
}

__device__ void make_tour(cg::grid_group grid, const Graph& graph, const Work& work, u32 root)
{
    for (u32 k = thread_id(); k < graph.n; k += thread_count()) {
        if (!in_tour(work, k, root)) continue;
        work.after[2 * k] = atomicExch(&work.list[work.from[k]], 2 * k);
        work.after[2 * k + 1] = atomicExch(&work.list[work.to[k]], 2 * k + 1);
    }
    grid.sync();
    u32 start = work.list[root];
    for (u32 k = thread_id(); k < graph.n; k += thread_count()) {
        bool is_there = in_tour(work, k, root);
        for (u32 reverse = 0; reverse < 2; ++reverse) {
            u32 next = UNREACHED;
            if (is_there) {
                next = work.after[2 * k + (1 - reverse)];
                if (next == UNREACHED) next = work.list[reverse ? work.from[k] : work.to[k]];
                if (next == start) next = UNREACHED;
            }
            work.ranks[2 * k + reverse] = static_cast<u64>(next) << 32 | (is_there ? 1 : 0);
        }
    }
    grid.sync();
}

// Lets every arc of the tour jump over the next; returns whether any still has a next one.
__device__ __forceinline__ bool jump(const Work& work, u32 n)
{
    bool unfinished = false;
    for (u64 arc = thread_id(); arc < 2 * static_cast<u64>(n); arc += thread_count()) {
        u64 own = load_relaxed(&work.ranks[arc]);
        u32 next = static_cast<u32>(own >> 32);
        if (next == UNREACHED) continue;
        u64 beyond = load_relaxed(&work.ranks[next]);
        store_relaxed(&work.ranks[arc],
                      (beyond >> 32) << 32 | (static_cast<u32>(own) + static_cast<u32>(beyond)));
        if (beyond >> 32 != UNREACHED) unfinished = true;
    }
    return unfinished;
}

__device__ void rank(cg::grid_group grid, const Work& work, u32 n, u32* votes)
{
    while (any_of_grid(grid, work.votes, (*votes)++, jump(work, n))) {
    }
}

__device__ __forceinline__ u32 length_of_tour(const Work& work, u32 root)
{
    u32 start = work.list[root];
    return start == UNREACHED ? 0 : static_cast<u32>(work.ranks[start]);
}

// Numbers the vertices of the tour; each number is its own component.
__device__ void place(cg::grid_group grid, const Graph& graph, const Work& work, u32 root, u32 length)
{
    for (u32 k = thread_id(); k < graph.n; k += thread_count()) {
        if (!in_tour(work, k, root)) continue;
        u32 there = length - static_cast<u32>(work.ranks[2 * k]);
        u32 back = length - static_cast<u32>(work.ranks[2 * k + 1]);
        u32 child = there < back ? work.to[k] : work.from[k];
        u32 number = min(there, back) + 1;
        work.first[child] = number;
        work.last[child] = max(there, back);
        work.above[number] = there < back ? work.from[k] : work.to[k];
        work.joined[number] = number;
        store(work, number, {number, number});
        work.joined[max(there, back) + 1] = max(there, back) + 1;
        store(work, max(there, back) + 1, nothing());
    }
    if (thread_id() == 0) {
        work.first[root] = 0;
        work.last[root] = length;
        work.above[0] = root;
        work.joined[0] = 0;
        store(work, 0, nothing());
    }
    grid.sync();
}

// Includes a number in the extremes of another.
__device__ __forceinline__ void include(const Work& work, u32 number, u32 other)
{
    u32* extremes = work.extremes + 2 * static_cast<u64>(number);
    if (other < load_relaxed(extremes)) atomicMin(extremes, other);
    if (other > load_relaxed(extremes + 1)) atomicMax(extremes + 1, other);
}

__device__ void find_extremes(cg::grid_group grid, const Graph& graph, const Work& work, u32 root,
                              u32 numbers)
{
    for (u64 i = thread_id(); i < graph.n_arcs; i += thread_count()) {
        u32 u = graph.tails[i];
        u32 w = graph.heads[i];
        u32 number = work.first[w];
        if (w == root || number == UNREACHED) continue;
        if (u == root) {
            include(work, number, 0);
        } else if (work.first[u] != UNREACHED) {
            include(work, work.first[u], number);
        }
    }
    grid.sync();
    u64 base = 0;
    for (u32 size = numbers; size > 1;) {
        u32 groups = (size + FANOUT - 1) / FANOUT;
        for (u32 group = thread_id(); group < groups; group += thread_count()) {
            Extremes sum = nothing();
            u32 end = min((group + 1) * FANOUT, size);
            for (u32 member = group * FANOUT; member < end; ++member) sum.include(load(work, base + member));
            store(work, base + size + group, sum);
        }
        grid.sync();
        base += size;
        size = groups;
    }
}

// Returns the extremes over the numbers `begin` to `end` - 1.
__device__ Extremes extremes_of(const Work& work, u32 begin, u32 end, u32 numbers)
{
    Extremes sum = nothing();
    u64 base = 0;
    u32 size = numbers;
    while (begin < end) {
        for (; begin < end && begin % FANOUT; ++begin) sum.include(load(work, base + begin));
        for (; begin < end && end % FANOUT; --end) sum.include(load(work, base + end - 1));
        base += size;
        size = (size + FANOUT - 1) / FANOUT;
        begin /= FANOUT;
        end /= FANOUT;
    }
    return sum;
}

// Links vertices to their parents, unless a fence is between them.
__device__ void skip_fences(cg::grid_group grid, const Graph& graph, const Work& work, u32 root, u32 numbers,
                            u32* votes)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        u32 number = work.first[v];
        if (number == UNREACHED || v == root) continue;
        u32 parent = work.above[number];
        Extremes reach = extremes_of(work, number, work.last[v] + 1, numbers);
        bool escapes = reach.low < work.first[parent] || reach.high > work.last[parent];
        if (escapes) work.joined[number] = work.first[parent];
    }
    grid.sync();
    shorten(grid, work.joined, numbers, work.votes, votes);
}

// Unites the ends of an arc unless one is the ancestor of the other.
__device__ __forceinline__ void join_ends(const Work& work, u32 u, u32 w)
{
    u32 a = work.first[u];
    u32 b = work.first[w];
    if (a == UNREACHED || b == UNREACHED || max(a, b) <= work.last[a < b ? u : w]) return;
    unite_if_apart(work.joined, a, b);
}

// `link` holds the labels from now on.
__device__ void join(cg::grid_group grid, const Graph& graph, const Work& work)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        i64 begin = graph.offsets[v];
        i64 end = min(graph.offsets[v + 1], begin + SAMPLED);
        for (i64 i = begin; i < end; ++i) join_ends(work, v, graph.heads[i]);
    }
    grid.sync();
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        u32 number = work.first[v];
        work.link[v] = number == UNREACHED ? UNREACHED : find_root(work.joined, number);
    }
    grid.sync();
    for (u64 i = thread_id(); i < graph.n_arcs; i += thread_count()) {
        u32 u = graph.tails[i];
        u32 w = graph.heads[i];
        if (u < w && work.link[u] != work.link[w]) join_ends(work, u, w);
    }
    grid.sync();
}

extern "C" __global__ void __launch_bounds__(512, 3)
    biconnected(const __grid_constant__ Graph graph, const __grid_constant__ Work work, u32 root, u32* idom,
                u64* times)
{
    cg::grid_group grid = cg::this_grid();
    if (times && thread_id() == 0) times[0] = nanoseconds();
    u32 votes = 0;
    connect(grid, graph, work, root);
    stamp(times, CONNECT);
    make_tour(grid, graph, work, root);
    stamp(times, TOUR);
    rank(grid, work, graph.n, &votes);
    stamp(times, RANK);
    u32 length = length_of_tour(work, root);
    place(grid, graph, work, root, length);
    stamp(times, PLACE);
    find_extremes(grid, graph, work, root, length + 1);
    stamp(times, EXTREMES);
    skip_fences(grid, graph, work, root, length + 1, &votes);
    stamp(times, FENCES);
    join(grid, graph, work);
    stamp(times, JOIN);
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        u32 number = work.first[v];
        idom[v] = number == UNREACHED ? UNREACHED : work.above[find_root(work.joined, number)];
    }
    if (times) grid.sync();
    stamp(times, ANSWER);
}

// Counts the arcs without a reverse, at each vertex and in all; both counts are zeros before.
// Heads ascend within a vertex.
extern "C" __global__ void count_one_way(u64 n_arcs, const i64* __restrict__ offsets,
                                         const u32* __restrict__ tails, const u32* __restrict__ heads,
                                         u32* at, u64* all)
{
    for (u64 i = thread_id(); i < n_arcs; i += thread_count()) {
        u32 u = tails[i];
        u32 w = heads[i];
        i64 begin = offsets[w];
        i64 end = offsets[w + 1];
        while (begin < end) {
            i64 middle = (begin + end) / 2;
            if (heads[middle] < u) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        if (begin < offsets[w + 1] && heads[begin] == u) continue;
        atomicAdd(&at[u], 1u);
        atomicAdd(&at[w], 1u);
        atomicAdd(all, 1ull);
    }
}
