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
// distance last heard, which the first phase of pulling reads, a cursor into its own arcs of the tail, and
// when the next is due. The other two phases of pulling read the labels of tails in the memory of their
// owners; only the third sends what it finds.
//
// A phase: push; wait for the own GPU; send the heads that came nearer; meet the other ranks (_peers.cuh).
// All ranks make the same decisions from the same published counts.
//
// A region holds the messages from each rank, for two phases in turn: those of tails of few arcs from the
// front, of many arcs from the back; then the labels of its heads. Whoever writes a message has met the ranks
// that read its place last, also from search to search: a rank that begins a search may write at once.
//
// Vertices are numbered by falling degree, tail t = j * P + r being head j of rank r.

#include "_peer_search.cuh"

// The tail at a place of this rank's resumed tails or, not null, of what a rank `sent` in the last phase.
// Notes the distance if this lane `leads`.
__device__ __forceinline__ Tail take_tail(PeerSearch& s, const u64* sent, u32 place, bool has_many,
                                          bool leads)
{
    if (sent == nullptr) return tail_at(s, s.tails.resumed[has_many ? s.tails.n - 1 - place : place]);
    u64 message = sent[has_many ? s.vertices.n - 1 - place : place];
    Tail tail = {static_cast<u32>(message >> 32), message & 0xffffffffull};
    if (leads) store_relaxed(&s.tails.distance[tail.vertex], static_cast<u32>(message));
    return tail;
}

// Pushes what this rank resumes, or what all ranks sent in the last phase.
__device__ __forceinline__ void push_all(PeerSearch& s, const Frontier& frontier)
{
    u32 before = 0;
#pragma unroll 1
    for (u32 from = 0; from < (frontier.resumed ? 1 : s.peers.n_ranks); ++from) {
        Frontier part = frontier;
        const u64* sent = nullptr;
        if (!frontier.resumed) {
            part.few = static_cast<u32>(s.published->of(from, FEW));
            part.many = static_cast<u32>(s.published->of(from, MANY));
            sent = inbox(s, s.peers.rank, from, 1);
        }
        push_frontier(s, part, before, [&](u32 place, bool has_many, bool leads) {
            return take_tail(s, sent, place, has_many, leads);
        });
        before += items_of(part);
    }
}

// Sends the heads that came nearer, when the own GPU has listed all.
__device__ __forceinline__ void deliver(PeerSearch& s)
{
    cg::this_grid().sync();
    u32 few = load_relaxed(&phase_counters(s).few), many = load_relaxed(&phase_counters(s).many);
#pragma unroll 1
    for (u32 i = thread_id(); i < few + many; i += thread_count()) {
        u32 place = i < few ? i : s.vertices.n - 1 - (i - few);
        send(s, place, s.at.next[place]);
    }
}

// Labels every head unreached except the source, a tail or NO_VERTEX: the first frontier, on every rank.
__device__ __forceinline__ Frontier start(PeerSearch& s, u32 source)
{
    bool is_own = source != NO_VERTEX && source % s.peers.n_ranks == s.peers.rank;
#pragma unroll 1
    for (u32 v = thread_id(); v < s.vertices.n; v += thread_count()) {
        s.vertices.best[v] = tail_of(s, v) == source ? label_of(0, source) : NO_LABEL;
    }
#pragma unroll 1
    for (u32 v = thread_id(); v < s.tails.n; v += thread_count()) {
        s.tails.distance[v] = s.vertices.due[v] = v == source ? 0 : UNREACHED;
    }
    return begin_search(s, source, is_own ? degree_of(s.into, source / s.peers.n_ranks) : 0);
}

// The search, a cooperative launch on every rank. `tail_numbers` names the tail of each vertex of the graph,
// or NO_VERTEX if it has no arcs. The log may have no rows.
extern "C" __global__ void __launch_bounds__(MAX_WARPS* WARP, 2)
    search(const __grid_constant__ Problem problem, const __grid_constant__ Peers peers,
           const __grid_constant__ Tails tails, const u32* __restrict__ tail_numbers, u32 source, u64* log,
           u32 log_size)
{
    __shared__ Published published;
    __shared__ BlockTally block;
    __shared__ u32 piles[MAX_WARPS][PILE];
    PeerSearch s;
    Progress at = {problem.state->phase, 0, 0, problem.lists[NEARER]};
    static_cast<Search&>(s) = {problem, {log, log_size}, at, {INFINITE, 0, 0}, {piles[warp()], 0}, &block};
    s.peers = peers;
    s.tails = tails;
    s.epoch = static_cast<u32>(load_relaxed(&peers.meetings->epoch));
    s.published = &published;
    u32 tail = tail_numbers[source];
    Frontier frontier = start(s, tail);
    if (tail == NO_VERTEX) return;
    run(s, frontier);
    end_search(s);
    if (thread_id() != 0) return;
    if (sum_of(s, OVERFLOWED) != 0) store_relaxed(&s.state->overflow, 1u);
    peers.leave(s.epoch);
}

// Writes the answer of the owned vertices, `n` of them; `head_of` names the head of each, or NO_VERTEX, `ids`
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
        u64 label = head_of[v] != NO_VERTEX ? best[head_of[v]] : NO_LABEL;
        distance[v] = v == own_source ? 0 : static_cast<u32>(distance_of(label));
        u32 before = label == NO_LABEL ? NO_PREDECESSOR : ids[static_cast<u32>(label)];
        predecessor[v] = v == own_source ? source : before;
    }
}
