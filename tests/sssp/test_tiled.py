"""Maps in tiles: the cut, the search with mail between tiles, and graphs that are not for it."""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._tiles import REMOTE, cut
from relaxometer.problems.variants import Skipped
from sample_graphs import as_type, sample_graphs
from sssp.searches import KINDS, solved

MANY_TILES = [graph for graph in sample_graphs().values() if graph.n_vertices >= 8]


def test_bisection_gives_tiles_of_one_size_between_which_few_arcs_cross():
    graph = sample_graphs()["grid"]
    for n_tiles in (1, 2, 7, 23):
        tiling = cut(graph, n_tiles)
        sizes = np.diff(tiling.begins)
        assert (len(sizes), sizes.sum()) == (n_tiles, graph.n_vertices)
        assert np.ptp(sizes) <= np.ceil(np.log2(n_tiles)) + 1
        np.testing.assert_array_equal(tiling.order[tiling.place], np.arange(graph.n_vertices))
    assert (cut(graph, 4).targets >= REMOTE).mean() < 0.1


def wide():
    """A vertex with more near neighbours than a phase has room for; many are improved later."""
    n = 4000
    rng = np.random.default_rng(8)
    hub = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    arcs = np.concatenate([hub, rng.integers(0, n, (n, 2))])
    return Graph.from_arcs("wide", n, arcs[:, 0], arcs[:, 1], rng.integers(1, 1000, len(arcs)))


def widening():
    """Vertices with few neighbours each, together more than a phase has room for, and one arc behind each."""
    middle, leaves = np.arange(1, 801), np.arange(801, 3201)
    tails = np.concatenate([np.zeros(800, dtype=int), np.repeat(middle, 3), leaves])
    heads = np.concatenate([middle, leaves, leaves + 2400])
    return Graph.from_arcs("widening", 5601, tails, heads, np.arange(len(tails)) % 9 + 1)


@pytest.mark.parametrize("in_shared", [True, False])
@pytest.mark.parametrize("graph", [wide(), widening()], ids=lambda graph: graph.name)
def test_a_queue_that_overflows_loses_nothing(device, monkeypatch, graph, in_shared):
    if not in_shared:
        monkeypatch.setattr(tiled, "_bytes_in_shared", lambda *_: _maps.SHARED_BYTES + 1)
    solver, _ = solved(device, "tiled", graph, 0, tiles=1, delta=1e6)
    assert solver.resolved["tiles_in_shared_memory"] == in_shared


@pytest.mark.parametrize("kind", ["uint32", "uint32/uint64"])
def test_what_shared_memory_does_not_hold_stays_in_global_memory(device, monkeypatch, kind):
    """Arcs first, then tiles; lengths of 64 bits need twice the memory."""
    graph = as_type(sample_graphs()["grid"], kind)
    vertices, limit = -(-graph.n_vertices // 4), _maps.SHARED_BYTES
    need = tiled._bytes_in_shared(vertices, LENGTHS[kind])
    assert need == (1 + graph.lengths.is_wide) * tiled._bytes_in_shared(vertices, LENGTHS["uint32"])
    for held, tiles, arcs in ((limit, True, True), (need + 100, True, False), (need - 1, False, False)):
        monkeypatch.setattr(_maps, "SHARED_BYTES", held)
        resolved = solved(device, "tiled", graph, 0, tiles=4)[0].resolved
        assert resolved["tiles_in_shared_memory"] == tiles
        assert resolved["arcs_in_shared_memory"] == arcs


def test_an_instrumented_search_is_one_record(device):
    graph, phases = sample_graphs()["grid"], []
    solver, answer = solved(device, "tiled", graph, 0, phases=phases, tiles=4)
    assert answer.phases is None
    (whole,) = phases
    assert whole.updated >= graph.n_vertices
    assert whole.relaxed_arcs >= graph.n_arcs
    assert len(solver.tile_log["phases"]) == 4
    assert solver.tile_log["wakes"][1:].sum() > 0


def test_a_graph_with_a_hub_is_skipped(host_device):
    heads = np.arange(1, 5001)
    graph = Graph.from_arcs("hub", 5001, np.zeros(5000, dtype=int), heads, np.ones(5000, dtype=int))
    with pytest.raises(Skipped, match="a vertex has 5000 arcs, more than 4096"):
        tiled.Solver(ResidentGraph.upload(host_device, graph), tiled.Parameters())


@pytest.mark.parametrize("graph", MANY_TILES, ids=lambda graph: graph.name)
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_in_global_memory(device, monkeypatch, graph, kind):
    monkeypatch.setattr(tiled, "_bytes_in_shared", lambda *_: _maps.SHARED_BYTES + 1)
    graph = as_type(graph, kind)
    for parameters in ({"tiles": 3, "cut": "bisection"}, {"tiles": 5, "delta": 0.5, "leash": 0.5}, {}):
        solver, _ = solved(device, "tiled", graph, 0, graph.n_vertices // 3, **parameters)
        assert not solver.resolved["tiles_in_shared_memory"]
        assert solver.resolved["leash"] != "none"


def test_a_map_too_large_for_shared_memory_is_searched(device):
    n = 60_000
    graph = Graph.from_arcs("large", n, [0, n - 1], [n - 1, 0], [1, 2])
    solver, _ = solved(device, "tiled", graph, n - 1, tiles=2)
    assert not solver.resolved["tiles_in_shared_memory"]
