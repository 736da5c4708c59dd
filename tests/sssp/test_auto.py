"""The variant that chooses."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from choices import prepared
from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.host import HostDevice
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import choosing
from relaxometer.problems.choosing import Cost
from relaxometer.problems.sssp import auto
from relaxometer.problems.variants import Skipped
from sample_graphs import reference_distances, sample_graphs


def resident(device, name="grid"):
    return ResidentGraph.upload(device, sample_graphs()[name])


def expects(monkeypatch, **costs):
    """Replace the model: preparation and search of each candidate."""
    costs = {name.replace("_", "-"): Cost(*cost) for name, cost in costs.items()}
    monkeypatch.setattr(auto, "expected_costs", lambda *_: dict(costs))


def takes(monkeypatch, **times):
    """Replace the times of searches; the answers are their own."""
    for name, ms in times.items():
        solver = auto.CANDIDATES[name.replace("_", "-")].Solver

        def solve(self, source, phases=None, ms=ms, solve=solver.solve):
            if isinstance(ms, Exception):
                raise ms
            CLOCK[0] += ms
            return solve(self, source, phases)

        monkeypatch.setattr(solver, "solve", solve)

    @contextmanager
    def timer(self):
        begin = CLOCK[0]
        time = SimpleNamespace()
        yield time
        time.ms = CLOCK[0] - begin

    monkeypatch.setattr(HostDevice, "timer", timer)


CLOCK = [0.0]


def test_no_other_variant_is_prepared_for_one_search(host_device, monkeypatch):
    names, graph = prepared(monkeypatch, auto.CANDIDATES), resident(host_device)
    for fastest in ("tiled", "near-far"):
        expects(monkeypatch, **{"tiled": (1, 4), "near_far": (1, 4), fastest.replace("-", "_"): (1, 1)})
        solver = auto.Solver(graph, auto.Parameters(searches=1))
        found = solver.solve(0)
        assert names == [fastest]
        assert solver.resolved["chosen"] == fastest
        assert solver.resolved["probed"] == ""
        assert solver.resolved["expected"].startswith(f"{fastest} 2 ms")
        np.testing.assert_array_equal(found.distance, reference_distances(graph.host, 0))
        names.clear()


@pytest.mark.parametrize(("times", "rounds"), [((0.5, 2), 1), ((2, 0.5), 1), ((2, 1.9), 2), ((1.9, 2), 2)])
def test_the_first_searches_decide(host_device, monkeypatch, times, rounds):
    names, graph = prepared(monkeypatch, auto.CANDIDATES), resident(host_device)
    expects(monkeypatch, tiled=(1, 20), near_far=(1, 30), push_pull=(1, 180), phast=(40_000, 2))
    takes(monkeypatch, tiled=times[0], near_far=times[1])
    solver = auto.Solver(graph, auto.Parameters(searches=100))
    assert names == ["tiled"]  # the next when it is to search
    for count in range(2 * rounds):
        assert solver.resolved["probed"] == "" or count >= 2
        np.testing.assert_array_equal(solver.solve(count).distance, reference_distances(graph.host, count))
    assert names == ["tiled", "near-far"]
    fastest = "tiled" if times[0] < times[1] else "near-far"
    assert solver.resolved["chosen"] == fastest
    assert solver.resolved["probed"] == f"tiled {times[0]} ms, near-far {times[1]} ms"
    assert solver.resolved["lost_ms"] == pytest.approx(rounds * abs(times[0] - times[1]))
    assert hasattr(solver, "solve_from") == (fastest == "near-far")
    before = CLOCK[0]
    solver.solve(0)
    assert CLOCK[0] - before == pytest.approx(min(times))


@pytest.mark.parametrize(
    ("costs", "searches", "tried"),
    [
        ({"a": (1, 1), "b": (1, 1.1)}, 10, []),  # a trial takes too long
        ({"a": (1, 1), "b": (1, 1.1)}, 1000, []),  # so do kernels to load
        ({"a": (1, 1), "b": (1, 1.1)}, 2000, ["a", "b"]),
        ({"a": (1, 1), "b": (1, 3.1)}, 2000, []),  # not in doubt
        ({"a": (1, 1), "b": (45, 1)}, 2000, []),
        ({"a": (1, 1), "b": (2, 1), "c": (2, 1)}, 4000, ["a", "b", "c"]),
        ({"a": (1, 1), "b": (4, 1), "c": (4, 1)}, 2000, ["a", "b"]),
    ],
)
def test_trials_are_worth_their_cost(costs, searches, tried):
    costs = {name: Cost(*cost) for name, cost in costs.items()}
    assert choosing.worth_a_trial(costs, searches) == tried


@pytest.mark.parametrize(("measured", "chosen"), [(0.1, "tiled"), (1.0, "phast")])
def test_a_long_preparation_is_begun_only_if_a_search_is_slow(host_device, monkeypatch, measured, chosen):
    names = prepared(monkeypatch, auto.CANDIDATES)
    expects(monkeypatch, tiled=(1, 0.5), phast=(400, 0.1))
    takes(monkeypatch, tiled=measured)
    resolved = auto.Solver(resident(host_device), auto.Parameters(searches=1000)).resolved
    assert resolved["chosen"] == chosen
    assert names == ["tiled", "phast"][: 1 + (chosen == "phast")]


@pytest.mark.parametrize("searches", [1, 1000])
def test_the_next_variant_is_taken_if_one_fails(host_device, monkeypatch, searches):
    monkeypatch.setattr(auto.CANDIDATES["tiled"].Solver, "__init__", fails)
    expects(monkeypatch, tiled=(1, 1), near_far=(1, 1.5))
    solver = auto.Solver(resident(host_device), auto.Parameters(searches=searches))
    assert solver.resolved["chosen"] == "near-far"
    assert solver.resolved["because"].endswith("but not for tiled: no room")
    monkeypatch.setattr(auto.CANDIDATES["near-far"].Solver, "__init__", fails)
    with pytest.raises(Skipped, match=r"none of tiled and near-far .* can be prepared"):
        auto.Solver(resident(host_device), auto.Parameters(searches=searches))


@pytest.mark.parametrize("first", ["tiled", "near_far"])
def test_a_variant_that_runs_out_of_memory_in_a_trial_is_not_taken(host_device, monkeypatch, first):
    costs = {"tiled": (1, 1.1), "near_far": (1, 1.1)} | {first: (1, 1)}
    expects(monkeypatch, **costs)
    takes(monkeypatch, tiled=DeviceOutOfMemory("piles"))
    solver = auto.Solver(resident(host_device), auto.Parameters(searches=2000))
    for _ in range(3):
        np.testing.assert_array_equal(
            solver.solve(5).distance, reference_distances(sample_graphs()["grid"], 5)
        )
    assert solver.resolved["chosen"] == "near-far"


def fails(self, *_):
    raise DeviceOutOfMemory("no room")
