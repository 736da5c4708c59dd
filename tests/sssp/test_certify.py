"""A certificate holds for right answers and fails, by the right rule, for each way to be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.sssp.certify import RULES, SsspCertifier
from sample_graphs import reference_distances, sample_graphs


def solve(graph, source):
    """A right answer by SciPy's rules: distances and, for each vertex, the first tight predecessor."""
    distance = reference_distances(graph, source).astype(np.uint32)
    predecessor = np.full(graph.n_vertices, NO_PREDECESSOR)
    predecessor[source] = source
    tails = graph.tails.astype(np.int64)
    for i in np.lexsort((tails, distance[tails])):
        u, v = tails[i], graph.targets[i]
        tight = distance[u] != UNREACHED and int(distance[u]) + int(graph.weights[i]) == distance[v]
        if tight and predecessor[v] == NO_PREDECESSOR and distance[u] < distance[v]:
            predecessor[v] = u
    return distance, predecessor


def check(device, graph, source, distance, predecessor):
    certifier = SsspCertifier(ResidentGraph.upload(device, graph))
    return certifier.check(source, device.asarray(distance), device.asarray(predecessor))


def broken_rules(certificate):
    return {rule for rule, count in certificate.violations.items() if count}


@pytest.fixture
def road():
    graph = sample_graphs()["grid"]
    return graph, *solve(graph, 0)


def test_a_right_answer_holds(device, road):
    certificate = check(device, road[0], 0, road[1], road[2])
    assert certificate.holds
    assert certificate.reason == ""
    assert set(certificate.violations) == set(RULES)


def test_the_sources_distance_must_be_zero(device, road):
    graph, distance, predecessor = road
    distance[0] = 1
    assert "source" in broken_rules(check(device, graph, 0, distance, predecessor))


def test_the_source_must_be_its_own_predecessor(device, road):
    graph, distance, predecessor = road
    predecessor[0] = 1
    certificate = check(device, graph, 0, distance, predecessor)
    assert broken_rules(certificate) == {"source"}
    assert certificate.first == {"source": 0}


def test_a_distance_too_long_is_overstretched(device, road):
    graph, distance, predecessor = road
    leaf = int(distance.argmax())
    distance[leaf] += 1
    broken = broken_rules(check(device, graph, 0, distance, predecessor))
    assert "overstretched" in broken


def test_a_distance_too_short_has_no_tight_predecessor(device, road):
    graph, distance, predecessor = road
    leaf = int(distance.argmax())
    distance[leaf] -= 1
    assert "predecessor" in broken_rules(check(device, graph, 0, distance, predecessor))


def test_a_consistent_detour_is_overstretched(device):
    """All distances lie on real paths, but one path is not shortest: only the arcs show it."""
    graph = Graph.from_arcs("fork", 3, [0, 1, 0], [1, 2, 2], [1, 1, 5])
    distance = np.array([0, 1, 5], dtype=np.uint32)
    predecessor = np.array([0, 0, 0], dtype=np.uint32)
    assert broken_rules(check(device, graph, 0, distance, predecessor)) == {"overstretched"}


def test_a_predecessor_without_an_arc_is_found(device, road):
    graph, distance, predecessor = road
    leaf = int(distance.argmax())
    predecessor[leaf] = 0
    certificate = check(device, graph, 0, distance, predecessor)
    assert broken_rules(certificate) == {"predecessor"}
    assert certificate.first["predecessor"] == leaf
    assert f"rule predecessor broken once, first at vertex {leaf}" in certificate.reason


@pytest.mark.parametrize("wrong", [2**32 - 1, 2**32 - 2, 713])
def test_a_predecessor_that_is_not_a_vertex_is_found(device, road, wrong):
    graph, distance, predecessor = road
    predecessor[5] = wrong
    assert broken_rules(check(device, graph, 0, distance, predecessor)) == {"predecessor"}


def test_a_reached_vertex_left_out_is_found(device, road):
    graph, distance, predecessor = road
    leaf = int(distance.argmax())
    distance[leaf], predecessor[leaf] = UNREACHED, NO_PREDECESSOR
    assert broken_rules(check(device, graph, 0, distance, predecessor)) == {"left_out"}


def test_an_island_must_stay_unreached(device):
    graph = sample_graphs()["two-islands"]
    distance, predecessor = solve(graph, 0)
    assert check(device, graph, 0, distance, predecessor).holds
    distance[3:] = [7, 12, 18]
    predecessor[3:] = [0, 3, 4]
    assert broken_rules(check(device, graph, 0, distance, predecessor)) == {"predecessor"}


def test_an_unreached_vertex_has_no_predecessor(device):
    graph = sample_graphs()["two-islands"]
    distance, predecessor = solve(graph, 0)
    predecessor[4] = 3
    assert broken_rules(check(device, graph, 0, distance, predecessor)) == {"predecessor"}


@pytest.mark.parametrize("length", [2, 3, 4, 31, 32, 33])
def test_a_circle_of_zero_weight_arcs_is_found(device, length):
    """Every distance is right and every predecessor tight; only following them shows the circle."""
    n = length + 1
    ring = np.arange(1, n)
    tails = np.concatenate([[0], ring])
    heads = np.concatenate([[1], np.roll(ring, -1)])
    weights = np.concatenate([[5], np.zeros(length, dtype=int)])
    graph = Graph.from_arcs("ring", n, tails, heads, weights)
    distance = np.array([0] + [5] * length, dtype=np.uint32)
    right = np.array([0, 0, *range(1, length)], dtype=np.uint32)
    assert check(device, graph, 0, distance, right).holds
    circle = right.copy()
    circle[1] = length
    certificate = check(device, graph, 0, distance, circle)
    assert broken_rules(certificate) == {"tree"}
    assert certificate.violations["tree"] == length


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_change_of_one_entry_goes_unnoticed(data):
    """A distance is unique, so that any other value must break a rule."""
    graph = sample_graphs()["grid"]
    distance, predecessor = solve(graph, 0)
    vertex = data.draw(st.integers(0, graph.n_vertices - 1))
    wrong = data.draw(st.integers(0, 2**32 - 1).filter(lambda value: value != distance[vertex]))
    distance[vertex] = wrong
    assert not check(get_device("host"), graph, 0, distance, predecessor).holds
