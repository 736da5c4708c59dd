// SSSP with threads only for the vertices whose distance changed, algorithms 5 and 6 of Suzuki et al.
//
// NRa lists the vertices to relax in this phase, NWa collects those of the next one; the host swaps them.
// Every vertex added to the list costs one atomic addition.
//
// Deviations from the paper:
//   - lines 8 and 9 of algorithm 5 test whether Ua[n] equals the proposal and whether n is already scheduled.
//     But Ua[n] may have been equal before. The value that the atomic minimum returns decides both: n
//     improved if it was larger, for the first time in this phase if it was settled. So no vertex is listed
//     twice.
//   - Ua also carries the predecessor (see _phase_synchronous.cuh).
//   - "NWa = empty" (line 13 of algorithm 4) clears nothing: `written` counts through all phases, and its
//     value before the phase is subtracted.

#include "_phase_synchronous.cuh"

// Algorithm 5, SELECT_RELAX_KERNEL.
extern "C" __global__ void select_relax(const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                        const weight_t* __restrict__ Wa, u8* __restrict__ Ma,
                                        u32* __restrict__ NWa, u32* written, u32 written_before,
                                        const u32* __restrict__ NRa, u32 selected,
                                        const length_t* __restrict__ Ca, u64* Ua, u32* overflow)
{
    u32 x = thread_id();
    if (x >= selected) return;
    u32 v = NRa[x];
    if (!Ma[v]) return;
    Ma[v] = 0;
    length_t distance = Ca[v];
    i64 end = Va[v + 1];
    for (i64 i = Va[v]; i < end; ++i) {
        u32 n = Ea[i];
        u64 proposal = propose(v, distance, Wa[i], overflow);
        u64 before = atomicMin(&Ua[n], proposal);
        if (proposal < before && is_settled(before)) {
            NWa[atomicAdd(written, 1u) - written_before] = n;
        }
    }
}

// Algorithm 6, SELECT_UPDATE_KERNEL.
extern "C" __global__ void select_update(u8* __restrict__ Ma, const u32* __restrict__ NRa, u32 selected,
                                         length_t* __restrict__ Ca, u32* __restrict__ Pa,
                                         u64* __restrict__ Ua)
{
    u32 x = thread_id();
    if (x >= selected) return;
    u32 v = NRa[x];
    u64 proposal = Ua[v];
    length_t distance = distance_of(proposal);
    if (Ca[v] > distance) {
        Ca[v] = distance;
        if (!WIDE_LENGTHS) Pa[v] = predecessor_of(proposal);
        Ma[v] = 1;
    }
    Ua[v] = settled(distance);
}
