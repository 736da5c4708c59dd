// One large graph and retained sizes for libreldom, by the kernels of `iterative-tree`. reldom.h says what it
// does.
//
// Where every vertex but the root 0 has a smaller predecessor, the smallest ones are the first tree and the
// rounds work on the input's numbers; else a breadth-first search gives tree and numbers.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common.hpp"
#include "problems/dominators/_breadth_first.cu"
#include "problems/dominators/_retained.cu"
#include "problems/dominators/iterative_tree.cu"
#include "read_graph.cuh"
#include "reldom.h"

namespace {

using namespace reldom_host;

constexpr u32 BLOCK = 512;
constexpr u32 ALL_ROUNDS = 0xffffffff;
constexpr int64_t MOST_VERTICES = int64_t{1} << 31;
constexpr int64_t MOST_ARCS = int64_t{1} << 48;

// Words of the kernels besides their arrays.
struct Counters {
    GraphFacts facts;
    u32 search[6];
    u32 reached;
    u32 longest_chain;
    u32 retain_words[4];
    u64 tallies[6];
    u64 outcome[3];
};

// Arrays in one piece of device memory; from address 0 on, only its size counts.
struct Arrays {
    Arrays(uintptr_t begin, int64_t n, int64_t n_arcs, bool has_sizes) : end(begin)
    {
        counters = take<Counters>(1);
        offsets = take<i64>(n + 1);
        for (u32** of_arcs : {&targets, &tails, &from, &to}) *of_arcs = take<u32>(n_arcs);
        for (u32** of_vertices : {&number, &order, &parent, &jump}) *of_vertices = take<u32>(n);
        sums = take<u64>(has_sizes ? n : 0);
        others = take<u64>(has_sizes ? n : 0);
    }

    template <class T>
    T* take(int64_t count)
    {
        const uintptr_t begin = end;
        end += (count * sizeof(T) + 255) / 256 * 256;
        return reinterpret_cast<T*>(begin);
    }

    uintptr_t end;
    Counters* counters;
    i64* offsets;
    u32 *targets, *tails;  // of arcs
    u32 *from, *to;        // their ends by number
    u32 *number, *order;   // of vertices, and vertices by number
    u32 *parent, *jump;    // by number
    u64 *sums, *others;    // by vertex, if sizes are given
};

// Device arrays of the kernel `retain`, by vertex; `words` are three and the number of rounds.
struct ToRetain {
    u32* idom;
    u64 *sums, *others;
    u32 *near, *far, *words;
};

// Launches on the current GPU, of as many blocks as can wait for each other or fewer.
class Launches {
public:
    Launches()
    {
        int device = 0;
        check(cudaGetDevice(&device));
        check(cudaGetDeviceProperties(&properties_, device));
    }

    template <class... Parameters, class... Values>
    void launch(void (*kernel)(Parameters...), uint64_t items, Values... values)
    {
        int per_multiprocessor = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, BLOCK, 0));
        const uint64_t most = std::max(1, per_multiprocessor * properties_.multiProcessorCount);
        const uint64_t wanted = std::max<uint64_t>(1, (items + BLOCK - 1) / BLOCK);
        stream_.launch_together(kernel, static_cast<u32>(std::min(most, wanted)), BLOCK, values...);
    }

    // Turns the sizes in `retained` into retained sizes, but not that of `root`.
    void sum_up(u32 n, u32 root, const ToRetain& on, const uint32_t* idom, uint64_t* retained);

protected:
    Stream stream_;

private:
    cudaDeviceProp properties_;
};

class OneGraph : Launches {
public:
    OneGraph(int64_t n, int64_t n_arcs, bool has_sizes)
        : n_(static_cast<u32>(n)),
          n_arcs_(n_arcs),
          memory_(on_device<char>(Arrays(0, n, n_arcs, has_sizes).end)),
          on_(reinterpret_cast<uintptr_t>(memory_.get()), n, n_arcs, has_sizes)
    {
    }

    // Returns whether the smallest predecessors, which are then the parents, are a tree from vertex 0.
    bool read(const int64_t* offsets, const uint32_t* targets);
    void solve(u32 root, bool is_in_order, uint32_t* idom);
    void retain_sizes(u32 root, const uint64_t* sizes, const uint32_t* idom, uint64_t* retained);

private:
    void search(u32 root);
    void run_rounds_over(const u32* from, const u32* to);

