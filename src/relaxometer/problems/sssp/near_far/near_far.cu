// Near-far SSSP (Davidson et al., IPDPS 2014) in one launch: by one block while few vertices are near, by all
// blocks while many are. _piles.cuh has the algorithm and lists the deviations from the paper.
//
// All blocks stay resident for the whole search. While few vertices are near, the first block continues by
// itself: its near entries are in shared memory, and its barrier costs a fraction of the grid's. When more
// are near, all blocks take part, with one barrier per phase. Every block keeps the whole state and comes to
// the same decision from it: after the barrier it adds the gains of the phase to its state, or copies the
// state that the first block left.
//
// Buckets that were taken along while few vertices were near can make too many near later. If all blocks find
// more near entries than `crowd`, they lower the threshold to the mean bucket of a sample, and everything
// farther moves to the pile beyond: with that many entries, work matters, not latency.

#include <cooperative_groups.h>

#include "_block_search.cuh"
#include "_grid_phase.cuh"

namespace cg = cooperative_groups;

// Numbers of entries at which phases grow, or the search passes between one block and all; see near_far.py.
struct Limits {
    u32 block_target;
    u32 grid_target;
    u32 narrow;
    u32 wide;
    u32 crowd;
};

// Global memory of the blocks: the state that the first block left, and the gains of three phases, one to
// read, one to add to and one to clear.
struct Shared {
    State state;
    Counters gains[3];
};

__device__ void clear_gain(Counters& gain)
{
    if (threadIdx.x < COUNTERS) gain.count[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        gain.least = NO_PATH;
        gain.overflowed = gain.full = 0;
    }
}

__device__ void add_gain(Counters& total, const Counters& gain)
{
    if (threadIdx.x < COUNTERS) total.count[threadIdx.x] += gain.count[threadIdx.x];
    if (threadIdx.x == COUNTERS) total.least = min(total.least, gain.least);
    if (threadIdx.x == COUNTERS + 1) total.overflowed |= gain.overflowed;
    if (threadIdx.x == COUNTERS + 2) total.full |= gain.full;
}

__device__ void copy_state(State* to, const State* from)
{
    const u32 words = sizeof(State) / sizeof(u32);
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
        reinterpret_cast<u32*>(to)[i] = reinterpret_cast<const u32*>(from)[i];
    }
}

// Moves the first QUEUE near entries between their pile and a block's shared memory.
__device__ void copy_near(Entry* to, const Entry* from, u32 count)
{
    for (u32 i = threadIdx.x; i < min(count, QUEUE); i += blockDim.x) {
        to[i] = from[i];
    }
}

// The last two end a phase.
enum Step {
    END,         // all piles are empty
    ONE_BLOCK,   // so little is near or taken along that the first block continues by itself
    NEXT_EPOCH,  // nothing is near enough: sort the entries beyond all slots
    DEMOTE,      // more than `crowd` is near: lower the threshold, move the rest beyond
    EXPAND       // expand near entries and those of the slots taken
};

// The next step. All blocks decide alike, from equal states.
struct Decision {
    u32 near_count;
    Taken taken;  // slots to expand along with the near entries
    u32 last;     // near bucket, lowered to demote
    Step step;

    __device__ Decision(const State& known, const Piles& piles, const Limits& limits)
    {
        const Position& at = known.at;
        near_count = min(known.total.count[NEAR + at.phase % 3], piles.capacity);
        taken = slots_for(known, piles, limits.grid_target);
        u32 beyond_count = known.total.count[BEYOND + at.beyond];
        last = taken.count == 0 ? at.last : at.epoch * SLOTS + taken.last;
        step = EXPAND;
        if (near_count + taken.count + beyond_count == 0) {
            step = END;
        } else if (entries_for_one(known, piles, limits, beyond_count) < limits.narrow) {
            step = ONE_BLOCK;
        } else if (near_count < limits.grid_target && taken.count == 0 && beyond_count != 0) {
            step = NEXT_EPOCH;
        } else if (near_count >= limits.grid_target && near_count > limits.crowd) {
            u32 mean = mean_bucket(piles, at.phase);
            if (mean < last) step = DEMOTE;
            last = min(last, mean);
        }
    }

    __device__ Taken slots_for(const State& known, const Piles& piles, u32 target) const
    {
        if (near_count >= target) return {};
        return take_slots(known, known.at.last, known.at.epoch, near_count, target, piles.capacity);
    }

    // The number of entries that one block would have to expand or sort.
    __device__ u32 entries_for_one(const State& known, const Piles& piles, const Limits& limits,
                                   u32 beyond_count) const
    {
        if (near_count >= limits.block_target) return near_count;
        u32 along = slots_for(known, piles, limits.block_target).count;
        return near_count + (along != 0 ? along : beyond_count);
    }

    // The mean bucket of 32 near entries, evenly spaced in their pile.
    __device__ u32 mean_bucket(const Piles& piles, u32 phase) const
    {
        u32 place = static_cast<u32>(static_cast<u64>(threadIdx.x % WARP) * near_count / WARP);
        u32 bucket = piles.bucket_of(piles.near_of(phase)[place].distance);
        u32 least = __reduce_min_sync(ALL_LANES, bucket);
        u32 above = min(bucket - least, (1u << 27) - 1);
        return least + __reduce_add_sync(ALL_LANES, above) / WARP;
    }
};

