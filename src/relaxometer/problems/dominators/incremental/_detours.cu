// Detours around removed arcs: they bound the dominators that a removal can give to any vertex.
//
// Let x dominate v after arcs were removed, but not before. Some path to v avoided x; take the last removed
// arc u -> w on it. The path passes every dominator of u before the arc, and none of them is x. If a path
// that is still there leads from one of them to w and avoids x, it replaces the path up to w, and fewer
// removed arcs are left on the rest. So unless x is on all such detours of some removed arc, a path to v
// avoids x still. The vertices on all detours of u -> w are the dominators of w in a flow graph whose root
// stands for u and for dominators of u.
//
// A block takes one removed arc and looks at a part of this flow graph: it searches backwards from w,
// breadth-first, until it has met u or a dominator of u, and then about as far again, so that it sees a
// second detour if there is one. A vertex on all detours is on all those within the part. In the reversed
// graph these vertices dominate the goal from w, and the block finds them by the rounds of _tree.cuh. Two
// detours without a common vertex leave none, as for most arcs of a map.
//
// If the search reaches its limits without meeting a goal, new dominators are bounded by the old immediate
// dominator of w only: they concern vertices below it. If it ends without meeting a goal, w is not reached.

#include "_doubts.cuh"
#include "problems/dominators/_tree.cuh"
#include "device/constants.cuh"

typedef unsigned short u16;

__device__ const u32 EMPTY = 0xffffffffu;
__device__ const u16 IS_GOAL = 0xffff;
__device__ const u16 NO_PLACE = 0xfffe;
__device__ const i64 MAX_ARCS = 512;  // of a vertex; further ones are not looked at
__device__ const u32 EXTRA_LEVELS = 4;

// The arcs into every vertex.
struct Into {
    const i64* offsets;
    const u32* tails;
    const u32* number;  // of the vertices reached now; others are ignored
};

// The part of a flow graph that a block looks at, in shared memory. Places count from w, which has 0;
// `parent` has another word for the goal.
struct Part {
    u32 capacity;   // a power of two, at least 16, so that there is room for the goals
    u32* keys;      // a hash table of 2 * capacity vertices
    u16* places;    // by entry of the table
    u32* vertices;  // by place
    u32* parent;    // by place, towards w
    u32* count;
    u32* cut;  // whether something was left out
};

__device__ __forceinline__ Part part_in(u32* words, u32 capacity, u32* state)
{
    u32* keys = words + 2 * capacity + 1;
    u16* places = reinterpret_cast<u16*>(keys + 2 * capacity);
    return {capacity, keys, places, words, words + capacity, state, state + 1};
}

// Returns the entry of a vertex, or EMPTY if it has none; enters it if wanted.
__device__ u32 entry_of(const Part& part, u32 v, bool enter, bool* is_new)
{
    u32 mask = 2 * part.capacity - 1;
    // Fibonacci hashing: the highest 13 bits of the product with 2^32 over the golden ratio.
    u32 entry = v * 2654435769u >> 19;
    for (u32 probe = 0; probe <= mask; ++probe, ++entry) {
        u32 key = load_relaxed(&part.keys[entry & mask]);
        if (key == EMPTY && enter) {
            key = atomicCAS(&part.keys[entry & mask], EMPTY, v);
            *is_new = key == EMPTY;
            if (*is_new) return entry & mask;
        }
        if (key == v) return entry & mask;
        if (key == EMPTY) return EMPTY;
    }
    return EMPTY;
}

__device__ void enter_goal(const Part& part, const Into& into, u32 v)
{
    if (into.number[v] == UNREACHED) return;
    bool is_new = false;
    u32 entry = entry_of(part, v, true, &is_new);
    if (entry != EMPTY) store_relaxed(&part.places[entry], IS_GOAL);
}

// Enters the goals: u and its nearest dominators, MAX_CLIMB in all, and the immediate one of w, which is on
// every path to w. Returns false if w dominates u; then no path to another vertex needs the arc.
__device__ bool enter_goals(const Part& part, const Into& into, const Known& known, u32 from, u32 to)
{
    u32 top = known.idom[to];
    u32 v = from;
    for (u32 climbed = 0; v != top && climbed < MAX_CLIMB; ++climbed) {
        if (v == to) return false;
        enter_goal(part, into, known.order[v]);
        v = known.idom[v];
    }
    enter_goal(part, into, known.order[top]);
    return true;
}

// Empties the part and enters w and the goals; returns false if w dominates u.
__device__ bool begin_part(const Part& part, const Into& into, const Known& known, u32 from, u32 to)
{
    for (u32 i = threadIdx.x; i < 2 * part.capacity; i += blockDim.x) {
        store_relaxed(&part.keys[i], EMPTY);
        store_relaxed(&part.places[i], NO_PLACE);
    }
    __syncthreads();
    bool concerns = true;
    if (threadIdx.x == 0) {
        concerns = enter_goals(part, into, known, from, to);
        bool is_new = false;
        u32 entry = entry_of(part, known.order[to], true, &is_new);
        if (concerns) store_relaxed(&part.places[entry], static_cast<u16>(0));
        part.vertices[0] = known.order[to];
        store_relaxed(&part.parent[0], 0u);
        store_relaxed(&part.parent[part.capacity], EMPTY);
        *part.count = 1;
        *part.cut = 0;
    }
    return __syncthreads_and(concerns);
}

