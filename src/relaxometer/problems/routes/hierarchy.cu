// Point-to-point queries on a contraction hierarchy: both ends climb the elimination tree.
//
// The upper neighbours of a vertex are its ancestors in the elimination tree, and the tree's path from a
// vertex to its root has all vertices that an upward search can reach. So a search needs no queue: it visits
// the ancestors in order, and a label is final when its vertex is visited. A shortest path climbs from the
// origin to a common ancestor of both ends and descends to the target:
//
//     climb:  for a in ancestors of the origin, upwards: for (a, b, w) upward:   f(b) = min(f(b), f(a) + w)
//             for a in ancestors of the target, upwards: for (b, a, w) downward: g(b) = min(g(b), g(a) + w)
//     meet:   d = min(f(a) + g(a)) over the common ancestors
//
// Papers: Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016 (the query
// by elimination tree). Delling, Goldberg and Werneck, "Faster Batched Shortest Paths in Road Networks",
// ATMOS 2011 (RPHAST, for tables). Deviations:
//
//   - One warp per query; its lanes share the arcs of a vertex. Labels are in shared memory, by depth. The
//     heads of a vertex's arcs differ, so no two lanes lower the same label.
//   - While they climb towards the root, common ancestors lower the bound on the distance; labels that are
//     not below it are not followed. A cutoff is the first bound.
//   - No path visits a vertex twice. Without arcs of weight 0 that holds for every shortest path. With such
//     arcs, a label of a path is a distance and, in its low word, a number of arcs of the graph, so that one
//     with the fewest arcs is found.
//   - A shortcut stands for two arcs through a lower vertex. Paths are unpacked in parallel: since the number
//     of arcs behind each shortcut is known, a lane finds the vertex at any place of a path on its own.
//   - Tables: every origin and target climbs once, and its labels are kept. RPHAST's restricted sweep would
//     visit the same ancestors of the targets, once for all origins.

#include "device/warp.cuh"
#include "problems/_saturating.cuh"
#include "problems/routes/_pieces.cuh"

typedef unsigned short u16;

// The first label that is longer than a cutoff.
__device__ __forceinline__ void set_limit(u32 cutoff, u32* limit)
{
    *limit = cutoff + 1;
}

__device__ __forceinline__ void set_limit(u32 cutoff, u64* limit)
{
    *limit = (static_cast<u64>(cutoff) + 1) << 32;
}

// The climb from one end: labels by depth, the depths from which they were set, and the lengths of arcs in
// its direction.
template <typename Label>
struct Climb {
    Label* labels;
    u16* from;  // for paths only
    const Label* lengths;
};

// Follows the upward arcs of a vertex; for a whole warp.
template <bool paths, typename Label>
__device__ __forceinline__ void follow(const Hierarchy& hierarchy, const Climb<Label>& climb,
                                       const uint4& node, Label from)
{
    for (u32 i = node.x + lane(); i < node.y; i += WARP) {
        u32 depth = read_only(&hierarchy.heads[i]);
        Label length = sum(from, read_only(&climb.lengths[i]));
        if (length < climb.labels[depth]) {
            climb.labels[depth] = length;
            if (paths) climb.from[depth] = static_cast<u16>(node.w);
        }
    }
}

// Sets the labels of a vertex's ancestors to "unreached" and its own to 0; for a whole warp.
template <typename Label>
__device__ __forceinline__ void begin(const Climb<Label>& climb, u32 depth)
{
    for (u32 d = lane(); d < depth; d += WARP) climb.labels[d] = ~static_cast<Label>(0);
    if (lane() == 0) climb.labels[depth] = 0;
}

// Where the climbs from both ends meet, or a label not below the limit if they do not.
template <typename Label>
struct Meeting {
    Label label;
    u32 depth;
};

