"""The variant that chooses."""

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import auto, hybrid
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.tiled._device_tiles import Cutter
from relaxometer.problems.variants import Skipped
from sample_graphs import sample_graphs, undirected


def star():
    edges = np.array([[0, leaf] for leaf in range(1, 101)])
    return undirected("star", 200, edges, np.ones(100, dtype=int))


def dense():
    edges = np.array([[tail, head] for tail in range(20) for head in range(tail)])
    return undirected("dense", 20, edges, np.ones(190, dtype=int))


def dense_with_a_hub():
    hub = [[100, leaf] for leaf in range(100)]
    edges = np.array(hub + [[i, (i + step) % 100] for i in range(100) for step in range(1, 5)])
    return undirected("dense-with-a-hub", 101, edges, np.ones(len(edges), dtype=int))


def solver_of(graph, device, **parameters):
    return auto.Solver(ResidentGraph.upload(device, graph), auto.Parameters(**parameters))


def proven(solver, graph, device):
    phases = []
    answer = solver.solve(0, phases)
    certificate = BfsCertifier(ResidentGraph.upload(device, graph)).check(0, **answer.columns)
    assert certificate.holds, certificate.reason
    return phases


def fail(monkeypatch, module, error):
    def fails(self, *_):
        raise error

    monkeypatch.setattr(module.Solver, "__init__", fails)


def test_a_map_is_searched_in_tiles_and_nothing_else_is_prepared(device, monkeypatch):
    fail(monkeypatch, hybrid, AssertionError("prepared"))
    graph = sample_graphs()["grid"]
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "tiled"
    assert solver.resolved["because"] == "a map (mean degree 3.85, largest 4)"
    assert solver.resolved["tiles"] >= 1
    assert [phase.mode for phase in proven(solver, graph, device)] == ["tiles"]


@pytest.mark.parametrize(
    ("graph", "because"),
    [
        (star(), "not a map (mean degree 1.98, largest 100)"),
        (dense(), "not a map (mean degree 19, largest 19)"),
    ],
    ids=lambda value: getattr(value, "name", "why"),
)
def test_other_graphs_are_searched_by_levels_and_never_cut(device, monkeypatch, graph, because):
    monkeypatch.setattr(Cutter, "cut", None)
    fail(monkeypatch, hybrid_packed, AssertionError("prepared"))
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "hybrid"
    assert solver.resolved["because"] == because
    assert solver.resolved["alpha"] == 10
    assert {phase.mode for phase in proven(solver, graph, device)} <= {"top-down", "bottom-up"}


def test_a_dense_graph_with_a_hub_has_its_neighbours_packed(device, monkeypatch):
    for module in (tiled, hybrid):
        fail(monkeypatch, module, AssertionError("prepared"))
    graph = dense_with_a_hub()
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "hybrid-packed"
    assert solver.resolved["because"] == "not a map (mean degree 9.9, largest 100)"
    assert solver.resolved["hubs"] == 2**16
    proven(solver, graph, device)


@pytest.mark.parametrize(("searches", "chosen"), [(1, "hybrid"), (49, "hybrid"), (50, "hybrid-packed")])
def test_neighbours_are_packed_only_if_enough_searches_repay_it(device, searches, chosen):
    graph = dense_with_a_hub()
    solver = solver_of(graph, device, searches=searches)
    assert (solver.resolved["chosen"], solver.resolved["searches"]) == (chosen, searches)
    assert solver.resolved["because"] == "not a map (mean degree 9.9, largest 100)"
    proven(solver, graph, device)


@pytest.mark.parametrize("searches", [1, 100])
def test_a_map_is_searched_in_tiles_by_any_number_of_searches(device, searches):
    assert solver_of(sample_graphs()["grid"], device, searches=searches).resolved["chosen"] == "tiled"


def test_a_graph_too_large_for_packed_neighbours_goes_to_hybrid(device, monkeypatch):
    monkeypatch.setattr(hybrid_packed.packed, "MAX_VERTICES", 100)
    graph = dense_with_a_hub()
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "hybrid"
    assert solver.resolved["because"].endswith("but not for hybrid-packed: more than 100 vertices")


@pytest.mark.parametrize("reason", [Skipped("too large"), DeviceOutOfMemory("too large")])
def test_a_map_that_does_not_fit_is_searched_by_levels(device, monkeypatch, reason):
    fail(monkeypatch, tiled, reason)
    graph = sample_graphs()["grid"]
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "hybrid"
    assert solver.resolved["because"].endswith("largest 4), but not for tiled: too large")
    proven(solver, graph, device)


def test_a_map_is_surveyed_once(device, monkeypatch):
    monkeypatch.setattr(_maps, "degrees_of", None)
    assert solver_of(sample_graphs()["grid"], device).resolved["chosen"] == "tiled"


def test_hybrid_running_out_of_memory_is_not_hidden(host_device, monkeypatch):
    fail(monkeypatch, hybrid, DeviceOutOfMemory("no room"))
    with pytest.raises(DeviceOutOfMemory, match="no room"):
        solver_of(star(), host_device)
