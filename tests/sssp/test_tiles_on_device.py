"""Tiles cut on the device: the same as by NumPy, for any order; the grown order; facts about the arcs."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs.tiled import tiled as bfs_tiled
from relaxometer.problems.sssp._packed_arcs import MAX_ARCS
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._device_tiles import FRONTIER, MAX_VERTICES, Cutter, Order
from relaxometer.problems.variants import Skipped
from sample_graphs import grid_edges, hide_host_graph, sample_graphs, undirected

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

    def test_a_survey_cuts_unless_more_arcs_cross(self, device):
        graph = street_grid(30, 20)
        crossing = Cutter(ResidentGraph.upload(device, graph), 4).facts().crossing
        assert crossing > 0
        for most, is_cut in ((crossing, True), (crossing - 1, False)):
            cutter = Cutter(ResidentGraph.upload(device, graph), 4)
            cutter._tiling.order.fill(7)
            order = device.asnumpy(cutter.survey(most).order)
            assert cutter.facts().crossing == crossing
            assert (order == 7).all() != is_cut

    def test_a_second_cut_replaces_the_first(self, device):
        graph = street_grid(30, 20)
        cutter = Cutter(ResidentGraph.upload(device, graph), 4)
        cutter.survey(graph.n_arcs)
        shuffled = np.random.default_rng(4).permutation(graph.n_vertices)
        arrays = np.argsort(shuffled).astype(np.uint32), shuffled.astype(np.uint32)
        tiling = cutter.cut(Order(*map(device.asarray, arrays)))
        begins, vertices = device.asnumpy(tiling.begins), device.asnumpy(tiling.order)
        tiles = [set(vertices[begin:end].tolist()) for begin, end in pairwise(begins)]
        assert tiles == [set(part.tolist()) for part in np.array_split(shuffled, 4)]

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

    def test_sums_of_the_largest_weights_do_not_wrap(self, device):
        n = 3000
        heads = np.random.default_rng(2).integers(0, n, 4 * n)
        graph = Graph.from_arcs("heavy", n, np.arange(4 * n) % n, heads, np.full(4 * n, 2**32 - 2))
        facts = Cutter(ResidentGraph.upload(device, graph), 3).facts()
        assert facts.mean == 2**32 - 2
        assert facts.deviation < 1e-3 * facts.mean


class TestGrownOrder:
    """A permutation that keeps neighbours close, also where cells reach only a part."""

    def grown(self, device, graph, n_tiles=1):
        cutter = Cutter(ResidentGraph.upload(device, graph), n_tiles)
        position, vertices = map(device.asnumpy, cutter.grow_order())
        np.testing.assert_array_equal(np.sort(position), np.arange(graph.n_vertices))
        np.testing.assert_array_equal(vertices[position], np.arange(graph.n_vertices))
        return position

    @GRAPHS
    def test_it_is_a_permutation(self, device, graph):
        self.grown(device, graph)

    @pytest.mark.parametrize("shape", [(60, 60), (20, 180), (100, 103)])
    def test_few_arcs_of_shuffled_streets_cross(self, device, shape):
        graph = street_grid(*shape, seed=3)
        assert crossing_share(graph, np.arange(graph.n_vertices), 9) > 0.8
        # Nine squares of a grid of 60 x 60 have a fifteenth of the arcs between them.
        assert crossing_share(graph, self.grown(device, graph), 9) < 0.15

    def test_vertices_that_no_cell_reaches_come_last(self, device):
        """Seeds are vertices 0, 16, 32 and so on; only vertex 0 has arcs, to the first half."""
        n = 640
        heads = np.arange(1, n // 2)
        graph = Graph.from_arcs("fan", n, np.zeros(len(heads), dtype=int), heads, heads)
        position = self.grown(device, graph)
        seeds = np.arange(n) % 16 == 0
        alone = (np.arange(n) >= n // 2) & ~seeds
        assert position[alone].min() == n - alone.sum()

    def test_a_frontier_that_overflows_drops_no_vertex(self, device):
        """A tree of more leaves than a frontier holds, each with a child."""
        leaves = FRONTIER + 700
        n = 16 * (1 + 2 * leaves)
        inner = np.stack([np.zeros(leaves, dtype=int), 16 * np.arange(1, leaves + 1) - 1], axis=1)
        outer = np.stack([inner[:, 1], 16 * np.arange(leaves + 1, 2 * leaves + 1) - 1], axis=1)
        edges = np.concatenate([inner, outer])
        graph = undirected("wide", n, edges, np.ones(len(edges), dtype=int))
        self.grown(device, graph)

    def test_islands_stay_whole(self, device):
        """Two shuffled grids of streets without a bridge; tiles as large as the first keep them apart."""
        one, other = street_grid(40, 40, seed=5), street_grid(40, 40, seed=6)
        n = one.n_vertices
        graph = Graph.from_arcs(
            "islands",
            2 * n,
            2 * np.concatenate([one.tails, other.tails]) + np.repeat([0, 1], [one.n_arcs, other.n_arcs]),
            2 * np.concatenate([one.targets, other.targets]) + np.repeat([0, 1], [one.n_arcs, other.n_arcs]),
            np.concatenate([one.weights, other.weights]),
        )
        assert crossing_share(graph, self.grown(device, graph), 2) == 0


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
