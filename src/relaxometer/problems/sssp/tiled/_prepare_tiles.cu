// Cuts a graph into tiles on the device: equal ranges of the vertices in some order; see _device_tiles.py.
//
// Nothing is sorted or added up over the whole graph. A vertex's new number is known once its tile has
// counted its border, the mail slot of a vertex is its new number, and arcs after the fourth stay where the
// graph has them. So the cut is four passes, each as long as a chain of three dependent reads, with a barrier
// between two. A launch takes the host longer than a pass takes the device, so the same launch surveys the
// graph and decides whether the ranges of its own numbering are worth cutting.

#include <cooperative_groups.h>

#include "_csr.cuh"
#include "_tile.cuh"
#include "device/block_scan.cuh"

namespace cg = cooperative_groups;

// Tiles of consecutive positions in an order: `longer` of `size` + 1, then the others of `size`.
struct Ranges {
    u32 n_tiles;
    u32 size;
    u32 longer;

    __device__ u32 begin(u32 tile) const
    {
        return tile * size + min(tile, longer);
    }

    __device__ u32 length(u32 tile) const
    {
        return size + (tile < longer ? 1 : 0);
    }

    __device__ u32 tile_of(u32 position) const
    {
        u32 in_longer = longer * (size + 1);
        return position < in_longer ? position / (size + 1) : longer + (position - in_longer) / size;
    }
};

// A weight as a number, and the sum of many.
#ifdef FLOAT_LENGTHS
typedef double Sum;

__device__ __forceinline__ double number(weight_t weight)
{
    return as_double(as_number(weight));
}
#else
typedef u64 Sum;

__device__ __forceinline__ u32 number(u32 weight)
{
    return weight;
}
#endif

// Results of a pass over the graph; sums are exact except those of doubles.
struct Facts {
    u64 crossing;   // arcs between two ranges of the vertices as they are numbered
    u64 zero_arcs;  // arcs of weight zero
    Sum weights;    // their sum
    u64 max_degree;
    u64 with_arcs;   // vertices
    double squares;  // sum of the squares of the weights, each of which may vanish or be infinite
};

// The order to cut, and memory for the result.
struct Order {
    const u32* position;  // of each vertex in the order; null: its number
    const u32* vertices;  // in their order; null: as they are numbered
    u8* border;           // by position: whether an arc from another tile leads to the vertex
};

// The sum of all threads' values, for the first thread; for blocks of whole warps.
template <typename T>
__device__ T block_sum(T value)
{
    __shared__ T sums[WARP];
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_down_sync(ALL_LANES, value, distance);
    }
    if (threadIdx.x % WARP == 0) sums[threadIdx.x / WARP] = value;
    __syncthreads();
    T total = 0;
    for (u32 warp = 0; threadIdx.x == 0 && warp < blockDim.x / WARP; ++warp) total += sums[warp];
    __syncthreads();  // sums may be written again
    return total;
}

// For whole blocks. `found` holds zeros before. Weights may be null.
__device__ void survey(const Csr& graph, const Ranges& ranges, Facts* found)
{
    u64 crossing = 0, zero_arcs = 0;
    Sum weights = 0;
    double squares = 0;
    u32 max_degree = 0, with_arcs = 0;
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        u32 tile = ranges.tile_of(v);
        u32 begin = ranges.begin(tile);
        u32 size = ranges.length(tile);
        i64 first = read_only(&graph.offsets[v]);
        i64 end = read_only(&graph.offsets[v + 1]);
        with_arcs += first != end;
        max_degree = max(max_degree, static_cast<u32>(min(end - first, static_cast<i64>(UNREACHED))));
        for (i64 i = first; i < end; ++i) {
            crossing += read_only(&graph.targets[i]) - begin >= size;
            weight_t weight = graph.weights == nullptr ? 1 : read_only(&graph.weights[i]);
            zero_arcs += weight == 0;
            weights += number(weight);
            squares += static_cast<double>(number(weight)) * number(weight);
        }
    }
    crossing = block_sum(crossing);
    zero_arcs = block_sum(zero_arcs);
    weights = block_sum(weights);
    with_arcs = block_sum(with_arcs);
    squares = block_sum(squares);
    max_degree = __reduce_max_sync(ALL_LANES, max_degree);
    if (threadIdx.x % WARP == 0 && max_degree > load_relaxed(&found->max_degree)) {
        atomicMax(&found->max_degree, static_cast<u64>(max_degree));
    }
    if (threadIdx.x != 0) return;
    if (crossing != 0) atomicAdd(&found->crossing, crossing);
    if (zero_arcs != 0) atomicAdd(&found->zero_arcs, zero_arcs);
    atomicAdd(&found->weights, weights);
    atomicAdd(&found->with_arcs, static_cast<u64>(with_arcs));
    atomicAdd(&found->squares, squares);
}

// Lists tail and head of each arc of weight zero, in any order. `count` is zero before, their number after.
extern "C" __global__ void __launch_bounds__(1024)
    list_zero_arcs(const __grid_constant__ Csr graph, uint2* zero_arcs, u32* count)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        i64 end = read_only(&graph.offsets[v + 1]);
        for (i64 i = read_only(&graph.offsets[v]); i < end; ++i) {
            if (read_only(&graph.weights[i]) != 0) continue;
            zero_arcs[atomicAdd(count, 1u)] = make_uint2(v, read_only(&graph.targets[i]));
        }
    }
}

