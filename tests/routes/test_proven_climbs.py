"""Climbs in a proven hierarchy: they find distances, and each rule finds what breaks it."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import drawn_graphs
from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, UNREACHED, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes import Queries, _proven_climbs
from relaxometer.problems.routes._proven_climbs import RULES, ProvenClimbs
from relaxometer.problems.sssp.phast import _cch
from route_samples import random_queries, right_distances
from sample_graphs import sample_graphs

GRAPH = sample_graphs()["grid"]
QUERIES = random_queries(GRAPH, 300)
NONE = int(UNREACHED)


def climbs_of(device, graph, change=None):
    """Return the climbs of a graph whose hierarchy has been changed."""
    with pytest.MonkeyPatch.context() as patch:
        contract = _cch.contract
        if change is not None:
            patch.setattr(_cch, "contract", lambda *given: change(contract(*given)))
        return ProvenClimbs(ResidentGraph.upload(device, graph, arcs=False))


def changed(cch, name, place, value):
    """Return a contraction of which one number is another."""
    array = getattr(cch, name).copy()
    array[place] = value
    return replace(cch, **{name: array})


def all_pairs(graph):
    origins, targets = np.indices((graph.n_vertices, graph.n_vertices)).reshape(2, -1).astype(np.uint32)
    return Queries("all", origins, targets)


@pytest.mark.parametrize("at_once", [1, 1 << 28], ids=["by 32 depths", "at once"])
@pytest.mark.parametrize("cutoff", [2**32 - 2, 300, 0])
def test_they_find_distances(device, monkeypatch, at_once, cutoff):
    monkeypatch.setattr(_proven_climbs, "MAX_CLIMBS", at_once)
    climbs = climbs_of(device, GRAPH)
    assert climbs._height > 64
    queries = replace(QUERIES, cutoff=cutoff)
    for _ in range(2):
        found, is_proven = climbs.distances(queries)
        assert is_proven
        assert np.array_equal(found, right_distances(GRAPH, queries))


@pytest.mark.parametrize("name", sorted({*sample_graphs()} - {"hub", "grid"}))
def test_sample_graphs(device, name):
    graph = sample_graphs()[name]
    queries = random_queries(graph, 200)
    found, is_proven = climbs_of(device, graph).distances(queries)
    assert is_proven
    assert np.array_equal(found, right_distances(graph, queries))


WEIGHTS = st.sampled_from([0, 1, 2, 5, 2**31, MAX_WEIGHT - 1, MAX_WEIGHT])


@given(drawn_graphs(WEIGHTS))
def test_all_pairs_of_any_graph(drawn):
    graph, _ = drawn
    queries = all_pairs(graph)
    found, is_proven = climbs_of(get_device("host"), graph).distances(queries)
    assert is_proven
    assert np.array_equal(found, right_distances(graph, queries))


@given(drawn_graphs(st.integers(0, 3)), st.data())
def test_a_wrong_hierarchy_proves_no_wrong_distance(drawn, data):
    graph, _ = drawn

    def corrupt(cch):
        name = data.draw(st.sampled_from(["order", "offsets", "up", "upward", "downward", "parent"]))
        if not len(getattr(cch, name)):
            return cch
        place = data.draw(st.integers(0, len(getattr(cch, name)) - 1))
        lengths = st.sampled_from([0, 1, 2, 3, 4, NONE - 1, NONE])
        numbers = st.integers(-(name == "parent"), graph.n_vertices - 1)
        return changed(cch, name, place, data.draw(lengths if name.endswith("ward") else numbers))

    queries = all_pairs(graph)
    with suppress(ValueError, IndexError):  # of the host, before it has proven anything
        found, is_proven = climbs_of(get_device("host"), graph, corrupt).distances(queries)
        assert not is_proven or np.array_equal(found, right_distances(graph, queries))


def without_an_arc(cch):
    """Leave out the second arc of the first rank that has two."""
    rank = int(np.argmax(np.diff(cch.offsets) > 1))
    arc = cch.offsets[rank] + 1
    lists = {name: np.delete(getattr(cch, name), arc) for name in ("up", "upward", "downward")}
    return replace(cch, **lists, offsets=cch.offsets - (np.arange(len(cch.offsets)) > rank))


def shortcut(cch):
    """Return the number of a shortcut's arc: the last arc into one of the highest ranks."""
    return len(cch.up) - 1


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (lambda cch: changed(cch, "order", 7, cch.order[8]), {"order"}),
        (lambda cch: changed(cch, "up", 0, GRAPH.n_vertices), {"order"}),
        (lambda cch: changed(cch, "up", cch.offsets[9], 9), {"order"}),
        (lambda cch: changed(cch, "parent", 5, -1), {"order"}),
        (lambda cch: replace(cch, up=cch.up[::-1].copy()), {"order"}),
        (without_an_arc, {"arcs", "triangles"}),
        (lambda cch: changed(cch, "upward", 0, cch.upward[0] + 1), {"arcs", "attained"}),
        (lambda cch: changed(cch, "downward", 0, cch.downward[0] + 1), {"arcs", "attained"}),
        (lambda cch: changed(cch, "upward", 0, cch.upward[0] - 1), {"triangles", "attained"}),
        (lambda cch: changed(cch, "upward", shortcut(cch), 0), {"attained"}),
        (lambda cch: changed(cch, "upward", shortcut(cch), NONE), {"triangles"}),
        (lambda cch: changed(cch, "downward", shortcut(cch), NONE), {"triangles"}),
        (lambda cch: changed(cch, "downward", shortcut(cch), 0), {"attained"}),
    ],
)
def test_each_rule_of_the_hierarchy_can_be_broken(device, change, rules):
    climbs = climbs_of(device, GRAPH, change)
    broken = {rule for rule, count in climbs.certificate.violations.items() if count}
    assert broken & rules, climbs.certificate
    assert broken <= rules | {"attained", "triangles"}
    found, is_proven = climbs.distances(QUERIES)
    assert not is_proven
    assert set(found.tolist()) == {NONE}


