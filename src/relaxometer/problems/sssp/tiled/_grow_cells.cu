// An order that keeps the vertices of a map close to their neighbours, without coordinates.
//
//   - grow_cells: 512 seeds grow into cells, breadth first, until cells have taken all vertices that they
//     reach. A block grows its own cells and waits for no other: a vertex belongs to the first cell that
//     takes it. So the growth takes as many rounds as the largest cell has levels, about 100 where a search
//     over the whole map has thousands, and a round needs no barrier of the grid.
//   - order_cells: one block orders the cells. Hop distances from four cells far apart, over the graph of the
//     cells in shared memory, give each two coordinates; the order is that of a Hilbert curve through these.
//     Distances from landmarks as coordinates: Goldberg and Harrelson, "Computing the Shortest Path: A*
//     Search Meets Graph Theory", SODA 2005, use them as bounds.
//   - place_vertices: a vertex's position is where its cell begins plus its rank there, in the order of
//     growth. Vertices that no cell reached come last.
//
// Which cell takes a vertex depends on the blocks' pace, so the order differs from run to run. A full
// frontier drops vertices, which then belong to their cell but do not grow: only the quality of the order
// suffers.

#include <cooperative_groups.h>

#include "_csr.cuh"
#include "device/block_scan.cuh"

namespace cg = cooperative_groups;

const u32 CELLS = 512;           // at most, a power of two
const u32 CELLS_PER_BLOCK = 64;  // at most
const u32 NEIGHBOURS = 16;       // of a cell, as many as it remembers; a power of two
const u32 FRONTIER = 4096;       // maximum vertices of a block per round
const u32 LANES = 4;             // threads per vertex of a frontier
const u32 NO_CELL = 0xffffffffu;
const u32 LANDMARKS = 4;
const u32 GRID_BITS = 8;  // of a coordinate of the Hilbert curve

struct Cells {
    u32 n;
    u32 frontier;  // vertices of a block per round that shared memory holds, at most FRONTIER
    u32* of_vertex;
    u32* rank;        // of a vertex in its cell; then its position
    u32* vertices;    // in their order
    u32* sizes;       // by cell; then the number of vertices without a cell
    u32* neighbours;  // NEIGHBOURS per cell, NO_CELL where there are fewer
    u32* begins;      // of each cell in the order; then of the vertices without a cell
};

// A block's own cells, by their number in the block, and their frontiers: cell, and the vertex's arcs.
struct Growth {
    const Csr& graph;
    const Cells& cells;
    uint4* frontiers;  // of even and odd rounds
    u32* counts;       // three: in a round one is read, one filled and one cleared
    u32* sizes;
    u32* neighbours;
    u32 round = 0;

    // The number of the own cell k.
    __device__ u32 number(u32 k) const
    {
        return blockIdx.x + k * gridDim.x;
    }

    __device__ bool is_own(u32 k) const
    {
        return number(k) < cells.n;
    }

    __device__ void plant(u32 k)
    {
        u32 v = static_cast<u64>(number(k)) * graph.n / cells.n;
        if (!take(v, k)) return;
        u32 place = atomicAdd(&counts[0], 1u);
        frontiers[place] =
            make_uint4(k, static_cast<u32>(graph.offsets[v]), static_cast<u32>(graph.offsets[v + 1]), 0);
    }

    // Takes a vertex for a cell unless another has it, which then is a neighbour.
    __device__ bool take(u32 v, u32 k)
    {
        u32 holder = atomicCAS(&cells.of_vertex[v], NO_CELL, number(k));
        if (holder == NO_CELL) {
            cells.rank[v] = atomicAdd(&sizes[k], 1u);
            return true;
        }
        if (holder != number(k)) note_neighbour(k, holder);
        return false;
    }

    // Forgets neighbours beyond those that fit.
    __device__ void note_neighbour(u32 k, u32 other)
    {
        for (u32 step = 0; step < NEIGHBOURS; ++step) {
            u32* entry = &neighbours[k * NEIGHBOURS + (other + step) % NEIGHBOURS];
            u32 found = load_relaxed(entry);
            if (found == NO_CELL) found = atomicCAS(entry, NO_CELL, other);
            if (found == NO_CELL || found == other) return;
        }
    }

