// The kernels of `conventional` with three faults: a write to the graph, an endless loop, a trap.

#include "problems/sssp/phase_synchronous/_phase_synchronous.cuh"

extern "C" __global__ void relax(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea, const u32* Wa,
                                 u8* __restrict__ Ma, const u32* __restrict__ Ca, u64* Ua, u32* overflow,
                                 u32 fault)
{
    u32 v = thread_id();
    if (v >= n || !Ma[v]) return;
    Ma[v] = 0;
    u32 distance = Ca[v];
    i64 end = Va[v + 1];
    for (i64 i = Va[v]; i < end; ++i) {
        atomicMin(&Ua[Ea[i]], propose(v, distance, Wa[i], overflow));
        if (fault == 1) const_cast<u32*>(Wa)[i] = 0;
        volatile u32 w = fault;
        while (w == 2) {
        }
        if (fault == 3) __builtin_trap();
    }
}

extern "C" __global__ void update(u32 n, u8* __restrict__ Ma, u32* __restrict__ Ca, u32* __restrict__ Pa,
                                  u64* __restrict__ Ua, u32 phase, u32* last_phase)
{
    u32 v = thread_id();
    if (v >= n) return;
    u64 proposal = Ua[v];
    u32 distance = Ca[v];
    if (distance > distance_of(proposal)) {
        distance = distance_of(proposal);
        Ca[v] = distance;
        Pa[v] = predecessor_of(proposal);
        Ma[v] = 1;
        store_relaxed(last_phase, phase);
    }
    Ua[v] = settled(distance);
}