// Moves on to the next phase, which reads the pile that this one filled. For whole blocks, after all threads
// have finished this phase.
__device__ void end_phase(State& known)
{
    if (threadIdx.x == 0) {
        known.total.count[NEAR + (known.at.phase + 2) % 3] = 0;
        ++known.at.phase;
    }
}

// Takes a step of all blocks.
__device__ __forceinline__ void take_step(const Decision& next, GridPhase& all, State& known)
{
    if (next.step == NEXT_EPOCH) {
        all.next_epoch();
        all.flush();
    } else if (next.step == DEMOTE) {
        all.demote(next.last);
        end_phase(known);
    } else {
        all.expand(next.near_count, next.taken);
        all.flush();
        __syncthreads();
        if (threadIdx.x == 0) known.at.last = next.last;
        end_phase(known);
    }
}

// Where a search starts.
struct Origin {
    u32 source;
    const u32* sources;  // different ones, instead of `source`; or null
    u32 n_sources;
};

// Clears the gains and the tree, then makes the first entries.
__device__ __forceinline__ void start(const cg::grid_group& grid, const Problem& problem, const Tree& tree,
                                      const Origin& origin, const Log& log, Shared* shared)
{
    for (u32 i = 0; blockIdx.x == 0 && i < 3; ++i) clear_gain(shared->gains[i]);
    clear_tree(tree, problem.graph.n, thread_id(), thread_count());
    grid.sync();
    for (u32 i = thread_id(); i < origin.n_sources; i += thread_count()) {
        begin_search(tree, problem.piles, origin.sources ? origin.sources[i] : origin.source, i);
    }
    if (thread_id() == 0) log.begin();
}

// Brings a block's state up to date after a step: copies what the first block left, or adds the gains.
__device__ __forceinline__ void catch_up(State& known, const Shared& shared, Step before, u32 step)
{
    if (before == ONE_BLOCK) {
        copy_state(&known, &shared.state);
    } else {
        add_gain(known.total, shared.gains[(step + 2) % 3]);
    }
    __syncthreads();
}

// Narrow phases, by the first block alone. It moves the near entries to its shared memory and back, and
// leaves its state to all blocks.
__device__ __forceinline__ void run_alone(const Problem& problem, const Tree& tree, const Log& log,
                                          const Limits& limits, State& known, Hubs& hubs, Entry* queue,
                                          u32 near_count, Shared* shared)
{
    const Piles& piles = problem.piles;
    copy_near(queue + known.at.phase % 2 * QUEUE, piles.near_of(known.at.phase), near_count);
    __syncthreads();
    BlockRule rule = {limits.block_target, limits.wide};
    BlockSearch one = {
        {problem.graph, tree, piles, log, known, known.total, queue}, known.at, rule, hubs, 0, 0};
    one.run();
    copy_near(piles.near_of(known.at.phase), queue + known.at.phase % 2 * QUEUE,
              known.total.count[NEAR + known.at.phase % 3]);
    copy_state(&shared->state, &known);
}

// `result` gets phases << 2 | full << 1 | overflowed.
extern "C" __global__ void __launch_bounds__(1024, 1)
    near_far(const __grid_constant__ Problem problem, const __grid_constant__ Limits limits, u32 source,
             const u32* sources, u32 n_sources, length_t bound, length_t* distance, u32* predecessor,
             Shared* shared, LogRecord* records, u32 log_capacity, u64* result)
{
    extern __shared__ uint4 memory[];
    __shared__ State known;
    __shared__ Stage stage;
    __shared__ Hubs hubs;
    cg::grid_group grid = cg::this_grid();
    Entry* queue = reinterpret_cast<Entry*>(memory);
    const Piles& piles = problem.piles;
    Tree tree = {distance, predecessor, bound};
    Log log = {records, log_capacity};
    if (threadIdx.x == 0) {
        stage.count = stage.expanded = stage.relaxed = hubs.count = 0;
        known = first_state(n_sources);
    }
    start(grid, problem, tree, {source, sources, n_sources}, log, shared);
    Step before = NEXT_EPOCH;
    for (u32 step = 0;; ++step) {
        grid.sync();
        catch_up(known, *shared, before, step);
        if (before >= DEMOTE && thread_id() == 0) log.end(known.at.phase - 1, GRID);
        Decision next(known, piles, limits);
        before = next.step;
        if (next.step == END) break;
        if (blockIdx.x == 0) clear_gain(shared->gains[(step + 1) % 3]);
        if (next.step == ONE_BLOCK) {
            // Never twice in a row, so nobody still reads the state that the block writes: it stops with
            // nothing left or with more than `wide` entries, and `wide` is at least `narrow`.
            __syncthreads();
            if (blockIdx.x != 0) continue;
            run_alone(problem, tree, log, limits, known, hubs, queue, next.near_count, shared);
            continue;
        }
        GridPhase all = {
            {problem.graph, tree, piles, log, known, shared->gains[step % 3], queue}, stage, next.last, 0};
        take_step(next, all, known);
    }
    if (thread_id() == 0) {
        *result = static_cast<u64>(known.at.phase) << 2 | known.total.full << 1 | known.total.overflowed;
    }
}
