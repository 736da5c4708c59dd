// Point-to-point queries by labels: every vertex keeps the lengths of its climbs to all its ancestors.
//
// hierarchy.cu climbs the elimination tree for every query. Here the climbs of all vertices are done once for
// given weights, from the roots down, and a query is one pass over the common part of two rows:
//
//     build:  for v, by depth: for d < depth(v): up(v)[d] = min(w + up(u)[d] over (v, u, w) upward)
//     query:  d(s, t) = min(up(s)[d] + down(t)[d] over the depths d of the common ancestors of s and t)
//
// Papers: Ouyang, Qin, Chang, Lin, Zhang and Zhu, "When Hierarchy Meets 2-Hop-Labeling", SIGMOD 2018 (labels
// of all ancestors in a tree decomposition). Schieber and Vishkin, "On Finding Lowest Common Ancestors", SIAM
// Journal on Computing 17, 1988. Deviations:
//
//   - Labels are lengths of upward paths, not distances: one pass after customization. A query reads those of
//     all common ancestors, which are side by side, not only those of the lowest one's neighbours.
//   - A level of the tree is built at once. If it is narrow, warps share the arcs of a vertex.
//   - If not all labels fit in memory, vertices without children have no rows, nor have some of their
//     parents: theirs are found for each query. If that does not suffice, rows are cut at a depth, and pairs
//     that meet deeper climb.
//   - Only the number of common ancestors is looked for, not the lowest of them: two dependent loads.
//   - The path is found by following, from both ends, the arcs whose lengths the labels are sums of.

#include "device/block_scan.cuh"
#include "device/warp.cuh"
#include "problems/_saturating.cuh"
#include "problems/routes/_label_rows.cuh"
#include "problems/routes/_pieces.cuh"

const u32 GROUP = 8;  // lanes per query; each reads four labels at once

// The labels of all vertices. The elimination tree is cut into paths, which are numbered so that the numbers
// of the paths above a vertex follow from its own and from a set of bits; see _labels.py.
struct Labels {
    const uint4* nodes;  // by vertex of the graph: its path, the bits of this and of all above, its row
    const u32* above;    // by path: the number of ancestors of its uppermost vertex
    u32 most;            // labels of a row, a multiple of `UNIT`
    const uint4* up;
    const uint4* down;
};

// The number of ancestors of a vertex, with itself, that are on the path with the given bit or above it.
__device__ __forceinline__ u32 ancestors_from(const Labels& labels, const uint4& node, u32 bit)
{
    u32 lower_bits = node.y & ((1u << bit) - 1);
    if (lower_bits == 0) return size_of(node.z);
    u32 highest = 31 - __clz(static_cast<int>(lower_bits));
    return read_only(&labels.above[(node.x >> highest | 1) << highest]);
}

// The number of common ancestors of two vertices.
__device__ __forceinline__ u32 common_ancestors(const Labels& labels, const uint4& x, const uint4& y)
{
    u32 differing = x.x ^ y.x, shared = x.y & y.y;
    if (differing != 0) shared &= ~0u << (31 - __clz(static_cast<int>(differing)));
    u32 bit = __ffs(static_cast<int>(shared)) - 1;
    return min(ancestors_from(labels, x, bit), ancestors_from(labels, y, bit));
}

// Where two climbs meet, and the length of both.
struct Meeting {
    u32 length;
    u32 depth;
};

// Lowers the length of a meeting to the sum of two labels, if they are among those of `count` ancestors.
__device__ __forceinline__ void meet_at(u32 depth, u32 count, u32 up, u32 down, Meeting* best)
{
    u32 length = sum(up, down);
    if (depth < count && length < best->length) *best = {length, depth};
}

// What labels are sums of.
struct Steps {
    const u64* heads;    // by arc: the row of its upper end
    const u32* lengths;  // by arc: upward, downward
};

// Sets the label at a depth, if it is among four, to at most `length`.
__device__ __forceinline__ void lower_at(u32 depth, u32 quad, u32 length, uint4* labels)
{
    if (depth / 4 != quad) return;
    if (depth % 4 == 0) labels->x = min(labels->x, length);
    if (depth % 4 == 1) labels->y = min(labels->y, length);
    if (depth % 4 == 2) labels->z = min(labels->z, length);
    if (depth % 4 == 3) labels->w = min(labels->w, length);
}

