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
//
// A phase: push; wait for the own GPU; send the heads that came nearer; meet the other ranks (_peers.cuh). A
// phase of pulling sends at once, since a vertex pulls only once in a phase, and takes in what was sent after
// the barrier. All ranks make the same decisions from the same published counts.
//
// A region holds the messages from each rank, for two phases in turn: those of tails of few arcs from the
// front, of many arcs from the back. Whoever writes into one has met the ranks that read it last.
//
// Vertices are numbered by falling degree, tail t = j * P + r being head j of rank r.

#include "distributed/_peers.cuh"
#include "problems/sssp/push_pull/_pull.cuh"
#include "problems/sssp/push_pull/_push.cuh"

enum Count { FEW, MANY, READ, SETTLED, NEAREST, OVERFLOWED };
const u32 COUNTS = 6;
static_assert(COUNTS == OVERFLOWED + 1, "as in Count");

// What a rank knows of all vertices. In the member `vertices` of Problem, `n`, `best` and `stamp` are those
// of its heads, the others those of the tails.
struct Tails {
    u32 n;
    u32* distance;  // last heard
    u32* resumed;  // tails whose next arc is due in a new bucket: few arcs from the front, many from the back
};

struct PeerSearch : Search {
    Peers peers;
    Tails tails;
    u32 epoch;
    Published* published;
};

__device__ __forceinline__ u32 tail_of(const PeerSearch& s, u32 head)
{
    return head * s.peers.n_ranks + s.peers.rank;
}

// The messages from a rank in a rank's region, written in this phase or, with `behind`, in the last one.
__device__ __forceinline__ u64* inbox(const PeerSearch& s, u32 peer, u32 from, u32 behind)
{
    u64 list = (s.at.phase - behind) % 2 * s.peers.n_ranks + from;
    return s.peers.at<u64>(peer, list * s.vertices.n * sizeof(u64));
}

__device__ __forceinline__ Tail tail_at(const PeerSearch& s, u32 tail)
{
    return {tail, tail, load_relaxed(&s.tails.distance[tail])};
}

__device__ __forceinline__ u64 arcs_of(const PeerSearch& s, u32 head)
{
    return degree_of(s.into, head);
}

__device__ __forceinline__ u64 distance_at(const PeerSearch& s, u32 tail)
{
    return load_relaxed(&s.tails.distance[tail]);
}

__device__ __forceinline__ u32 id_of(const PeerSearch&, u32 tail)
{
    return tail;
}

// Puts items of the `chosen` lanes into a list of `size`: few arcs from the front, many from the back.
__device__ __forceinline__ void put(PeerSearch& s, u32* list, u32 size, bool chosen, bool has_many, u32 item)
{
    u32 many = __ballot_sync(ALL_LANES, chosen && has_many);
    u32 few = __ballot_sync(ALL_LANES, chosen && !has_many);
    if (few != 0) {
        u32 place = reserve(few, &phase_counters(s).few);
        if (chosen && !has_many) list[place] = item;
    }
    if (many != 0) {
        u32 place = reserve(many, &phase_counters(s).many);
        if (chosen && has_many) list[size - 1 - place] = item;
    }
}

// Puts the heads of the `chosen` lanes on the list of those to send.
__device__ __forceinline__ void enqueue(PeerSearch& s, bool chosen, u32 head)
{
    put(s, s.at.next, s.vertices.n, chosen, tail_of(s, head) < s.vertices.n_many, head);
}

__device__ __forceinline__ u64 message(const PeerSearch& s, u32 head, u64 distance)
{
    return static_cast<u64>(tail_of(s, head)) << 32 | distance;
}

// Sends heads that pulling brought nearer. Ranks begin with different peers, so that not all write to one.
__device__ __forceinline__ void announce(PeerSearch& s, bool improved, u32 head, u64 distance)
{
    u32 chosen = __ballot_sync(ALL_LANES, improved);
    if (chosen == 0) return;
    u32 place = reserve(chosen, &phase_counters(s).few);
    if (!improved) return;
    store_relaxed(&s.tails.distance[tail_of(s, head)], static_cast<u32>(distance));
    for (u32 step = 1; step < s.peers.n_ranks; ++step) {
        u32 peer = (s.peers.rank + step) % s.peers.n_ranks;
        inbox(s, peer, s.peers.rank, 0)[place] = message(s, head, distance);
    }
}