    // Grows all own cells by one round; returns whether there was something to grow. For whole blocks.
    __device__ bool grow()
    {
        u32 count = min(counts[round % 3], cells.frontier);
        if (count == 0) return false;
        if (threadIdx.x == 0) counts[(round + 2) % 3] = 0;
        const uint4* now = frontiers + (round & 1) * cells.frontier;
        const u32 per_warp = WARP / LANES;
        for (u32 begin = threadIdx.x / WARP * per_warp; begin < count;
             begin += blockDim.x / WARP * per_warp) {
            u32 place = begin + threadIdx.x % WARP / LANES;
            uint4 entry = now[min(place, count - 1)];
            u32 end = place < count ? entry.z : 0;
            for (u32 i = entry.y + threadIdx.x % LANES; __any_sync(ALL_LANES, i < end); i += LANES) {
                follow(entry.x, i, i < end);
            }
        }
        __syncthreads();
        ++round;
        return true;
    }

    // Follows an arc if there is one; for whole warps. The head's row is read while the head is taken.
    __device__ void follow(u32 k, u32 arc, bool is_arc)
    {
        bool taken = false;
        u32 row = 0, end = 0;
        if (is_arc) {
            u32 head = read_only(&graph.targets[arc]);
            row = static_cast<u32>(read_only(&graph.offsets[head]));
            end = static_cast<u32>(read_only(&graph.offsets[head + 1]));
            taken = take(head, k);
        }
        u32 lane = threadIdx.x % WARP;
        u32 takers = __ballot_sync(ALL_LANES, taken);
        if (takers == 0) return;
        u32 place = 0;
        if (lane == 0) place = atomicAdd(&counts[(round + 1) % 3], __popc(takers));
        place = __shfl_sync(ALL_LANES, place, 0) + __popc(takers & ((1u << lane) - 1));
        if (!taken || place >= cells.frontier) return;
        frontiers[((round + 1) & 1) * cells.frontier + place] = make_uint4(k, row, end, 0);
    }
};

// A cooperative launch with at least cells.n / CELLS_PER_BLOCK blocks.
extern "C" __global__ void __launch_bounds__(1024, 1)
    grow_cells(const __grid_constant__ Csr graph, const __grid_constant__ Cells cells)
{
    extern __shared__ uint4 frontiers[];
    __shared__ u32 counts[3];
    __shared__ u32 sizes[CELLS_PER_BLOCK];
    __shared__ u32 neighbours[CELLS_PER_BLOCK * NEIGHBOURS];
    Growth growth{graph, cells, frontiers, counts, sizes, neighbours};
    for (u32 v = thread_id(); v < graph.n; v += thread_count()) cells.of_vertex[v] = NO_CELL;
    for (u32 i = threadIdx.x; i < CELLS_PER_BLOCK * NEIGHBOURS; i += blockDim.x) neighbours[i] = NO_CELL;
    for (u32 k = threadIdx.x; k < CELLS_PER_BLOCK; k += blockDim.x) sizes[k] = 0;
    if (threadIdx.x < 3) counts[threadIdx.x] = 0;
    if (thread_id() == 0) cells.sizes[cells.n] = 0;
    cg::this_grid().sync();
    for (u32 k = threadIdx.x; growth.is_own(k); k += blockDim.x) growth.plant(k);
    __syncthreads();
    while (growth.grow()) {
    }
    for (u32 k = threadIdx.x; growth.is_own(k); k += blockDim.x) cells.sizes[growth.number(k)] = sizes[k];
    for (u32 i = threadIdx.x; growth.is_own(i / NEIGHBOURS); i += blockDim.x) {
        u32 cell = growth.number(i / NEIGHBOURS);
        cells.neighbours[cell * NEIGHBOURS + i % NEIGHBOURS] = neighbours[i];
    }
}

