// Phases of Bellman-Ford's algorithm in 64 bits, which no sum leaves, with predecessors.

#include "problems/sssp/bellman_ford/_fixed_point.cuh"

__device__ const i64 NOT_TAKING_PART = 0x7fffffffffffffffll;

// y[v] is the least of x[v] and x[u] + w over the arcs u -> v, among the vertices that take part. If it
// spreads, the heads of their arcs take part from then on.
extern "C" __global__ void lower(u32 n, const i64* __restrict__ offsets, const u32* __restrict__ tails,
                                 const int* __restrict__ weights, bool spreads, const i64* __restrict__ x,
                                 i64* __restrict__ y, u32* __restrict__ predecessor, u32 phase,
                                 u32* last_phase)
{
    u32 v = thread_id();
    bool changed = false;
    if (v < n) {
        i64 least = x[v];
        u32 from = NO_PREDECESSOR;
        i64 end = least == NOT_TAKING_PART && !spreads ? 0 : offsets[v + 1];
        for (i64 i = offsets[v]; i < end; ++i) {
            u32 u = tails[i];
            i64 length = x[u] == NOT_TAKING_PART ? NOT_TAKING_PART : x[u] + weights[i];
            if (length < least) {
                least = length;
                from = u;
            }
        }
        changed = least < x[v];
        y[v] = least;
        if (changed) predecessor[v] = from;
    }
    report_change(changed, phase, last_phase);
}
