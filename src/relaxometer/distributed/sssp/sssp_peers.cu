// Shortest paths on the GPUs of one host, each in a single persistent kernel: a rank writes what it finds
// directly into the memory of the others.
//
// The search is push-pull's (push_pull.cu of problems/sssp): buckets pushed along arcs sorted by weight, then
// a pull into the vertices that are left. A rank owns every P-th vertex in the order of degrees, its heads,
// and has all arcs to them, by their tails and by their heads. Every vertex of the graph is a tail.
//
// A phase of pushing relaxes the arcs from a frontier that all ranks know to a rank's own heads. So labels
// change, and compare-and-swaps contend, only within a GPU. What crosses is one message, a vertex and its
// final distance, per vertex that came nearer, phase and other rank. Each rank keeps for every tail the
// distance last heard, which pulling reads, a cursor into its own arcs of the tail, and when the next is due.
// Pulling takes three phases (_peer_pull.cuh). The last bucket, without upper bound, pushes from the heads
// that the third one finds.
//
// A phase: push; wait for the own GPU; send the heads that came nearer; meet the other ranks (_peers.cuh).
// All ranks make the same decisions from the same published counts.
//
// A region holds the messages from each rank, for two phases in turn: those of tails of few arcs from the
// front, of many arcs from the back; then the labels of its heads. Whoever writes a message has met the ranks
// that read its place last, also from search to search: a rank that begins a search may write at once.
//
// Vertices are numbered by falling degree, tail t = j * P + r being head j of rank r.

#include "_peer_pull.cuh"

const u32 SWAPS = 2;             // compare-and-swaps of a lane at once
const u32 NO_HEAD = 0xffffffff;  // in place of a head or a tail, of a vertex without arcs

__device__ __forceinline__ Tail tail_at(const PeerSearch& s, u32 tail)
{
    return {tail, tail, load_relaxed(&s.tails.distance[tail])};
}

// Puts heads of the pile on the list of those to send.
__device__ __forceinline__ void enqueue(PeerSearch& s, u32 least)
{
    hand_over(s.pile, least, [&](bool chosen, u32 head) {
        u32 place = place_for(s, s.vertices.n, chosen, tail_of(s, head) < s.vertices.n_many);
        if (chosen) s.frontiers[TO_SEND][place] = head;
    });
}

// Relaxes each lane's arcs except missing ones, as `relax` of _push.cuh does. Each step is done for several
// arcs of a lane before the next one, so that their atomic operations wait side by side.
template <u32 ARCS>
__device__ __forceinline__ void relax(PeerSearch& s, const Tail& tail, const Arc (&arcs)[ARCS])
{
    u64* best = s.vertices.best;
    u64 before[ARCS];
    bool nearer[ARCS], queued[ARCS];
    for (u32 k = 0; k < ARCS; ++k) {
        before[k] = is_missing(arcs[k]) ? 0 : load_relaxed(&best[end_of(arcs[k])]);
        s.tally.read += !is_missing(arcs[k]);
    }
    for (u32 first = 0; first < ARCS; first += SWAPS) {
        u64 seen[SWAPS];
        auto swap = [&](u32 j) {
            const Arc& arc = arcs[first + j];
            u64 &old = before[first + j], length = tail.distance + weight_of(arc);
            nearer[first + j] = length < distance_of(old);
            seen[j] = nearer[first + j] ? atomicCAS(&best[end_of(arc)], old, label_of(length, tail.id)) : old;
        };
        for (u32 j = 0; j < SWAPS; ++j) swap(j);
        for (u32 j = 0; j < SWAPS; ++j) {
            for (; seen[j] != before[first + j]; swap(j)) before[first + j] = seen[j];
        }
    }
    for (u32 k = 0; k < ARCS; ++k) {
        queued[k] = nearer[k] && atomicExch(&s.vertices.stamp[end_of(arcs[k])], s.at.phase) != s.at.phase;
        if (nearer[k] && before[k] == NO_LABEL) s.tally.settled_arcs += degree_of(s.into, end_of(arcs[k]));
    }
    for (u32 k = 0; k < ARCS; ++k) pile_up(s.pile, queued[k], end_of(arcs[k]));
    enqueue(s, WARP);
}

__device__ __forceinline__ u32 items_of(u32 few, u32 many)
{
    return many + (few + GROUPS_PER_WARP - 1) / GROUPS_PER_WARP;
}

// A frontier: the tails that this rank resumes, or those that a rank sent in the last phase.
struct Frontier {
    u32 few;
    u32 many;
    const u64* sent;  // null: `resumed` of Tails
};

