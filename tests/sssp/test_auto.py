"""The variant that chooses."""

from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import _maps, auto
from relaxometer.problems.sssp.auto import Cost
from relaxometer.problems.variants import Skipped
from sample_graphs import as_type, reference_distances, sample_graphs, undirected
from sssp.searches import solved, variants_for


def resident(device, name="grid"):
    return ResidentGraph.upload(device, sample_graphs()[name])


def expects(monkeypatch, **costs):
    """Replace the model: preparation, search and doubt of each candidate."""
    costs = {name.replace("_", "-"): Cost(*cost) for name, cost in costs.items()}
    monkeypatch.setattr(auto, "expected_costs", lambda graph, degrees: ("a map", costs))


def prepared(monkeypatch):
    """List the candidates that are prepared."""
    names = []
    for name, module in auto.CANDIDATES.items():

        def begin(self, *args, name=name, begin=module.Solver.__init__):
            begin(self, *args)
            names.append(name)

        monkeypatch.setattr(module.Solver, "__init__", begin)
    return names


def expected(graph):
    return auto.expected_costs(graph, _maps.degrees_of(graph))


def star(device):
    edges = np.array([[0, leaf] for leaf in range(1, 101)])
    return ResidentGraph.upload(device, undirected("star", 200, edges, np.ones(100, dtype=int)))


def test_features_give_the_kind_and_the_candidates(host_device):
    kind, costs = expected(resident(host_device))
    assert kind.startswith("a map (mean degree")
    assert set(costs) >= {"tiled", "near-far"}
    kind, costs = expected(star(host_device))
    assert kind == "hubs (mean degree 1.98, largest 100)"
    assert list(costs) == ["near-far", "push-pull"]


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
def test_degrees_are_those_of_numpy(device, graph):
    degrees = _maps.degrees_of(ResidentGraph.upload(device, graph))
    assert degrees.with_arcs == np.count_nonzero(graph.degrees)
    assert degrees.largest == graph.degrees.max()
    assert degrees.mean == graph.n_arcs / max(1, degrees.with_arcs)


def test_what_is_no_map_is_not_cut_into_tiles(device, monkeypatch):
    """Tiles begin a preparation, and the survey, which they share with the choice, ends it."""
    names, graph = prepared(monkeypatch), star(device)
    solver = auto.Solver(graph, auto.Parameters(searches=1))
    assert names == [solver.resolved["chosen"]] == ["near-far"]
    assert solver.resolved["because"] == "hubs (mean degree 1.98, largest 100)"


def test_a_large_map_is_not_cut_for_a_search_by_another_variant(host_device, monkeypatch):
    names, graph = prepared(monkeypatch), resident(host_device)
    monkeypatch.setattr(auto, "LARGE", graph.n_vertices - 1)
    assert expected(graph)[0] == "a large map (mean degree 3.85, largest 4)"
    expects(monkeypatch, near_far=(1, 1), tiled=(1, 2))
    solver = auto.Solver(graph, auto.Parameters(searches=1))
    assert names == [solver.resolved["chosen"]] == ["near-far"]


def test_a_graph_of_many_arcs_is_not_begun_as_a_map(device, monkeypatch):
    edges = np.array([[tail, head] for tail in range(20) for head in range(tail)])
    graph = undirected("dense", 20, edges, np.ones(190, dtype=int))
    monkeypatch.setattr(auto.tiled, "Solver", None)
    # Where there are hubs, many searches pay for push-pull.
    costs = {"hubs": Cost(1, 3), "even degrees": Cost(1, 1)}
    monkeypatch.setattr(
        auto, "costs_of", lambda kind, *_: {"near-far": costs[kind], "push-pull": Cost(20, 2)}
    )
    resolved = auto.Solver(ResidentGraph.upload(device, graph), auto.Parameters(searches=30)).resolved
    assert resolved["because"] == "even degrees (mean degree 19, largest 19)"
    monkeypatch.setattr(_maps, "degrees_of", None)  # a single one does not, hubs or not
    solver = auto.Solver(ResidentGraph.upload(device, graph), auto.Parameters(searches=1))
    assert solver.resolved["because"] == "no map (mean degree above 8)"
    np.testing.assert_array_equal(device.asnumpy(solver.solve(3).distance), reference_distances(graph, 3))


@pytest.mark.parametrize(
    ("vertices", "arcs", "largest", "best"),
    [
        (264_346, 730_100, 8, ["tiled", "tiled", "phast"]),
        (1_524_453, 3_868_020, 9, ["tiled", "tiled", "phast"]),
        (1_000_000, 3_996_000, 4, ["tiled", "tiled", "tiled"]),
        (24_391_248, 61_889_856, 12, ["near-far", "near-far", "near-far"]),
        (1_048_576, 33_500_000, 38, ["near-far", "near-far", "near-far"]),
        (1_048_576, 31_401_820, 64_763, ["near-far", "push-pull", "push-pull"]),
        (4_194_304, 128_310_320, 163_204, ["near-far", "push-pull", "push-pull"]),
    ],
)
def test_the_model_chooses_by_the_number_of_searches(vertices, arcs, largest, best):
    graph = SimpleNamespace(n_vertices=vertices, n_arcs=arcs, lengths=LENGTHS["uint32"])
    _, costs = auto.expected_costs(graph, _maps.Degrees.found(graph, vertices, largest))
    assert [auto.by_total(costs, searches)[0] for searches in (1, 100, 1000)] == best