// Reads four labels of a vertex, or finds them if it has no row. Of the heads of its arcs then only the first
// one, its parent, may have none.
template <bool IS_CUT>
__device__ __forceinline__ uint4 labels_at(const Steps& steps, const uint4* rows, u64 row, u32 side, u32 quad)
{
    if (!IS_CUT || (row & NO_ROW) == 0) return read_only(&rows[first_quad(row) + quad]);
    uint4 best = make_uint4(UNREACHED, UNREACHED, UNREACHED, UNREACHED);
    u32 length = 0;  // of the way to the vertex whose arcs are followed
    while (true) {
        lower_at(size_of(row) - 1, quad, length, &best);
        u32 first = static_cast<u32>(row >> 16), end = first + static_cast<u32>((row & ~NO_ROW) >> ARCS_BIT);
        u64 parent = first < end ? read_only(&steps.heads[first]) : 0;
        bool is_last = (parent & NO_ROW) == 0;
        uint4 found =
            find_labels(steps.heads, steps.lengths, is_last ? first : first + 1, end, 1, side, quad, rows);
        best = lower(best, found, length);
        if (is_last) return best;
        length = sum(length, read_only(&steps.lengths[entry_of(first, side == 1)]));
        row = parent;
    }
}

// Finds the best meeting of two climbs at the first `count` ancestors, among what a lane of `lanes` reads.
template <bool IS_CUT>
__device__ __forceinline__ Meeting meet(const Labels& labels, const Steps& steps, const uint4& x,
                                        const uint4& y, u32 count, u32 lane, u32 lanes)
{
    u64 up = join(x.z, x.w), down = join(y.z, y.w);
    Meeting best = {UNREACHED, 0};
#pragma unroll 2
    for (u32 depth = 4 * lane; depth < count; depth += 4 * lanes) {
        uint4 from = labels_at<IS_CUT>(steps, labels.up, up, 0, depth / 4);
        uint4 to = labels_at<IS_CUT>(steps, labels.down, down, 1, depth / 4);
        meet_at(depth, count, from.x, to.x, &best);
        meet_at(depth + 1, count, from.y, to.y, &best);
        meet_at(depth + 2, count, from.z, to.z, &best);
        meet_at(depth + 3, count, from.w, to.w, &best);
    }
    return best;
}

// The least value of the lanes of a group of a power of two; for a whole warp.
__device__ __forceinline__ u32 least(u32 value, u32 lanes)
{
    for (u32 flipped = 1; flipped < lanes; flipped *= 2) {
        value = min(value, __shfl_xor_sync(ALL_LANES, value, static_cast<int>(flipped)));
    }
    return value;
}

// Finds the distances of all queries; GROUP lanes per query.
extern "C" __global__ void find_distances(const __grid_constant__ Labels labels,
                                          const __grid_constant__ Queries queries, u32* distance)
{
    u32 query = blockIdx.x * (blockDim.x / GROUP) + threadIdx.x / GROUP;
    bool is_query = query < queries.count;
    Meeting best = {UNREACHED, 0};
    if (is_query) {
        uint4 x = read_only(&labels.nodes[read_only(&queries.origins[query])]);
        uint4 y = read_only(&labels.nodes[read_only(&queries.targets[query])]);
        best = meet<false>(labels, {}, x, y, common_ancestors(labels, x, y), threadIdx.x % GROUP, GROUP);
    }
    u32 length = least(best.length, GROUP);
    if (is_query && threadIdx.x % GROUP == 0) distance[query] = length <= queries.cutoff ? length : UNREACHED;
}

// The same where not all labels are in memory. Says which queries are `open`: their ends have more common
// ancestors than rows have labels.
extern "C" __global__ void find_distances_of_cut(const __grid_constant__ Labels labels,
                                                 const __grid_constant__ Steps steps,
                                                 const __grid_constant__ Queries queries, u32* distance,
                                                 u8* open)
{
    u32 query = blockIdx.x * (blockDim.x / GROUP) + threadIdx.x / GROUP, lane = threadIdx.x % GROUP;
    bool is_query = query < queries.count;
    Meeting best = {UNREACHED, 0};
    if (is_query) {
        u32 origin = read_only(&queries.origins[query]), target = read_only(&queries.targets[query]);
        uint4 x = read_only(&labels.nodes[origin]), y = read_only(&labels.nodes[target]);
        u32 count = common_ancestors(labels, x, y);
        if (lane == 0) open[query] = count > labels.most;
        best = meet<true>(labels, steps, x, y, min(count, labels.most), lane, GROUP);
    }
    u32 length = least(best.length, GROUP);
    if (is_query && lane == 0) distance[query] = length <= queries.cutoff ? length : UNREACHED;
}