// Lists the tails with an arc to push in the bucket.
__device__ __forceinline__ Frontier collect_due(PeerSearch& s)
{
    auto resume = [&](bool chosen, u32 tail) {
        u32 place = place_for(s, s.tails.n, chosen, tail < s.vertices.n_many);
        if (chosen) s.tails.resumed[place] = tail;
    };
    advance(s);
#pragma unroll 1
    for (u32 base = thread_id() - lane(); base < (s.tails.n + SWEPT - 1) / SWEPT; base += thread_count()) {
        u32 first = base * SWEPT + lane(), due[SWEPT];
        for (u32 k = 0; k < SWEPT; ++k) {
            u32 tail = first + k * WARP;
            due[k] = tail < s.tails.n ? s.vertices.due[tail] : static_cast<u32>(INFINITE);
        }
        for (u32 k = 0; k < SWEPT; ++k) {
            bool chosen = due[k] < s.at.limit;
            if (!chosen) s.tally.nearest = min(s.tally.nearest, static_cast<u64>(due[k]));
            if (__any_sync(ALL_LANES, chosen)) pile_up(s.pile, chosen, first + k * WARP);
        }
        hand_over(s.pile, WARP, resume);
    }
    hand_over(s.pile, 1, resume);
    cg::this_grid().sync();
    return {load_relaxed(&phase_counters(s).few), load_relaxed(&phase_counters(s).many), nullptr};
}

// The tail of an item, at a place from the front of a frontier or, `from_back`, from its back. Notes the
// distance if this lane `leads`.
__device__ __forceinline__ Tail take_tail(PeerSearch& s, const Frontier& frontier, u32 place, bool from_back,
                                          bool leads)
{
    if (frontier.sent == nullptr) {
        return tail_at(s, s.tails.resumed[from_back ? s.tails.n - 1 - place : place]);
    }
    u64 sent = frontier.sent[from_back ? s.vertices.n - 1 - place : place];
    Tail tail = {static_cast<u32>(sent >> 32), static_cast<u32>(sent >> 32), sent & 0xffffffffull};
    if (leads) store_relaxed(&s.tails.distance[tail.vertex], static_cast<u32>(sent));
    return tail;
}

// Pushes a frontier. `before` counts the items of the frontiers before it, so that warps take those of all in
// turn.
__device__ __forceinline__ void push_frontier(PeerSearch& s, const Frontier& frontier, u32 before)
{
    u32 warps = thread_count() / 32, items = items_of(frontier.few, frontier.many);
    bool resumed = frontier.sent == nullptr;
#pragma unroll 1
    for (u32 item = (thread_id() / 32 + warps - before % warps) % warps; item < items; item += warps) {
        if (item < frontier.many) {
            push_many(s, take_tail(s, frontier, item, true, lane() == 0), resumed);
        } else {
            u32 index = (item - frontier.many) * GROUPS_PER_WARP + lane() / GROUP_LANES;
            bool has_tail = index < frontier.few;
            Tail tail = {};
            if (has_tail) tail = take_tail(s, frontier, index, false, lane() % GROUP_LANES == 0);
            push_few(s, has_tail, tail, resumed);
        }
    }
}

// Pushes what this rank resumes, or what all ranks sent in the last phase.
__device__ __forceinline__ void push_all(PeerSearch& s, const Frontier& resumed, bool received)
{
    u32 before = 0;
#pragma unroll 1
    for (u32 from = 0; from < (received ? s.peers.n_ranks : 1); ++from) {
        Frontier frontier = resumed;
        if (received) {
            frontier = {static_cast<u32>(s.published->of(from, FEW)),
                        static_cast<u32>(s.published->of(from, MANY)), inbox(s, s.peers.rank, from, 1)};
        }
        push_frontier(s, frontier, before);
        before += items_of(frontier.few, frontier.many);
    }
}

// Ends a phase of pushing: the tasks of long windows, then the messages. Returns whether any rank sent any.
__device__ __forceinline__ bool end_push(PeerSearch& s, bool has_many)
{
    cg::grid_group grid = cg::this_grid();
    if (has_many) {
        grid.sync();
        push_tasks(s, load_relaxed(&phase_counters(s).tasks));
    }
    enqueue(s, 1);
    add_up(s);
    grid.sync();
    u32 few = load_relaxed(&phase_counters(s).few), many = load_relaxed(&phase_counters(s).many);
#pragma unroll 1
    for (u32 i = thread_id(); i < few + many; i += thread_count()) {
        u32 place = i < few ? i : s.vertices.n - 1 - (i - few);
        send(s, place, s.frontiers[TO_SEND][place]);
    }
    return meet_all(s, false) != 0;
}

// Pushes until no distance below the limit can fall any more, on any rank.
__device__ __forceinline__ void push_bucket(PeerSearch& s, const Frontier& resumed, bool received)
{
    bool has_many = received ? sum_of(s, MANY) != 0 : resumed.many != 0;
    do {
        advance(s);
        push_all(s, resumed, received);
        received = end_push(s, has_many);
        has_many = sum_of(s, MANY) != 0;
    } while (received);
}

