// SSSP with one thread per vertex in every phase: Harish and Narayanan, and algorithms 1 to 3 of Suzuki et
// al.
//
// A phase is two kernels: in `relax`, every vertex whose mask Ma is set proposes distances to its neighbours;
// `update` accepts those that are shorter. Every launch has n threads, most of them idle: the cost that the
// other variants try to avoid.
//
// Deviations from the paper:
//   - line 6 of algorithm 2 prints the weight as Wa[n]; it is the arc's, Wa[i].
//   - Ua also carries the predecessor (see _phase_synchronous.cuh).
//   - "while Ma not empty" (line 5 of algorithm 1) is a word with the last phase that updated anything, so
//     that nothing must be cleared between phases.

#include "_phase_synchronous.cuh"

// Algorithm 2, RELAX_KERNEL.
extern "C" __global__ void relax(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                 const weight_t* __restrict__ Wa, u8* __restrict__ Ma,
                                 const length_t* __restrict__ Ca, u64* Ua, u32* overflow)
{
    u32 v = thread_id();
    if (v >= n || !Ma[v]) return;
    Ma[v] = 0;
    length_t distance = Ca[v];
    i64 end = Va[v + 1];
    for (i64 i = Va[v]; i < end; ++i) {
        atomicMin(&Ua[Ea[i]], propose(v, distance, Wa[i], overflow));
    }
}

// Algorithm 3, UPDATE_KERNEL.
extern "C" __global__ void update(u32 n, u8* __restrict__ Ma, length_t* __restrict__ Ca, u32* __restrict__ Pa,
                                  u64* __restrict__ Ua, u32 phase, u32* last_phase)
{
    u32 v = thread_id();
    if (v >= n) return;
    u64 proposal = Ua[v];
    length_t distance = Ca[v];
    if (distance > distance_of(proposal)) {
        distance = distance_of(proposal);
        Ca[v] = distance;
        if (!WIDE_LENGTHS) Pa[v] = predecessor_of(proposal);
        Ma[v] = 1;
        store_relaxed(last_phase, phase);
    }
    Ua[v] = settled(distance);
}
