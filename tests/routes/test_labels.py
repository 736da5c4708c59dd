"""Labels: common ancestors of two vertices, new weights, too little memory, and when `auto` takes them."""

import weakref
from dataclasses import replace

import numpy as np
import pytest

from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators.roads import road_like
from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.graph import MAX_WEIGHT, UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes import _contracted, auto, labels
from route_samples import random_queries, table_queries
from routes.test_variants import check, even, solver_for


def assert_answers(device, solver, graph):
    sets = [random_queries(graph, 60, paths=True), table_queries(graph, 5, 9)]
    check(ResidentGraph.upload(device, graph), solver, sets)


def test_new_weights(device):
    graph = even(3)
    _, solver = solver_for(device, graph, "labels")
    rng = np.random.default_rng(8)
    for kinds in ([1, 2, 9], [0, 1, 5], [2**31, MAX_WEIGHT], [0], [7]):
        changed = replace(graph, weights=rng.choice(kinds, graph.n_arcs).astype(np.uint32))
        solver.customize(changed.weights)
        assert_answers(device, solver, changed)
        for wrong in (changed.weights[1:], np.full(graph.n_arcs, UNREACHED, dtype=np.uint32)):
            with pytest.raises(ValueError, match=r"one for each|is not one"):
                solver.customize(wrong)
        assert_answers(device, solver, changed)


def room_for(per_row, graph):
    """Return the memory for this many labels per vertex in one direction, and what is spared."""
    return 4 * per_row * graph.n_vertices * 8 // 7


@pytest.mark.parametrize("per_row", [5, 8, 16])
def test_rows_are_cut_where_not_all_labels_fit(monkeypatch, device, per_row):
    graph = road_like(RoadParameters(rows=18, columns=21), seed=3)
    room = room_for(per_row, graph)
    monkeypatch.setattr(labels, "_free_bytes", lambda _: room)
    _, solver = solver_for(device, graph, "labels")
    assert 8 <= solver.resolved["labels_per_row"] <= solver.resolved["height"]
    assert solver.resolved["rows"] < graph.n_vertices
    assert solver.resolved["label_bytes"] <= room
    rng = np.random.default_rng(8)
    for weights in (graph.weights, rng.integers(1, 9, graph.n_arcs, np.uint32)):
        solver.customize(weights)
        assert_answers(device, solver, replace(graph, weights=weights))
    assert solver.resolved["label_bytes"] <= 2 * room


def test_former_rows_make_room_for_those_of_two_directions(monkeypatch, device):
    graph = road_like(RoadParameters(rows=18, columns=21), seed=3)
    _, solver = solver_for(device, graph, "labels")
    former, whole = weakref.ref(solver._rows[0]), solver.resolved["label_bytes"]
    kept, place = [], solver._place
    monkeypatch.setattr(solver, "_place", lambda layout: (kept.append(former()), place(layout)))
    monkeypatch.setattr(labels, "_free_bytes", lambda _: 0)
    by_direction = replace(graph, weights=np.arange(graph.n_arcs, dtype=np.uint32))
    solver.customize(device.asarray(by_direction.weights))
    assert kept == [None]
    assert solver.resolved["label_bytes"] <= whole
    assert_answers(device, solver, by_direction)


def test_former_labels_come_back_if_those_of_two_directions_do_not_fit(monkeypatch, device):
    graph = road_like(RoadParameters(rows=18, columns=21), seed=3)
    _, solver = solver_for(device, graph, "labels")
    place = solver._place

    def too_many(layout):
        monkeypatch.undo()
        place(layout)
        solver._quads = 2**50

    monkeypatch.setattr(solver, "_place", too_many)
    monkeypatch.setattr(labels, "_free_bytes", lambda _: 0)
    with pytest.raises(MemoryError):
        solver.customize(np.arange(graph.n_arcs, dtype=np.uint32))
    assert_answers(device, solver, graph)


def test_labels_that_do_not_fit_are_refused(monkeypatch, device):
    graph = even(3)
    monkeypatch.setattr(labels, "_free_bytes", lambda _: 100)
    with pytest.raises(
        DeviceOutOfMemory, match=r"labels take at least [\d,]+ bytes; 100 are free; hierarchy needs none"
    ):
        solver_for(device, graph, "labels")
    monkeypatch.setattr(labels, "_free_bytes", lambda _: room_for(8, graph))
    _, solver = solver_for(device, graph, "labels")
    monkeypatch.setattr(labels, "_free_bytes", lambda _: 100)
    with pytest.raises(DeviceOutOfMemory):  # by direction, they take twice the memory
        solver.customize(np.arange(graph.n_arcs, dtype=np.uint32))
    assert_answers(device, solver, graph)


@pytest.mark.parametrize(
    ("searches", "free", "chosen"),
    [
        (auto.PAYS_AFTER - 1, 2**40, "hierarchy"),
        (auto.PAYS_AFTER, 2**40, "labels"),
        (auto.PAYS_AFTER, 100, "hierarchy"),
    ],
    ids=["few", "many", "no memory"],
)
def test_labels_are_for_many_pairs_if_they_fit(monkeypatch, device, searches, free, chosen):
    calls = []
    number = _contracted._maps.refuse_all_but_maps
    monkeypatch.setattr(_contracted._maps, "refuse_all_but_maps", lambda graph: calls.append(number(graph)))
    monkeypatch.setattr(labels, "_free_bytes", lambda _: free)
    graph = even(3)
    resident, solver = solver_for(device, graph, "auto", searches=searches)
    assert solver.resolved["chosen"] == chosen
    assert ("hierarchy needs none" in solver.resolved["because"]) == (free == 100)
    assert len(calls) == 1, "the map is contracted once"
    check(resident, solver, [random_queries(graph, 20, paths=True)])
    assert hasattr(solver, "customize") == (chosen == "labels")
