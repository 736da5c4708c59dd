// libreldom: the kernels for batches of flow graphs behind a C interface. reldom.h says what it does.
//
// As in `batch-warp` with `host_to_host`, a batch is copied into page-locked memory as 32-bit numbers,
// goes to the device in one upload, is prepared and solved there, and comes back in one download. A small one
// stays in page-locked memory, where a kernel reads it and writes the answer.
//
// The kernels need an order of the vertices and trust the targets. So a kernel looks through an uploaded
// batch first, and the host renumbers the graphs that it lists; small batches are looked through by the host
// alone.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common.hpp"
#include "find_unordered.cuh"
#include "problems/dominators/_from_host.cu"
#include "problems/dominators/batch_warp.cu"
#include "reldom.h"
#include "renumber.hpp"

namespace {

using namespace reldom_host;

// Of the kernels; nvcc knows their constants on the host in constant expressions only.
constexpr u32 BLOCK = THREADS;
constexpr u32 ONE_WARP = WARP;
constexpr u32 WARPS = THREADS / WARP;
constexpr u32 SETS_BYTES = 8 * LARGEST_OF_WARP * WARPS;  // the predecessors of one small graph per warp
constexpr u32 LARGEST_TREE = TREE_WORDS;
constexpr int64_t MOST_NUMBERS = 0xffffffff;

// The caller's arrays and facts about them.
struct Batch {
    u32 n_graphs;
    const int64_t* first_vertex;
    const int64_t* offsets;
    const uint32_t* targets;
    u32 n_vertices = 0;
    u32 n_arcs = 0;
    u32 largest = 0;  // vertices of the largest graph
    u32 n_large = 0;  // graphs with too many vertices for a warp

    // The count of first vertices and offsets.
    size_t numbers() const
    {
        return size_t{n_graphs} + n_vertices + 2;
    }

    u32 size(u32 graph) const
    {
        return static_cast<u32>(first_vertex[graph + 1] - first_vertex[graph]);
    }
};

// Copies numbers; returns whether they begin with 0 and never fall.
template <class T>
bool stage(const int64_t* numbers, size_t count, T* to)
{
    uint64_t falls = 0;
    to[0] = static_cast<T>(numbers[0]);
    for (size_t i = 1; i < count; ++i) {
        falls |= sign_of_fall(numbers[i - 1], numbers[i]);
        to[i] = static_cast<T>(numbers[i]);
    }
    return numbers[0] == 0 && falls >> 63 == 0;
}

// A batch where kernels read it or from where it is uploaded.
template <class Number>
struct Arrays {
    Number* first_vertex;
    Number* offsets;
    u32* targets;

    Arrays(const Batch& batch, Number* numbers, u32* targets_)
        : first_vertex(numbers), offsets(numbers + batch.n_graphs + 1), targets(targets_)
    {
    }

    void fill(const Batch& batch)
    {
        stage(batch.first_vertex, batch.n_graphs + size_t{1}, first_vertex);
        require(stage(batch.offsets, batch.n_vertices + size_t{1}, offsets), RELDOM_BAD_OFFSETS);
        std::copy_n(batch.targets, batch.n_arcs, targets);
    }
};

// A graph that has other numbers on the device, and the new number of each of its vertices.
struct Renumbered {
    size_t first;
    std::vector<uint32_t> rank;
};

}  // namespace

struct reldom {
public:
    reldom(int64_t vertices, int64_t arcs, int64_t graphs);

    void solve(int64_t n_graphs, const int64_t* first_vertex, const int64_t* offsets, const uint32_t* targets,
               uint32_t* idom);

    const char* name() const
    {
        return properties_.name;
    }

    void make_current() const
    {
        check(cudaSetDevice(device_));
    }

private:
    Batch checked(int64_t n_graphs, const int64_t* first_vertex, const int64_t* offsets,
                  const uint32_t* targets, const uint32_t* idom) const;
    bool is_small(const Batch& batch) const;
    void solve_small(const Batch& batch);
    void solve_large(const Batch& batch);
    void upload(const Batch& batch);
    u32 list_unordered(const Batch& batch);
    void launch_large(const Batch& batch);
    template <class Number>
    void order(const Batch& batch, u32 graph, const Arrays<Number>& staged);

    static int current_device()
    {
        int device = 0;
        check(cudaGetDevice(&device));
        return device;
    }

    const int64_t max_vertices_, max_arcs_, max_graphs_;
    const int device_ = current_device();
    cudaDeviceProp properties_;
    Stream stream_;
    std::vector<Renumbered> renumbered_;

    // In page-locked memory: first vertices, offsets and targets; small batches have 64-bit first
    // vertices and offsets.
    Memory<u32> staged_;
    Memory<i64> small_;
    Memory<u32> listed_;  // graphs that the host must look at, after their number
    Memory<u32> answer_;
    // On the device: what is uploaded, 64-bit first vertices and offsets, and graphs by falling size.
    Memory<u32> uploaded_;
    Memory<i64> wide_;
    Memory<u32> largest_first_;
    Memory<u32> queue_;
    Memory<u32> found_;
    Memory<u32> idom_;
};