// Climbs from two vertices given by rank, labels of at least `limit` and meetings above depth `highest` left
// out; for a whole warp.
template <bool paths, typename Label>
__device__ __forceinline__ Meeting<Label> meet(const Hierarchy& hierarchy, const Climb<Label>& up,
                                               const Climb<Label>& down, u32 x, u32 y, Label limit,
                                               u32 highest = 0)
{
    uint4 at_x = read_only(&hierarchy.nodes[x]), at_y = read_only(&hierarchy.nodes[y]);
    begin(up, at_x.w);
    begin(down, at_y.w);
    __syncwarp();
    // The lower of two ranks is not an ancestor of the other.
    while (x != y) {
        bool is_x = x < y;
        uint4 node = is_x ? at_x : at_y;
        if (is_x) {
            x = node.z;
            if (x != NO_RANK) at_x = read_only(&hierarchy.nodes[x]);
        } else {
            y = node.z;
            if (y != NO_RANK) at_y = read_only(&hierarchy.nodes[y]);
        }
        const Climb<Label>& climb = is_x ? up : down;
        Label own = climb.labels[node.w];
        if (own < limit) follow<paths>(hierarchy, climb, node, own);
        __syncwarp();
    }
    Meeting<Label> best = {limit, 0};
    while (x != NO_RANK && at_x.w >= highest) {
        uint4 node = at_x;
        x = node.z;
        if (x != NO_RANK) at_x = read_only(&hierarchy.nodes[x]);
        Label from = up.labels[node.w], to = down.labels[node.w], both = sum(from, to);
        if (both < best.label) best = {both, node.w};
        if (from < best.label) follow<paths>(hierarchy, up, node, from);
        if (to < best.label) follow<paths>(hierarchy, down, node, to);
        __syncwarp();
    }
    return best;
}

// The memory of a climb: labels of both ends, then, if they are for paths, the depths of both.
template <typename Label>
__device__ __forceinline__ Climb<Label> climb_in(u64* memory, u32 height, u32 side, const Label* lengths)
{
    Label* labels = reinterpret_cast<Label*>(memory);
    u16* from = reinterpret_cast<u16*>(labels + 2 * static_cast<size_t>(height));
    size_t first = static_cast<size_t>(side) * height;
    return {labels + first, from + first, lengths};
}

// Both climbs of a query and where they meet.
template <typename Label>
struct Found {
    Climb<Label> up;
    Climb<Label> down;
    u32 x;  // ranks of the ends
    u32 y;
    Meeting<Label> best;
    bool is_path;
};

// Answers a query, for paths also with how both climbs came to each depth; for a whole warp.
template <bool paths, typename Label>
__device__ __forceinline__ Found<Label> answer(const Hierarchy& hierarchy, const Label* upward,
                                               const Label* downward, const Queries& queries, u32 query,
                                               u64* memory)
{
    Found<Label> found = {climb_in(memory, hierarchy.height, 0, upward),
                          climb_in(memory, hierarchy.height, 1, downward)};
    found.x = read_only(&hierarchy.rank[read_only(&queries.origins[query])]);
    found.y = read_only(&hierarchy.rank[read_only(&queries.targets[query])]);
    Label limit;
    set_limit(queries.cutoff, &limit);
    found.best = meet<paths>(hierarchy, found.up, found.down, found.x, found.y, limit);
    found.is_path = found.best.label < limit;
    return found;
}

// Turns the links from the meeting down to an end around, so that each leads up; returns how many there are.
// Called by one lane.
__device__ __forceinline__ u32 turn(u16* from, u32 meeting, u32 end)
{
    u32 count = 0, above = meeting;
    for (u32 d = meeting; d != end; ++count) {
        u32 below = from[d];
        from[d] = static_cast<u16>(above);
        above = d;
        d = below;
    }
    from[end] = static_cast<u16>(above);
    return count;
}