// Labels every head unreached except the source, a tail or NO_HEAD. Its first arc is due on every rank: the
// first frontier.
__device__ __forceinline__ Frontier start(PeerSearch& s, u32 source)
{
    bool is_own = source % s.peers.n_ranks == s.peers.rank, has_many = source < s.vertices.n_many;
#pragma unroll 1
    for (u32 v = thread_id(); v < s.vertices.n; v += thread_count()) {
        s.vertices.best[v] = tail_of(s, v) == source ? label_of(0, source) : NO_LABEL;
    }
#pragma unroll 1
    for (u32 v = thread_id(); v < s.tails.n; v += thread_count()) {
        s.tails.distance[v] = s.vertices.due[v] = v == source ? 0 : UNREACHED;
    }
    if (threadIdx.x == 0) *s.block = {0, 0, INFINITE, 0};
    if (thread_id() == 0) {
        for (BucketCounters& bucket : s.state->bucket) bucket = {INFINITE, 0};
        for (PhaseCounters& phase : s.state->phases) phase = {};
        s.state->overflow = s.state->logged = 0;
        if (source != NO_HEAD) {
            s.vertices.cursor[source] = 0;
            s.tails.resumed[has_many ? s.tails.n - 1 : 0] = source;
            s.state->settled_arcs = is_own ? degree_of(s.into, source / s.peers.n_ranks) : 0;
        }
    }
    cg::this_grid().sync();
    log_phase(s, false, 1, 0);
    return {has_many ? 0u : 1u, has_many ? 1u : 0u, nullptr};
}

// The search, a cooperative launch on every rank. `tail_numbers` names the tail of each vertex of the graph,
// or NO_HEAD if it has no arcs. The log may have no rows.
extern "C" __global__ void __launch_bounds__(MAX_WARPS* WARP)
    search(const __grid_constant__ Problem problem, const __grid_constant__ Peers peers,
           const __grid_constant__ Tails tails, const u32* __restrict__ tail_numbers, u32 source, u64* log,
           u32 log_size)
{
    __shared__ Published published;
    __shared__ BlockTally block;
    __shared__ u32 piles[MAX_WARPS][PILE];
    PeerSearch s;
    static_cast<Search&>(s) = {
        problem, {log, log_size}, {problem.state->phase, 0, 0, nullptr, nullptr}, {INFINITE, 0, 0}};
    s.peers = peers;
    s.tails = tails;
    s.epoch = static_cast<u32>(load_relaxed(&peers.meetings->epoch));
    s.pile = {piles[warp()], 0};
    s.block = &block;
    s.published = &published;
    u32 tail = tail_numbers[source];
    Frontier resumed = start(s, tail);
    if (tail == NO_HEAD) return;
    begin_bucket(s, bucket_end(0, s.delta));
    for (bool received = false;;) {
        push_bucket(s, resumed, received);
        u64 nearest = published.least(peers, NEAREST);
        if (nearest == INFINITE || s.at.limit == INFINITE) break;
        float unsettled_arcs = static_cast<float>(s.n_arcs - sum_of(s, SETTLED));
        if (unsettled_arcs < s.beta * sum_of(s, READ)) {
            received = pull_all(s);
            if (!received) break;
            s.at.limit = INFINITE;
        } else {
            begin_bucket(s, bucket_end(nearest, s.delta));
            resumed = collect_due(s);
        }
    }
    if (thread_id() != 0) return;
    if (sum_of(s, OVERFLOWED) != 0) store_relaxed(&s.state->overflow, 1u);
    s.state->phase = s.at.phase;
    store_relaxed(&peers.meetings->epoch, static_cast<u64>(s.epoch));
}

// Writes the answer of the owned vertices, `n` of them; `head_of` names the head of each, or NO_HEAD, `ids`
// the vertex of each tail, and `own_source` the place of the source, if this rank owns it.
extern "C" __global__ void unpack(u32 n, const u32* __restrict__ head_of, const u64* __restrict__ best,
                                  const u32* __restrict__ ids, const State* __restrict__ state, u32 source,
                                  u32 own_source, u32* __restrict__ distance, u32* __restrict__ predecessor,
                                  u32* n_phases, u32* overflow)
{
    if (thread_id() == 0) {
        *n_phases = state->logged - 1;
        *overflow = state->overflow;
    }
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u64 label = head_of[v] != NO_HEAD ? best[head_of[v]] : NO_LABEL;
        distance[v] = v == own_source ? 0 : static_cast<u32>(distance_of(label));
        u32 before = label == NO_LABEL ? NO_PREDECESSOR : ids[static_cast<u32>(label)];
        predecessor[v] = v == own_source ? source : before;
    }
}
