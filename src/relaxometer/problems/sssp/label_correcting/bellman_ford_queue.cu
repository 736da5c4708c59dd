// SSSP by the Bellman-Ford algorithm with queues, sections 4.2 and 4.3 of the survey "Single-source shortest
// paths in parallel with CUDA".
//
// One launch does the whole search. Every block has a circular queue in shared memory, of vertices whose
// distance fell. It repeatedly takes a batch from the front, relaxes the batch's arcs, one thread per arc,
// and queues the vertices that came nearer. Blocks do not wait for each other. Two options change the order:
//
//   small label first   a vertex nearer than the one at the front goes in front of it, others to the back;
//   large label last    a vertex at the front that is farther than the queue's mean goes to the back.
//
// Blocks exchange work through a common pool, a circular queue in global memory. A block moves vertices there
// when its own queue is full, and moves all but `keep` of them there when the pool has little. A block whose
// queue is empty takes from the pool. A vertex is in at most one queue (see _labels.cuh), so a pool with one
// slot per vertex never overflows.
//
// The search ends when no block is busy and the pool is empty. control[WORK] counts busy blocks plus vertices
// in the pool. It is raised before vertices are published and lowered after they have been fetched, with a
// fence on either side, so it reaches zero only once, at the end.
//
// Deviations from the survey:
//   - It does not say what idle blocks do, or how the end is detected; see above.
//   - Both options compare the distances at which vertices were queued, which may have fallen since. For
//     floats, the mean is that of their bits, which stand for at most their own mean.
//   - A batch is as many vertices as the block has threads: the options order batches, not vertices.
//   - With negative weights the search may have no end, so a launch ends after a number of vertices. The host
//     looks for a negative cycle, and launches again with the vertices that wait.

#include "device/block_scan.cuh"
#include "_labels.cuh"

__device__ const u32 BLOCK = 256;
__device__ const u32 STAGE_ARCS = 4 * BLOCK;    // relaxed between two barriers
__device__ const u32 EMPTY_SLOT = 0xffffffffu;  // of the pool

// Places of the counters in `control`, each in its own cache line.
const u32 HEAD = 0, TAIL = 16, WORK = 32, TAKEN = 48, RELAXED = 64, BUDGET = 80, CONTROL_WORDS = 96;

const u32 SMALL_LABEL_FIRST = 1, LARGE_LABEL_LAST = 2;

struct Entry {
    u32 vertex;
    length_t distance;  // when it was queued
};

// The term of a distance in a queue's sum. 64-bit distances lose their low 16 bits, so that no sum wraps.
__device__ __forceinline__ u64 summed(length_t distance)
{
    return static_cast<u64>(distance) >> (WIDE_LENGTHS ? 16 : 0);
}

// The queue of a block.
struct Queue {
    Entry* ring;
    u32 capacity;  // a power of two
    u32 head;
    u32 size;
    u64 sum;  // of the distances, see `summed`

    __device__ Entry& at(u32 place)
    {
        return ring[(head + place) & (capacity - 1)];
    }
};

struct Pool {
    u32* slots;
    u32 mask;
    u64* control;

    // Reserves slots for `count` vertices; returns the first of their tickets. The block must pass a fence
    // before it publishes vertices under them.
    __device__ u64 reserve(u32 count) const
    {
        atomicAdd(&control[WORK], static_cast<u64>(count));
        return atomicAdd(&control[TAIL], static_cast<u64>(count));
    }

    // Waits until the slot's last vertex has been fetched.
    __device__ void publish(u64 ticket, u32 vertex) const
    {
        u32* slot = &slots[ticket & mask];
        while (atomicCAS(slot, EMPTY_SLOT, vertex) != EMPTY_SLOT) __nanosleep(50);
    }

    __device__ u32 fetch(u64 ticket) const
    {
        u32* slot = &slots[ticket & mask];
        u32 vertex = EMPTY_SLOT;
        while ((vertex = atomicExch(slot, EMPTY_SLOT)) == EMPTY_SLOT) __nanosleep(50);
        return vertex;
    }

    __device__ i64 size() const
    {
        u64 tail = load_relaxed(&control[TAIL]);
        return static_cast<i64>(tail - load_relaxed(&control[HEAD]));
    }

    // Claims this block's share of the pool; `ticket` gets its first ticket. Returns the number of vertices.
    __device__ u32 claim(u64* ticket) const
    {
        u64 head = load_relaxed(&control[HEAD]);
        i64 waiting = static_cast<i64>(load_relaxed(&control[TAIL]) - head);
        if (waiting <= 0) return 0;
        u64 share = static_cast<u64>(waiting) / gridDim.x;
        u32 count = share < 1 ? 1 : share > BLOCK ? BLOCK : static_cast<u32>(share);
        if (atomicCAS(&control[HEAD], head, head + count) != head) return 0;
        *ticket = head;
        return count;
    }

#if defined(INT32_LENGTHS)
    // Whether the launch has taken as many vertices as it may.
    __device__ bool is_spent() const
    {
        return load_relaxed(&control[TAKEN]) >= load_relaxed(&control[BUDGET]);
    }
#endif

