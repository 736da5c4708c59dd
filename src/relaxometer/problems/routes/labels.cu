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

const u32 BLOCK = 256;
const u32 GROUP = 8;     // lanes per query; each reads four labels at once
const u32 MAX_ARCS = 8;  // of a vertex without a row

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

// Lowers a meeting to the best of two times four labels.
__device__ __forceinline__ void meet_at(u32 depth, u32 count, const uint4& from, const uint4& to,
                                        Meeting* best)
{
    meet_at(depth, count, from.x, to.x, best);
    meet_at(depth + 1, count, from.y, to.y, best);
    meet_at(depth + 2, count, from.z, to.z, best);
    meet_at(depth + 3, count, from.w, to.w, best);
}

// Finds the best meeting of two climbs at the first `count` ancestors, among what a lane of `lanes` reads.
__device__ __forceinline__ Meeting meet(const Labels& labels, const uint4& x, const uint4& y, u32 count,
                                        u32 lane, u32 lanes)
{
    const uint4 *up = labels.up + first_quad(join(x.z, x.w)),
                *down = labels.down + first_quad(join(y.z, y.w));
    Meeting best = {UNREACHED, 0};
#pragma unroll 2
    for (u32 depth = 4 * lane; depth < count; depth += 4 * lanes) {
        meet_at(depth, count, read_only(&up[depth / 4]), read_only(&down[depth / 4]), &best);
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
        best = meet(labels, x, y, common_ancestors(labels, x, y), threadIdx.x % GROUP, GROUP);
    }
    u32 length = least(best.length, GROUP);
    if (is_query && threadIdx.x % GROUP == 0) distance[query] = length <= queries.cutoff ? length : UNREACHED;
}

// What labels are sums of.
struct Steps {
    const u64* heads;    // by arc: the row of its upper end
    const u32* lengths;  // by arc: upward, downward
};

// The rows that the labels of an end of a query follow from: its own, or those of the heads of its arcs. If
// its parent, the first head, has no row, those of the parent's heads take its place; all others have rows.
struct Ways {
    u64 rows[2 * MAX_ARCS];
    u32 lengths[2 * MAX_ARCS];  // of the ways to the vertices that have these rows
    u64 unused;                 // so that the ways of a warp's queries are in different banks
};

// The number of these rows, the depth of the end, and if it has no row, the lengths of its ways to itself
// and, if that has none, to its parent; else UNREACHED.
struct End {
    u32 count;
    u32 depth;
    u32 to_self;
    u32 to_parent;
};

// Lists the rows for an end; by the lanes of a group.
__device__ __forceinline__ End list_ways(const Steps& steps, u64 row, u32 side, u32 lane, Ways* ways)
{
    End end = {0, size_of(row) - 1, UNREACHED, UNREACHED};
    if ((row & NO_ROW) == 0) {
        if (lane == 0) {
            ways->rows[0] = row;
            ways->lengths[0] = 0;
        }
        end.count = 1;
        return end;
    }
    end.to_self = 0;
    u32 length = 0;  // of the way to the vertex whose arcs are followed
    while (true) {
        u32 first = static_cast<u32>(row >> 16), last = first + static_cast<u32>((row & ~NO_ROW) >> ARCS_BIT);
        u64 parent = first < last ? read_only(&steps.heads[first]) : 0;
        bool goes_on = (parent & NO_ROW) != 0;
        first += goes_on;
        for (u32 i = first + lane; i < last; i += GROUP) {
            ways->rows[end.count + i - first] = read_only(&steps.heads[i]);
            ways->lengths[end.count + i - first] = sum(length, read_only(&steps.lengths[entry_of(i, side)]));
        }
        end.count += last - first;
        if (!goes_on) return end;
        end.to_parent = length = read_only(&steps.lengths[entry_of(first - 1, side)]);
        row = parent;
    }
}

// Lowers four labels of an end to those by one of its rows, if there is such a row.
__device__ __forceinline__ void lower_by(const Ways& ways, u32 count, u32 k, const uint4* rows, u32 quad,
                                         uint4* best)
{
    u64 row = k < count ? ways.rows[k] : 0;
    uint4 labels = make_uint4(UNREACHED, UNREACHED, UNREACHED, UNREACHED);
    u32 length = k < count ? ways.lengths[k] : 0;
    if (4 * quad < size_of(row)) labels = read_only(&rows[first_quad(row) + quad]);
    *best = lower(*best, labels, length);
}

// The length by the vertices without rows that are above both ends, or these; `count` is that of all common
// ancestors.
__device__ __forceinline__ u32 meet_without_rows(const End& x, const End& y, u32 count)
{
    u32 best = UNREACHED;
    if (x.depth == y.depth && x.depth < count) best = min(best, sum(x.to_self, y.to_self));
    if (x.depth == y.depth && x.depth < count + 1) best = min(best, sum(x.to_parent, y.to_parent));
    if (x.depth == y.depth + 1 && y.depth < count) best = min(best, sum(x.to_parent, y.to_self));
    if (x.depth + 1 == y.depth && x.depth < count) best = min(best, sum(x.to_self, y.to_parent));
    return best;
}

// The same where not all labels are in memory. Says which queries are `open`: their ends have more common
// ancestors than rows have labels.
extern "C" __global__ void __launch_bounds__(BLOCK)
    find_distances_of_cut(const __grid_constant__ Labels labels, const __grid_constant__ Steps steps,
                          const __grid_constant__ Queries queries, u32* distance, u8* open)
{
    __shared__ Ways ways[2 * BLOCK / GROUP];
    u32 query = blockIdx.x * (blockDim.x / GROUP) + threadIdx.x / GROUP, lane = threadIdx.x % GROUP;
    bool is_query = query < queries.count;
    Ways *rising = &ways[threadIdx.x / GROUP * 2], *falling = rising + 1;
    Meeting best = {UNREACHED, 0};
    End x = {0, 0, UNREACHED, UNREACHED}, y = x;
    u32 count = 0;
    if (is_query) {
        uint4 from = read_only(&labels.nodes[read_only(&queries.origins[query])]);
        uint4 to = read_only(&labels.nodes[read_only(&queries.targets[query])]);
        x = list_ways(steps, join(from.z, from.w), 0, lane, rising);
        y = list_ways(steps, join(to.z, to.w), 1, lane, falling);
        count = common_ancestors(labels, from, to);
        if (lane == 0) open[query] = count > labels.most;
        best.length = meet_without_rows(x, y, count);
        count = min(count, labels.most);
    }
    __syncwarp();
    for (u32 depth = 4 * lane; depth < count; depth += 4 * GROUP) {
        uint4 from = make_uint4(UNREACHED, UNREACHED, UNREACHED, UNREACHED), to = from;
        // Most ends have one row or two, which are read at once.
        for (u32 k = 0; k < max(x.count, y.count); k += 2) {
            lower_by(*rising, x.count, k, labels.up, depth / 4, &from);
            lower_by(*rising, x.count, k + 1, labels.up, depth / 4, &from);
            lower_by(*falling, y.count, k, labels.down, depth / 4, &to);
            lower_by(*falling, y.count, k + 1, labels.down, depth / 4, &to);
        }
        meet_at(depth, count, from, to, &best);
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
    Meeting best = meet(labels, x, y, common_ancestors(labels, x, y), lane(), WARP);
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