    const u32 n_;
    const u64 n_arcs_;
    Memory<char> memory_;
    const Arrays on_;
};

bool OneGraph::read(const int64_t* offsets, const uint32_t* targets)
{
    stream_.copy<int64_t>(reinterpret_cast<int64_t*>(on_.offsets), offsets, n_ + size_t{1});
    stream_.copy<uint32_t>(on_.targets, targets, n_arcs_);
    stream_.fill(on_.counters, 0, 1);
    stream_.fill(on_.parent, 0xff, n_);
    GraphFacts* facts = &on_.counters->facts;
    launch(read_arcs, n_arcs_, n_, n_arcs_, on_.offsets, on_.targets, on_.tails, on_.parent, facts);
    launch(read_order, n_, n_, on_.parent, facts);
    GraphFacts found;
    stream_.copy<GraphFacts>(&found, facts, 1);
    stream_.wait();
    require(!found.has_bad_target, RELDOM_BAD_TARGET);
    return !found.is_unordered;
}

void OneGraph::solve(u32 root, bool is_in_order, uint32_t* idom)
{
    Counters* counters = on_.counters;
    u32* answer = on_.parent;
    if (is_in_order && root == 0) {
        const u32 extent[] = {n_, n_};  // and the longest chain at most
        stream_.copy<u32>(&counters->reached, extent, 2);
        run_rounds_over(on_.tails, on_.targets);
    } else {
        search(root);
        launch(arcs_by_number, n_arcs_, n_arcs_, on_.tails, on_.targets, on_.number, on_.from, on_.to);
        run_rounds_over(on_.from, on_.to);
        answer = on_.number;
        stream_.fill(answer, 0xff, n_);
        launch(dominators_by_vertex, n_, &counters->reached, on_.order, on_.parent, answer);
    }
    stream_.copy<uint32_t>(idom, answer, n_);
    stream_.wait();
}

void OneGraph::search(u32 root)
{
    Counters* counters = on_.counters;
    stream_.fill(on_.number, 0xff, n_);
    launch(breadth_first, n_, root, 0, on_.offsets, on_.targets, on_.number, on_.order, on_.parent, on_.jump,
           counters->search, &counters->reached, &counters->longest_chain);
}

void OneGraph::run_rounds_over(const u32* from, const u32* to)
{
    Counters* counters = on_.counters;
    launch(run_rounds, std::max<u64>(n_, n_arcs_), n_arcs_, from, to, &counters->reached,
           &counters->longest_chain, on_.parent, on_.jump, ALL_ROUNDS, counters->tallies, counters->outcome);
}

void Launches::sum_up(u32 n, u32 root, const ToRetain& on, const uint32_t* idom, uint64_t* retained)
{
    stream_.copy<uint32_t>(on.idom, idom, n);
    stream_.copy<uint64_t>(reinterpret_cast<uint64_t*>(on.sums), retained, n);
    stream_.fill(on.words, 0, 4);
    launch(retain, n, n, root, on.idom, on.sums, on.others, on.near, on.far, on.words, on.words + 3);
    u32 rounds = 0;
    stream_.copy<u32>(&rounds, on.words + 3, 1);
    stream_.wait();
    const u64* found = rounds % 2 ? on.others : on.sums;
    stream_.copy<uint64_t>(retained, reinterpret_cast<const uint64_t*>(found), n);
    stream_.wait();
}

// Copies the sizes of reached vertices, 0 for the others; returns their sum.
uint64_t copy_reached(u32 n, const uint32_t* idom, const uint64_t* sizes, uint64_t* reached)
{
    uint64_t total = 0;
    for (u32 v = 0; v < n; ++v) {
        reached[v] = idom[v] == RELDOM_UNREACHED ? 0 : sizes[v];
        require(reached[v] <= UINT64_MAX - total, RELDOM_OVERFLOW);
        total += reached[v];
    }
    return total;
}

void OneGraph::retain_sizes(u32 root, const uint64_t* sizes, const uint32_t* idom, uint64_t* retained)
{
    const uint64_t total = copy_reached(n_, idom, sizes, retained);
    sum_up(n_, root, {on_.number, on_.sums, on_.others, on_.order, on_.jump, on_.counters->retain_words},
           idom, retained);
    retained[root] = total;
}

