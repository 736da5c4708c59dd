// Dominators of a graph whose arcs lead both ways, as in biconnected.cu, but from a breadth-first tree of few
// levels.
//
//   connect   A spanning forest of the arcs that are not in the tree (_spanning_forest.cuh). With the tree,
//             its arcs have the same biconnected components as all arcs: Cong and Bader, "An Experimental
//             Study of Parallel Biconnected Components Algorithms on Symmetric Multiprocessors" (IPDPS 2005).
//             So most arcs are never looked at.
//   join      Each arc of the forest closes a cycle with the tree, whose vertices, but for the topmost, are
//             united. The levels of its ends differ by one at most, so both climb to the topmost side by
//             side.
//   heads     The parents of a component's vertices are in it, except those of the vertices at its top, which
//             all have its head as parent.
//   answer    The head of its component dominates a vertex.

#include "_spanning_forest.cuh"

enum Stage { CONNECT, JOIN, HEADS, ANSWER };
const u32 STAGES = 4;
static_assert(STAGES == ANSWER + 1, "one place for each stage");

// Arcs of the tree, arcs into the root, and arcs of vertices that are not reached.
struct InTree {
    const u32* parent;
    u32 root;

    __device__ __forceinline__ bool operator()(u32 u, u32 w) const
    {
        return w == root || parent[u] == w || parent[u] == NO_PREDECESSOR || parent[w] == u;
    }
};

// By vertex: its level and parent in the tree; the component by union-find, and by root of a component its
// head.
struct Tree {
    const u32* level;
    const u32* parent;
    u32* joined;
    u32* head;
    u32* votes;  // three words
};

// Unites the vertices on the cycle of an arc that is not in the tree, but for the topmost.
__device__ __forceinline__ void join_cycle(const Tree& tree, u32 u, u32 w)
{
    unite_if_apart(tree.joined, u, w);
    if (tree.level[u] != tree.level[w]) {
        u32 deeper = tree.level[u] > tree.level[w] ? u : w;
        w = tree.level[u] > tree.level[w] ? w : u;
        u = tree.parent[deeper];
        unite_if_apart(tree.joined, deeper, u);
    }
    while (u != w) {
        u32 over_u = tree.parent[u];
        u32 over_w = tree.parent[w];
        if (over_u == over_w) return;
        unite_if_apart(tree.joined, u, over_u);
        unite_if_apart(tree.joined, w, over_w);
        u = over_u;
        w = over_w;
    }
}

// `anchor` is a vertex of many arcs. `times` is null or has a word more than stages.
extern "C" __global__ void __launch_bounds__(512, 3)
    biconnected_levels(const __grid_constant__ Graph graph, const __grid_constant__ Links links,
                       const __grid_constant__ Tree tree, u32 root, u32 anchor, u32* idom, u64* times)
{
    cg::grid_group grid = cg::this_grid();
    if (times && thread_id() == 0) times[0] = nanoseconds();
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) tree.joined[v] = v;
    if (thread_id() < 3) tree.votes[thread_id()] = 0;
    u32 round = 0;
    span(grid, graph, links, InTree{tree.parent, root}, anchor, root);
    stamp(times, CONNECT);
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        if (links.link[v] != v) join_cycle(tree, links.from[v], links.to[v]);
    }
    grid.sync();
    stamp(times, JOIN);
    shorten(grid, tree.joined, graph.n, tree.votes, &round);
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        u32 parent = tree.parent[v];
        if (parent == NO_PREDECESSOR) continue;
        u32 component = tree.joined[v];
        if (v == root || component != tree.joined[parent]) store_relaxed(&tree.head[component], parent);
    }
    grid.sync();
    stamp(times, HEADS);
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        idom[v] = tree.parent[v] == NO_PREDECESSOR ? UNREACHED : load_relaxed(&tree.head[tree.joined[v]]);
    }
    if (times) grid.sync();
    stamp(times, ANSWER);
}