// Finds the upward arc of a vertex that ends at a depth; for a whole warp.
__device__ __forceinline__ u32 arc_to(const Hierarchy& hierarchy, const uint4& node, u32 depth)
{
    for (u32 first = node.x; first < node.y; first += WARP) {
        u32 i = first + lane();
        u32 found = __ballot_sync(ALL_LANES, i < node.y && read_only(&hierarchy.heads[i]) == depth);
        if (found != 0) return first + __ffs(static_cast<int>(found)) - 1;
    }
    return node.x;  // does not happen
}

// Lists the arcs from a rank up to the meeting, each with the numbers of arcs of the graph up to its upper
// end or, if the path leads down, to its lower end. Returns the last of them; for a whole warp.
template <bool is_down>
__device__ __forceinline__ u32 list_climb(const Hierarchy& hierarchy, const Shortcuts& shortcuts,
                                          const u16* up, u32 rank, u32 count, uint2* list)
{
    u32 hops = 0;
    for (u32 k = 0; k < count; ++k) {
        uint4 node = read_only(&hierarchy.nodes[rank]);
        u32 arc = arc_to(hierarchy, node, up[node.w]);
        u32 before = hops;
        hops += read_only(&shortcuts.arcs[entry_of(arc, is_down)]).x;
        if (lane() == 0) list[is_down ? count - 1 - k : k] = make_uint2(arc, is_down ? before : hops);
        rank = read_only(&shortcuts.high[arc]);
    }
    return hops;
}

// Lists the pieces of a path, or only counts them if they do not fit. Returns the path's vertices, 0 if it is
// not listed; for a whole warp.
template <typename Label>
__device__ __forceinline__ u32 list_pieces(const Hierarchy& hierarchy, const Shortcuts& shortcuts,
                                           const Found<Label>& found, const Pieces& pieces, u32 query)
{
    u32 rising = 0, falling = 0;
    u64 begin = 0;
    if (lane() == 0) {
        rising = turn(found.up.from, found.best.depth, read_only(&hierarchy.nodes[found.x]).w);
        falling = turn(found.down.from, found.best.depth, read_only(&hierarchy.nodes[found.y]).w);
        begin = atomicAdd(pieces.wanted, static_cast<u64>(rising + falling));
    }
    __syncwarp();
    rising = __shfl_sync(ALL_LANES, rising, 0);
    falling = __shfl_sync(ALL_LANES, falling, 0);
    begin = __shfl_sync(ALL_LANES, begin, 0);
    if (begin + rising + falling > pieces.capacity) return 0;
    uint2 *first = pieces.list + begin, *middle = first + rising;
    u32 to_meeting = list_climb<false>(hierarchy, shortcuts, found.up.from, found.x, rising, first);
    u32 hops = to_meeting + list_climb<true>(hierarchy, shortcuts, found.down.from, found.y, falling, middle);
    __syncwarp();
    for (u32 k = lane(); k < falling; k += WARP) middle[k].y = hops - middle[k].y;
    if (lane() == 0) {
        u32 at = static_cast<u32>(begin);
        pieces.spans[query] = make_uint4(at, at + rising, at + rising + falling, 0);
    }
    return hops + 1;
}

