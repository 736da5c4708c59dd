"""Ways become edges between junctions of the same length."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from relaxometer.datasets.readers.contraction import EARTH_RADIUS_M, Nodes, Ways, contract

DEGREE_M = EARTH_RADIUS_M * np.pi / 180


def along_equator(ids):
    """Place node ``i`` at ``i`` degrees east."""
    ids = np.array(ids, dtype=np.int64)
    return Nodes(ids, ids.astype(np.float64), np.zeros(len(ids)))


def ways(*lists):
    offsets = np.cumsum([0, *map(len, lists)])
    return Ways(offsets, np.concatenate([np.array(refs, dtype=np.int64) for refs in lists]))


def edges(network):
    ids = network.junctions.ids
    degrees = np.rint(network.metres / DEGREE_M).astype(int)
    triples = zip(ids[network.one], ids[network.other], degrees, strict=True)
    return [tuple(map(int, triple)) for triple in triples]


def test_ends_crossings_seams_and_stops_stay_and_the_rest_vanishes():
    network = contract(ways([1, 2, 3, 4, 5], [9, 3, 8]), along_equator(range(10)))
    assert network.junctions.ids.tolist() == [1, 3, 5, 8, 9]
    assert edges(network) == [(1, 3, 2), (3, 5, 2), (9, 3, 6), (3, 8, 5)]
    assert network.ways.tolist() == [0, 0, 1, 1]
    network = contract(ways([1, 2, 3, 1], [4, 5, 6, 5, 7]), along_equator(range(10)))
    assert network.junctions.ids.tolist() == [1, 4, 5, 7]
    assert edges(network) == [(1, 1, 4), (4, 5, 1), (5, 5, 2), (5, 7, 2)]
    network = contract(ways([1, 2, 3, 4, 5, 6], [2, 7], [4, 8]), along_equator([1, 2, 4, 5, 6, 7]))
    assert network.junctions.ids.tolist() == [1, 2, 4, 6, 7]
    assert edges(network) == [(1, 2, 1), (4, 6, 2), (2, 7, 5)]
    network = contract(ways([1, 2, 3]), along_equator(range(5)), np.array([2, 4, 99]))
    assert network.junctions.ids.tolist() == [1, 2, 3], "4 is on no way"
    assert edges(network) == [(1, 2, 1), (2, 3, 1)]


def distances(n_nodes, one, other, metres):
    shortest = np.full((n_nodes, n_nodes), np.inf)
    np.minimum.at(shortest, (one, other), metres)
    return sp.csgraph.dijkstra(sp.csgraph.csgraph_from_dense(shortest, null_value=np.inf), directed=False)


@given(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=6, unique=True), min_size=1, max_size=6))
def test_distances_between_junctions_stay(lists):
    nodes = along_equator(range(10))
    network = contract(ways(*lists), nodes)
    segments = np.array([pair for refs in lists for pair in pairwise(refs)])
    all_metres = np.abs(segments[:, 0] - segments[:, 1]) * DEGREE_M
    expected = distances(10, *segments.T, all_metres)
    found = distances(len(network.junctions.ids), network.one, network.other, network.metres)
    kept = network.junctions.ids
    np.testing.assert_allclose(found, expected[np.ix_(kept, kept)])