__device__ u32 position_of(const Order& order, u32 vertex)
{
    return order.position == nullptr ? vertex : read_only(&order.position[vertex]);
}

__device__ void mark_borders(const Csr& graph, const Ranges& ranges, const Order& order)
{
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) {
        u32 tile = ranges.tile_of(position_of(order, v));
        u32 begin = ranges.begin(tile);
        u32 size = ranges.length(tile);
        i64 end = read_only(&graph.offsets[v + 1]);
        for (i64 i = read_only(&graph.offsets[v]); i < end; ++i) {
            u32 head = position_of(order, read_only(&graph.targets[i]));
            if (head - begin >= size) store_relaxed(&order.border[head], static_cast<u8>(1));
        }
    }
}

// Numbers the vertices of a tile, those of its border first, else in their order; for whole blocks.
__device__ void number_tile(const Ranges& ranges, const Order& order, const Tiling& tiling, u32 tile)
{
    u32 begin = ranges.begin(tile);
    u32 size = ranges.length(tile);
    u32 share = (size + blockDim.x - 1) / blockDim.x;
    u32 from = begin + min(threadIdx.x * share, size);
    u32 to = min(from + share, begin + size);
    u32 own = 0;
    for (u32 position = from; position < to; ++position) own += order.border[position];
    u64 border;
    u32 before = static_cast<u32>(block_exclusive_sum(own, &border));
    u32 inside = begin + static_cast<u32>(border) + (from - begin - before);
    before += begin;
    for (u32 position = from; position < to; ++position) {
        u32 vertex = order.vertices == nullptr ? position : read_only(&order.vertices[position]);
        u32 number = order.border[position] != 0 ? before++ : inside++;
        tiling.order[number] = vertex;
        tiling.place[vertex] = number;
    }
    if (threadIdx.x != 0) return;
    tiling.begins[tile + 1] = begin + size;
    tiling.borders[tile] = static_cast<u32>(border);
}

// An arc as the search reads it, with its head's number in the tile, or its mail slot in another.
__device__ Arc packed_arc(const Csr& graph, const Tiling& tiling, i64 arc, u32 begin, u32 size)
{
    u32 head = tiling.place[read_only(&graph.targets[arc])];
    weight_t weight = graph.weights == nullptr ? 0 : read_only(&graph.weights[arc]);
    return Arc{head - begin < size ? head - begin : head | REMOTE, weight};
}

// Writes the first four arcs of each vertex, one per thread, and the others where the graph has them.
__device__ void pack_arcs(const Csr& graph, const Ranges& ranges, const Tiling& tiling)
{
    for (u32 item = thread_id(); item < FIRST * graph.n; item += thread_count()) {
        u32 v = item / FIRST;
        u32 k = item % FIRST;
        u32 tile = ranges.tile_of(v);
        u32 begin = ranges.begin(tile);
        u32 size = ranges.length(tile);
        u32 vertex = tiling.order[v];
        i64 row = read_only(&graph.offsets[vertex]);
        i64 end = read_only(&graph.offsets[vertex + 1]);
        if (k == 0) tiling.rows[v] = make_uint2(static_cast<u32>(row), static_cast<u32>(end));
        Arc arc = Arc{NO_ARC, 0};
        if (row + k < end) arc = packed_arc(graph, tiling, row + k, begin, size);
        if (k == FIRST - 1 && end - row > FIRST) {
            tiling.arcs[row + k] = arc;
            for (i64 i = row + FIRST; i < end; ++i) {
                tiling.arcs[i] = packed_arc(graph, tiling, i, begin, size);
            }
            arc = Arc{MORE_ARCS, 0};
        }
        tiling.first[item] = arc;
    }
}

// Surveys the graph unless `found` is null, and then cuts unless more than `most_crossing` arcs cross between
// the ranges. A cooperative launch.
extern "C" __global__ void __launch_bounds__(1024)
    cut_tiles(const __grid_constant__ Csr graph, const __grid_constant__ Ranges ranges,
              const __grid_constant__ Order order, const __grid_constant__ Tiling tiling, Facts* found,
              i64 most_crossing)
{
    cg::grid_group grid = cg::this_grid();
    for (u32 i = thread_id(); i < graph.n; i += thread_count()) order.border[i] = 0;
    if (thread_id() == 0) {
        tiling.begins[0] = 0;
        if (found != nullptr) *found = Facts{};
    }
    grid.sync();
    if (found != nullptr) {
        survey(graph, ranges, found);
        grid.sync();
        if (static_cast<i64>(load_relaxed(&found->crossing)) > most_crossing) return;
    }
    mark_borders(graph, ranges, order);
    grid.sync();
    for (u32 tile = blockIdx.x; tile < ranges.n_tiles; tile += gridDim.x) {
        number_tile(ranges, order, tiling, tile);
    }
    grid.sync();
    pack_arcs(graph, ranges, tiling);
}