// Sends the heads that pushing brought nearer, with their final distances, to all ranks and to this one.
__device__ __forceinline__ void send(PeerSearch& s)
{
    u32 few = load_relaxed(&phase_counters(s).few), many = load_relaxed(&phase_counters(s).many);
    for (u32 i = thread_id(); i < few + many; i += thread_count()) {
        u32 place = i < few ? i : s.vertices.n - 1 - (i - few);
        u32 head = s.at.next[place];
        u64 sent = message(s, head, distance_of(load_relaxed(&s.vertices.best[head])));
        for (u32 step = 0; step < s.peers.n_ranks; ++step) {
            u32 peer = (s.peers.rank + step) % s.peers.n_ranks;
            inbox(s, peer, s.peers.rank, 0)[place] = sent;
        }
    }
}

// Waits for all ranks at the end of a phase.
__device__ __forceinline__ void meet_all(PeerSearch& s)
{
    meet<COUNTS>(s.peers, ++s.epoch, *s.published, [&](u32 count) -> u64 {
        const PhaseCounters& phase = phase_counters(s);
        const BucketCounters& bucket = bucket_counters(s);
        switch (count) {
            case FEW:
                return load_relaxed(&phase.few);
            case MANY:
                return load_relaxed(&phase.many);
            case READ:
                return load_relaxed(&bucket.read);
            case SETTLED:
                return load_relaxed(&s.state->settled_arcs);
            case NEAREST:
                return load_relaxed(&bucket.nearest);
            default:
                return load_relaxed(&s.state->overflow);
        }
    });
}

__device__ __forceinline__ u64 sum_of(const PeerSearch& s, Count count)
{
    return s.published->sum(s.peers, count);
}

// The next phase; unlike `begin_phase` it keeps the list of heads to send.
__device__ __forceinline__ void advance(PeerSearch& s)
{
    ++s.at.phase;
    if (thread_id() == 0) s.state->phases[(s.at.phase + 1) % 3] = {};
}

__device__ __forceinline__ u32 items_of(u32 few, u32 many)
{
    return many + (few + GROUPS_PER_WARP - 1) / GROUPS_PER_WARP;
}

// Lists the tails with an arc to push in the bucket, and pushes them from their cursors.
__device__ __forceinline__ void collect_due(PeerSearch& s)
{
    for (u32 base = thread_id() - lane(); base < s.tails.n; base += thread_count()) {
        u32 v = base + lane();
        u32 due = v < s.tails.n ? s.vertices.due[v] : static_cast<u32>(INFINITE);
        bool chosen = due < s.at.limit;
        if (!chosen) s.tally.nearest = min(s.tally.nearest, static_cast<u64>(due));
        if (__any_sync(ALL_LANES, chosen)) {
            put(s, s.tails.resumed, s.tails.n, chosen, v < s.vertices.n_many, v);
        }
    }
}

// A frontier: the tails that this rank resumes, or those that a rank sent in the last phase.
struct Frontier {
    u32 few;
    u32 many;
    const u64* sent;  // null: `resumed` of Tails
};

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
    add_tally(s);
    grid.sync();
    send(s);
    meet_all(s);
    u64 sent = sum_of(s, FEW) + sum_of(s, MANY);
    log_phase(s, false, sent, load_relaxed(&phase_counters(s).read));
    return sent != 0;
}

// Pushes one bucket to its fixed point: no distance below the limit can fall any more, on any rank.
__device__ __forceinline__ void push_bucket(PeerSearch& s)
{
    advance(s);
    collect_due(s);
    cg::this_grid().sync();
    Frontier resumed = {load_relaxed(&phase_counters(s).few), load_relaxed(&phase_counters(s).many), nullptr};
    bool has_many = resumed.many != 0, received = false;
    do {
        advance(s);
        push_all(s, resumed, received);
        received = end_push(s, has_many);
        has_many = sum_of(s, MANY) != 0;
    } while (received);
}

// Notes the distances that other ranks sent in a phase of pulling.
__device__ __forceinline__ void take_in(PeerSearch& s)
{
    for (u32 step = 1; step < s.peers.n_ranks; ++step) {
        u32 from = (s.peers.rank + step) % s.peers.n_ranks;
        u32 count = static_cast<u32>(s.published->of(from, FEW));
        const u64* list = inbox(s, s.peers.rank, from, 0);
        for (u32 i = thread_id(); i < count; i += thread_count()) {
            store_relaxed(&s.tails.distance[list[i] >> 32], static_cast<u32>(list[i]));
        }
    }
}

