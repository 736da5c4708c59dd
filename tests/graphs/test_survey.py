"""The survey of a graph: degrees in the large, arcs by samples, and depth by balls."""

import numpy as np
import pytest

from built import built
from relaxometer.graphs import survey
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from sample_graphs import sample_graphs, undirected


def depth_of(device, graph):
    return ResidentGraph.upload(device, graph).features.depth


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
def test_degrees_are_those_of_numpy(device, graph):
    found = ResidentGraph.upload(device, graph).features
    assert (found.n_vertices, found.n_arcs) == (graph.n_vertices, graph.n_arcs)
    assert found.with_arcs == np.count_nonzero(graph.degrees)
    assert found.largest == graph.degrees.max()
    assert found.mean == graph.n_arcs / max(1, found.with_arcs)
    assert found.ends == (graph.degrees.astype(np.int64) ** 2).sum() / max(1, graph.n_arcs)


@pytest.mark.parametrize(
    "graph", [*sample_graphs().values(), built("chain", seed=1, vertices=5000)], ids=lambda graph: graph.name
)
def test_samples_tell_about_arcs(device, graph):
    """Every vertex of a small graph is sampled once in the mean, with one of its arcs."""
    found = ResidentGraph.upload(device, graph).features
    tails, heads = graph.tails.astype(np.int64), graph.targets.astype(np.int64)
    ranges = [ends * survey.RANGES // graph.n_vertices for ends in (tails, heads)]
    arcs = set(zip(tails.tolist(), heads.tolist(), strict=True))
    one_way = [(head, tail) not in arcs for tail, head in zip(tails.tolist(), heads.tolist(), strict=True)]
    if graph.n_vertices > 500:
        assert found.crossing == pytest.approx(np.mean(ranges[0] != ranges[1]), abs=0.08)
    if graph.n_arcs:
        assert (found.one_way == 0) == (not any(one_way))
        assert (found.one_way == 1) == all(one_way) or found.one_way > 0.9


def test_balls_tell_the_depth_and_end_with_all_that_is_reached(device):
    assert 1000 < depth_of(device, built("chain", seed=1, vertices=5000)) <= 5000
    assert 60 < depth_of(device, built("grid", seed=1, rows=120, columns=120)) < 240
    random = built("uniform-random", seed=1, vertices=5000, mean_degree=16)
    assert 3 <= depth_of(device, random) <= 6
    pieces = np.array([[piece + step, piece + step + 1] for piece in range(0, 900, 9) for step in range(8)])
    assert depth_of(device, undirected("pieces", 900, pieces, np.ones(len(pieces), int))) in range(4, 9)
    star = undirected("star", 200, np.array([[0, leaf] for leaf in range(1, 101)]), np.ones(100, int))
    for graph in (star, built("complete", seed=1, vertices=30)):
        assert depth_of(device, graph) == 2


def test_a_graph_without_arcs(device):
    found = ResidentGraph.upload(device, Graph.from_arcs("empty", 3, [], [], [])).features
    assert found[2:] == (0, 0, 0, 0, 0, 2)
    assert str(found) == "even degrees (mean degree 0, largest 0, about 2 levels)"


def test_hubs_are_vertices_of_high_degree_or_met_by_most_arcs():
    even = survey.Features(1000, 6000, 1000, 20, ends=7, crossing=1, one_way=0, depth=5)
    assert not even.has_hubs
    assert even._replace(largest=65).has_hubs
    assert even._replace(ends=10).has_hubs
