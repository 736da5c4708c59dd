"""The variant that chooses."""

import numpy as np
import pytest

from choices import prepared
from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import auto
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.variants import Skipped
from sample_graphs import sample_graphs, undirected


def star():
    edges = np.array([[0, leaf] for leaf in range(1, 101)])
    return undirected("star", 200, edges, np.ones(100, dtype=int))


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


@pytest.mark.parametrize(
    ("graph", "searches", "chosen", "because"),
    [
        (sample_graphs()["grid"], None, "tiled", "even degrees (mean degree 3.85, largest 4, about "),
        (star(), None, "hybrid-packed", "hubs (mean degree 1.98, largest 100, about 2 levels)"),
        (star(), 1, "hybrid", "hubs (mean degree 1.98, largest 100, about 2 levels)"),
        (dense_with_a_hub(), None, "hybrid-packed", "hubs (mean degree 9.9, largest 100, about 2 levels)"),
        (dense_with_a_hub(), 49, "hybrid", "hubs (mean degree 9.9, largest 100, about 2 levels)"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_one_variant_is_chosen_and_no_other_prepared(device, monkeypatch, graph, searches, chosen, because):
    names = prepared(monkeypatch, auto.CANDIDATES)
    solver = solver_of(graph, device, **({} if searches is None else {"searches": searches}))
    assert names == [solver.resolved["chosen"]] == [chosen]
    assert solver.resolved["because"].startswith(because)
    own = {"tiled": "tiles", "hybrid": "alpha", "hybrid-packed": "hubs"}[chosen]
    assert solver.resolved[own] >= 1
    modes = {phase.mode for phase in proven(solver, graph, device)}
    assert modes <= ({"tiles"} if chosen == "tiled" else {"top-down", "bottom-up"})


def test_a_graph_too_large_for_packed_neighbours_goes_to_hybrid(device, monkeypatch):
    monkeypatch.setattr(hybrid_packed.packed, "MAX_VERTICES", 100)
    graph = dense_with_a_hub()
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "hybrid"
    assert ", but not for hybrid-packed: more than 100 vertices" in solver.resolved["because"]


@pytest.mark.parametrize("reason", [Skipped("too large"), DeviceOutOfMemory("too large")])
def test_a_map_that_does_not_fit_is_searched_by_levels(device, monkeypatch, reason):
    def fails(self, *_):
        raise reason

    monkeypatch.setattr(tiled.Solver, "__init__", fails)
    graph = sample_graphs()["grid"]
    solver = solver_of(graph, device)
    assert solver.resolved["chosen"] == "hybrid"
    assert solver.resolved["because"].endswith(", but not for tiled: too large")
    proven(solver, graph, device)