// Enters the tail x of an arc into the vertex at `place`.
__device__ void visit(const Part& part, u32 place, u32 x)
{
    bool is_new = false;
    bool has_room = load_relaxed(part.count) < part.capacity;
    u32 entry = entry_of(part, x, has_room, &is_new);
    if (entry != EMPTY && !is_new) {
        if (load_relaxed(&part.places[entry]) == IS_GOAL) atomicMin(&part.parent[part.capacity], place);
        return;
    }
    u32 own = is_new ? atomicAdd(part.count, 1u) : part.capacity;
    if (own >= part.capacity) {
        store_relaxed(part.cut, 1u);
        return;
    }
    part.vertices[own] = x;
    store_relaxed(&part.parent[own], place);
    store_relaxed(&part.places[entry], static_cast<u16>(own));
}

// Searches backwards from w by levels; returns the number of vertices seen. `nearest` is the least place with
// an arc from a goal, or EMPTY; all threads agree on it.
__device__ u32 search(const Part& part, const Into& into, u32* nearest)
{
    u32 begin = 0;
    u32 end = 1;
    u32 last_level = EMPTY;
    *nearest = EMPTY;
    for (u32 level = 0; begin < end && level <= last_level; ++level) {
        for (u32 place = begin + threadIdx.x; place < end; place += blockDim.x) {
            u32 v = part.vertices[place];
            i64 first = into.offsets[v];
            i64 stop = into.offsets[v + 1];
            if (stop - first > MAX_ARCS) store_relaxed(part.cut, 1u);
            for (i64 arc = first; arc < min(stop, first + MAX_ARCS); ++arc) {
                u32 x = into.tails[arc];
                if (into.number[x] != UNREACHED) visit(part, place, x);
            }
        }
        __syncthreads();
        *nearest = load_relaxed(&part.parent[part.capacity]);
        if (*nearest == 0) last_level = level;
        if (*nearest != EMPTY && last_level == EMPTY) last_level = 2 * level + EXTRA_LEVELS;
        begin = end;
        end = min(load_relaxed(part.count), part.capacity);
        __syncthreads();
    }
    return end;
}

// Moves the vertices of the part, and the goal, up to their dominators from w.
__device__ void find_dominators(const Part& part, const Into& into, u32 seen)
{
    bool changed = true;
    while (changed) {
        bool moved = false;
        for (u32 place = threadIdx.x; place < seen; place += blockDim.x) {
            u32 v = part.vertices[place];
            i64 first = into.offsets[v];
            i64 stop = min(into.offsets[v + 1], first + MAX_ARCS);
            for (i64 arc = first; arc < stop; ++arc) {
                u32 entry = entry_of(part, into.tails[arc], false, nullptr);
                if (entry == EMPTY) continue;
                u32 x = load_relaxed(&part.places[entry]);
                if (x == 0 || x == NO_PLACE) continue;
                if (follow_arc(part.parent, place, x == IS_GOAL ? part.capacity : x)) moved = true;
            }
        }
        changed = __syncthreads_or(moved);
    }
}

// Puts in doubt what can become a dominator because the arc is gone, and its head if the tree of the search
// used the arc. For one thread.
__device__ void put_in_doubt(const Part& part, const Known& known, u32 from, u32 to, bool sees_all,
                             u32* doubt)
{
    if (known.parent[to] == from) atomicOr(&doubt[to], VERTEX);
    u32 place = load_relaxed(&part.parent[part.capacity]);
    if (place == EMPTY) {
        if (!sees_all || *part.cut) atomicOr(&doubt[known.idom[to]], CHILDREN);
        return;
    }
    for (; place != 0; place = load_relaxed(&part.parent[place])) {
        u32 x = known.number[part.vertices[place]];
        if (x != UNREACHED) atomicOr(&doubt[x], VERTEX);
    }
}

// `removed` are arcs as tail << 32 | head; `sees_all` is 0 if there are arcs that `into` does not hold. Adds
// to `doubt`, by number. Shared memory: 5 * capacity + 1 words.
extern "C" __global__ void find_detours(u32 n_removed, const u64* __restrict__ removed, Into into,
                                        Known known, u32 sees_all, u32 capacity, u32* doubt)
{
    extern __shared__ u32 words[];
    __shared__ u32 state[2];
    Part part = part_in(words, capacity, state);
    for (u32 i = blockIdx.x; i < n_removed; i += gridDim.x) {
        u32 from = known.number[removed[i] >> 32];
        u32 to = known.number[removed[i] & 0xffffffffu];
        if (from == UNREACHED || to == UNREACHED || to == 0) continue;
        if (begin_part(part, into, known, from, to)) {
            u32 nearest;
            u32 seen = search(part, into, &nearest);
            if (nearest != EMPTY && nearest != 0) find_dominators(part, into, seen);
            if (threadIdx.x == 0) put_in_doubt(part, known, from, to, sees_all != 0, doubt);
        }
        __syncthreads();
    }
}
