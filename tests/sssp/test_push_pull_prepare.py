"""The preparation of push-pull, against sorting by NumPy."""

import dataclasses

import numpy as np
import pytest

from relaxometer.datasets.build import is_symmetric
from relaxometer.datasets.formats.generated import RmatParameters
from relaxometer.datasets.generators.rmat import rmat
from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.push_pull._prepare import prepare
from sample_graphs import sample_graphs, undirected


def skewed(weights=None):
    graph = rmat(RmatParameters(scale=9, edge_factor=16, weights={"distribution": "uniform"}), seed=1)
    return graph if weights is None else dataclasses.replace(graph, name="weighted", weights=weights(graph))


def hubs(heaviest):
    """Two hubs of thousands of arcs, parallel arcs and self-loops, and vertices without arcs between them."""
    rng = np.random.default_rng(3)
    tails = np.concatenate([np.full(3000, 900), np.full(2500, 17), rng.integers(0, 1000, 500), [5, 5, 5]])
    heads = np.concatenate([rng.integers(0, 1000, 6000), [5, 6, 6]])
    weights = rng.integers(0, heaviest, len(tails), endpoint=True)
    name = f"hubs-{heaviest}"
    return Graph.from_arcs(name, 1500, tails, heads, weights, keep_self_loops=True, keep_parallel=True)


GRAPHS = [
    *sample_graphs().values(),
    skewed(),
    skewed(lambda graph: np.zeros_like(graph.weights)),
    hubs(3),
    hubs(MAX_WEIGHT),
    Graph.from_arcs("none", 70, [], [], []),
]


def sorted_rows(rank, n, rows, ends, weights):
    """Offsets and arcs of rows of new numbers, sorted by weight and other end."""
    rows, ends = rank[rows].astype(np.uint64), rank[ends].astype(np.uint64)
    arcs = weights.astype(np.uint64) << np.uint64(32) | ends
    lengths = np.bincount(rows.astype(np.int64), minlength=n)
    return np.append(0, np.cumsum(lengths)), arcs[np.lexsort((arcs, rows))]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_rows_are_sorted(device, graph):
    prepared = prepare(ResidentGraph.upload(device, graph), many=20)
    symmetric = is_symmetric(dataclasses.replace(graph, metadata={}))
    into = np.bincount(graph.targets, minlength=graph.n_vertices)
    order = 2 * graph.degrees + (into > 0)
    ids = np.argsort(-order, kind="stable")
    n = int(np.count_nonzero(order))
    np.testing.assert_array_equal(device.asnumpy(prepared.ids), ids[:n])
    rank = device.asnumpy(prepared.rank)
    np.testing.assert_array_equal(rank[ids], np.arange(graph.n_vertices))
    assert (prepared.into is prepared.out) == symmetric
    assert prepared.n_many == int((graph.degrees > 20).sum())
    assert (graph.degrees[ids[: prepared.n_many]] > 20).all()
    assert prepared.mean_weight == (graph.weights.mean() if graph.n_arcs else 0)
    for rows, ends in (
        (prepared.out, (graph.tails, graph.targets)),
        (prepared.into, (graph.targets, graph.tails)),
    ):
        offsets, arcs = sorted_rows(rank, n, *ends, graph.weights)
        np.testing.assert_array_equal(device.asnumpy(rows.offsets), offsets)
        found = device.asnumpy(rows.arcs)
        if graph.n_arcs and int(graph.weights.max()) >= 2**31:  # arcs of one weight are in any order
            by_row = np.repeat(np.arange(n), np.diff(offsets))
            assert np.array_equal(found >> np.uint64(32), arcs >> np.uint64(32))
            found = found[np.lexsort((found, by_row))]
        np.testing.assert_array_equal(found, arcs)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_threads_does_not_matter(seed):
    graph = hubs(3)
    one, other = (
        prepare(ResidentGraph.upload(get_device("host", order_seed=order), graph), 20) for order in (0, seed)
    )
    np.testing.assert_array_equal(one.out.arcs, other.out.arcs)
    np.testing.assert_array_equal(one.into.arcs, other.into.arcs)


def changed(graph, arcs, weights, directed=False):
    """The same graph with other weights of some arcs; what its metadata say is not trusted."""
    others = graph.weights.copy()
    others[arcs] = weights
    return dataclasses.replace(graph, weights=others, metadata={"directed": directed})


def parallel(tails, heads, weights):
    return Graph.from_arcs("parallel", 2, tails, heads, weights, keep_parallel=True)


PATH = undirected("path", 4, np.array([(0, 1), (2, 3), (1, 2)]), np.array([5, 6, 7]))


@pytest.mark.parametrize(
    ("graph", "is_symmetric"),
    [
        pytest.param(changed(skewed(), [], [], directed=True), True, id="undirected"),
        pytest.param(changed(skewed(), [1234], 10**6), False, id="another weight"),
        pytest.param(PATH, True, id="path"),
        pytest.param(changed(PATH, [0, 4], [6, 5]), False, id="the same weights in other pairs"),
        pytest.param(parallel([0, 0, 1, 1], [1, 1, 0, 0], [4, 9, 9, 4]), True, id="as many arcs back"),
        pytest.param(parallel([0, 0, 1], [1, 1, 0], [4, 4, 4]), False, id="fewer arcs back"),
    ],
)
def test_one_set_of_rows_serves_both_directions(device, graph, is_symmetric):
    prepared = prepare(ResidentGraph.upload(device, graph), 20)
    assert (prepared.into is prepared.out) == is_symmetric