// Lists the arcs of a shortest climb from a vertex, given by rank and row, to its ancestor at a depth;
// returns their number. For a whole warp; without arcs of weight 0.
__device__ __forceinline__ u32 list_climb(const Hierarchy& hierarchy, const Shortcuts& shortcuts,
                                          const Steps& steps, const u32* labels, bool is_down, u32 rank,
                                          u64 row, u32 depth, u32* list)
{
    u32 rest = read_only(&labels[4 * first_quad(row) + depth]), count = 0;
    uint4 node = read_only(&hierarchy.nodes[rank]);
    while (node.w != depth) {
        u32 arc = node.x;
        for (u32 first = node.x; first < node.y; first += WARP) {
            u32 i = first + lane(), beyond = UNREACHED;
            u64 head = i < node.y ? read_only(&steps.heads[i]) : 0;
            if (depth < size_of(head)) beyond = read_only(&labels[4 * first_quad(head) + depth]);
            bool is_next =
                beyond != UNREACHED && sum(beyond, read_only(&steps.lengths[entry_of(i, is_down)])) == rest;
            u32 next = __ballot_sync(ALL_LANES, is_next);
            if (next == 0) continue;
            int source = __ffs(static_cast<int>(next)) - 1;
            rest = __shfl_sync(ALL_LANES, beyond, source);
            arc = first + source;
            break;
        }
        if (lane() == 0) list[count] = arc;
        ++count;
        node = read_only(&hierarchy.nodes[read_only(&shortcuts.high[arc])]);
    }
    return count;
}

// Lists the pieces of a path, given by its arcs up from both ends, or only counts them if they do not fit.
// Returns the path's vertices, 0 if it is not listed; for a whole warp.
__device__ __forceinline__ u32 list_pieces(const Shortcuts& shortcuts, const Pieces& pieces, u32 query,
                                           const u32* rising, u32 n_rising, const u32* falling, u32 n_falling)
{
    u32 count = n_rising + n_falling;
    u64 begin = 0;
    if (lane() == 0) begin = atomicAdd(pieces.wanted, static_cast<u64>(count));
    begin = __shfl_sync(ALL_LANES, begin, 0);
    if (begin + count > pieces.capacity) return 0;
    u32 hops = 0;
    for (u32 first = 0; first < count; first += WARP) {
        u32 k = first + lane(), arc = 0, own = 0;
        if (k < count) {
            bool is_down = k >= n_rising;
            arc = is_down ? falling[count - 1 - k] : rising[k];
            own = read_only(&shortcuts.arcs[entry_of(arc, is_down)]).x;
        }
        u32 up_to_end = hops + static_cast<u32>(warp_inclusive_sum(own));
        if (k < count) pieces.list[begin + k] = make_uint2(arc, up_to_end);
        hops = __shfl_sync(ALL_LANES, up_to_end, WARP - 1);
    }
    if (lane() == 0) {
        u32 at = static_cast<u32>(begin);
        pieces.spans[query] = make_uint4(at, at + n_rising, at + count, 0);
    }
    return hops + 1;
}

// Finds the distances of all queries and the pieces of their paths; one warp per query. All labels are there.
extern "C" __global__ void find_pieces(const __grid_constant__ Labels labels,
                                       const __grid_constant__ Hierarchy hierarchy,
                                       const __grid_constant__ Steps steps,
                                       const __grid_constant__ Queries queries,
                                       const __grid_constant__ Shortcuts shortcuts,
                                       const __grid_constant__ Pieces pieces, u32* distance)
{
    extern __shared__ u32 arcs[];
    u32 query = blockIdx.x * warps() + warp();
    if (query >= queries.count) return;
    u32 *rising = arcs + static_cast<size_t>(2) * warp() * hierarchy.height,
        *falling = rising + hierarchy.height;
    u32 origin = read_only(&queries.origins[query]), target = read_only(&queries.targets[query]);
    uint4 x = read_only(&labels.nodes[origin]), y = read_only(&labels.nodes[target]);
    Meeting best = meet<false>(labels, steps, x, y, common_ancestors(labels, x, y), lane(), WARP);
    u32 length = least(best.length, WARP);
    bool is_path = length <= queries.cutoff;
    u32 size = 0;
    if (is_path) {
        u32 depth = least(best.length == length ? best.depth : UNREACHED, WARP);
        const u32 *up = reinterpret_cast<const u32*>(labels.up),
                  *down = reinterpret_cast<const u32*>(labels.down);
        u32 n_rising = list_climb(hierarchy, shortcuts, steps, up, false, read_only(&hierarchy.rank[origin]),
                                  join(x.z, x.w), depth, rising);
        u32 n_falling = list_climb(hierarchy, shortcuts, steps, down, true,
                                   read_only(&hierarchy.rank[target]), join(y.z, y.w), depth, falling);
        __syncwarp();
        size = list_pieces(shortcuts, pieces, query, rising, n_rising, falling, n_falling);
    }
    if (lane() != 0) return;
    distance[query] = is_path ? length : UNREACHED;
    pieces.size[query] = size;
}
