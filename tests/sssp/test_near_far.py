"""Near and far piles: the width of phases and buckets, piles that overflow, and many sources at once."""

from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory, get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._packed_arcs import MAX_ARCS, PackedArcs
from relaxometer.problems.sssp.near_far import _near_far, many_sources, near_far
from relaxometer.problems.sssp.near_far._near_far import QUEUE, Piles, initial_capacity
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.problems.variants import Skipped, load_solver
from sample_graphs import FLOATS, as_type, sample_graphs
from sssp.searches import KINDS, graph_of, hard_graphs, proven, proven_many, solved

WIDTHS = {
    "block": {"narrow": 10**6, "wide": 10**6},
    "grid": {"narrow": 0},
    "alternating": {"narrow": 6, "wide": 8, "delta": 0.3, "block_target": 4, "grid_target": 8},
}


def dense_star(leaves: int) -> Graph:
    """A hub with arcs to all leaves, each of which has heavy arcs to the next nine."""
    ids = np.arange(leaves)
    tails = np.append(np.zeros(leaves, dtype=int), np.repeat(ids + 1, 9))
    heads = np.append(ids + 1, 1 + (ids[:, None] + np.arange(1, 10)).ravel() % leaves)
    weights = np.append(ids % 7 + 1, np.full(9 * leaves, 50))
    return Graph.from_arcs("dense-star", leaves + 1, tails, heads, weights)


@pytest.mark.parametrize(
    ("width", "modes"), [("block", {"block"}), ("grid", {"grid"}), ("alternating", {"block", "grid"})]
)
def test_an_instrumented_search_records_every_phase(device, width, modes):
    graph, phases = sample_graphs()["grid"], []
    _, answer = solved(device, "near-far", graph, 0, phases=phases, **WIDTHS[width])
    assert len(phases) == answer.phases
    assert {phase.mode for phase in phases} == modes
    assert phases[0].updated == 1
    assert phases[0].relaxed_arcs == graph.degrees[0]
    assert sum(phase.updated for phase in phases) >= graph.n_vertices
    assert sum(phase.relaxed_arcs for phase in phases) >= graph.n_arcs
    assert all(phase.time_ms >= 0 for phase in phases)


@pytest.mark.parametrize("width", ["block", "grid"])
@pytest.mark.parametrize(("target", "phases"), [(1, 21), (4, 6), (5, 5), (100, 2)])
def test_a_phase_takes_buckets_along_until_it_reaches_its_target(device, width, target, phases):
    # One leaf per bucket.
    graph = Graph.from_arcs("buckets", 21, np.zeros(20, dtype=int), np.arange(1, 21), np.arange(2, 22))
    parameters = {**WIDTHS[width], "delta": 1e-3, "block_target": target, "grid_target": target}
    _, answer = solved(device, "near-far", graph, 0, **parameters)
    assert answer.phases == phases


@pytest.mark.parametrize("width", ["block", "grid"])
def test_piles_that_overflow_are_doubled(device, width):
    graph = dense_star(3 * QUEUE)
    resident = ResidentGraph.upload(device, graph)
    solver = near_far.Solver(resident, near_far.Parameters(**WIDTHS[width], delta=100))
    phases = []
    proven(solver, resident, 0, phases)
    assert sum(phase.updated for phase in phases) == graph.n_vertices
    proven(solver, resident, 0)


def test_first_piles_are_as_large_as_memory_allows(host_device, monkeypatch):
    tried, allocate = [], Piles.allocate

    def limited(piles, searches, capacity):
        tried.append(capacity)
        if capacity > limit:
            raise DeviceOutOfMemory("full")
        allocate(piles, searches, capacity)

    monkeypatch.setattr(Piles, "allocate", limited)
    resident, limit = ResidentGraph.upload(host_device, dense_star(3 * QUEUE)), 2 * QUEUE
    solver = near_far.Solver(resident, near_far.Parameters())
    assert tried == [2 * resident.n_vertices, resident.n_vertices, 2 * QUEUE]
    proven(solver, resident, 1)
    limit = 0
    with pytest.raises(DeviceOutOfMemory):
        near_far.Solver(resident, near_far.Parameters())


@pytest.mark.parametrize("module", [near_far, many_sources])
def test_a_search_without_memory_for_larger_piles_keeps_the_small_ones(host_device, monkeypatch, module):
    allocate, former = Piles.allocate, QUEUE

    def limited(piles, searches, capacity):
        allocate(piles, searches, min(capacity, former))
        if capacity > former:
            raise DeviceOutOfMemory("full")

    resident = ResidentGraph.upload(host_device, dense_star(3 * QUEUE))
    solver = module.Solver(resident, module.Parameters(delta=100))
    solver._piles.allocate(1, former)
    monkeypatch.setattr(Piles, "allocate", limited)
    with pytest.raises(DeviceOutOfMemory):
        solver.solve(0)
    assert solver._piles.capacity == former
    monkeypatch.undo()
    proven(solver, resident, 0)


def test_a_search_after_one_without_memory_for_piles_has_its_own(host_device, monkeypatch):
    resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
    many = many_sources.Solver(resident, many_sources.Parameters())
    one = near_far.Solver(resident, near_far.Parameters())
    monkeypatch.setattr(_near_far, "PILES", 2**40)
    for solver, search in ((many, lambda: many.solve_many([0, 1, 2])), (one, one._piles.double)):
        solver._blocks = 3
        with pytest.raises(MemoryError):
            search()
    with pytest.raises(MemoryError):  # still none
        one.solve(0)
    monkeypatch.undo()
    proven_many(resident, many, [0, 1])
    proven(one, resident, 0)


