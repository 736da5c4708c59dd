"""All pairs: numbers against plain searches and SciPy, and refusals of wrong distances."""

import itertools

import networkx as nx
import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import MAX_WEIGHT, UNREACHED, Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.bfs import multi_source
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.studies import all_pairs
from relaxometer.studies.all_pairs import measure_all_pairs, reduce_all
from relaxometer.studies.registry import STUDIES, run_study
from sample_graphs import detour_too_long, reference_distances, sample_graphs

MAPS = ("grid", "random-directed", "two-islands", "zero-weights", "one-way", "parallel-arcs", "one-vertex")


def study(device, graph, *, sources="all", table=0, seed=1, proven="all", hops=False):
    """Rows of the four tables: passes, sources, components and distances."""
    options = {"sources": sources, "proven": proven, "hops": hops, "table": table, "seed": seed}
    tables = measure_all_pairs(graph, device, **options)
    schemas = all_pairs.PASSES, all_pairs.SOURCES, all_pairs.COMPONENTS, all_pairs.DISTANCES
    assert [table.schema for table in tables] == list(schemas)
    return [table.to_pylist() for table in tables]


def distances_of(graph):
    """Return the distances between all pairs by Dijkstra's algorithm; infinite for unreachable pairs."""
    found = np.array([reference_distances(graph, source) for source in range(graph.n_vertices)])
    return np.where(found == UNREACHED, np.inf, found.astype(float))


@pytest.mark.parametrize("name", MAPS)
def test_numbers_of_every_source_are_those_of_plain_searches(device, name):
    graph = sample_graphs()[name]
    wanted = distances_of(graph)
    passes, sources, components, distances = study(device, graph, table=9)
    n = graph.n_vertices
    assert [(one["proof"], one["sources"], one["proven"], one["status"]) for one in passes] == [
        (False, n, 0, "ok"),
        (True, n, n, "ok"),
    ]
    assert all(one["time_ms"] > 0 and one["prepare_ms"] > 0 for one in passes)
    assert [one["source"] for one in sources] == list(range(n))
    for one, row in zip(sources, wanted, strict=True):
        finite = row[np.isfinite(row)]
        found = one["reached"], one["eccentricity"], one["total"], one["proven"]
        assert found == (len(finite), finite.max(), finite.sum(), True)
        others = len(finite) - 1
        assert one["closeness"] == pytest.approx(others**2 / max(1, finite.sum()) / max(1, n - 1))
        assert one["harmonic"] is None
    _check_components(wanted, sources, components)
    chosen = sorted({one["source"] for one in distances})
    assert len(chosen) == min(n, 9)
    assert [(one["source"], one["target"]) for one in distances] == [*itertools.product(chosen, repeat=2)]
    between = [np.inf if one["distance"] is None else one["distance"] for one in distances]
    assert between == wanted[np.ix_(chosen, chosen)].ravel().tolist()


def _check_components(wanted, sources, components):
    """Compare radius, diameter and the rest with those of plain searches."""
    component = np.array([one["component"] for one in sources])
    assert [one["component"] for one in components] == list(range(component.max() + 1))
    for one in components:
        members = np.flatnonzero(component == one["component"])
        inside = wanted[np.ix_(members, members)]
        everything = inside.max(axis=1)
        eccentricity = np.where(np.isfinite(inside), inside, 0).max(axis=1)
        assert (one["vertices"], one["sources"], one["proven"]) == (len(members),) * 3
        assert one["strong"] == np.isfinite(inside).all()
        radius, diameter = everything.min(), eccentricity.max()
        assert one["radius"] == (radius if np.isfinite(radius) else None)
        assert one["centre"] == members[np.isfinite(everything) & (everything == radius)].tolist()
        assert one["diameter"] == diameter
        assert one["periphery"] == members[eccentricity == diameter].tolist()
        assert wanted[one["periphery"][0], one["farthest"]] == diameter


