"""Maps in tiles: cuts on the host and on the device, the search, and graphs that are not for it."""

from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs.tiled import tiled as bfs_tiled
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp._packed_arcs import MAX_ARCS
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._device_tiles import FRONTIER, MAX_VERTICES, Cutter
from relaxometer.problems.variants import Skipped
from sample_graphs import as_type, grid_edges, hide_host_graph, sample_graphs, undirected
from sssp.searches import KINDS, solved

MANY_TILES = [graph for graph in sample_graphs().values() if graph.n_vertices >= 8]


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
        monkeypatch.setattr(tiled, "_bytes_in_shared", lambda *_: device.shared_bytes + 1)
    solver, _ = solved(device, "tiled", graph, 0, tiles=1, delta=1e6)
    assert solver.resolved["tiles_in_shared_memory"] == in_shared


@pytest.mark.parametrize("kind", ["uint32", "uint32/uint64"])
def test_what_shared_memory_does_not_hold_stays_in_global_memory(device, monkeypatch, kind):
    """Arcs first, then tiles; lengths of 64 bits need twice the memory."""
    graph = as_type(sample_graphs()["grid"], kind)
    vertices, limit = -(-graph.n_vertices // 4), _maps.shared_bytes(device)
    need = tiled._bytes_in_shared(vertices, LENGTHS[kind])
    assert need == (1 + graph.lengths.is_wide) * tiled._bytes_in_shared(vertices, LENGTHS["uint32"])
    for held, tiles, arcs in ((limit, True, True), (need + 100, True, False), (need - 1, False, False)):
        monkeypatch.setattr(device, "shared_bytes", held + _maps.STATIC_BYTES)
        resolved = solved(device, "tiled", graph, 0, tiles=4)[0].resolved
        assert resolved["tiles_in_shared_memory"] == tiles
        assert resolved["arcs_in_shared_memory"] == arcs


@pytest.mark.parametrize("graph", MANY_TILES, ids=lambda graph: graph.name)
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_in_global_memory(device, monkeypatch, graph, kind):
    monkeypatch.setattr(tiled, "_bytes_in_shared", lambda *_: device.shared_bytes + 1)
    graph = as_type(graph, kind)
    for parameters in ({"tiles": 3, "cut": "bisection"}, {"tiles": 5, "delta": 0.5, "leash": 0.5}, {}):
        solver, _ = solved(device, "tiled", graph, 0, graph.n_vertices // 3, **parameters)
        assert not solver.resolved["tiles_in_shared_memory"]
        assert solver.resolved["leash"] != "none"


GRAPHS = pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)


def street_grid(rows, columns, seed=None):
    edges = grid_edges(rows, columns, seed)
    return undirected("streets", rows * columns, edges, np.arange(len(edges)) % 90 + 1)


def crossing_share(graph, position, n_tiles):
    """Tiles are equal ranges of positions, the first ones longer."""
    parts = np.array_split(np.arange(graph.n_vertices), n_tiles)
    tile = np.repeat(np.arange(n_tiles), [len(part) for part in parts])[position]
    return (tile[graph.tails] != tile[graph.targets]).mean()


class TestCut:
    """The kernel cuts into equal ranges of ids, or of any order."""

    @pytest.mark.parametrize(("n", "m"), [(MAX_VERTICES + 1, 0), (1, MAX_ARCS + 1)])
    def test_numbers_from_which_a_step_would_wrap_are_refused(self, n, m):
        with pytest.raises(Skipped, match=f"{n:,} vertices, {m:,} arcs; the kernels number at most"):
            Cutter(SimpleNamespace(n_vertices=n, n_arcs=m), 1)


class TestFacts:
    """One pass finds what the search's widths depend on."""

    @GRAPHS
    def test_they_are_those_of_numpy(self, device, graph):
        n_tiles = min(5, graph.n_vertices)
        facts = Cutter(ResidentGraph.upload(device, graph), n_tiles).facts()
        weights = graph.weights if graph.n_arcs else np.zeros(1)
        assert facts.max_degree == graph.degrees.max()
        assert facts.zero_arcs == (graph.weights == 0).sum()
        assert facts.mean == pytest.approx(weights.mean())
        assert facts.deviation == pytest.approx(weights.std(), abs=1e-6 * weights.max())
        share = crossing_share(graph, np.arange(graph.n_vertices), n_tiles) if graph.n_arcs else 0
        assert facts.crossing == round(share * graph.n_arcs)


class TestGrownOrder:
    """A permutation that keeps neighbours close, also where cells reach only a part."""

    def grown(self, device, graph, n_tiles=1):
        cutter = Cutter(ResidentGraph.upload(device, graph), n_tiles)
        position, vertices = map(device.asnumpy, cutter.grow_order())
        np.testing.assert_array_equal(np.sort(position), np.arange(graph.n_vertices))
        np.testing.assert_array_equal(vertices[position], np.arange(graph.n_vertices))
        return position

    @pytest.mark.parametrize("shape", [(60, 60), (20, 180), (100, 103)])
    def test_few_arcs_of_shuffled_streets_cross(self, device, shape):
        graph = street_grid(*shape, seed=3)
        assert crossing_share(graph, np.arange(graph.n_vertices), 9) > 0.8
        # Nine squares of a grid of 60 x 60 have a fifteenth of the arcs between them.
        assert crossing_share(graph, self.grown(device, graph), 9) < 0.15

    def test_a_frontier_that_overflows_drops_no_vertex(self, device):
        """A tree of more leaves than a frontier holds, each with a child."""
        leaves = FRONTIER + 700
        n = 16 * (1 + 2 * leaves)
        inner = np.stack([np.zeros(leaves, dtype=int), 16 * np.arange(1, leaves + 1) - 1], axis=1)
        outer = np.stack([inner[:, 1], 16 * np.arange(leaves + 1, 2 * leaves + 1) - 1], axis=1)
        edges = np.concatenate([inner, outer])
        graph = undirected("wide", n, edges, np.ones(len(edges), dtype=int))
        self.grown(device, graph)


both_problems = pytest.mark.parametrize("module", [tiled, bfs_tiled], ids=["sssp", "bfs"])


@both_problems
@pytest.mark.parametrize(("seed", "way"), [(None, "ranges"), (3, "grow")])
def test_the_order_of_the_ids_decides(device, module, seed, way):
    resident = ResidentGraph.upload(device, street_grid(60, 40, seed))
    assert module.Solver(resident, module.Parameters(tiles=4)).resolved["cut"] == way


@both_problems
def test_preparation_leaves_the_host_graph_alone(device, module):
    """Only the resident arrays are read, so that preparing costs no pass on the host."""
    resident = ResidentGraph.upload(device, street_grid(30, 30))
    hide_host_graph(resident)
    for way in ("auto", "ranges", "grow"):
        module.Solver(resident, module.Parameters(cut=way)).solve(7)


@both_problems
def test_an_instrumented_search_is_one_record(device, module):
    graph, phases = sample_graphs()["grid"], []
    one_hop = {} if module is tiled else {"ball": 4, "reach": 1}
    solver = module.Solver(ResidentGraph.upload(device, graph), module.Parameters(tiles=4, **one_hop))
    answer = solver.solve(0, phases)
    levels = getattr(answer, "level", None)
    assert answer.phases == (None if levels is None else int(levels.max()) + 1)
    (whole,) = phases
    assert (whole.mode, len(solver.tile_log["phases"])) == ("tiles", 4)
    assert whole.updated >= graph.n_vertices
    assert whole.relaxed_arcs >= graph.n_arcs
    assert solver.tile_log["wakes"][1:].sum() > 0


@both_problems
def test_a_graph_with_a_hub_is_skipped(host_device, module):
    heads = np.arange(1, 5001)
    graph = Graph.from_arcs("hub", 5001, np.zeros(5000, dtype=int), heads, np.ones(5000, dtype=int))
    with pytest.raises(Skipped, match="a vertex has 5000 arcs, more than 4096"):
        module.Solver(ResidentGraph.upload(host_device, graph), module.Parameters())
