"""Long rows are followed in pieces: each arc by one of them, however long the row."""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, _tight_tree
from relaxometer.problems.sssp._tight_tree import MAX_ARCS, MAX_ROW, TightTree

DEGREES = [0, 1, MAX_ROW, MAX_ROW + 1, MAX_ARCS, MAX_ARCS + 1, 3 * MAX_ARCS, 3 * MAX_ARCS + 1, 5]


def stars(degrees):
    """Trees of two levels: the source leads to hubs, and each hub to leaves of its own."""
    hubs = 1 + np.arange(len(degrees))
    leaves = 1 + len(degrees) + np.arange(sum(degrees))
    tails = np.concatenate([np.zeros(len(hubs), dtype=np.int64), np.repeat(hubs, degrees)])
    heads = np.concatenate([hubs, leaves])
    weights = 1.0 + np.arange(len(heads)) % 7
    return Graph.from_arcs("stars", 1 + len(heads), tails, heads, weights, weight_type="float64")


@pytest.mark.parametrize("pieces", [(128, 1024), (0, 1), (3, 5)])
def test_every_leaf_of_a_hub_gets_its_predecessor(device, monkeypatch, pieces):
    monkeypatch.setattr(_tight_tree, "MAX_ROW", pieces[0])
    monkeypatch.setattr(_tight_tree, "MAX_ARCS", pieces[1])
    degrees = DEGREES if pieces == (128, 1024) else [0, 1, 3, 4, 5, 6, 33, 200]
    host = stars(degrees)
    graph = ResidentGraph.upload(device, host)
    parents = np.empty(host.n_vertices, dtype=np.uint32)
    parents[host.targets] = host.tails
    parents[0] = 0
    distance = np.zeros(host.n_vertices)
    for tail, head, weight in zip(host.tails, host.targets, host.weights, strict=True):
        distance[head] = distance[tail] + weight
    cut = np.arange(host.n_vertices) == host.n_vertices - 1
    distance[cut] = np.inf  # the last leaf is left without a path
    words = graph.lengths.words(device.asarray(distance))
    found = device.asnumpy(TightTree(graph).predecessors(0, words))
    parents[cut] = NO_PREDECESSOR
    np.testing.assert_array_equal(found, parents)