@pytest.mark.parametrize("name", ["grid", "hub", "two-islands", "random-directed"])
def test_hops_are_counted_as_networkx_counts_them(device, name):
    """By `phast-many` on maps, by `multi-source` in the graph with a hub, with some of the sources proven."""
    graph = sample_graphs()[name]
    passes, sources, components, distances = study(device, graph, hops=True, proven=70, table=[0, 3])
    n = graph.n_vertices
    checked = min(70, n)
    assert [(one["hops"], one["sources"], one["proven"], one["status"]) for one in passes] == [
        (True, n, 0, "ok"),
        (True, checked, checked, "ok"),
    ]
    assert sum(one["proven"] for one in sources) == sum(one["proven"] for one in components) == checked
    reference = nx.DiGraph()
    reference.add_nodes_from(range(n))
    reference.add_edges_from(zip(graph.tails.tolist(), graph.targets.tolist(), strict=True))
    backwards = reference.reverse()  # networkx counts the distances to a vertex
    for column, function in (("closeness", nx.closeness_centrality), ("harmonic", nx.harmonic_centrality)):
        wanted = function(backwards)
        assert [one[column] for one in sources] == pytest.approx([wanted[v] for v in range(n)])
    hops = nx.single_source_shortest_path_length(reference, 3)
    assert [one["distance"] for one in distances[2:]] == [hops.get(0), 0]


def test_drawn_sources_give_bounds_and_follow_the_seed(host_device):
    graph = sample_graphs()["grid"]
    _, every, (exact,), _ = study(host_device, graph)
    _, some, (bound,), _ = study(host_device, graph, sources=40)
    _, same, _, _ = study(host_device, graph, sources=40)
    _, other, _, _ = study(host_device, graph, sources=40, seed=2)
    assert some == same
    assert {one["source"] for one in some} != {one["source"] for one in other}
    assert [every[one["source"]] for one in some] == some
    assert (bound["vertices"], bound["sources"], bound["proven"]) == (713, 40, 40)
    assert bound["radius"] >= exact["radius"]
    assert bound["diameter"] <= exact["diameter"]
    assert len(study(host_device, graph, sources=10_000)[1]) == 713


def test_in_pieces_numbers_are_the_same(host_device, monkeypatch):
    """Sources that do not fit into memory at once are proven launch by launch."""
    graph = sample_graphs()["grid"]
    whole = study(host_device, graph)[1:]
    monkeypatch.setattr("relaxometer.studies.all_pairs.EMULATED_BYTES", 4 * 713 * 32 * 3)
    monkeypatch.setattr("relaxometer.studies.all_pairs.LAUNCHES_AT_ONCE", 1)
    assert study(host_device, graph)[1:] == whole


def wrong_from(monkeypatch, source, change, solver=phast_many.Solver):
    """Let sweeps that store labels store a wrong one from one source."""
    original = solver.sweep

    def wrong(self, sources, *, labels=True, **options):
        sweeps = original(self, sources, labels=labels, **options)
        if labels is not False and self.n_vertices > 40:
            for place in np.flatnonzero(np.asarray(sources) == source).tolist():
                change(sweeps, divmod(place, self.k))
        return sweeps

    monkeypatch.setattr(solver, "sweep", wrong)


def a_wrong_distance(sweeps, place):
    sweeps.labels[place[0], 5, place[1]] += 1


def a_wrong_sum(sweeps, place):
    if sweeps.total is not None:
        sweeps.total[place[0] * sweeps.labels.shape[2] + place[1]] += 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [(a_wrong_distance, "rule overstretched broken"), (a_wrong_sum, "sums differ from those of the proof")],
)
def test_what_is_wrong_takes_its_source_out(host_device, monkeypatch, change, reason):
    wrong_from(monkeypatch, 7, change)
    passes, sources, (component,), _ = study(host_device, sample_graphs()["grid"])
    assert [(one["status"], one["proven"]) for one in passes] == [("ok", 0), ("invalid", 712)]
    assert passes[1]["reason"].startswith(reason)
    (refused,) = (one for one in sources if not one["proven"])
    numbers = dict.fromkeys(("reached", "eccentricity", "total", "closeness", "harmonic"))
    assert refused == {"graph": "grid", "source": 7, "component": 0, "proven": False, **numbers}
    assert (component["sources"], component["proven"]) == (713, 712)