def test_no_other_variant_is_prepared_for_one_search(host_device, monkeypatch):
    names, graph = prepared(monkeypatch), resident(host_device)
    for fastest in ("tiled", "near-far"):
        expects(monkeypatch, **{"tiled": (1, 4), "near_far": (1, 4), fastest.replace("-", "_"): (1, 1)})
        solver = auto.Solver(graph, auto.Parameters(searches=1))
        assert names == ["tiled", "near-far"][: 1 + (fastest == "near-far")]
        assert solver.resolved["chosen"] == fastest
        assert solver.resolved["probed"] == ""
        assert solver.resolved["expected"].startswith("tiled ")
        np.testing.assert_array_equal(solver.solve(0).distance, reference_distances(graph.host, 0))
        names.clear()


@pytest.mark.parametrize("fastest", ["tiled", "near-far"])
def test_probes_correct_the_model_where_they_are_cheap(device, monkeypatch, fastest):
    names, module = prepared(monkeypatch), auto.CANDIDATES[fastest].__name__
    expects(monkeypatch, tiled=(1, 1), near_far=(1, 1.5, 2), phast=(200, 0.1, 2))
    monkeypatch.setattr(
        auto.Solver, "_time", lambda self, solver, source: 0.5 if type(solver).__module__ == module else 2.0
    )
    resolved = auto.Solver(resident(device), auto.Parameters(searches=100)).resolved
    assert sorted(names) == ["near-far", "tiled"]
    assert resolved["chosen"] == fastest
    assert f"{fastest} 0.5 ms" in resolved["probed"].split(", ")
    assert resolved["expected"] == "tiled 101 ms, near-far 151 ms, phast 210 ms"
    assert resolved["probe_ms"] >= 0


def test_a_long_preparation_is_begun_only_if_the_probes_are_worse(host_device, monkeypatch):
    names = prepared(monkeypatch)
    expects(monkeypatch, tiled=(1, 1, 5), phast=(400, 0.1))
    for probed, chosen in ((0.1, "tiled"), (1.0, "phast")):
        monkeypatch.setattr(auto.Solver, "_time", lambda *_, probed=probed: probed)
        resolved = auto.Solver(resident(host_device), auto.Parameters(searches=1000)).resolved
        assert resolved["chosen"] == chosen
        assert names == ["tiled", "phast"][: 1 + (chosen == "phast")]
        names.clear()


@pytest.mark.parametrize("searches", [1, 1000])
def test_the_next_variant_is_taken_if_one_fails(host_device, monkeypatch, searches):
    monkeypatch.setattr(auto.CANDIDATES["tiled"].Solver, "__init__", fails)
    expects(monkeypatch, tiled=(1, 1), near_far=(1, 1.5))
    solver = auto.Solver(resident(host_device), auto.Parameters(searches=searches))
    assert solver.resolved["chosen"] == "near-far"
    monkeypatch.setattr(auto.CANDIDATES["near-far"].Solver, "__init__", fails)
    with pytest.raises(Skipped, match="none of tiled and near-far can be prepared"):
        auto.Solver(resident(host_device), auto.Parameters(searches=searches))


def fails(self, *_):
    raise DeviceOutOfMemory("no room")


def test_a_variant_that_runs_out_of_memory_in_a_probe_is_not_taken(host_device, monkeypatch):
    names = prepared(monkeypatch)
    expects(monkeypatch, tiled=(1, 1), near_far=(1, 1.5, 2), phast=(200, 0.1, 2))
    full = auto.CANDIDATES["tiled"].__name__

    def searched(self, solver, source):
        if type(solver).__module__ == full:
            raise DeviceOutOfMemory("piles")
        return 2.0

    monkeypatch.setattr(auto.Solver, "_time", searched)
    resolved = auto.Solver(resident(host_device), auto.Parameters(searches=100)).resolved
    assert resolved["chosen"] == "near-far"
    assert names.count("tiled") == 1


@pytest.mark.parametrize("name", ["grid", "random-directed"])
@pytest.mark.parametrize("kind", ["uint32/uint64", "float32", "float64"])
def test_other_weights_are_searched_by_a_variant_that_takes_them(device, name, kind):
    solver, _ = solved(device, "auto", as_type(sample_graphs()[name], kind), 0)
    assert solver.resolved["chosen"] in variants_for(kind)
