// Algorithm 4 of Suzuki et al. in one launch, switched by the device's own clock.
//
// The phases are those of adaptive.cu: the same vertices change in each, and distances, predecessors and the
// number of phases are the same. A grid barrier replaces a launch, and the rule that chooses between selected
// and all vertices runs on the device.
//
// A CUDA graph of the paper's kernels would avoid the host too. It needs conditional nodes, since the number
// of phases is not known in advance, and CuPy has none. The device would still start and drain every kernel,
// while a grid barrier costs about a microsecond.
//
// Deviations from the paper, besides those of conventional.cu and selection.cu:
//   - a fixed grid strides over the selected vertices or over all;
//   - the time of a phase runs from the middle barrier of the phase before to its own, on the device's clock,
//     so that the choice is known when the phase ends and costs no barrier of its own.

#include <cooperative_groups.h>

#include "_phase_synchronous.cuh"
#include "device/clock.cuh"

namespace cg = cooperative_groups;

struct Counters {
    u32 listed;   // vertices on the list of the next phase
    u32 updated;  // vertices that changed
    u64 arcs;     // arcs relaxed; counted in instrumented runs only
};

// Three sets of counters rotate: one is in use, the one before may still be read, the next is cleared.
struct State {
    u32 overflow;
    u32 phases;
    u32 selecting;
    Counters counters[3];
};

struct Search {
    u32 n;
    const i64* Va;
    const u32* Ea;
    const weight_t* Wa;
    u8* Ma;
    u32* NRa;
    u32* NWa;
    length_t* Ca;
    u32* Pa;
    u64* Ua;
    State* state;
    u32 phase;
};

__device__ __forceinline__ Counters& counters_of(const Search& s)
{
    return s.state->counters[s.phase % 3];
}

// The body of RELAX_KERNEL and, with `listing`, of SELECT_RELAX_KERNEL. Returns the number of arcs.
__device__ __forceinline__ u32 relax_vertex(Search& s, u32 v, bool listing)
{
    if (!s.Ma[v]) return 0;
    s.Ma[v] = 0;
    length_t distance = s.Ca[v];
    i64 begin = s.Va[v], end = s.Va[v + 1];
    for (i64 i = begin; i < end; ++i) {
        u32 head = s.Ea[i];
        u64 proposal = propose(v, distance, s.Wa[i], &s.state->overflow);
        u64 before = atomicMin(&s.Ua[head], proposal);
        if (listing && proposal < before && is_settled(before)) {
            s.NWa[atomicAdd(&counters_of(s).listed, 1u)] = head;
        }
    }
    return static_cast<u32>(end - begin);
}

// The body of UPDATE_KERNEL and SELECT_UPDATE_KERNEL.
__device__ __forceinline__ u32 update_vertex(Search& s, u32 v)
{
    u64 proposal = s.Ua[v];
    length_t distance = distance_of(proposal);
    u32 updated = 0;
    if (s.Ca[v] > distance) {
        s.Ca[v] = distance;
        if (!WIDE_LENGTHS) s.Pa[v] = predecessor_of(proposal);
        s.Ma[v] = 1;
        updated = 1;
    }
    if (!is_settled(proposal)) s.Ua[v] = settled(distance);
    return updated;
}

__device__ __forceinline__ void start(Search& s, u32 source, bool selecting)
{
    for (u32 v = thread_id(); v < s.n; v += thread_count()) {
        bool is_source = v == source;
        s.Ca[v] = is_source ? ZERO_LENGTH : NO_PATH;
        s.Ua[v] = settled(is_source ? ZERO_LENGTH : NO_PATH);
        s.Pa[v] = is_source ? source : UNREACHED;
        s.Ma[v] = is_source;
    }
    if (thread_id() != 0) return;
    s.NRa[0] = source;
    s.state->overflow = 0;
    s.state->selecting = selecting;
    for (Counters& counters : s.state->counters) {
        counters.listed = counters.updated = 0;
        counters.arcs = 0;
    }
}

// The rule of section 6: the mean time of this phase and the one before against two thresholds.
struct Switch {
    float to_all_us;
    float to_selected_us;
    u64 since;
    float before_us;

