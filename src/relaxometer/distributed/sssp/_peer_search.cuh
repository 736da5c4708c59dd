// What the ranks of sssp_peers.cu know, and how they tell each other.

#pragma once

#include "distributed/_peers.cuh"
#include "problems/sssp/push_pull/_run.cuh"

// What a rank publishes at the end of a phase: messages sent from the front and from the back of their lists
// (phases of pulling that send none count in FEW the heads that came nearer), and counters.
enum Count { FEW, MANY, READ, SETTLED, NEAREST, OVERFLOWED };
const u32 COUNTS = 6;
static_assert(COUNTS == OVERFLOWED + 1, "as in Count");

// What a rank knows of all vertices.
struct Tails {
    u32 n;
    u64 labels;     // bytes of a region before `best` of its rank
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

__device__ __forceinline__ u32 n_tails(const PeerSearch& s)
{
    return s.tails.n;
}

__device__ __forceinline__ u32* resumed_list(PeerSearch& s)
{
    return s.tails.resumed;
}

__device__ __forceinline__ u32 distance_at(const PeerSearch& s, u32 tail)
{
    return load_relaxed(&s.tails.distance[tail]);
}

__device__ __forceinline__ u32 latest_distance(const PeerSearch& s, u32 tail)
{
    const u64* labels = s.peers.at<u64>(tail % s.peers.n_ranks, s.tails.labels);
    return static_cast<u32>(distance_of(load_relaxed(&labels[tail / s.peers.n_ranks])));
}

// Writes a head and its distance to a place of this rank's messages, on all ranks and on this one. Ranks
// begin with different peers, so that not all write to one.
__device__ __forceinline__ void send(PeerSearch& s, u32 place, u32 head)
{
    u64 distance = distance_of(load_relaxed(&s.vertices.best[head]));
    u64 message = static_cast<u64>(tail_of(s, head)) << 32 | distance;
#pragma unroll 1
    for (u32 step = 0; step < s.peers.n_ranks; ++step) {
        u32 peer = (s.peers.rank + step) % s.peers.n_ranks;
        inbox(s, peer, s.peers.rank, 0)[place] = message;
    }
}

// The last phase of pulling sends what it finds at once.
__device__ __forceinline__ void announce(PeerSearch& s, bool chosen, u32 head)
{
    u32 place = place_of_head(s, chosen, head);
    if (chosen) send(s, place, head);
}

__device__ __forceinline__ u64 sum_of(const PeerSearch& s, Count count)
{
    return s.published->sum(s.peers, count);
}

// Waits for all ranks at the end of a phase. Returns how many heads came nearer, on all ranks.
__device__ __forceinline__ u64 meet_all(PeerSearch& s, bool pulled)
{
    meet<COUNTS>(s.peers, ++s.epoch, *s.published, [&](u32 count) -> u64 {
        const PhaseCounters& phase = phase_counters(s);
        const BucketCounters& bucket = bucket_counters(s);
        switch (count) {
            case FEW:
                return load_relaxed(&phase.few) + load_relaxed(&phase.improved);
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
    u64 nearer = sum_of(s, FEW) + sum_of(s, MANY);
    log_phase(s, pulled, nearer, load_relaxed(&phase_counters(s).read));
    return nearer;
}

// Of all ranks; what each of them sent is in `published`.
__device__ __forceinline__ Frontier next_frontier(const PeerSearch& s)
{
    return {static_cast<u32>(sum_of(s, FEW)), static_cast<u32>(sum_of(s, MANY)), false};
}

__device__ __forceinline__ Tally total(const PeerSearch& s)
{
    return {s.published->least(s.peers, NEAREST), sum_of(s, READ), sum_of(s, SETTLED)};
}