// Returns the dominators of a batch by their numbers in it; UNREACHED for roots, too.
std::vector<uint32_t> joined(int64_t n_graphs, const int64_t* first_vertex, const uint32_t* idom)
{
    std::vector<uint32_t> above(first_vertex[n_graphs], RELDOM_UNREACHED);
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t first = first_vertex[graph];
        const int64_t end = first_vertex[graph + 1];
        for (int64_t v = first; v < end; ++v) {
            if (idom[v] == RELDOM_UNREACHED) continue;
            require(idom[v] < end - first, RELDOM_BAD_TARGET);
            if (v != first) above[v] = static_cast<uint32_t>(first + idom[v]);
        }
    }
    return above;
}

// Trees of a batch are one forest for the kernel; roots are summed as other vertices are.
void retain_batch(int64_t n_graphs, const int64_t* first_vertex, const uint32_t* idom, const uint64_t* sizes,
                  uint64_t* retained)
{
    const std::vector<uint32_t> above = joined(n_graphs, first_vertex, idom);
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t first = first_vertex[graph];
        copy_reached(static_cast<u32>(first_vertex[graph + 1] - first), idom + first, sizes + first,
                     retained + first);
    }
    const size_t n = above.size();
    const Memory<u64> sums = on_device<u64>(2 * n);
    const Memory<u32> words = on_device<u32>(3 * n + 4);
    u32* const near = words.get() + n;
    Launches().sum_up(static_cast<u32>(n), RELDOM_UNREACHED,
                      {words.get(), sums.get(), sums.get() + n, near, near + n, near + 2 * n}, above.data(),
                      retained);
}

void require_countable(int64_t n, int64_t n_arcs)
{
    require(n >= 0 && n_arcs >= 0, RELDOM_INVALID_ARGUMENT);
    require(n <= MOST_VERTICES && n_arcs <= MOST_ARCS, RELDOM_TOO_MANY);
}

}  // namespace

int reldom_graph_bytes(int64_t n_vertices, int64_t n_arcs, int has_sizes, int64_t* bytes)
{
    return code_of([&] {
        require(bytes != nullptr, RELDOM_INVALID_ARGUMENT);
        require_countable(n_vertices, n_arcs);
        *bytes = static_cast<int64_t>(Arrays(0, n_vertices, n_arcs, has_sizes != 0).end);
    });
}

int reldom_solve_graph(int64_t n_vertices, const int64_t* offsets, const uint32_t* targets, uint32_t root,
                       const uint64_t* sizes, uint32_t* idom, uint64_t* retained)
{
    return code_of([&] {
        require(offsets != nullptr && idom != nullptr, RELDOM_INVALID_ARGUMENT);
        require((sizes == nullptr) == (retained == nullptr), RELDOM_INVALID_ARGUMENT);
        require_countable(n_vertices, 0);
        require(root < n_vertices, RELDOM_BAD_ROOT);
        require(ascend_from_0(offsets, n_vertices + 1), RELDOM_BAD_OFFSETS);
        const int64_t n_arcs = offsets[n_vertices];
        require_countable(n_vertices, n_arcs);
        require(n_arcs == 0 || targets != nullptr, RELDOM_INVALID_ARGUMENT);
        OneGraph graph(n_vertices, n_arcs, sizes != nullptr);
        graph.solve(root, graph.read(offsets, targets), idom);
        if (sizes != nullptr) graph.retain_sizes(root, sizes, idom, retained);
    });
}

int reldom_retain(int64_t n_graphs, const int64_t* first_vertex, const uint32_t* idom, const uint64_t* sizes,
                  uint64_t* retained)
{
    return code_of([&] {
        require(first_vertex != nullptr, RELDOM_INVALID_ARGUMENT);
        require_countable(n_graphs, 0);
        require(ascend_from_0(first_vertex, n_graphs + 1), RELDOM_BAD_FIRST_VERTEX);
        const int64_t n = first_vertex[n_graphs];
        require_countable(n, 0);
        if (n == 0) return;
        require(idom != nullptr && sizes != nullptr && retained != nullptr, RELDOM_INVALID_ARGUMENT);
        retain_batch(n_graphs, first_vertex, idom, sizes, retained);
    });
}
