"""BFS certificates: right answers pass, and each corruption breaks the right rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import NO_PREDECESSOR, UNREACHED, certify
from relaxometer.problems.bfs._certify_cpu import BfsCpuCertifier
from relaxometer.problems.bfs.certify import RULES, BfsCertifier
from sample_graphs import sample_graphs, undirected

NONE = int(NO_PREDECESSOR)


def solve(graph, source):
    """A right answer by SciPy."""
    matrix = graph.to_scipy()
    matrix.data[:] = 1
    order, before = csgraph.breadth_first_order(matrix, source)
    level = np.full(graph.n_vertices, UNREACHED)
    predecessor = np.full(graph.n_vertices, NO_PREDECESSOR)
    level[source], predecessor[source] = 0, source
    for vertex in order[1:]:
        level[vertex], predecessor[vertex] = level[before[vertex]] + 1, before[vertex]
    return level, predecessor


def check(device, graph, source, level, predecessor):
    """Check an answer by kernels and on the CPU, which must agree."""
    resident = ResidentGraph.upload(device, graph)
    found = BfsCertifier(resident).check(source, device.asarray(level), device.asarray(predecessor))
    assert BfsCpuCertifier(resident).check(source, level, predecessor) == found
    return found


def broken_rules(certificate):
    return {rule for rule, count in certificate.violations.items() if count}


@pytest.fixture
def streets():
    graph = sample_graphs()["grid"]
    return graph, *solve(graph, 0)


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
def test_a_right_answer_holds(device, graph):
    for source in (0, graph.n_vertices - 1):
        certificate = check(device, graph, source, *solve(graph, source))
        assert certificate.holds, certificate.reason
        assert set(certificate.violations) == set(RULES)


CORNER = sample_graphs()["grid"].n_vertices - 1


@pytest.mark.parametrize(
    ("graph", "changes", "rules"),
    [
        ("grid", {0: (1, 0)}, {"tree", "tree_levels"}),
        ("grid", {0: (0, 1)}, {"tree"}),
        ("grid", {CORNER: (52, CORNER)}, {"tree", "tree_arcs", "tree_levels"}),
        ("grid", {CORNER: (52, CORNER - 1), CORNER - 1: (51, CORNER)}, {"tree", "tree_levels"}),
        ("grid", {5: (5, NONE)}, {"tree"}),
        ("grid", {5: (5, 2**32 - 2)}, {"tree"}),
        ("grid", {5: (5, 713)}, {"tree"}),
        ("grid", {CORNER: (UNREACHED, NONE)}, {"spanning"}),
        ("two-islands", {3: (1, 0), 4: (2, 3), 5: (3, 4)}, {"tree_arcs"}),
        ("two-islands", {4: (UNREACHED, 3)}, {"tree"}),
    ],
)
def test_every_rule_can_be_broken(device, graph, changes, rules):
    graph = sample_graphs()[graph]
    level, predecessor = solve(graph, 0)
    for vertex, (depth, before) in changes.items():
        level[vertex], predecessor[vertex] = depth, before
    certificate = check(device, graph, 0, level, predecessor)
    assert broken_rules(certificate) == rules
    assert certificate.first[min(rules)] in changes


def test_an_answer_for_another_source_is_refused(device, streets):
    assert "tree" in broken_rules(check(device, streets[0], 5, *streets[1:]))


@pytest.mark.parametrize(
    ("predecessor", "rules"), [([0, 0, 0], {"tree_levels", "arc_levels"}), ([0, 0, 1], {"arc_levels"})]
)
def test_no_arc_may_skip_a_level(device, predecessor, rules):
    """Vertex 2 is one arc from the source. Its predecessor is 0, or 1, which makes the tree consistent."""
    graph = Graph.from_arcs("skip", 3, [0, 1, 0], [1, 2, 2], [1, 1, 1])
    level = np.array([0, 1, 2], dtype=np.uint32)
    certificate = check(device, graph, 0, level, np.array(predecessor, dtype=np.uint32))
    assert broken_rules(certificate) == rules
    assert certificate.first == dict.fromkeys(rules, 2)


def test_both_directions_of_an_edge_are_checked(device):
    graph = undirected("skip", 4, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), np.ones(4, dtype=int))
    level, predecessor = np.array([0, 1, 2, 3], dtype=np.uint32), np.array([0, 0, 1, 2], dtype=np.uint32)
    assert broken_rules(check(device, graph, 0, level, predecessor)) == {"arc_levels"}


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_change_of_one_level_goes_unnoticed(data):
    """Levels are unique, so any other value breaks a rule."""
    graph = sample_graphs()["random-directed"]
    level, predecessor = solve(graph, 3)
    vertex = data.draw(st.integers(0, graph.n_vertices - 1))
    near = st.sampled_from([int(level[vertex]) + step & 2**32 - 1 for step in (-2, -1, 1, 2)])
    wrong = data.draw(st.one_of(near, st.integers(0, 2**32 - 1)).filter(lambda value: value != level[vertex]))
    level[vertex] = wrong
    assert not check(get_device("host"), graph, 3, level, predecessor).holds


@pytest.mark.parametrize("leaf", [1, 32, 33, 1026])
def test_every_arc_of_a_hub_is_checked(device, leaf):
    graph = sample_graphs()["hub"]
    level, predecessor = solve(graph, 0)
    level[leaf], predecessor[leaf] = UNREACHED, NO_PREDECESSOR
    assert check(device, graph, 0, level, predecessor).first == {"spanning": leaf}


@pytest.mark.parametrize("vertex", [300, 712])
def test_vertices_beyond_the_grid_are_checked(device, streets, monkeypatch, vertex):
    monkeypatch.setattr(certify, "MAX_BLOCKS", 1)
    graph, level, predecessor = streets
    assert check(device, graph, 0, level, predecessor).holds
    predecessor[vertex] = vertex
    assert check(device, graph, 0, level, predecessor).first["tree"] == vertex
    level[vertex], predecessor[vertex] = UNREACHED, NO_PREDECESSOR
    assert check(device, graph, 0, level, predecessor).first["spanning"] == vertex
