// Fills the balls of the vertices of a map that has been cut into tiles; see _balls.py.
//
// One thread fills a ball, breadth-first from its vertex, in a list in shared memory. Layers are followed as
// long as they fit. Arcs that leave the tile are numbered first, by one block per tile.

#include "_tile.cuh"
#include "device/block_scan.cuh"
#include "problems/sssp/_packed_arcs.cuh"

const u32 REMOTE = 0x80000000u;  // marks the head of an arc into another tile, as in sssp/tiled/_tile.cuh

// A map as sssp/tiled/_device_tiles.py cuts it.
struct Map {
    const u32* begins;  // the first vertex of each tile
    const uint2* rows;  // see sssp/_packed_arcs.py, as for the next two
    const uint2* first;
    const uint2* arcs;

    __device__ u32 head(u32 v, uint2 row, u32 k) const
    {
        bool is_first = k < FIRST - 1 || row.y - row.x <= FIRST;
        return is_first ? read_only(&first[v * static_cast<size_t>(FIRST) + k]).x
                        : read_only(&arcs[row.x + k]).x;
    }
};

// Arcs that leave the tile, and balls that vertices need besides their own.
struct Needs {
    u32 outside;
    u32 further;
};

struct Balls {
    Needs* before;  // needs of the vertices of the tile before each vertex
    Needs* totals;  // needs of each tile
    u16* entries;   // of each tile `n_balls` balls of `size`
    u32* slots;     // of each tile `outside` mail slots
    u32 capacity;
    u32 outside;
    u32 n_balls;
    u32 size;
    u32 index_bits;
    u32 reach;
    u32 per_tile;  // blocks
};

// Numbers what the vertices of each tile need. `most` is zero before, and the needs of all tiles after.
extern "C" __global__ void __launch_bounds__(1024)
    number_needs(const __grid_constant__ Map map, u32 size, Needs* before, Needs* totals, Needs* most)
{
    u32 begin = read_only(&map.begins[blockIdx.x]);
    u32 vertices = read_only(&map.begins[blockIdx.x + 1]) - begin;
    u32 share = (vertices + blockDim.x - 1) / blockDim.x;
    u32 from = begin + min(threadIdx.x * share, vertices);
    u32 to = min(from + share, begin + vertices);
    Needs own{0, 0};
    for (u32 v = from; v < to; ++v) {
        uint2 row = read_only(&map.rows[v]);
        u32 degree = row.y - row.x;
        before[v] = own;
        for (u32 k = 0; k < degree; ++k) own.outside += (map.head(v, row, k) & REMOTE) != 0;
        if (degree > size) own.further += (degree - 2) / (size - 1);  // all but the last hold one less
    }
    u64 total;
    u64 sum = block_exclusive_sum(static_cast<u64>(own.further) << 32 | own.outside, &total);
    for (u32 v = from; v < to; ++v) {
        before[v].outside += static_cast<u32>(sum);
        before[v].further += static_cast<u32>(sum >> 32);
    }
    if (threadIdx.x != 0) return;
    totals[blockIdx.x] = Needs{static_cast<u32>(total), static_cast<u32>(total >> 32)};
    atomicMax(&most->outside, static_cast<u32>(total));
    atomicMax(&most->further, static_cast<u32>(total >> 32));
}

// The list in which a thread fills its ball; entries of threads lie side by side.
struct List {
    u16* entries;
    u32 stride;

    __device__ u32 get(u32 i) const
    {
        return entries[i * stride];
    }

    __device__ void set(u32 i, u32 entry)
    {
        entries[i * stride] = static_cast<u16>(entry);
    }
};

// A ball around a vertex with at most `size` arcs.
struct Ball {
    const Map& map;
    const Balls& balls;
    u32 begin;
    u32 center;
    List list;
    u32 count = 0;  // entries of whole layers
    u32 found = 0;  // and of the layer in the making
    bool full = false;

    __device__ u32 index(u32 entry) const
    {
        return entry & ((1u << balls.index_bits) - 1);
    }

    __device__ bool has(u32 head) const
    {
        bool known = head == center;
        for (u32 i = 0; i < found; ++i) known |= index(list.get(i)) == head;
        return known;
    }

    // Adds the heads of a vertex, `hops` from the center.
    __device__ void add_heads(u32 u, u32 hops)
    {
        uint2 row = read_only(&map.rows[begin + u]);
        u32 outside = balls.capacity + balls.before[begin + u].outside;
        for (u32 k = 0; k < row.y - row.x && !full; ++k) {
            u32 head = map.head(begin + u, row, k);
            if (head & REMOTE) {
                head = outside++;
            } else if (has(head)) {
                continue;
            }
            full = found == balls.size;
            if (!full) list.set(found++, head | (hops - 1) << balls.index_bits);
        }
    }

