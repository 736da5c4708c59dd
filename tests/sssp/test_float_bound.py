"""The bound of docs/weights.md on rounded sums, checked with exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR
from relaxometer.problems.variants import load_solver

U = Fraction(1, 2**24)
SMALLEST = 2.0**-149

WEIGHTS = st.one_of(
    st.sampled_from([0.0, SMALLEST, 1.0, float(np.nextafter(np.float32(1), 2)), 2.0**24, 2.0**24 + 2, 1e30]),
    st.floats(0, 2**30, width=32),
)


@st.composite
def arc_lists(draw, weights=WEIGHTS):
    n = draw(st.integers(2, 10))
    path = [(v, v + 1, draw(weights)) for v in range(n - 1)]  # so that there are many arcs to add
    vertex = st.integers(0, n - 1)
    return n, path + draw(st.lists(st.tuples(vertex, vertex, weights), max_size=20))


def solved(n, arcs, source=0):
    """Return the graph, its distances from the source, and its tree."""
    graph = Graph.from_arcs("drawn", n, *zip(*arcs, strict=True), weight_type="float32")
    module = load_solver("sssp", "conventional")
    answer = module.Solver(ResidentGraph.upload(get_device("host"), graph), module.Parameters()).solve(source)
    assert not answer.overflowed
    return graph, answer.distance, answer.predecessor


def shortest(graph, source=0):
    """Return by vertex the exact least length and the fewest arcs of a path of that length."""
    arcs = list(
        zip(graph.tails.tolist(), graph.targets.tolist(), map(Fraction, graph.weights.tolist()), strict=True)
    )
    found = {source: (Fraction(0), 0)}
    for _ in range(graph.n_vertices):
        for tail, head, weight in arcs:
            if tail in found:
                by_way = found[tail][0] + weight, found[tail][1] + 1
                found[head] = min(found.get(head, by_way), by_way)
    return found


def tree_path(graph, distance, predecessor, vertex):
    """Return the exact length and the number of arcs of the path in the tree."""
    length, arcs = Fraction(0), 0
    while predecessor[vertex] != vertex:
        before = int(predecessor[vertex])
        row = slice(graph.offsets[before], graph.offsets[before + 1])
        there = graph.targets[row] == vertex
        (weight,) = graph.weights[row][there]
        assert distance[before] + weight == distance[vertex]
        length, arcs, vertex = length + Fraction(float(weight)), arcs + 1, before
    return length, arcs


def check_bound(graph, distance, predecessor, source=0):
    exact = shortest(graph, source)
    assert set(np.flatnonzero(predecessor != NO_PREDECESSOR).tolist()) == exact.keys()
    for vertex, (least, fewest) in exact.items():
        found = Fraction(float(distance[vertex]))
        length, arcs = tree_path(graph, distance, predecessor, vertex)
        low, high = (1 - U) ** max(arcs - 1, 0), (1 + U) ** max(fewest - 1, 0)
        assert low * least <= found <= high * least
        assert least <= length <= high / low * least
        k = max(arcs, fewest, 1) - 1
        assert abs(found - least) <= k * U / (1 - k * U) * least


@given(arc_lists())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lengths_are_within_the_bound(drawn):
    check_bound(*solved(*drawn))


@given(arc_lists(st.integers(0, 2**20).map(float)))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_integers_below_2_to_the_24_are_exact(drawn):
    graph, distance, _ = solved(*drawn)
    assert {v: Fraction(float(distance[v])) for v in shortest(graph)} == {
        v: length for v, (length, _) in shortest(graph).items()
    }


@given(arc_lists(st.integers(0, 2**20).map(lambda steps: steps * SMALLEST)))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_subnormal_numbers_are_added_exactly(drawn):
    graph, distance, _ = solved(*drawn)
    assert all(Fraction(float(distance[v])) == length for v, (length, _) in shortest(graph).items())


def chain(weights):
    return len(weights) + 1, [(v, v + 1, weight) for v, weight in enumerate(weights)]


def test_weights_that_vanish_reach_the_bound_from_below():
    """2**24 + 1 lies in the middle between two floats, and is rounded to the even one, 2**24."""
    k = 40
    graph, distance, predecessor = solved(*chain([2.0**24] + k * [1.0]))
    assert set(distance[1:].tolist()) == {2.0**24}
    check_bound(graph, distance, predecessor)
    least = shortest(graph)[k + 1][0]
    assert 1 - Fraction(2**24) / least == k * U / (1 + k * U)


def test_sums_that_are_rounded_up_come_near_the_bound_from_above():
    k = 40
    slightly_more = float(np.nextafter(np.float32(1), 2))
    graph, distance, predecessor = solved(*chain([2.0**24] + k * [slightly_more]))
    assert distance[-1] == 2.0**24 + 2 * k
    check_bound(graph, distance, predecessor)
    excess = Fraction(float(distance[-1])) / shortest(graph)[k + 1][0] - 1
    assert k * U * Fraction(999, 1000) < excess < (1 + U) ** k - 1


def test_both_ends_of_a_path_may_be_at_different_distances():
    n, arcs = chain([2.0**24, 1.0, 1.0])
    both = arcs + [(head, tail, weight) for tail, head, weight in arcs]
    assert solved(n, both, 0)[1][3] == 2.0**24
    assert solved(n, both, 3)[1][0] == 2.0**24 + 2


@pytest.mark.parametrize("weights", [[SMALLEST], [0.0, 0.0], [1e38, 1e-38], [3e38]])
def test_the_first_arc_is_not_rounded(weights):
    assert Fraction(float(solved(*chain(weights))[1][1])) == Fraction(float(np.float32(weights[0])))