def test_a_wrong_level_takes_its_source_out(host_device, monkeypatch):
    wrong_from(monkeypatch, 7, a_wrong_distance, multi_source.Solver)
    passes, sources, _, _ = study(host_device, sample_graphs()["hub"], hops=True)
    assert (passes[1]["status"], passes[1]["proven"]) == ("invalid", len(sources) - 1)
    assert [one["source"] for one in sources if one["harmonic"] is None] == [7]


@pytest.mark.parametrize(("sources", "table"), [("all", 0), (1, [0, 1, 2])])
def test_a_path_too_long_is_an_error_with_its_reason(device, sources, table):
    """Drawn by this seed, the only source of the second case is one whose paths fit."""
    graph = Graph.from_arcs("too-far", 3, [0, 1, 2], [1, 2, 0], [MAX_WEIGHT, 1, 1])
    passes, found, _, distances = study(device, graph, sources=sources, table=table, seed=5)
    assert [one["status"] for one in passes] == ["ok", "error"]
    assert passes[1]["reason"] == LENGTHS["uint32"].too_long
    assert (passes[1]["proven"], passes[1]["sources"]) == (1, 3 if sources == "all" else 1)
    assert {one["source"] for one in found if one["proven"]} == {1}
    assert {one["source"] for one in distances if one["proven"]} == ({1} if table else set())


def test_a_detour_too_long_does_not_matter_and_a_graph_that_is_no_map_is_skipped(host_device):
    passes, _, _, _ = study(host_device, detour_too_long(), table=[0])
    assert [(one["status"], one["reason"]) for one in passes] == [("ok", "")] * 2
    assert passes[1]["proven"] == passes[1]["sources"]
    passes, *others = study(host_device, sample_graphs()["hub"], table=2)
    assert [one["status"] for one in passes] == ["skipped"] * 2
    assert "made for maps" in passes[0]["reason"]
    assert others == [[], [], []]


def test_passes_that_differ_are_refused(host_device, monkeypatch):
    def other(solver, sources, prover=None, **options):
        found = reduce_all(solver, sources, prover, **options)
        if prover is None:
            found.eccentricity[0] += 1
        return found

    monkeypatch.setattr(all_pairs, "reduce_all", other)
    passes, _, _, _ = study(host_device, sample_graphs()["grid"])
    assert (passes[1]["status"], passes[1]["reason"]) == (
        "invalid",
        "eccentricity with the proof differs from that without",
    )


def test_a_table_that_is_not_proven_has_no_distances(host_device, monkeypatch):
    def change(sweeps, place):
        if sweeps.total is None:  # not in the passes
            sweeps.labels[place[0], 5, place[1]] += 1

    wrong_from(monkeypatch, 7, change)
    passes, _, _, distances = study(host_device, sample_graphs()["grid"], table=[6, 7])
    assert [(one["distance"] is None, one["proven"]) for one in distances] == [
        *[(False, True)] * 2,
        *[(True, False)] * 2,
    ]
    assert passes[1]["status"] == "invalid"


def test_a_vertex_out_of_range_is_named(host_device):
    with pytest.raises(
        UserError,
        match=r"graph grid: vertex 713 is out of range; expected 0 to 712 \(config: all_pairs\.table\)",
    ):
        study(host_device, sample_graphs()["grid"], table=[0, 713])


def test_the_job_writes_every_table(host_device, tmp_path):
    one = STUDIES["all_pairs"]
    assert [path.rpartition("/")[2] for path in one.paths] == [
        *("passes.parquet", "sources.parquet", "components.parquet", "distances.parquet")
    ]
    parameters = {"sources": "all", "proven": "all", "hops": False, "table": 2, "seed": 1}
    written = tmp_path / "passes.parquet"
    assert run_study("all_pairs", parameters, sample_graphs()["grid"], "host", written) == {"ok"}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        path.rpartition("/")[2] for path in one.paths
    )