// The cells in the shared memory of the only block; functions are for all its threads.
struct CellGraph {
    u32 n;
    u32* neighbours;  // the first of each cell, then the second of each, and so on
    u32* levels[LANDMARKS];
    u32* keys;
    u32* best;

    __device__ CellGraph(const Cells& cells, u32* memory, u32* best)
        : n(cells.n), neighbours(memory), best(best)
    {
        memory += n * NEIGHBOURS;
        for (u32 k = 0; k < LANDMARKS; ++k) levels[k] = memory + k * n;
        keys = memory + LANDMARKS * n;
        for (u32 i = threadIdx.x; i < n * NEIGHBOURS; i += blockDim.x) {
            neighbours[i % NEIGHBOURS * n + i / NEIGHBOURS] = cells.neighbours[i];
        }
    }

    // Sets the level of a cell's neighbours that have none; returns whether there are any. All reads are
    // under way at once, since a round is as long as they are.
    __device__ bool expand(u32 c, u32* level, u32 next_level)
    {
        u32 others[NEIGHBOURS];
        u32 levels_found[NEIGHBOURS];
#pragma unroll
        for (u32 k = 0; k < NEIGHBOURS; ++k) others[k] = neighbours[k * n + c];
#pragma unroll
        for (u32 k = 0; k < NEIGHBOURS; ++k) {
            levels_found[k] = load_relaxed(&level[others[k] == NO_CELL ? c : others[k]]);
        }
        bool found = false;
#pragma unroll
        for (u32 k = 0; k < NEIGHBOURS; ++k) {
            if (levels_found[k] != UNREACHED) continue;
            store_relaxed(&level[others[k]], next_level);
            found = true;
        }
        return found;
    }

    // Finds the hop distances from a cell.
    __device__ void search(u32 from, u32* level)
    {
        for (u32 c = threadIdx.x; c < n; c += blockDim.x) level[c] = c == from ? 0 : UNREACHED;
        __syncthreads();
        for (u32 round = 0;; ++round) {
            bool found = false;
            for (u32 c = threadIdx.x; c < n; c += blockDim.x) {
                if (load_relaxed(&level[c]) == round) found |= expand(c, level, round + 1);
            }
            if (!__syncthreads_or(found)) return;
        }
    }

    // The cell of the highest score, the last of several. A score is below 2^32 / CELLS.
    template <typename Score>
    __device__ u32 best_cell(Score score)
    {
        if (threadIdx.x == 0) *best = 0;
        __syncthreads();
        u32 own = 0;
        for (u32 c = threadIdx.x; c < n; c += blockDim.x) own = max(own, score(c) * CELLS + c);
        own = __reduce_max_sync(ALL_LANES, own);
        if (threadIdx.x % WARP == 0) atomicMax(best, own);
        __syncthreads();
        u32 cell = *best % CELLS;
        __syncthreads();
        return cell;
    }

    // Searches from four cells at the ends of two axes: the first two far apart, the others far from both
    // and from each other. The first search starts where there are many neighbours, since that is not on an
    // island. Unreached cells count as the start.
    __device__ void search_landmarks(u32* ends)
    {
        u32** l = levels;
        u32 start = best_cell([this](u32 c) {
            u32 count = 0;
            for (u32 k = 0; k < NEIGHBOURS; ++k) count += neighbours[k * n + c] != NO_CELL;
            return count;
        });
        search(start, l[0]);
        ends[0] = best_cell([l](u32 c) { return l[0][c] == UNREACHED ? 0 : l[0][c]; });
        search(ends[0], l[0]);
        ends[1] = best_cell([l](u32 c) { return l[0][c] == UNREACHED ? 0 : l[0][c]; });
        search(ends[1], l[1]);
        ends[2] = best_cell([l](u32 c) {
            u32 nearer = min(l[0][c], l[1][c]);
            return nearer == UNREACHED ? 0 : nearer;
        });
        search(ends[2], l[2]);
        ends[3] = best_cell([l](u32 c) {
            u32 nearer = min(l[0][c], l[1][c]);
            return nearer == UNREACHED || l[2][c] == UNREACHED ? 0 : nearer + 2 * l[2][c];
        });
        search(ends[3], l[3]);
    }