    // Waits until there are vertices to claim; returns 0 once the search, or the launch, has ended.
    __device__ u32 wait(u64* ticket) const
    {
        for (u32 pause = 64;; pause = pause < 1024 ? 2 * pause : pause) {
            u32 count = claim(ticket);
            if (count != 0 || load_relaxed(&control[WORK]) == 0) return count;
#if defined(INT32_LENGTHS)
            if (is_spent()) return 0;
#endif
            __nanosleep(pause);
        }
    }
};

// Takes a batch from the pool for an idle block; returns its size, 0 once the search has ended.
__device__ u32 batch_from_pool(const Pool& pool, bool was_busy, u32* batch)
{
    __shared__ u64 ticket;
    __shared__ u32 count;
    if (threadIdx.x == 0) {
        if (was_busy) atomicAdd(&pool.control[WORK], ~0ull);
        count = pool.wait(&ticket);
    }
    __syncthreads();
    u32 fetched = count;
    if (threadIdx.x < fetched) {
        batch[threadIdx.x] = pool.fetch(ticket + threadIdx.x);
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0 && fetched > 1) atomicAdd(&pool.control[WORK], 1 - static_cast<u64>(fetched));
    return fetched;
}

// Takes a batch from the front of the block's queue; returns its size. With "large label last", vertices
// farther than the mean go to the back instead; the batch may then be empty.
__device__ u32 batch_from_queue(Queue& queue, u32 options, u32* batch)
{
    __shared__ u32 taken;
    __shared__ u32 rotated;
    __shared__ u64 taken_sum;
    if (threadIdx.x == 0) {
        taken = 0;
        rotated = 0;
        taken_sum = 0;
    }
    u32 size = queue.size;
    u32 window = size < BLOCK ? size : BLOCK;
    bool has_entry = threadIdx.x < window;
    Entry entry = has_entry ? queue.at(threadIdx.x) : Entry{EMPTY_SLOT, 0};
    bool late = (options & LARGE_LABEL_LAST) && summed(entry.distance) * size > queue.sum;
    __syncthreads();  // the back of a full ring is where its front was
    if (has_entry && late) {
        queue.at(size + atomicAdd(&rotated, 1u)) = entry;
    } else if (has_entry) {
        batch[atomicAdd(&taken, 1u)] = entry.vertex;
        atomicAdd(&taken_sum, summed(entry.distance));
    }
    __syncthreads();
    u32 count = taken;
    if (threadIdx.x == 0) {
        queue.head += window;
        queue.size -= count;
        queue.sum -= taken_sum;
    }
    __syncthreads();
    return count;
}

// Queues the staged vertices: in the block's own queue while it has space, the rest in the pool.
__device__ void queue_staged(Queue& queue, const Pool& pool, u32 options, const Entry* stage, u32 staged)
{
    __shared__ u32 in_front;
    __shared__ u32 behind;
    __shared__ u64 sum;
    __shared__ u64 ticket;
    u32 space = queue.capacity - queue.size;
    u32 kept = staged < space ? staged : space;
    if (threadIdx.x == 0) {
        in_front = 0;
        behind = 0;
        sum = 0;
        if (staged > kept) ticket = pool.reserve(staged - kept);
    }
    bool compares = (options & SMALL_LABEL_FIRST) && queue.size > 0;
    length_t front = compares ? queue.at(0).distance : 0;
    __syncthreads();
    if (staged > kept) __threadfence();
    for (u32 i = threadIdx.x; i < staged; i += BLOCK) {
        Entry entry = stage[i];
        if (i >= kept) {
            pool.publish(ticket + (i - kept), entry.vertex);
            continue;
        }
        bool first = entry.distance < front;
        u32 place = first ? 0 - 1 - atomicAdd(&in_front, 1u) : queue.size + atomicAdd(&behind, 1u);
        queue.at(place) = entry;
        atomicAdd(&sum, summed(entry.distance));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        queue.head -= in_front;
        queue.size += kept;
        queue.sum += sum;
    }
    __syncthreads();
}