    __device__ void fill()
    {
        add_heads(center, 1);
        u32 from = 0;
        u32 radius = 1;
        bool closed = found == 0;
        count = found;
        while (radius < balls.reach && !closed) {
            for (u32 i = from; i < count && !full; ++i) {
                u32 u = index(list.get(i));
                if (u < balls.capacity) add_heads(u, radius + 1);
            }
            if (full) break;
            closed = found == count;
            if (closed) break;
            from = count;
            count = found;
            ++radius;
        }
        for (u32 i = 0; i < balls.size; ++i) {
            u32 entry = i < count ? list.get(i) : NO_ENTRY;
            bool rim = i >= from && i < count && index(entry) < balls.capacity && !closed;
            list.set(i, rim ? entry | RIM : entry);
        }
    }
};

// Writes the arcs of a vertex that has more than a ball holds; `own` is the list of its own ball.
__device__ void fill_further(const Map& map, const Balls& balls, u32 tile, u32 begin, u32 vertex, List own)
{
    uint2 row = read_only(&map.rows[begin + vertex]);
    Needs before = balls.before[begin + vertex];
    u32 outside = balls.capacity + before.outside;
    u32 further = balls.capacity + before.further;
    u16* first = balls.entries + tile * static_cast<size_t>(balls.n_balls) * balls.size;
    List list = own;
    u32 place = 0;
    u32 degree = row.y - row.x;
    for (u32 k = 0; k < degree; ++k) {
        if (place == balls.size - 1 && degree - k > 1) {
            list.set(place, balls.outside + further);
            list = List{first + further * static_cast<size_t>(balls.size), 1};
            ++further;
            place = 0;
        }
        u32 head = map.head(begin + vertex, row, k);
        list.set(place++, head & REMOTE ? outside++ : head | RIM);
    }
    while (place < balls.size) list.set(place++, NO_ENTRY);
}

// Writes the mail slots of the arcs by which a vertex leaves its tile.
__device__ void write_slots(const Map& map, const Balls& balls, u32 v, u32* slots)
{
    uint2 row = read_only(&map.rows[v]);
    slots += balls.before[v].outside;
    for (u32 k = 0; k < row.y - row.x; ++k) {
        u32 head = map.head(v, row, k);
        if (head & REMOTE) *slots++ = head & ~REMOTE;
    }
}

// Fills the balls of a tile by `per_tile` blocks, one ball per thread. Also clears the entries and mail slots
// of the tile that are not used.
extern "C" __global__ void __launch_bounds__(256)
    fill_balls(const __grid_constant__ Map map, const __grid_constant__ Balls balls)
{
    extern __shared__ uint4 memory[];
    u32 stride = blockDim.x + 2;  // so that neither lanes nor entries of a ball share a bank
    u32 tile = blockIdx.x / balls.per_tile;
    u32 first = blockIdx.x % balls.per_tile * blockDim.x;
    u32 begin = read_only(&map.begins[tile]);
    u32 vertices = read_only(&map.begins[tile + 1]) - begin;
    u32 further_end = balls.capacity + balls.totals[tile].further;
    u16* lists = reinterpret_cast<u16*>(memory);
    u32* slots = balls.slots + tile * static_cast<size_t>(balls.outside);
    List list{lists + threadIdx.x, stride};
    u32 own = first + threadIdx.x;
    if (own < vertices) {
        uint2 row = read_only(&map.rows[begin + own]);
        if (row.y - row.x > balls.size) {
            fill_further(map, balls, tile, begin, own, list);
        } else {
            Ball{map, balls, begin, own, list}.fill();
        }
        write_slots(map, balls, begin + own, slots);
    } else {
        for (u32 i = 0; i < balls.size; ++i) list.set(i, NO_ENTRY);
    }
    if (own < balls.outside && own >= balls.totals[tile].outside) slots[own] = 0;
    __syncthreads();
    u16* entries = balls.entries + (tile * static_cast<size_t>(balls.n_balls) + first) * balls.size;
    u32 n_here = min(blockDim.x, balls.n_balls - min(first, balls.n_balls));
    for (u32 i = threadIdx.x; i < n_here * balls.size; i += blockDim.x) {
        u32 ball = i / balls.size;
        bool is_further = first + ball >= balls.capacity && first + ball < further_end;
        if (!is_further) entries[i] = lists[i % balls.size * stride + ball];
    }
}
