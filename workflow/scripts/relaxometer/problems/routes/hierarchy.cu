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
//   - For paths, a label is a distance and, in its low word, a number of arcs of the graph: of the shortest
//     paths, one with the fewest arcs is found, so none visits a vertex twice, whatever the weights.
//   - A shortcut stands for two arcs through a lower vertex. Paths are unpacked in parallel: since the number
//     of arcs behind each shortcut is known, a lane finds the vertex at any place of a path on its own.
//   - Tables: every origin and target climbs once, and its labels are kept. RPHAST's restricted sweep would
//     visit the same ancestors of the targets, once for all origins.

#include "device/constants.cuh"

const u32 NO_RANK = 0xffffffffu;  // parent of a root
const u32 NO_PART = 0xffffffffu;  // of an arc that is one of the graph's

// Vertices are numbered by rank, in the order of contraction. Depths are counted from the root.
struct Hierarchy {
    const u32* rank;     // of each vertex of the graph
    const uint4* nodes;  // by rank: the first upward arc, their end, the parent, the depth
    const u32* heads;    // by arc: the depth of its upper end
    u32 height;          // depths are less
};

struct Queries {
    u32 count;
    const u32* origins;
    const u32* targets;
    u32 cutoff;
};

// The arcs of the hierarchy on all paths: for each, its number, and the arcs of the graph up to its end.
struct Pieces {
    u32* size;     // by query: vertices of its path
    uint4* spans;  // by query: the first piece, the first that leads down, their end, 0
    uint2* list;
    u32 capacity;
    u64* wanted;  // pieces of all queries
};

__device__ __forceinline__ u32 lane()
{
    return threadIdx.x % WARP;
}

__device__ __forceinline__ u32 load(const u32* address)
{
    return read_only(address);
}

__device__ __forceinline__ u64 load(const u64* address)
{
    return static_cast<u64>(read_only(reinterpret_cast<const i64*>(address)));
}

// The first label that is longer than a cutoff.
__device__ __forceinline__ void set_limit(u32 cutoff, u32* limit)
{
    *limit = cutoff + 1;
}

__device__ __forceinline__ void set_limit(u32 cutoff, u64* limit)
{
    *limit = (static_cast<u64>(cutoff) + 1) << 32;
}

// A sum beyond the type is the label of an unreached vertex, the largest one.
template <typename Label>
__device__ __forceinline__ Label sum(Label first, Label second)
{
    Label length = first + second;
    return length < first ? ~static_cast<Label>(0) : length;
}

// The climb from one end: labels by depth, the arcs that set them, and the lengths of arcs in its direction.
template <typename Label>
struct Climb {
    Label* labels;
    u32* via;  // null if paths are not wanted
    const Label* lengths;
};

