// SSSP that switches between threads for selected vertices and threads for all, algorithm 4 of Suzuki et al.
//
// While few vertices change, a phase runs select_relax and select_update (algorithms 5 and 6); while many do,
// relax and update (algorithms 2 and 3), which keep no list. Both leave the mask Ma set for the vertices that
// changed, so the switch to all vertices needs no work. The switch back builds the list from the mask.

#include "conventional.cu"
#include "selection.cu"

// SWITCH_KERNEL, named on line 31 of algorithm 4.
extern "C" __global__ void switch_to_selection(u32 n, const u8* __restrict__ Ma, u32* __restrict__ NRa,
                                               u32* written, u32 written_before)
{
    u32 v = thread_id();
    if (v < n && Ma[v]) {
        NRa[atomicAdd(written, 1u) - written_before] = v;
    }
}
