"""Retained sizes are sums over the dominator tree, wherever the arrays are and whatever its shape."""

import networkx as nx
import numpy as np
import pytest

import relaxometer as rx
from relaxometer.library.answers import WrongAnswer

DEVICES = ["cpu", "host"]


def slow_sums(idom, sizes, root):
    """Add every size to all dominators of its vertex."""
    sums = [0] * len(sizes)
    for v, size in enumerate(sizes):
        while idom[v] != 2**32 - 1:
            sums[v] += int(size)
            if v == root:
                break
            v = idom[v]
    return sums


def shapes():
    yield "list", nx.path_graph(200, nx.DiGraph)
    yield "hub", nx.DiGraph([(0, 1)] + [(1, v) for v in range(2, 150)] + [(149, 150), (150, 151)])
    yield "star", nx.DiGraph([(0, v) for v in range(1, 90)])
    yield "cycle not reached", nx.DiGraph([(0, 1), (2, 3), (3, 2), (3, 1), (1, 4)])
    yield "random", nx.gnp_random_graph(120, 0.02, 7, directed=True)
    yield "one", nx.empty_graph(1, nx.DiGraph)


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("graph", [pytest.param(graph, id=name) for name, graph in shapes()])
def test_sums_are_those_of_all_dominators(graph, place):
    n = len(graph)
    sizes = np.random.default_rng(n).integers(0, 2**40, n)
    tails, heads = np.array(list(graph.edges), np.int64).reshape(-1, 2).T
    solver = rx.prepare(rx.Graph.from_arcs(n, tails, heads), "dominators", device=place)
    for root in {0, n // 2}:
        found = solver.search(root).retained(sizes).verify()
        assert found.retained_size.tolist() == slow_sums(found.idom.tolist(), sizes, root)
        assert found.to_host().verify().top(3).tolist() == found.top(3).tolist()


def two(place="cpu"):
    return rx.prepare(rx.Graph.from_arcs(3, [0, 0], [1, 2]), "dominators", device=place).search(0)


@pytest.mark.parametrize("place", DEVICES)
def test_sums_take_all_64_bits_and_no_more(place):
    most = np.array([2**63, 2**63 - 2, 1], np.uint64)
    assert two(place).retained(most).retained_size.tolist() == [2**64 - 1, 2**63 - 2, 1]
    with pytest.raises(rx.GraphError, match="sum 18446744073709551616 does not fit 64 bits"):
        two(place).retained(np.array([2**63, 2**63 - 1, 1], np.uint64))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([1, 2], r"shape \(2,\); expected \(3,\)"),
        ([1.0, 2, 3], "type float64; expected integers"),
        ([1, -2, 3], "-2 is negative"),
    ],
)
def test_wrong_sizes_are_one_line(sizes, message):
    with pytest.raises(rx.GraphError, match=message):
        two().retained(sizes)


def test_other_problems_have_none():
    levels = rx.prepare(rx.Graph.from_arcs(2, [0], [1]), "bfs", device="cpu").search(0)
    with pytest.raises(rx.GraphError, match="bfs has no dominator tree"):
        levels.retained([1, 1])


def test_a_wrong_sum_is_not_proven():
    found = two().retained([4, 5, 6])
    found.retained_size[2] += 1
    with pytest.raises(WrongAnswer, match="vertex 0 has a sum other than"):
        found.verify()


def test_the_largest_come_first_and_equal_ones_in_order():
    found = two().retained([0, 5, 5])
    assert [found.top(count).tolist() for count in (0, 1, 2, 9)] == [[], [0], [0, 1], [0, 1, 2]]
    assert found.path_to(2) == [0, 2]
