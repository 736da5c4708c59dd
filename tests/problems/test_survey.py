"""The survey of a graph: degrees in the large, arcs by samples, and depth by balls."""

import numpy as np
import pytest

from relaxometer.datasets.formats.generated import GridParameters
from relaxometer.datasets.generators.shapes import grid as grid_graph
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import survey
from sample_graphs import sample_graphs, undirected


def chain(n):
    return undirected("chain", n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), np.ones(n - 1, int))


def complete(n):
    ends = np.array([[tail, head] for tail in range(n) for head in range(tail)])
    return undirected("complete", n, ends, np.ones(len(ends), int))


def depth_of(device, graph, **limits):
    resident = ResidentGraph.upload(device, graph)
    return survey.features(resident, survey.start(resident, **limits)).depth


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
def test_degrees_are_those_of_numpy(device, graph):
    found = survey.features_of(ResidentGraph.upload(device, graph))
    assert (found.n_vertices, found.n_arcs) == (graph.n_vertices, graph.n_arcs)
    assert found.with_arcs == np.count_nonzero(graph.degrees)
    assert found.largest == graph.degrees.max()
    assert found.mean == graph.n_arcs / max(1, found.with_arcs)
    assert found.ends == (graph.degrees.astype(np.int64) ** 2).sum() / max(1, graph.n_arcs)


@pytest.mark.parametrize("graph", [*sample_graphs().values(), chain(5000)], ids=lambda graph: graph.name)
def test_samples_tell_about_arcs(device, graph):
    """Every vertex of a small graph is sampled once in the mean, with one of its arcs."""
    found = survey.features_of(ResidentGraph.upload(device, graph))
    tails, heads = graph.tails.astype(np.int64), graph.targets.astype(np.int64)
    ranges = [ends * survey.RANGES // graph.n_vertices for ends in (tails, heads)]
    arcs = set(zip(tails.tolist(), heads.tolist(), strict=True))
    one_way = [(head, tail) not in arcs for tail, head in zip(tails.tolist(), heads.tolist(), strict=True)]
    if graph.n_vertices > 500:
        assert found.crossing == pytest.approx(np.mean(ranges[0] != ranges[1]), abs=0.08)
    if graph.n_arcs:
        assert (found.one_way == 0) == (not any(one_way))
        assert (found.one_way == 1) == all(one_way) or found.one_way > 0.9


def test_neighbours_that_are_joined(device):
    for graph, clustering in ((complete(20), 1), (sample_graphs()["grid"], 0)):
        assert survey.features_of(ResidentGraph.upload(device, graph)).clustering == clustering


def test_balls_tell_the_depth(device):
    graph = chain(5000)
    assert depth_of(device, graph, hops=8) == round(8 * 5000 / 17)
    assert 2000 < depth_of(device, graph) < 5000
    grid = grid_graph(GridParameters(rows=120, columns=120), 1)
    assert 60 < depth_of(device, grid) < 240
    assert 60 < depth_of(device, grid, enough=200) < 240


def test_a_ball_ends_with_all_that_is_reached(device):
    pieces = np.array([[piece + step, piece + step + 1] for piece in range(0, 900, 9) for step in range(8)])
    assert depth_of(device, undirected("pieces", 900, pieces, np.ones(len(pieces), int))) in range(4, 9)
    star = undirected("star", 200, np.array([[0, leaf] for leaf in range(1, 101)]), np.ones(100, int))
    for graph in (star, complete(30)):
        assert depth_of(device, graph) == 2


def test_a_graph_without_arcs(device):
    found = survey.features_of(ResidentGraph.upload(device, Graph.from_arcs("empty", 3, [], [], [])))
    assert found[2:] == (0, 0, 0, 0, 0, 0, 2)
    assert str(found) == "even degrees (mean degree 0, largest 0, about 2 levels)"


def test_a_guess_has_the_size_of_the_graph(device):
    graph = complete(30)
    found = survey.guessed(ResidentGraph.upload(device, graph))
    assert (found.n_vertices, found.n_arcs, found.mean) == (30, graph.n_arcs, 29)
    assert not found.has_hubs
