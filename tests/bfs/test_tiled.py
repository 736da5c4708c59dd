"""Maps in tiles: balls of several hops, the search with mail between tiles, and graphs that do not suit."""

import numpy as np
import pytest

from bfs.test_variants import checked
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.sssp import _maps
from relaxometer.problems.variants import Skipped
from sample_graphs import sample_graphs


def wide(n):
    """A vertex with more heads than a phase has room for, and arcs among them."""
    rng = np.random.default_rng(8)
    spokes = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    arcs = np.concatenate([spokes[: n // 2], rng.integers(0, n, (n, 2))])
    return Graph.from_arcs("wide", n, arcs[:, 0], arcs[:, 1], np.ones(len(arcs), dtype=int))


def test_a_queue_that_overflows_loses_nothing(device):
    resident = ResidentGraph.upload(device, wide(6000))
    solver = tiled.Solver(resident, tiled.Parameters(tiles=1))
    checked(resident, solver, 0, [])
    assert solver.tile_log["sweeps"].sum() > 0


def test_balls_stay_in_global_memory_where_shared_memory_is_short(device, monkeypatch):
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    monkeypatch.setattr(_maps, "SHARED_BYTES", tiled.QUEUE_BYTES + 1400)
    solver = tiled.Solver(resident, tiled.Parameters(tiles=4))
    assert not solver.resolved["balls_in_shared_memory"]
    assert solver.resolved["ball"] == tiled.SIZES[-1]
    checked(resident, solver, 0)


def test_balls_are_as_large_as_shared_memory_allows(device, monkeypatch):
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    sizes = []
    for per_vertex in (80, 24, 18):
        monkeypatch.setattr(_maps, "SHARED_BYTES", tiled.QUEUE_BYTES + 200 * per_vertex)
        sizes.append(tiled.Solver(resident, tiled.Parameters(tiles=4)).resolved["ball"])
    assert sorted(set(sizes), reverse=True) == sizes


def test_balls_are_larger_where_most_vertices_lie_on_chains(host_device):
    chain = np.arange(99)
    graph = Graph.from_arcs("chain", 100, chain, chain + 1, np.ones(99, dtype=int), undirected=True)
    resolved = tiled.Solver(ResidentGraph.upload(host_device, graph), tiled.Parameters()).resolved
    assert (resolved["ball"], resolved["reach"]) == (32, 16)


def test_balls_of_several_hops_save_phases(device):
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    phases = []
    for reach in (1, 3):
        solver = tiled.Solver(resident, tiled.Parameters(tiles=1, ball=32, reach=reach))
        solver.solve(0, [])
        phases.append(int(solver.tile_log["phases"].sum()))
    assert phases[1] < phases[0] / 2


@pytest.mark.parametrize(
    ("graph", "tiles", "message"),
    [
        (
            Graph.from_arcs("large", 32768 * 5, [0], [1], [1]),
            5,
            "163840 vertices; 5 tiles hold at most 163835",
        ),
        (
            Graph.from_arcs("large", 32767 * 2, [0], [1], [1]),
            2,
            "a tile has 32768 balls and 0 arcs that leave it",
        ),
    ],
)
def test_graphs_that_do_not_suit_are_skipped(host_device, graph, tiles, message):
    with pytest.raises(Skipped, match=message):
        tiled.Solver(ResidentGraph.upload(host_device, graph), tiled.Parameters(tiles=tiles))


def test_a_tile_that_shared_memory_does_not_hold_is_skipped(host_device, monkeypatch):
    monkeypatch.setattr(_maps, "SHARED_BYTES", tiled.QUEUE_BYTES + 300)
    resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
    with pytest.raises(Skipped, match=r"4 tiles of [0-9]+ vertices; fewer blocks run at once"):
        tiled.Solver(resident, tiled.Parameters(tiles=4))
