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

// The arrays of the paper and of this kernel.
struct Problem {
    u32 n;
    u8* Ma;
    u64* Ua;
    u32* lists[2];
    State* state;
    u64* log;  // per phase: selected, vertices that changed, arcs relaxed, end
};

struct Search {
    const Problem& problem;
    const i64* Va;
    const u32* Ea;
    const u32* Wa;
    u32* Ca;
    u32* Pa;
    u32* NRa;
    u32* NWa;
    u32 phase;

    __device__ Counters& counters() const
    {
        return problem.state->counters[phase % 3];
    }
};

// The body of RELAX_KERNEL and, with `listing`, of SELECT_RELAX_KERNEL. Returns the number of arcs.
__device__ __forceinline__ u32 relax_vertex(Search& s, u32 v, bool listing)
{
    const Problem& p = s.problem;
    if (!p.Ma[v]) return 0;
    p.Ma[v] = 0;
    u32 distance = s.Ca[v];
    i64 begin = s.Va[v], end = s.Va[v + 1];
    for (i64 i = begin; i < end; ++i) {
        u32 head = s.Ea[i];
        u64 proposal = propose(v, distance, s.Wa[i], &p.state->overflow);
        u64 before = atomicMin(&p.Ua[head], proposal);
        if (listing && proposal < before && is_settled(before)) {
            s.NWa[atomicAdd(&s.counters().listed, 1u)] = head;
        }
    }
    return static_cast<u32>(end - begin);
}

// The body of UPDATE_KERNEL and SELECT_UPDATE_KERNEL.
__device__ __forceinline__ u32 update_vertex(Search& s, u32 v)
{
    u64 proposal = s.problem.Ua[v];
    u32 distance = distance_of(proposal), updated = 0;
    if (s.Ca[v] > distance) {
        s.Ca[v] = distance;
        s.Pa[v] = predecessor_of(proposal);
        s.problem.Ma[v] = 1;
        updated = 1;
    }
    if (!is_settled(proposal)) s.problem.Ua[v] = settled(distance);
    return updated;
}

__device__ __forceinline__ void start(Search& s, u32 source, bool selecting)
{
    for (u32 v = thread_id(); v < s.problem.n; v += thread_count()) {
        bool is_source = v == source;
        s.Ca[v] = is_source ? 0 : UNREACHED;
        s.problem.Ua[v] = settled(is_source ? 0 : UNREACHED);
        s.Pa[v] = is_source ? source : UNREACHED;
        s.problem.Ma[v] = is_source;
    }
    if (thread_id() != 0) return;
    s.NRa[0] = source;
    s.problem.state->overflow = 0;
    s.problem.state->selecting = selecting;
    for (Counters& counters : s.problem.state->counters) {
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
    u32* listed = &s.counters().listed;
    for (u32 v = thread_id(); v < s.problem.n; v += thread_count()) {
        if (s.problem.Ma[v]) s.NWa[atomicAdd(listed, 1u)] = v;
    }
    grid.sync();
    return load_relaxed(listed);
}

// The graph is not in the struct: only loads through `__restrict__` parameters may move above atomics.
extern "C" __global__ void search(const __grid_constant__ Problem problem, const i64* __restrict__ Va,
                                  const u32* __restrict__ Ea, const u32* __restrict__ Wa, u32 source,
                                  u32 first_mode, float to_all_us, float to_selected_us, u32* Ca, u32* Pa,
                                  u32 log_rows)
{
    cg::grid_group grid = cg::this_grid();
    Search s = {problem, Va, Ea, Wa, Ca, Pa, problem.lists[0], problem.lists[1], 0};
    u32 n = problem.n;
    bool selecting = first_mode != 0;
    start(s, source, selecting);
    Switch rule = {to_all_us, to_selected_us, nanoseconds(), 0.0f};
    grid.sync();
    u32 selected = 1, updated = 1;
    while (updated != 0) {
        ++s.phase;
        u64 arcs = 0;
        if (selecting) {
            for (u32 x = thread_id(); x < selected; x += thread_count())
                arcs += relax_vertex(s, s.NRa[x], true);
        } else {
            for (u32 v = thread_id(); v < n; v += thread_count()) arcs += relax_vertex(s, v, false);
        }
        if (log_rows != 0 && arcs != 0) atomicAdd(&s.counters().arcs, arcs);
        grid.sync();
        if (thread_id() == 0) {
            problem.state->selecting = rule.selects_after(s.phase, selecting);
            Counters& next = problem.state->counters[(s.phase + 1) % 3];
            next.listed = next.updated = 0;
            next.arcs = 0;
        }
        u32 mine = 0;
        if (selecting) {
            selected = load_relaxed(&s.counters().listed);
            for (u32 x = thread_id(); x < selected; x += thread_count()) mine += update_vertex(s, s.NWa[x]);
        } else {
            for (u32 v = thread_id(); v < n; v += thread_count()) mine += update_vertex(s, v);
        }
        mine = __reduce_add_sync(ALL_LANES, mine);
        if (threadIdx.x % 32 == 0 && mine != 0) atomicAdd(&s.counters().updated, mine);
        grid.sync();
        updated = load_relaxed(&s.counters().updated);
        if (thread_id() == 0 && s.phase <= log_rows) {
            u64* row = problem.log + 4 * (s.phase - 1);
            row[0] = selecting, row[1] = updated, row[2] = s.counters().arcs, row[3] = nanoseconds();
        }
        bool was_selecting = selecting;
        selecting = load_relaxed(&problem.state->selecting) != 0;
        if (selecting && !was_selecting && updated != 0) selected = list_from_mask(s);
        u32* written = s.NWa;
        s.NWa = s.NRa;
        s.NRa = written;
    }
    if (thread_id() == 0) problem.state->phases = s.phase;
}
