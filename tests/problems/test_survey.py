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


def balls_of(device, graph, **limits):
    words = device.asnumpy(survey.start(ResidentGraph.upload(device, graph), **limits)).tolist()
    return [survey.Ball.unpacked(word) for word in words[-survey.BALLS :]]


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


def test_balls_grow_by_hops_and_tell_the_depth(device):
    graph = chain(5000)
    assert set(balls_of(device, graph, hops=8)) == {survey.Ball(8, 9, 17, False)}
    assert 2000 < survey.features_of(ResidentGraph.upload(device, graph)).depth < 5000
    grid = grid_graph(GridParameters(rows=120, columns=120), 1)
    assert all(ball.size > ball.half > ball.hops for ball in balls_of(device, grid))
    assert 60 < survey.features_of(ResidentGraph.upload(device, grid)).depth < 240


def test_a_ball_ends_with_enough_vertices_or_with_all_that_are_reached(device):
    (ball,) = set(balls_of(device, complete(30)))
    assert ball == survey.Ball(1, 1, 30, whole=True)
    (ball,) = set(balls_of(device, complete(30), enough=10))
    assert (ball.hops, ball.whole) == (1, False)
    assert 10 <= ball.size <= 30
    star = undirected("star", 200, np.array([[0, leaf] for leaf in range(1, 101)]), np.ones(100, int))
    assert {ball.whole for ball in balls_of(device, star)} == {True}
    assert survey.features_of(ResidentGraph.upload(device, star)).depth == 2


def test_a_graph_without_arcs(device):
    found = survey.features_of(ResidentGraph.upload(device, Graph.from_arcs("empty", 3, [], [], [])))
    assert found[2:] == (0, 0, 0, 0, 0, 0, 2)
    assert str(found) == "even degrees (mean degree 0, largest 0, about 2 levels)"


def test_the_kinds_of_graphs_of_a_size():
    a_map, small_world, hubs = survey.kinds(10**6, 3 * 10**6)
    assert a_map.depth > 100 > small_world.depth
    assert [kind.has_hubs for kind in (a_map, small_world, hubs)] == [False, False, True]
    assert len(survey.kinds(0, 0)) == 3