// Pulls into the unreached heads until nothing changes on any rank; see `pull` of _pull.cuh.
__device__ __forceinline__ void pull_all(PeerSearch& s)
{
    cg::grid_group grid = cg::this_grid();
    u64 floor = s.at.limit;
    begin_phase(s);
    for (u32 base = thread_id() - lane(); base < s.vertices.n; base += thread_count()) {
        u32 v = base + lane();
        keep_pulling(s, v < s.vertices.n && load_relaxed(&s.vertices.best[v]) == NO_LABEL, v);
    }
    grid.sync();
    u64 bound = 0;
    for (bool changed = true; changed; bound = floor) {
        u32 size = load_relaxed(&phase_counters(s).pulling);
        begin_phase(s);
        pull_frontier(s, size, bound, floor);
        add_tally(s);
        meet_all(s);
        u64 improved = sum_of(s, FEW);
        changed = improved != 0;
        log_phase(s, true, improved, load_relaxed(&phase_counters(s).read));
        if (changed) take_in(s);
        grid.sync();
    }
}

// Labels every head unreached except the source, whose first arc is due on every rank.
__device__ __forceinline__ void start(PeerSearch& s, u32 source)
{
    bool is_own = source % s.peers.n_ranks == s.peers.rank;
    for (u32 v = thread_id(); v < s.vertices.n; v += thread_count()) {
        s.vertices.best[v] = is_own && tail_of(s, v) == source ? source : NO_LABEL;
    }
    for (u32 v = thread_id(); v < s.tails.n; v += thread_count()) {
        s.tails.distance[v] = s.vertices.due[v] = v == source ? 0 : UNREACHED;
    }
    if (thread_id() != 0) return;
    s.vertices.cursor[source] = 0;
    for (BucketCounters& bucket : s.state->bucket) {
        bucket = {INFINITE, 0};
    }
    for (PhaseCounters& phase : s.state->phases) {
        phase = {};
    }
    s.state->settled_arcs = is_own ? degree_of(s.into, source / s.peers.n_ranks) : 0;
    s.state->overflow = s.state->logged = 0;
}

// The search, a cooperative launch on every rank. The log may have no rows.
extern "C" __global__ void __launch_bounds__(512)
    search(const __grid_constant__ Problem problem, const __grid_constant__ Peers peers,
           const __grid_constant__ Tails tails, u32 source, u64* log, u32 log_size)
{
    __shared__ Published published;
    PeerSearch s;
    static_cast<Search&>(s) = {problem,
                               {log, log_size},
                               {problem.state->phase, 0, 0, problem.frontiers[0], problem.frontiers[1]},
                               {INFINITE, 0, 0}};
    s.peers = peers;
    s.tails = tails;
    s.epoch = static_cast<u32>(load_relaxed(&peers.meetings->epoch));
    s.published = &published;
    start(s, source);
    meet_all(s);
    log_phase(s, false, 1, 0);
    for (u64 nearest = 0; nearest < INFINITE;) {
        begin_bucket(s, bucket_end(nearest, s.delta));
        push_bucket(s);
        nearest = published.least(peers, NEAREST);
        float unsettled_arcs = static_cast<float>(s.n_arcs - sum_of(s, SETTLED));
        if (nearest < INFINITE && unsettled_arcs < s.beta * sum_of(s, READ)) {
            pull_all(s);
            break;
        }
    }
    if (thread_id() != 0) return;
    if (sum_of(s, OVERFLOWED) != 0) store_relaxed(&s.state->overflow, 1u);
    s.state->phase = s.at.phase;
    store_relaxed(&peers.meetings->epoch, static_cast<u64>(s.epoch));
}

// Writes the answer of the owned vertices, `n` of them; `head_of` names the head of each, or NO_HEAD, and
// `ids` the vertex of each tail.
const u32 NO_HEAD = 0xffffffff;

extern "C" __global__ void unpack(u32 n, const u32* __restrict__ head_of, const u64* __restrict__ best,
                                  const u32* __restrict__ ids, u32* __restrict__ distance,
                                  u32* __restrict__ predecessor)
{
    for (u32 v = thread_id(); v < n; v += thread_count()) {
        u64 label = head_of[v] != NO_HEAD ? best[head_of[v]] : NO_LABEL;
        distance[v] = static_cast<u32>(distance_of(label));
        predecessor[v] = label == NO_LABEL ? NO_PREDECESSOR : ids[static_cast<u32>(label)];
    }
}
