"""Many breadth-first searches at once: levels and trees of every source, on every device."""

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import UNREACHED, multi_source
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.sweeps import inverse_unit
from sample_graphs import sample_graphs, undirected

BOTTOM_UP, TO_AND_FRO = {"alpha": 1e12, "beta": 1e12}, {"alpha": 1e12, "beta": 1e-12}
NONE_LAGS, MOST_LAG = {**BOTTOM_UP, "lag": 2**32 - 1}, {**BOTTOM_UP, "lag": 1}


def kite(tail, leaves=600):
    """Two hubs with common leaves and a path of `tail` vertices; then two vertices that no arc reaches."""
    first, n = 2 + leaves, 2 + leaves + tail
    star = np.array([(hub, 2 + leaf) for hub in (0, 1) for leaf in range(leaves)])
    path = np.array([(max(v - 1, first) if v > first else 0, v) for v in range(first, n)])
    edges = np.concatenate([star, path])
    return undirected("kite", n + 2, edges, np.ones(len(edges), dtype=int))


def proven(resident, solver, sources):
    """Search for trees and for levels, and prove all; return the parts of the levels."""
    level, predecessor = solver.solve_many(sources)
    alone = solver.find_levels(sources)
    certifier = BfsCertifier(resident)
    for number, source in enumerate(sources):
        certificate = certifier.check(source, level[number], predecessor[number])
        assert certificate.holds, (number, source, certificate.reason)
    for one, other in zip(level.labels, alone.labels, strict=True):
        np.testing.assert_array_equal(resident.device.asnumpy(one), resident.device.asnumpy(other))
    return alone.labels


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize("parameters", [{}, {**NONE_LAGS, "order": "degree"}, MOST_LAG, TO_AND_FRO], ids=str)
def test_every_source_of_several_launches_is_proven(device, graph, parameters):
    resident = ResidentGraph.upload(device, graph)
    solver = multi_source.Solver(resident, multi_source.Parameters(**parameters))
    sources = np.random.default_rng(5).integers(0, graph.n_vertices, 67).tolist()
    assert len(proven(resident, solver, sources)) == 2


@pytest.mark.parametrize(
    ("order", "parameters"),
    [("given", {"alpha": 1e-12}), ("degree", NONE_LAGS), ("given", MOST_LAG), ("degree", TO_AND_FRO)],
    ids=str,
)
def test_hubs_sources_without_arcs_and_more_levels_than_a_byte_holds(device, order, parameters):
    graph = kite(260)
    resident = ResidentGraph.upload(device, graph)
    solver = multi_source.Solver(resident, multi_source.Parameters(order=order, **parameters))
    planes = solver._planes
    last = graph.n_vertices - 1
    sources = [0, 1, 7, 7, 500, last - 2, last - 1, last]
    (part,) = proven(resident, solver, sources)
    assert part.dtype == np.uint16
    assert int(part[last - 2, 4]) == 261  # past a hub to the end of the tail
    assert part[last].tolist()[:8] == [2**16 - 1] * 7 + [0]
    assert solver._planes >= planes
    (part,) = proven(resident, solver, [last - 1] * 64)
    assert part.dtype == np.uint8


def test_a_deeper_graph_than_the_planes_hold_is_searched_again(host_device, monkeypatch):
    monkeypatch.setattr(multi_source, "PLANES", {True: 4, False: 4})
    resident = ResidentGraph.upload(host_device, kite(70, leaves=3))
    solver = multi_source.Solver(resident, multi_source.Parameters(order="given"))
    proven(resident, solver, [5, 0, 70])
    assert solver._planes == 8
    monkeypatch.setattr(multi_source, "MOST_PLANES", 4)
    solver = multi_source.Solver(resident, multi_source.Parameters(order="given"))
    with pytest.raises(OverflowError, match="a level is greater than 15"):
        solver.find_levels([0])


def test_a_search_without_memory_for_more_planes_keeps_the_number(host_device, monkeypatch):
    monkeypatch.setattr(multi_source, "PLANES", {True: 4, False: 4})
    resident = ResidentGraph.upload(host_device, kite(70, leaves=3))
    solver = multi_source.Solver(resident, multi_source.Parameters(order="given"))
    empty, more = host_device.xp.empty, 8 * resident.n_vertices

    def limited(shape, *args, **kwargs):
        if shape == more:
            raise DeviceOutOfMemory("full")
        return empty(shape, *args, **kwargs)

    monkeypatch.setattr(host_device.xp, "empty", limited)
    for _ in range(2):
        with pytest.raises(DeviceOutOfMemory):
            solver.find_levels([0])
    assert solver._planes == 4
    proven(resident, solver, [resident.n_vertices - 1])
    monkeypatch.undo()
    proven(resident, solver, [5, 0, 70])


def test_levels_of_four_bytes(host_device, monkeypatch):
    monkeypatch.setattr(multi_source, "LEVELS", {np.uint32: "u32"})
    resident = ResidentGraph.upload(host_device, kite(20, leaves=40))
    solver = multi_source.Solver(resident, multi_source.Parameters())
    (part,) = proven(resident, solver, [3, 50, resident.n_vertices - 1])
    assert part.dtype == np.uint32
    assert int(part[0, 2]) == UNREACHED


@pytest.mark.parametrize("count", [0, 5])
def test_a_wrong_number_of_sources_is_refused(host_device, count):
    resident = ResidentGraph.upload(host_device, sample_graphs()["hub"])
    solver = multi_source.Solver(resident, multi_source.Parameters(sources=4))
    for search in (solver.solve_many, solver.find_levels):
        with pytest.raises(ValueError, match=f"{count} sources; expected 1 to 4"):
            search([1] * count)
    with pytest.raises(IndexError):
        solver.find_levels([1])[1]


@pytest.mark.parametrize(("name", "order"), [("grid", "given"), ("hub", "degree")])
def test_the_order_follows_from_hubs(host_device, name, order):
    resident = ResidentGraph.upload(host_device, sample_graphs()[name])
    assert multi_source.Solver(resident, multi_source.Parameters()).resolved["order"] == order


def test_sweeps_repeat_only_the_searches_that_need_more_planes(host_device, monkeypatch):
    """Sums of all sources, as levels give them; the second part has only shallow searches."""
    monkeypatch.setattr(multi_source, "PLANES", {True: 4, False: 4})
    resident = ResidentGraph.upload(host_device, kite(40, leaves=3))
    solver = multi_source.Solver(resident, multi_source.Parameters(order="given"))
    last = resident.n_vertices - 1
    sources = np.array([0, 4, last] + [1] * 61 + [last - 1, last])
    sweeps = solver.sweep(sources, sums=True)
    assert solver._planes == 8
    for place, source in enumerate(sources.tolist()):
        levels = solver.find_levels([source])[0]
        reached = levels[levels != UNREACHED].astype(float)
        expected = [len(reached), reached.max(), reached.sum(), (1 / reached[reached > 0]).sum()]
        found = [sweeps.reached[place], sweeps.farthest[place], sweeps.total[place]]
        assert [*found, sweeps.inverses[place] / inverse_unit(len(levels))] == pytest.approx(expected)
        np.testing.assert_array_equal(sweeps.labels[place // 64, :, place % 64], levels)
    assert (sweeps.sources[len(sources) :] == UNREACHED).all()
    assert (sweeps.reached[len(sources) :] == 0).all()