// Finds the distances of all queries; one warp per query. `words` are those of shared memory per warp.
extern "C" __global__ void find_distances(const __grid_constant__ Hierarchy hierarchy,
                                          const u32* __restrict__ upward, const u32* __restrict__ downward,
                                          const __grid_constant__ Queries queries, u32 words, u32* distance)
{
    extern __shared__ u64 memory[];
    u32 query = blockIdx.x * warps() + warp();
    if (query >= queries.count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    Found<u32> found = answer<false>(hierarchy, upward, downward, queries, query, own);
    if (lane() == 0) distance[query] = found.is_path ? found.best.label : UNREACHED;
}

// Lowers the distances of `count` queries, given by `list`, to those of climbs that meet at a depth of at
// least `highest`, where they have common ancestors; one warp per query.
extern "C" __global__ void lower_distances(const __grid_constant__ Hierarchy hierarchy,
                                           const u32* __restrict__ upward, const u32* __restrict__ downward,
                                           const __grid_constant__ Queries queries, u32 words, u32 count,
                                           const u32* __restrict__ list, u32 highest, u32* distance)
{
    extern __shared__ u64 memory[];
    u32 k = blockIdx.x * warps() + warp();
    if (k >= count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    u32 query = read_only(&list[k]), limit = min(distance[query], queries.cutoff + 1);
    u32 x = read_only(&hierarchy.rank[read_only(&queries.origins[query])]);
    u32 y = read_only(&hierarchy.rank[read_only(&queries.targets[query])]);
    Meeting<u32> best = meet<false>(hierarchy, climb_in(own, hierarchy.height, 0, upward),
                                    climb_in(own, hierarchy.height, 1, downward), x, y, limit, highest);
    if (lane() == 0 && best.label < limit) distance[query] = best.label;
}

__device__ __forceinline__ u32 distance_of(u32 label)
{
    return label;
}

__device__ __forceinline__ u32 distance_of(u64 label)
{
    return static_cast<u32>(label >> 32);
}

// Finds the distance of a query and the pieces of its path; for a whole warp.
template <typename Label>
__device__ __forceinline__ void find_path(const Hierarchy& hierarchy, const Label* upward,
                                          const Label* downward, const Queries& queries, u32 words,
                                          const Shortcuts& shortcuts, const Pieces& pieces, u32* distance)
{
    extern __shared__ u64 memory[];
    u32 query = blockIdx.x * warps() + warp();
    if (query >= queries.count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    Found<Label> found = answer<true>(hierarchy, upward, downward, queries, query, own);
    u32 size = found.is_path ? list_pieces(hierarchy, shortcuts, found, pieces, query) : 0;
    if (lane() != 0) return;
    distance[query] = found.is_path ? distance_of(found.best.label) : UNREACHED;
    pieces.size[query] = size;
}

// Finds the distances of all queries and the pieces of their paths; one warp per query.
extern "C" __global__ void find_pieces(const __grid_constant__ Hierarchy hierarchy,
                                       const u32* __restrict__ upward, const u32* __restrict__ downward,
                                       const __grid_constant__ Queries queries, u32 words,
                                       const __grid_constant__ Shortcuts shortcuts,
                                       const __grid_constant__ Pieces pieces, u32* distance)
{
    find_path(hierarchy, upward, downward, queries, words, shortcuts, pieces, distance);
}

// The same where arcs may have weight 0; lengths are distances and numbers of arcs.
extern "C" __global__ void find_pieces_with_fewest_arcs(const __grid_constant__ Hierarchy hierarchy,
                                                        const u64* __restrict__ upward,
                                                        const u64* __restrict__ downward,
                                                        const __grid_constant__ Queries queries, u32 words,
                                                        const __grid_constant__ Shortcuts shortcuts,
                                                        const __grid_constant__ Pieces pieces, u32* distance)
{
    find_path(hierarchy, upward, downward, queries, words, shortcuts, pieces, distance);
}

// The last vertex of the arc of the graph at place `hop` of an arc of the hierarchy.
__device__ __forceinline__ u32 head_of(const Shortcuts& shortcuts, u32 arc, bool is_down, u32 hop)
{
    uint2 whole = read_only(&shortcuts.arcs[entry_of(arc, is_down)]);
    u32 count = whole.x, head = whole.y;
    while (count > 1) {
        uint4 parts = read_only(&shortcuts.parts[entry_of(arc, is_down)]);
        is_down = hop < parts.z;
        if (is_down) {
            arc = parts.x;
            count = parts.z;
            head = parts.w;
        } else {
            arc = parts.y;
            count -= parts.z;
            hop -= parts.z;
        }
    }
    return head;
}

// Writes the vertices of all paths; one warp per query. `ends` are those of the paths in the list of all.
extern "C" __global__ void unpack_paths(const __grid_constant__ Shortcuts shortcuts,
                                        const __grid_constant__ Queries queries,
                                        const __grid_constant__ Pieces pieces, const i64* __restrict__ ends,
                                        u32* path)
{
    u32 query = blockIdx.x * warps() + warp();
    if (query >= queries.count) return;
    u32 size = pieces.size[query];
    if (size == 0) return;
    u32* own = path + ends[query] - size;
    uint4 span = pieces.spans[query];
    for (u32 k = lane(); k < size; k += WARP) {
        if (k == 0) {
            own[0] = queries.origins[query];
            continue;
        }
        // The first piece that ends at k or later; the last one does.
        u32 low = span.x, high = span.z - 1;
        while (low < high) {
            u32 middle = low + (high - low) / 2;
            if (pieces.list[middle].y < k) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        u32 before = low == span.x ? 0 : pieces.list[low - 1].y;
        own[k] = head_of(shortcuts, pieces.list[low].x, low >= span.y, k - 1 - before);
    }
}

// Climbs from all origins or all targets of a table; one warp per vertex. By depth and vertex: the rank of
// the ancestor, and its label.
extern "C" __global__ void climb_all(const __grid_constant__ Hierarchy hierarchy,
                                     const u32* __restrict__ lengths, u32 count,
                                     const u32* __restrict__ vertices, u32 cutoff, u32 words, u32* ancestors,
                                     u32* labels)
{
    extern __shared__ u64 memory[];
    u32 place = blockIdx.x * warps() + warp();
    if (place >= count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    Climb<u32> climb = climb_in(own, hierarchy.height, 0, lengths);
    u32 v = read_only(&hierarchy.rank[read_only(&vertices[place])]);
    uint4 next = read_only(&hierarchy.nodes[v]);
    begin(climb, next.w);
    __syncwarp();
    // Greater depths hold no ancestors.
    for (u32 d = next.w + 1 + lane(); d < hierarchy.height; d += WARP) {
        ancestors[static_cast<size_t>(d) * count + place] = NO_RANK;
    }
    while (v != NO_RANK) {
        uint4 node = next;
        u32 label = climb.labels[node.w];
        if (lane() == 0) {
            size_t at = static_cast<size_t>(node.w) * count + place;
            ancestors[at] = v;
            labels[at] = label;
        }
        v = node.z;
        if (v != NO_RANK) next = read_only(&hierarchy.nodes[v]);
        if (label <= cutoff) follow<false>(hierarchy, climb, node, label);
        __syncwarp();
    }
}

// The results of `climb_all`.
struct Climbed {
    u32 count;
    const u32* ancestors;
    const u32* labels;
};

// Finds the distances of a table; one thread per target, in `blockIdx.y` one origin, further ones by stride.
extern "C" __global__ void fill_table(u32 height, u32 cutoff, const __grid_constant__ Climbed origins,
                                      const __grid_constant__ Climbed targets, u32* distance)
{
    u32 column = thread_id();
    if (column >= targets.count) return;
    for (u32 row = blockIdx.y; row < origins.count; row += gridDim.y) {
        u32 best = UNREACHED;
        for (u32 d = 0; d < height; ++d) {
            size_t from = static_cast<size_t>(d) * origins.count + row;
            size_t to = static_cast<size_t>(d) * targets.count + column;
            // Paths from the root differ from the depth on at which the ends' common ancestors end.
            u32 rank = read_only(&origins.ancestors[from]);
            if (rank == NO_RANK || rank != read_only(&targets.ancestors[to])) break;
            best = min(best, sum(read_only(&origins.labels[from]), read_only(&targets.labels[to])));
        }
        distance[static_cast<size_t>(row) * targets.count + column] = best <= cutoff ? best : UNREACHED;
    }
}
