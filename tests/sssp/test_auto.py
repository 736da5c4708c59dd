"""The variant that chooses."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from choices import prepared
from relaxometer.datasets.formats.generated import GridParameters
from relaxometer.datasets.generators.shapes import grid as grid_graph
from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.host import HostDevice
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import choosing
from relaxometer.problems.choosing import Cost
from relaxometer.problems.sssp import _maps, auto
from relaxometer.problems.variants import Skipped
from sample_graphs import reference_distances, sample_graphs, undirected


def resident(device, name="grid"):
    return ResidentGraph.upload(device, sample_graphs()[name])


def expects(monkeypatch, **costs):
    """Replace the model: preparation and search of each candidate."""
    costs = {name.replace("_", "-"): Cost(*cost) for name, cost in costs.items()}
    monkeypatch.setattr(auto, "expected_costs", lambda *_: ("a map", dict(costs)))


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


def expected(graph):
    return auto.expected_costs(graph, _maps.degrees_of(graph), _maps.Balls(graph).depth())


def star(device):
    edges = np.array([[0, leaf] for leaf in range(1, 101)])
    return ResidentGraph.upload(device, undirected("star", 200, edges, np.ones(100, dtype=int)))


def test_balls_grow_by_hops_and_tell_the_depth(device):
    chain = undirected(
        "chain", 5000, np.stack([np.arange(4999), np.arange(1, 5000)], axis=1), np.ones(4999, int)
    )
    balls = _maps.Balls(ResidentGraph.upload(device, chain))
    sizes = device.asnumpy(balls._sizes)
    np.testing.assert_array_equal(sizes[3], 1 + 2 * np.arange(_maps.HOPS + 1))
    assert 2000 < balls.depth() < 5000  # from the middle and from an end
    grid = grid_graph(GridParameters(rows=120, columns=120), 1)
    balls = _maps.Balls(ResidentGraph.upload(device, grid))
    sizes = device.asnumpy(balls._sizes).astype(int)
    assert (np.diff(sizes[:, :30]) > 0).all()
    assert 60 < balls.depth() < 240


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
def test_degrees_are_those_of_numpy(device, graph):
    degrees = _maps.degrees_of(ResidentGraph.upload(device, graph))
    assert degrees.with_arcs == np.count_nonzero(graph.degrees)
    assert degrees.largest == graph.degrees.max()
    assert degrees.mean == graph.n_arcs / max(1, degrees.with_arcs)
    assert degrees.squares == (graph.degrees.astype(np.int64) ** 2).sum()


def test_what_is_no_map_is_not_cut_into_tiles(device, monkeypatch):
    """Tiles begin a preparation, and the survey, which they share with the choice, ends it."""
    names, graph = prepared(monkeypatch, auto.CANDIDATES), star(device)
    solver = auto.Solver(graph, auto.Parameters(searches=1))
    assert names == [solver.resolved["chosen"]] == ["near-far"]
    assert solver.resolved["because"] == "few hubs (mean degree 1.98, largest 100, about 7.1 levels)"


def test_a_large_map_is_not_cut_for_a_search_by_another_variant(host_device, monkeypatch):
    names, graph = prepared(monkeypatch, auto.CANDIDATES), resident(host_device)
    monkeypatch.setattr(auto, "LARGE", graph.n_vertices - 1)
    assert expected(graph)[0].startswith("a large map (mean degree 3.85, largest 4, ")
    expects(monkeypatch, near_far=(1, 1), tiled=(1, 2))
    solver = auto.Solver(graph, auto.Parameters(searches=1))
    assert names == [solver.resolved["chosen"]] == ["near-far"]


def test_a_graph_of_many_arcs_is_not_begun_as_a_map(device, monkeypatch):
    edges = np.array([[tail, head] for tail in range(20) for head in range(tail)])
    graph = undirected("dense", 20, edges, np.ones(190, dtype=int))
    monkeypatch.setattr(auto.tiled, "Solver", Refusing)
    expects(monkeypatch, near_far=(1, 1), tiled=(1, 9))
    solver = auto.Solver(ResidentGraph.upload(device, graph), auto.Parameters(searches=30))
    assert solver.resolved["chosen"] == "near-far"
    monkeypatch.setattr(_maps, "degrees_of", None)  # a single search needs no look
    solver = auto.Solver(ResidentGraph.upload(device, graph), auto.Parameters(searches=1))
    assert solver.resolved["because"] == "no map (mean degree above 8)"
    np.testing.assert_array_equal(device.asnumpy(solver.solve(3).distance), reference_distances(graph, 3))


class Refusing:
    weight_types = frozenset({"uint32"})

    def __init__(self, *_):
        raise AssertionError("prepared")


MAP, HUBS = {"largest": 8, "squares": 3}, {"largest": 60_000, "squares": 2000}


@pytest.mark.parametrize(
    ("vertices", "arcs", "features", "depth", "crossing", "best"),
    [
        (264_346, 730_100, MAP, 398, 0.09, ["tiled", "tiled", "phast"]),  # a city
        (1_524_453, 3_868_020, MAP, 1138, 0.47, ["tiled", "tiled", "phast"]),
        (1_427_876, 4_581_208, MAP, 46, 0.09, ["near-far", "near-far", "near-far"]),  # with long roads
        (24_391_248, 61_889_856, MAP, 2000, 0.5, ["near-far", "near-far", "near-far"]),
        (1_048_576, 6_291_388, MAP, 453, 0.99, ["near-far", "near-far", "near-far"]),  # a triangulation
        (131_072, 786_364, MAP, 160, 0.99, ["tiled", "tiled", "tiled"]),  # a smaller one
        (1_048_576, 33_500_000, MAP, 8, 1, ["near-far", "near-far", "near-far"]),
        (1_048_576, 16_775_374, HUBS | {"squares": 100}, 4, 1, ["near-far", "near-far", "near-far"]),
        (1_048_576, 31_401_820, HUBS, 4, 1, ["near-far", "push-pull", "push-pull"]),
        (4_194_304, 128_310_320, HUBS, 4, 1, ["near-far", "push-pull", "push-pull"]),
    ],
)
def test_the_model_chooses_by_the_number_of_searches(vertices, arcs, features, depth, crossing, best):
    graph = SimpleNamespace(n_vertices=vertices, n_arcs=arcs, lengths=LENGTHS["uint32"])
    degrees = _maps.Degrees.found(graph, vertices, features["largest"])
    degrees = degrees._replace(squares=features["squares"] * arcs)
    _, costs = auto.expected_costs(graph, degrees, depth, crossing)
    assert [auto.by_total(costs, searches)[0] for searches in (1, 100, 1000)] == best


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
    expects(monkeypatch, tiled=(1, 1), near_far=(1, 1.5), push_pull=(1, 9), phast=(2000, 0.1))
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
    assert hasattr(solver, "solve_from") == (fastest == "near-far")
    before = CLOCK[0]
    solver.solve(0)
    assert CLOCK[0] - before == pytest.approx(min(times))


@pytest.mark.parametrize(
    ("costs", "searches", "tried"),
    [
        ({"a": (1, 1), "b": (1, 1.1)}, 10, []),  # a trial takes too long
        ({"a": (1, 1), "b": (1, 1.1)}, 100, ["a", "b"]),
        ({"a": (1, 1), "b": (1, 3.1)}, 100, []),  # not in doubt
        ({"a": (1, 1), "b": (9, 1)}, 100, []),
        ({"a": (1, 1), "b": (2, 1), "c": (2, 1)}, 100, ["a", "b", "c"]),
        ({"a": (1, 1), "b": (4, 1), "c": (4, 1)}, 100, ["a", "b"]),
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
    solver = auto.Solver(resident(host_device), auto.Parameters(searches=100))
    for _ in range(3):
        np.testing.assert_array_equal(
            solver.solve(5).distance, reference_distances(sample_graphs()["grid"], 5)
        )
    assert solver.resolved["chosen"] == "near-far"


def fails(self, *_):
    raise DeviceOutOfMemory("no room")