def test_the_first_capacity_of_the_largest_graphs_fits_the_kernel():
    """It is too much for any memory, and is halved until the piles fit."""
    np.uint32(initial_capacity(SimpleNamespace(n_vertices=2**31)))


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("narrow", [0, 10**6])
def test_hubs_are_cut_up_and_shared(device, narrow, kind):
    phases = []
    given = {"narrow": narrow, "wide": 10**6, "delta": 1e6}
    solved(device, "near-far", hard_graphs(kind)["hubs"], 0, phases=phases, **given)
    assert {phase.mode for phase in phases} == {"block" if narrow else "grid"}


def test_more_near_vertices_than_blocks_collect_are_sorted_in_rounds(device):
    """Far leaves raise the threshold; then more leaves are near than the blocks can collect."""
    leaves = 40000
    rng = np.random.default_rng(1)
    heads = np.concatenate([np.arange(1, 62), np.arange(62, 62 + leaves)])
    tails = np.concatenate([np.zeros(61, dtype=int), np.full(leaves, 61)])
    weights = np.concatenate([np.linspace(1e4, 1e8, 60), [1], rng.integers(1, 10**7, leaves)]).astype(int)
    graph = Graph.from_arcs("leaves", 62 + leaves, tails, heads, weights)
    phases = []
    solved(device, "near-far", graph, 0, phases=phases, narrow=0, grid_target=100, crowd=100, delta=0.1)
    assert sum(phase.updated == 0 for phase in phases) > 0, "the threshold was never lowered"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"crowd": 10, "grid_target": 11}, "crowd is 10; it must be at least grid_target, which is 11"),
        ({"narrow": 11, "wide": 10}, "wide is 10; it must be at least narrow, which is 11"),
        *(({name: 2**32}, name) for name in ("block_target", "grid_target", "narrow", "wide", "crowd")),
    ],
)
def test_limits_are_in_order_and_fit_the_kernel(given, message):
    with pytest.raises(ValueError, match=message):
        near_far.Parameters(**given)


class TestBucketShift:
    """The binary logarithm of a bucket's width."""

    @pytest.mark.parametrize(
        ("delta", "width"), [(1.0, 0.5), (10.0, 4.0), (1e-9, 2.0**-31), (1e-60, 2.0**-126)]
    )
    @pytest.mark.parametrize("name", ["near-far", "many-sources"])
    def test_the_reported_width_is_in_the_graphs_unit(self, device, name, delta, width):
        graph = graph_of("float32", 3, [0, 0, 1], [1, 2, 2], [0.25, 0.5, 1.5])
        solver, _ = solved(device, name, graph, 0, delta=delta)
        assert solver.resolved["bucket"] == width


class TestManySources:
    """Many sources in one launch."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_rows_are_the_answers_of_their_sources(self, device, kind):
        graph = as_type(sample_graphs()["random-directed"], kind)
        resident = ResidentGraph.upload(device, graph)
        solver = many_sources.Solver(resident, many_sources.Parameters(sources=20))
        sources = [3, *range(3, 513, 27)]
        for _ in range(2):
            proven_many(resident, solver, sources)

    def test_piles_that_overflow_are_doubled(self, host_device):
        resident = ResidentGraph.upload(host_device, dense_star(3 * QUEUE))
        proven_many(resident, many_sources.Solver(resident, many_sources.Parameters()), [0, 1, 3 * QUEUE])

    @pytest.mark.parametrize("module", [many_sources, phast_many])
    @pytest.mark.parametrize("count", [0, 5])
    def test_no_sources_or_too_many_are_refused(self, host_device, module, count):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        solver = module.Solver(resident, module.Parameters(sources=4))
        with pytest.raises(ValueError, match=rf"{count} sources; expected 1 to 4"):
            solver.solve_many(range(count))

    @pytest.mark.parametrize("kind", ["uint32", "float32", "float64"])
    def test_a_path_that_is_too_long_is_noticed(self, host_device, kind):
        largest = FLOATS[kind].largest if kind in FLOATS else MAX_WEIGHT
        graph = graph_of(kind, 3, [0, 1], [1, 2], [largest, largest])
        solver = many_sources.Solver(ResidentGraph.upload(host_device, graph), many_sources.Parameters())
        assert solver.solve_many([2, 0]).overflowed
        assert not solver.solve_many([2, 1]).overflowed


@pytest.mark.parametrize("name", ["near-far", "many-sources", "bellman-ford-queue"])
def test_a_device_with_too_little_shared_memory_is_skipped(name, monkeypatch):
    device, module = get_device("host"), load_solver("sssp", name)
    monkeypatch.setattr(type(device), "max_cooperative_blocks", lambda *_: 0)
    with pytest.raises(Skipped, match=r"needs [\d,]+ bytes of shared memory, more than the device has"):
        module.Solver(ResidentGraph.upload(device, sample_graphs()["grid"]), module.Parameters())


def test_arcs_from_which_a_step_would_wrap_are_refused(host_device):
    """A block whose threads step from arc 2**32 - 1 would come to the first arcs, of another vertex."""
    arcs = np.broadcast_to(np.uint32(0), MAX_ARCS + 1)
    with pytest.raises(Skipped, match="4,294,966,273 arcs; the kernels number at most 4,294,966,272"):
        PackedArcs(host_device, np.array([0, len(arcs)]), arcs, arcs)
