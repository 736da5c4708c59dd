"""The variant that chooses."""

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import auto
from relaxometer.problems.variants import Skipped
from sample_graphs import sample_graphs, undirected


def test_features_say_what_is_worth_a_try(host_device):
    kind, names = auto.worth_a_try(ResidentGraph.upload(host_device, sample_graphs()["grid"]))
    assert kind.startswith("a map (mean degree")
    assert names == ["tiled", "near-far"]
    edges = np.array([[0, leaf] for leaf in range(1, 101)])
    star = undirected("star", 200, edges, np.ones(100, dtype=int))
    kind, names = auto.worth_a_try(ResidentGraph.upload(host_device, star))
    assert kind == "hubs (mean degree 1.98, largest 100)"
    assert names == ["near-far", "push-pull"]


def test_the_fastest_candidate_is_kept(device, monkeypatch):
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    for fastest in ("near-far", "tiled"):
        module = auto.CANDIDATES[fastest].__name__

        def seconds(self, solver, source, module=module):
            return 1.0 if type(solver).__module__ == module else 2.0

        monkeypatch.setattr(auto.Solver, "_time", seconds)
        resolved = auto.Solver(resident, auto.Parameters()).resolved
        assert resolved["chosen"] == fastest
        assert f"{fastest} 1 ms" in resolved["probed"].split(", ")
        assert resolved["probed"].count(" 2 ms") == 1
        assert resolved["probe_ms"] >= 0
        assert resolved["because"].startswith("a map")


def test_a_graph_that_suits_no_candidate_is_skipped(host_device, monkeypatch):
    def fails(self, graph, parameters):
        raise DeviceOutOfMemory("no room")

    for module in auto.CANDIDATES.values():
        monkeypatch.setattr(module.Solver, "__init__", fails)
    with pytest.raises(Skipped, match="none of tiled and near-far can be prepared"):
        auto.Solver(ResidentGraph.upload(host_device, sample_graphs()["grid"]), auto.Parameters())
