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
from sample_graphs import FLOATS

of_floats = pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)


def unit(kind):
    """u, the largest relative error of an addition."""
    return Fraction(1, 2**kind.bits)


def weights_of(kind):
    lost = kind.one_lost
    return st.one_of(
        st.sampled_from([0.0, kind.tiny, 1.0, kind.next_to(1), lost, lost + 2, 1e30]),
        st.floats(0, 2**30, width=8 * np.dtype(kind.name).itemsize),
    )


@st.composite
def arc_lists(draw, weights):
    n = draw(st.integers(2, 10))
    path = [(v, v + 1, draw(weights)) for v in range(n - 1)]  # so that there are many arcs to add
    vertex = st.integers(0, n - 1)
    return n, path + draw(st.lists(st.tuples(vertex, vertex, weights), max_size=20))


def solved(kind, n, arcs, source=0):
    """Return the graph, its distances from the source, and its tree."""
    graph = Graph.from_arcs("drawn", n, *zip(*arcs, strict=True), weight_type=kind.name)
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
    exact, u = shortest(graph, source), unit(FLOATS[graph.weights.dtype.name])
    assert set(np.flatnonzero(predecessor != NO_PREDECESSOR).tolist()) == exact.keys()
    for vertex, (least, fewest) in exact.items():
        found = Fraction(float(distance[vertex]))
        length, arcs = tree_path(graph, distance, predecessor, vertex)
        low, high = (1 - u) ** max(arcs - 1, 0), (1 + u) ** max(fewest - 1, 0)
        assert low * least <= found <= high * least
        assert least <= length <= high / low * least
        k = max(arcs, fewest, 1) - 1
        assert abs(found - least) <= k * u / (1 - k * u) * least


@of_floats
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lengths_are_within_the_bound(kind, data):
    check_bound(*solved(kind, *data.draw(arc_lists(weights_of(kind)))))


@of_floats
@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_small_integers_and_subnormal_numbers_are_added_exactly(kind, data):
    """A path has at most nine arcs."""
    unit = data.draw(st.sampled_from([1.0, kind.tiny]))
    steps = st.integers(0, 2 ** (kind.bits - 4)).map(lambda steps: steps * unit)
    graph, distance, _ = solved(kind, *data.draw(arc_lists(steps)))
    assert all(Fraction(float(distance[v])) == length for v, (length, _) in shortest(graph).items())


def chain(weights):
    return len(weights) + 1, [(v, v + 1, weight) for v, weight in enumerate(weights)]


@of_floats
def test_weights_that_vanish_reach_the_bound_from_below(kind):
    """One more than 2**bits lies in the middle between two floats, and is rounded to the even one."""
    k, u, lost = 40, unit(kind), kind.one_lost
    graph, distance, predecessor = solved(kind, *chain([lost] + k * [1.0]))
    assert set(distance[1:].tolist()) == {lost}
    check_bound(graph, distance, predecessor)
    least = shortest(graph)[k + 1][0]
    assert 1 - Fraction(lost) / least == k * u / (1 + k * u)


@of_floats
def test_sums_that_are_rounded_up_come_near_the_bound_from_above(kind):
    k, u, lost = 40, unit(kind), kind.one_lost
    graph, distance, predecessor = solved(kind, *chain([lost] + k * [kind.next_to(1)]))
    assert distance[-1] == lost + 2 * k
    check_bound(graph, distance, predecessor)
    excess = Fraction(float(distance[-1])) / shortest(graph)[k + 1][0] - 1
    assert k * u * Fraction(999, 1000) < excess < (1 + u) ** k - 1


@of_floats
def test_both_ends_of_a_path_may_be_at_different_distances(kind):
    n, arcs = chain([kind.one_lost, 1.0, 1.0])
    both = arcs + [(head, tail, weight) for tail, head, weight in arcs]
    assert solved(kind, n, both, 0)[1][3] == kind.one_lost
    assert solved(kind, n, both, 3)[1][0] == kind.one_lost + 2