reldom::reldom(int64_t vertices, int64_t arcs, int64_t graphs)
    : max_vertices_(vertices),
      max_arcs_(arcs),
      max_graphs_(graphs),
      staged_(page_locked<u32>(vertices + graphs + 2 + arcs)),
      small_(page_locked<i64>(MOST_SHARED / sizeof(i64) + 1)),
      listed_(page_locked<u32>(1 + graphs)),
      answer_(page_locked<u32>(vertices)),
      uploaded_(on_device<u32>(vertices + graphs + 2 + arcs)),
      wide_(on_device<i64>(vertices + graphs + 2)),
      largest_first_(on_device<u32>(graphs)),
      queue_(on_device<u32>(1)),
      found_(on_device<u32>(1 + graphs)),
      idom_(on_device<u32>(vertices))
{
    check(cudaGetDeviceProperties(&properties_, device_));
}

Batch reldom::checked(int64_t n_graphs, const int64_t* first_vertex, const int64_t* offsets,
                      const uint32_t* targets, const uint32_t* idom) const
{
    require(n_graphs >= 0 && (n_graphs == 0 || first_vertex != nullptr), RELDOM_INVALID_ARGUMENT);
    require(n_graphs <= max_graphs_, RELDOM_TOO_LARGE);
    Batch batch = {static_cast<u32>(n_graphs), first_vertex, offsets, targets};
    if (n_graphs == 0) return batch;
    require(ascend_from_0(first_vertex, n_graphs + 1), RELDOM_BAD_FIRST_VERTEX);
    const int64_t n_vertices = first_vertex[n_graphs];
    require(n_vertices <= max_vertices_, RELDOM_TOO_LARGE);
    if (n_vertices == 0) return batch;
    require(offsets != nullptr && idom != nullptr, RELDOM_INVALID_ARGUMENT);
    const int64_t n_arcs = offsets[n_vertices];
    require(n_arcs >= 0, RELDOM_BAD_OFFSETS);
    require(n_arcs <= max_arcs_, RELDOM_TOO_LARGE);
    require(n_arcs == 0 || targets != nullptr, RELDOM_INVALID_ARGUMENT);
    batch.n_vertices = static_cast<u32>(n_vertices);
    batch.n_arcs = static_cast<u32>(n_arcs);
    for (u32 graph = 0; graph < batch.n_graphs; ++graph) {
        batch.largest = std::max(batch.largest, batch.size(graph));
        batch.n_large += batch.size(graph) > LARGEST_OF_WARP;
    }
    return batch;
}

void reldom::solve(int64_t n_graphs, const int64_t* first_vertex, const int64_t* offsets,
                   const uint32_t* targets, uint32_t* idom)
{
    const Batch batch = checked(n_graphs, first_vertex, offsets, targets, idom);
    if (batch.n_vertices == 0) return;
    renumbered_.clear();
    if (is_small(batch)) {
        solve_small(batch);
    } else {
        solve_large(batch);
    }
    std::memcpy(idom, answer_.get(), batch.n_vertices * sizeof(u32));
    for (const Renumbered& graph : renumbered_) reldom_host::restore_numbers(graph.rank, idom + graph.first);
}

bool reldom::is_small(const Batch& batch) const
{
    return batch.n_large == 0 && sizeof(i64) * batch.numbers() + sizeof(u32) * batch.n_arcs <= MOST_SHARED;
}

void reldom::solve_small(const Batch& batch)
{
    Arrays<i64> arrays(batch, small_.get(), reinterpret_cast<u32*>(small_.get() + batch.numbers()));
    arrays.fill(batch);
    for (u32 graph = 0; graph < batch.n_graphs; ++graph) order(batch, graph, arrays);
    const u32 threads = batch.n_graphs > 1 ? BLOCK : ONE_WARP;
    stream_.launch(few_graphs, (batch.n_graphs + WARPS - 1) / WARPS, threads, SETS_BYTES, batch.n_graphs,
                   arrays.first_vertex, arrays.offsets, arrays.targets, answer_.get());
    stream_.wait();
}

void reldom::solve_large(const Batch& batch)
{
    Arrays<u32> staged(batch, staged_.get(), staged_.get() + batch.numbers());
    staged.fill(batch);
    upload(batch);
    if (const u32 count = list_unordered(batch)) {
        for (u32 k = 0; k < count; ++k) order(batch, listed_[1 + k], staged);
        upload(batch);
    }
    launch_large(batch);
    stream_.copy(answer_.get(), idom_.get(), batch.n_vertices);
    stream_.wait();
}

// Uploads what is staged, and prepares it.
void reldom::upload(const Batch& batch)
{
    stream_.copy(uploaded_.get(), staged_.get(), batch.numbers() + batch.n_arcs);
    stream_.launch(prepare_batch, 1 + WIDENERS, SIZES, 0, batch.n_graphs, batch.n_vertices, uploaded_.get(),
                   wide_.get(), largest_first_.get(), queue_.get());
}