// Follows the upward arcs of a vertex; for a whole warp.
template <typename Label>
__device__ __forceinline__ void follow(const Hierarchy& hierarchy, const Climb<Label>& climb,
                                       const uint4& node, Label from)
{
    for (u32 i = node.x + lane(); i < node.y; i += WARP) {
        u32 depth = read_only(&hierarchy.heads[i]);
        Label length = sum(from, load(&climb.lengths[i]));
        if (length < climb.labels[depth]) {
            climb.labels[depth] = length;
            if (climb.via != nullptr) climb.via[depth] = i;
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

// Climbs from two vertices given by rank, labels of at least `limit` left out; for a whole warp.
template <typename Label>
__device__ __forceinline__ Meeting<Label> meet(const Hierarchy& hierarchy, const Climb<Label>& up,
                                               const Climb<Label>& down, u32 x, u32 y, Label limit)
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
        if (own < limit) follow(hierarchy, climb, node, own);
        __syncwarp();
    }
    Meeting<Label> best = {limit, 0};
    while (x != NO_RANK) {
        uint4 node = at_x;
        x = node.z;
        if (x != NO_RANK) at_x = read_only(&hierarchy.nodes[x]);
        Label from = up.labels[node.w], to = down.labels[node.w], both = sum(from, to);
        if (both < best.label) best = {both, node.w};
        if (from < best.label) follow(hierarchy, up, node, from);
        if (to < best.label) follow(hierarchy, down, node, to);
        __syncwarp();
    }
    return best;
}

// The memory of a climb: labels of both ends, then the arcs of both; by 64-bit words.
template <typename Label>
__device__ __forceinline__ Climb<Label> climb_in(u64* memory, u32 height, u32 side, bool paths,
                                                 const Label* lengths)
{
    Label* labels = reinterpret_cast<Label*>(memory);
    u32* via = reinterpret_cast<u32*>(labels + 2 * static_cast<size_t>(height));
    size_t first = static_cast<size_t>(side) * height;
    return {labels + first, paths ? via + first : nullptr, lengths};
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

// Answers a query, also with the arcs of both climbs if labels have 64 bits; for a whole warp.
template <typename Label>
__device__ __forceinline__ Found<Label> answer(const Hierarchy& hierarchy, const Label* upward,
                                               const Label* downward, const Queries& queries, u32 query,
                                               u64* memory)
{
    const bool paths = sizeof(Label) == sizeof(u64);
    Found<Label> found = {climb_in(memory, hierarchy.height, 0, paths, upward),
                          climb_in(memory, hierarchy.height, 1, paths, downward)};
    found.x = read_only(&hierarchy.rank[read_only(&queries.origins[query])]);
    found.y = read_only(&hierarchy.rank[read_only(&queries.targets[query])]);
    Label limit;
    set_limit(queries.cutoff, &limit);
    found.best = meet(hierarchy, found.up, found.down, found.x, found.y, limit);
    found.is_path = found.best.label < limit;
    return found;
}

// Lists the pieces of a path, or only counts them if they do not fit; called by one lane.
__device__ inline void list_pieces(const Hierarchy& hierarchy, const u32* __restrict__ low,
                                   const Found<u64>& found, const Pieces& pieces, u32 query)
{
    const Climb<u64>&up = found.up, &down = found.down;
    const Meeting<u64>& best = found.best;
    u32 from = read_only(&hierarchy.nodes[found.x]).w, to = read_only(&hierarchy.nodes[found.y]).w;
    u32 rising = 0, falling = 0;
    for (u32 d = best.depth; d != from; ++rising) d = read_only(&hierarchy.nodes[low[up.via[d]]]).w;
    for (u32 d = best.depth; d != to; ++falling) d = read_only(&hierarchy.nodes[low[down.via[d]]]).w;
    u64 first = atomicAdd(pieces.wanted, static_cast<u64>(rising + falling));
    if (first + rising + falling > pieces.capacity) return;
    u32 middle = static_cast<u32>(first) + rising, end = middle + falling;
    pieces.spans[query] = make_uint4(static_cast<u32>(first), middle, end, 0);
    u32 at = middle, hops = static_cast<u32>(best.label);
    for (u32 d = best.depth; d != from;) {
        u32 arc = up.via[d];
        pieces.list[--at] = make_uint2(arc, static_cast<u32>(up.labels[d]));
        d = read_only(&hierarchy.nodes[low[arc]]).w;
    }
    at = middle;
    for (u32 d = best.depth; d != to;) {
        u32 arc = down.via[d];
        d = read_only(&hierarchy.nodes[low[arc]]).w;
        pieces.list[at++] = make_uint2(arc, hops - static_cast<u32>(down.labels[d]));
    }
}

// Finds the distances of all queries; one warp per query. `words` are those of shared memory per warp.
extern "C" __global__ void find_distances(const __grid_constant__ Hierarchy hierarchy,
                                          const u32* __restrict__ upward, const u32* __restrict__ downward,
                                          const __grid_constant__ Queries queries, u32 words, u32* distance)
{
    extern __shared__ u64 memory[];
    u32 query = thread_id() / WARP;
    if (query >= queries.count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    Found<u32> found = answer(hierarchy, upward, downward, queries, query, own);
    if (lane() == 0) distance[query] = found.is_path ? found.best.label : UNREACHED;
}

// Finds the distances of all queries and the pieces of their paths; one warp per query. Lengths are distances
// and numbers of arcs; `low` has the rank of each arc's lower end.
extern "C" __global__ void find_pieces(const __grid_constant__ Hierarchy hierarchy,
                                       const u64* __restrict__ upward, const u64* __restrict__ downward,
                                       const u32* __restrict__ low, const __grid_constant__ Queries queries,
                                       u32 words, u32* distance, const __grid_constant__ Pieces pieces)
{
    extern __shared__ u64 memory[];
    u32 query = thread_id() / WARP;
    if (query >= queries.count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    Found<u64> found = answer(hierarchy, upward, downward, queries, query, own);
    if (lane() != 0) return;
    distance[query] = found.is_path ? static_cast<u32>(found.best.label >> 32) : UNREACHED;
    pieces.size[query] = found.is_path ? static_cast<u32>(found.best.label) + 1 : 0;
    if (found.is_path) list_pieces(hierarchy, low, found, pieces, query);
}

// Arcs as unpacking reads them. Pairs 2 k and 2 k + 1 of `parts` are those of arc k upward and downward:
// an arc that is followed downward, then one that is followed upward; NO_PART if the graph has the arc
// itself.
struct Arcs {
    const u32* low;   // rank of the lower end
    const u32* high;  // rank of the upper end
    const uint2* parts;
    const u64* downward;  // distance and number of arcs
    const u32* order;     // the vertex of each rank
};

// The last vertex of the arc of the graph at place `hop` of an arc of the hierarchy.
__device__ __forceinline__ u32 head_of(const Arcs& arcs, u32 arc, bool is_down, u32 hop)
{
    while (true) {
        uint2 parts = read_only(&arcs.parts[2 * static_cast<size_t>(arc) + is_down]);
        if (parts.x == NO_PART) {
            return read_only(&arcs.order[read_only(is_down ? &arcs.low[arc] : &arcs.high[arc])]);
        }
        u32 before = static_cast<u32>(load(&arcs.downward[parts.x]));
        is_down = hop < before;
        arc = is_down ? parts.x : parts.y;
        if (!is_down) hop -= before;
    }
}

// Writes the vertices of all paths; one warp per query.
extern "C" __global__ void unpack_paths(const __grid_constant__ Arcs arcs,
                                        const __grid_constant__ Queries queries,
                                        const __grid_constant__ Pieces pieces, const i64* __restrict__ begins,
                                        u32* path)
{
    u32 query = thread_id() / WARP;
    if (query >= queries.count) return;
    u32 size = pieces.size[query];
    if (size == 0) return;
    u32* own = path + begins[query];
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
        own[k] = head_of(arcs, pieces.list[low].x, low >= span.y, k - 1 - before);
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
    u32 place = thread_id() / WARP;
    if (place >= count) return;
    u64* own = memory + static_cast<size_t>(threadIdx.x / WARP) * words;
    Climb<u32> climb = climb_in(own, hierarchy.height, 0, false, lengths);
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
        if (label <= cutoff) follow(hierarchy, climb, node, label);
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