    // The place of a cell on an axis from 0 to 2^GRID_BITS - 1.
    __device__ u32 coordinate(u32 c, u32 axis, u32 length) const
    {
        const u32 most = (1 << GRID_BITS) - 1;
        u32 one = min(levels[2 * axis][c], length);
        u32 other = min(levels[2 * axis + 1][c], length);
        return length == 0 ? 0 : (length + one - other) * most / (2 * length);
    }

    // Sorts the keys; `count` is a power of two.
    __device__ void sort(u32 count)
    {
        for (u32 run = 2; run <= count; run *= 2) {
            for (u32 distance = run / 2; distance > 0; distance /= 2) {
                __syncthreads();
                for (u32 i = threadIdx.x; i < count / 2; i += blockDim.x) {
                    u32 low = 2 * i - (i & (distance - 1));
                    u32 high = low + distance;
                    bool ascends = (low & run) == 0;
                    u32 a = keys[low], b = keys[high];
                    if (a > b == ascends) {
                        keys[low] = b;
                        keys[high] = a;
                    }
                }
            }
        }
        __syncthreads();
    }
};

// The place on a Hilbert curve; the classic conversion by bits.
__device__ u32 hilbert(u32 x, u32 y)
{
    u32 place = 0;
    for (u32 side = 1 << (GRID_BITS - 1); side > 0; side /= 2) {
        u32 right = (x & side) != 0, up = (y & side) != 0;
        place += side * side * ((3 * right) ^ up);
        if (up != 0) continue;
        if (right != 0) {
            x = (2 * side - 1 - x) & (2 * side - 1);
            y = (2 * side - 1 - y) & (2 * side - 1);
        }
        u32 swapped = x;
        x = y;
        y = swapped;
    }
    return place;
}

// A launch of one block.
extern "C" __global__ void __launch_bounds__(1024, 1) order_cells(const __grid_constant__ Cells cells)
{
    extern __shared__ u32 memory[];
    __shared__ u32 best;
    CellGraph graph(cells, memory, &best);
    __syncthreads();
    u32 ends[LANDMARKS];
    graph.search_landmarks(ends);
    u32 lengths[2];
    for (u32 axis = 0; axis < 2; ++axis) lengths[axis] = graph.levels[2 * axis][ends[2 * axis + 1]];
    u32 count = 1;
    while (count < cells.n) count *= 2;
    for (u32 c = threadIdx.x; c < count; c += blockDim.x) {
        u32 place = 1 << 2 * GRID_BITS;  // behind the curve
        if (c < cells.n && graph.levels[0][c] != UNREACHED) {
            place = hilbert(graph.coordinate(c, 0, lengths[0]), graph.coordinate(c, 1, lengths[1]));
        }
        graph.keys[c] = c < cells.n ? place * CELLS + c : UNREACHED;
    }
    graph.sort(count);
    u32 share = (cells.n + blockDim.x - 1) / blockDim.x;
    u32 from = min(threadIdx.x * share, cells.n);
    u32 to = min(from + share, cells.n);
    u64 own = 0;
    for (u32 i = from; i < to; ++i) own += cells.sizes[graph.keys[i] % CELLS];
    u64 total;
    u64 before = block_exclusive_sum(own, &total);
    for (u32 i = from; i < to; ++i) {
        u32 cell = graph.keys[i] % CELLS;
        cells.begins[cell] = before;
        before += cells.sizes[cell];
    }
    if (threadIdx.x == 0) cells.begins[cells.n] = total;
}

extern "C" __global__ void __launch_bounds__(1024) place_vertices(u32 n, const __grid_constant__ Cells cells)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u32 cell = cells.of_vertex[v];
        u32 rank = cell == NO_CELL ? atomicAdd(&cells.sizes[cells.n], 1u) : cells.rank[v];
        u32 position = cells.begins[min(cell, cells.n)] + rank;
        cells.rank[v] = position;
        cells.vertices[position] = v;
    }
}