// Lists in `listed_` the graphs of the uploaded batch that the host must look at; returns their number.
u32 reldom::list_unordered(const Batch& batch)
{
    const Arrays<i64> arrays(batch, wide_.get(), uploaded_.get() + batch.numbers());
    stream_.fill(found_.get(), 0, 1);
    stream_.launch(find_unordered, batch.n_graphs / WARPS + 1, BLOCK, 0, batch.n_graphs, arrays.first_vertex,
                   arrays.offsets, arrays.targets, idom_.get(), found_.get());
    stream_.copy(listed_.get(), found_.get(), 1);
    stream_.wait();
    if (listed_[0] != 0) {
        stream_.copy(listed_.get() + 1, found_.get() + 1, listed_[0]);
        stream_.wait();
    }
    return listed_[0];
}

void reldom::launch_large(const Batch& batch)
{
    const Arrays<i64> arrays(batch, wide_.get(), uploaded_.get() + batch.numbers());
    const u32 tree_bytes = sizeof(u32) * std::min(batch.largest, LARGEST_TREE);
    const u32 shared_bytes = std::max(tree_bytes, SETS_BYTES);
    int per_multiprocessor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, batch_dominators, BLOCK,
                                                        shared_bytes));
    const u32 most = std::max(1, per_multiprocessor * properties_.multiProcessorCount);
    stream_.launch(batch_dominators, std::min(most, batch.n_graphs), BLOCK, shared_bytes, batch.n_graphs,
                   batch.n_large, largest_first_.get(), arrays.first_vertex, arrays.offsets, arrays.targets,
                   shared_bytes / static_cast<u32>(sizeof(u32)), idom_.get(), queue_.get());
}

// Renumbers a staged graph if the kernels need it.
template <class Number>
void reldom::order(const Batch& batch, u32 graph, const Arrays<Number>& staged)
{
    if (batch.size(graph) == 0) return;
    const size_t first = batch.first_vertex[graph];
    const Graph<Number> rows = {batch.size(graph), staged.offsets + first, staged.targets};
    const Order found = reldom_host::order_of(rows);
    require(found != Order::IMPOSSIBLE, RELDOM_BAD_TARGET);
    if (found == Order::NEEDED) renumbered_.push_back({first, reldom_host::renumber(rows)});
}

int reldom_open(reldom_t** solver, int64_t max_vertices, int64_t max_arcs, int64_t max_graphs)
{
    if (solver == nullptr) return RELDOM_INVALID_ARGUMENT;
    *solver = nullptr;
    return code_of([&] {
        require(std::min({max_vertices, max_arcs, max_graphs}) >= 0, RELDOM_INVALID_ARGUMENT);
        require(std::max({max_vertices, max_arcs, max_graphs}) <= MOST_NUMBERS, RELDOM_TOO_MANY);
        require(max_vertices + max_graphs + 2 <= MOST_NUMBERS, RELDOM_TOO_MANY);
        *solver = new reldom(max_vertices, max_arcs, max_graphs);
    });
}

int reldom_solve(reldom_t* solver, int64_t n_graphs, const int64_t* first_vertex, const int64_t* offsets,
                 const uint32_t* targets, uint32_t* idom)
{
    return code_of([&] {
        require(solver != nullptr, RELDOM_INVALID_ARGUMENT);
        solver->make_current();
        solver->solve(n_graphs, first_vertex, offsets, targets, idom);
    });
}

void reldom_close(reldom_t* solver)
{
    if (solver == nullptr) return;
    code_of([&] { solver->make_current(); });
    delete solver;
}

const char* reldom_device(const reldom_t* solver)
{
    return solver == nullptr ? "none" : solver->name();
}

const char* reldom_error(int code)
{
    switch (code) {
        case RELDOM_OK:
            return "no error";
        case RELDOM_INVALID_ARGUMENT:
            return "a pointer is null or a count is negative";
        case RELDOM_TOO_LARGE:
            return "the batch has more vertices, arcs or graphs than the solver was opened for";
        case RELDOM_TOO_MANY:
            return "capacities must stay below 2^32, vertices and graphs together; one graph has up to 2^31 "
                   "vertices and 2^48 arcs";
        case RELDOM_BAD_FIRST_VERTEX:
            return "first_vertex must begin with 0 and never fall";
        case RELDOM_BAD_OFFSETS:
            return "offsets must begin with 0 and never fall";
        case RELDOM_BAD_TARGET:
            return "a target or dominator is not a vertex of its graph";
        case RELDOM_OUT_OF_MEMORY:
            return "the host is out of memory";
        case RELDOM_BAD_ROOT:
            return "the root is not a vertex";
        case RELDOM_OVERFLOW:
            return "the sum of the sizes does not fit 64 bits";
    }
    return code > RELDOM_CUDA ? cudaGetErrorString(static_cast<cudaError_t>(code - RELDOM_CUDA))
                              : "unknown code";
}