// Relaxes the arcs of the batch; returns their number.
__device__ u64 relax_batch(Queue& queue, const Pool& pool, u32 options, const u32* batch, u32 count,
                           const i64* __restrict__ Va, const u32* __restrict__ Ea,
                           const weight_t* __restrict__ Wa, u64* labels, u32* overflow)
{
    __shared__ length_t distances[BLOCK];
    __shared__ i64 first_arc[BLOCK];
    __shared__ u64 arcs_before[BLOCK];
    __shared__ Entry stage[STAGE_ARCS];
    __shared__ u32 staged;
    u64 degree = 0;
    if (threadIdx.x < count) {
        u32 v = batch[threadIdx.x];
        distances[threadIdx.x] = take(&labels[v]);
        first_arc[threadIdx.x] = Va[v];
        degree = static_cast<u64>(Va[v + 1] - Va[v]);
    }
    u64 arcs;
    u64 before = block_exclusive_sum(degree, &arcs);
    if (threadIdx.x < count) arcs_before[threadIdx.x] = before;
    for (u64 start = 0; start < arcs; start += STAGE_ARCS) {
        if (threadIdx.x == 0) staged = 0;
        __syncthreads();
        u64 end = arcs - start < STAGE_ARCS ? arcs : start + STAGE_ARCS;
        for (u64 arc = start + threadIdx.x; arc < end; arc += BLOCK) {
            u32 k = last_not_above(arcs_before, count, arc);
            i64 i = first_arc[k] + static_cast<i64>(arc - arcs_before[k]);
            length_t length = 0;
            u32 v = Ea[i];
            if (offer(&labels[v], batch[k], distances[k], Wa[i], &length, overflow) == MUST_WAIT) {
                stage[atomicAdd(&staged, 1u)] = {v, length};
            }
        }
        __syncthreads();
        queue_staged(queue, pool, options, stage, staged);
    }
    return arcs;
}

// Moves all but the first `keep` vertices of the queue to the pool if other blocks may be waiting for them.
__device__ void share_surplus(Queue& queue, const Pool& pool, u32 keep)
{
    __shared__ u32 surplus;
    __shared__ u64 ticket;
    __shared__ u64 sum;
    if (threadIdx.x == 0) {
        bool wanted = queue.size > keep && pool.size() + 1 < static_cast<i64>(gridDim.x);
        surplus = wanted ? queue.size - keep : 0;
        sum = 0;
        if (wanted) ticket = pool.reserve(surplus);
    }
    __syncthreads();
    u32 shared = surplus;
    if (shared == 0) return;
    __threadfence();
    for (u32 i = threadIdx.x; i < shared; i += BLOCK) {
        Entry entry = queue.at(keep + i);
        pool.publish(ticket + i, entry.vertex);
        atomicAdd(&sum, summed(entry.distance));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        queue.size = keep;
        queue.sum -= sum;
    }
    __syncthreads();
}

#if defined(INT32_LENGTHS)
// Counts a batch; returns the same in all threads of the block, whether it was the launch's last.
__device__ bool was_last_batch(const Pool& pool, u32 count)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        atomicAdd(&pool.control[TAKEN], static_cast<u64>(count));
        is_last = pool.is_spent();
    }
    __syncthreads();
    return is_last;
}
#endif

// Before the launch the source's label waits and control[WORK] is 1. With negative weights, the vertices that
// wait are in the pool instead, and control[WORK] is their number. All blocks must run at once. Dynamic
// shared memory holds `capacity` entries.
extern "C" __global__ void search(u32 source, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                  const weight_t* __restrict__ Wa, u64* labels, u32* slots, u32 mask,
                                  u64* control, u32 capacity, u32 keep, u32 options, u32* overflow)
{
    extern __shared__ u64 ring[];
    __shared__ Queue queue;
    __shared__ u32 batch[BLOCK];
    Pool pool = {slots, mask, control};
#if defined(INT32_LENGTHS)
    bool busy = false;
#else
    bool busy = blockIdx.x == 0;
#endif
    if (threadIdx.x == 0) {
        queue = {reinterpret_cast<Entry*>(ring), capacity, 0, busy ? 1u : 0u, 0};
        if (busy) queue.at(0) = {source, 0};
    }
    __syncthreads();
    u64 taken = 0;
    u64 relaxed = 0;
    for (;;) {
        u32 count;
        if (queue.size > 0) {
            count = batch_from_queue(queue, options, batch);
        } else {
            count = batch_from_pool(pool, busy, batch);
            if (count == 0) break;
            busy = true;
        }
#if !defined(INT32_LENGTHS)
        taken += count;
#endif
        relaxed += relax_batch(queue, pool, options, batch, count, Va, Ea, Wa, labels, overflow);
        share_surplus(queue, pool, keep);
#if defined(INT32_LENGTHS)
        if (was_last_batch(pool, count)) break;
#endif
    }
    if (threadIdx.x == 0) {
        atomicAdd(&control[TAKEN], taken);
        atomicAdd(&control[RELAXED], relaxed);
    }
}
