// Connected components by propagation of labels, one thread per vertex and phase.
//
// A label holds a component's smallest vertex in its upper half and the distance from it in its lower half,
// so that the smallest label that reaches a vertex is that of the nearest way to the smallest vertex.

#include "device/atomics.cuh"

extern "C" __global__ void propagate(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                     u64* labels, u32* changed)
{
    const u32 u = thread_id();
    if (u >= n) {
        return;
    }
    for (i64 i = Va[u]; i < Va[u + 1]; i++) {
        const u32 v = Ea[i];
        const u64 mine = load_relaxed(&labels[u]), theirs = load_relaxed(&labels[v]);
        if (mine + 1 < theirs) {
            atomicMin(&labels[v], mine + 1);
            store_relaxed(changed, 1u);
        } else if (theirs + 1 < mine) {
            atomicMin(&labels[u], theirs + 1);
            store_relaxed(changed, 1u);
        }
    }
}

extern "C" __global__ void find_parents(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                        const u64* __restrict__ labels, u32* parent)
{
    const u32 u = thread_id();
    if (u >= n) {
        return;
    }
    for (i64 i = Va[u]; i < Va[u + 1]; i++) {
        const u32 v = Ea[i];
        if (labels[v] == labels[u] + 1) {
            atomicMin(&parent[v], u);
        } else if (labels[u] == labels[v] + 1) {
            atomicMin(&parent[u], v);
        }
    }
}