@pytest.mark.parametrize("words", [0, 1, 2], ids=["up", "down", "ancestors"])
def test_a_wrong_climb_proves_nothing(device, monkeypatch, words):
    climbs = climbs_of(device, GRAPH)
    find = climbs._find_climbs

    def wrong(first, rows):
        found = find(first, rows)
        rows[words][100, 2] ^= 1
        return found

    monkeypatch.setattr(climbs, "_find_climbs", wrong)
    assert climbs.certificate.holds
    assert climbs.distances(QUERIES)[1] is False
    assert [*climbs._found().first] == ["climbs"] == list(RULES)[-1:]


def test_a_climb_out_of_order_is_found(device, monkeypatch):
    climbs = climbs_of(device, GRAPH)
    monkeypatch.setattr(climbs, "_bounds", [*climbs._bounds[:-2], *climbs._bounds[-1:]])
    monkeypatch.setattr(climbs, "_by_depth", climbs._by_depth[::-1].copy())
    assert climbs.distances(QUERIES)[1] is False


def test_free_arcs_attain_no_length_from_each_other():
    """On a ring of free arcs, lengths that are too short by the same amount hold each other in a tree."""
    ring = np.arange(6)
    tails, heads = np.concatenate([ring, [6, 0]]), np.concatenate([(ring + 1) % 6, [0, 6]])
    graph = Graph.from_arcs("ring", 7, tails, heads, [0] * 6 + [5, 5])
    queries = all_pairs(graph)
    assert climbs_of(get_device("host"), graph).distances(queries)[1]
    arcs = len(_cch.contract(graph, 16.0).up)
    for name in ("upward", "downward"):
        for arc in range(arcs):

            def lower(cch, name=name, arc=arc):
                return changed(cch, name, arc, max(int(getattr(cch, name)[arc]) - 1, 0))

            found, is_proven = climbs_of(get_device("host"), graph, lower).distances(queries)
            assert not is_proven or np.array_equal(found, right_distances(graph, queries))