    __device__ bool selects_after(u32 phase, bool selecting)
    {
        u64 now = nanoseconds();
        float now_us = static_cast<float>(now - since) / 1e3f;
        float mean_us = phase == 1 ? now_us : (now_us + before_us) / 2;
        since = now;
        before_us = now_us;
        return selecting ? mean_us <= to_all_us : mean_us < to_selected_us;
    }
};

// SWITCH_KERNEL: builds the list from the mask.
__device__ __forceinline__ u32 list_from_mask(Search& s)
{
    cg::grid_group grid = cg::this_grid();
    u32* listed = &counters_of(s).listed;
    for (u32 v = thread_id(); v < s.n; v += thread_count()) {
        if (s.Ma[v]) s.NWa[atomicAdd(listed, 1u)] = v;
    }
    grid.sync();
    return load_relaxed(listed);
}

// Relaxes the arcs of the vertices listed, or of all. Returns the number of arcs.
__device__ __forceinline__ u64 relax_phase(Search& s, bool selecting, u32 selected)
{
    u64 arcs = 0;
    if (selecting) {
        for (u32 x = thread_id(); x < selected; x += thread_count()) arcs += relax_vertex(s, s.NRa[x], true);
    } else {
        for (u32 v = thread_id(); v < s.n; v += thread_count()) arcs += relax_vertex(s, v, false);
    }
    return arcs;
}

// Updates the vertices that the phase has listed and stores their number in `selected`, or updates all
// vertices. Returns the number that changed.
__device__ __forceinline__ u32 update_phase(Search& s, bool selecting, u32* selected)
{
    u32 updated = 0;
    if (selecting) {
        *selected = load_relaxed(&counters_of(s).listed);
        for (u32 x = thread_id(); x < *selected; x += thread_count()) updated += update_vertex(s, s.NWa[x]);
    } else {
        for (u32 v = thread_id(); v < s.n; v += thread_count()) updated += update_vertex(s, v);
    }
    return updated;
}

// Separate arguments: with the working arrays in a struct (the graph's stayed separate), the compiler moved
// fewer loads of arcs above the atomics, and a search of R-MAT 2^20 took 20% longer on an H200.
extern "C" __global__ void search(u32 n, const i64* __restrict__ Va, const u32* __restrict__ Ea,
                                  const weight_t* __restrict__ Wa, u32 source, u32 first_mode,
                                  float to_all_us, float to_selected_us, u8* Ma, u32* list, u32* other_list,
                                  length_t* Ca, u32* Pa, u64* Ua, u8* state, u64* log, u32 log_rows)
{
    cg::grid_group grid = cg::this_grid();
    Search s = {n, Va, Ea, Wa, Ma, list, other_list, Ca, Pa, Ua, reinterpret_cast<State*>(state), 0};
    bool selecting = first_mode != 0;
    start(s, source, selecting);
    Switch rule = {to_all_us, to_selected_us, nanoseconds(), 0.0f};
    grid.sync();
    u32 selected = 1, updated = 1;
    while (updated != 0) {
        ++s.phase;
        u64 arcs = relax_phase(s, selecting, selected);
        if (log_rows != 0 && arcs != 0) atomicAdd(&counters_of(s).arcs, arcs);
        grid.sync();
        if (thread_id() == 0) {
            s.state->selecting = rule.selects_after(s.phase, selecting);
            Counters& next = s.state->counters[(s.phase + 1) % 3];
            next.listed = next.updated = 0;
            next.arcs = 0;
        }
        u32 mine = __reduce_add_sync(ALL_LANES, update_phase(s, selecting, &selected));
        if (threadIdx.x % 32 == 0 && mine != 0) atomicAdd(&counters_of(s).updated, mine);
        grid.sync();
        updated = load_relaxed(&counters_of(s).updated);
        if (thread_id() == 0 && s.phase <= log_rows) {
            u64* row = log + 4 * (s.phase - 1);
            row[0] = selecting, row[1] = updated, row[2] = counters_of(s).arcs, row[3] = nanoseconds();
        }
        bool was_selecting = selecting;
        selecting = load_relaxed(&s.state->selecting) != 0;
        if (selecting && !was_selecting && updated != 0) selected = list_from_mask(s);
        u32* written = s.NWa;
        s.NWa = s.NRa;
        s.NRa = written;
    }
    if (thread_id() == 0) s.state->phases = s.phase;
}
