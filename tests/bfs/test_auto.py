"""The variant that chooses."""

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import auto, hybrid
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
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


MODULES = {"tiled": tiled, "hybrid": hybrid, "hybrid-packed": hybrid_packed}


@pytest.mark.parametrize(
    ("graph", "searches", "chosen", "because"),
    [
        (sample_graphs()["grid"], None, "tiled", "a map (mean degree 3.85, largest 4)"),
        (sample_graphs()["grid"], 1, "tiled", "a map (mean degree 3.85, largest 4)"),
        (star(), None, "hybrid", "not a map (mean degree 1.98, largest 100)"),
        (dense(), None, "hybrid", "not a map (mean degree 19, largest 19)"),
        (dense_with_a_hub(), None, "hybrid-packed", "not a map (mean degree 9.9, largest 100)"),
        (dense_with_a_hub(), 49, "hybrid", "not a map (mean degree 9.9, largest 100)"),
        (dense_with_a_hub(), 50, "hybrid-packed", "not a map (mean degree 9.9, largest 100)"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_one_variant_is_chosen_and_no_other_prepared(device, monkeypatch, graph, searches, chosen, because):
    for name, module in MODULES.items():
        if name not in (chosen, "tiled"):
            fail(monkeypatch, module, AssertionError("prepared"))
    if chosen != "tiled":  # which may be begun, but is not cut
        monkeypatch.setattr(Cutter, "cut", None)
    solver = solver_of(graph, device, **({} if searches is None else {"searches": searches}))
    assert solver.resolved["chosen"] == chosen
    assert solver.resolved["because"] == because
    own = {"tiled": "tiles", "hybrid": "alpha", "hybrid-packed": "hubs"}[chosen]
    assert solver.resolved[own] >= 1
    modes = {phase.mode for phase in proven(solver, graph, device)}
    assert modes <= ({"tiles"} if chosen == "tiled" else {"top-down", "bottom-up"})


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


def test_hybrid_running_out_of_memory_is_not_hidden(host_device, monkeypatch):
    fail(monkeypatch, hybrid, DeviceOutOfMemory("no room"))
    with pytest.raises(DeviceOutOfMemory, match="no room"):
        solver_of(star(), host_device)
