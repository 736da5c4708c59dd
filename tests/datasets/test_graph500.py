"""Kronecker graphs equal those of Graph500's reference generator bit for bit."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators.graph500 import (
    integer_weights,
    kronecker_edges,
    kronecker_graph,
    root_stream,
    search_keys,
)
from relaxometer.graphs.graph import Graph, content_hash, read_graph, write_graph
from relaxometer.race.sources import sources_table

REFERENCE = {
    10: "b6413d2ba5a3601548443fa02cbf9d0503d0367193cbc2834da9cc28f7d3336f",
    16: "ee9c36e732eef783acb87ffd3a565cdf5573a5b16ea21f55ff61b37a8f16816e",
}
"""SHA-256 of the reference's edges (pairs of int64), its weights (float32) and 128 numbers of its roots."""


def columns(edges):
    return edges.tails, edges.heads, edges.weights


@pytest.mark.parametrize("scale", REFERENCE)
def test_edges_weights_and_roots_are_the_references(scale):
    edges = kronecker_edges(scale, 0, 16 << scale)
    digest = hashlib.sha256(np.stack([edges.tails, edges.heads], axis=1).astype("<i8").tobytes())
    digest.update(edges.weights.astype("<f4").tobytes())
    digest.update(np.fromiter(root_stream(), "<f8", 128).tobytes())
    assert digest.hexdigest() == REFERENCE[scale]


def test_a_range_is_the_same_in_chunks_and_on_its_own(monkeypatch):
    whole = columns(kronecker_edges(8, 0, 4096))
    for start, stop, chunk in ((0, 4096, 1000), (1234, 2345, 1 << 20), (7, 7, 1)):
        monkeypatch.setattr("relaxometer.datasets.generators.graph500.CHUNK", chunk)
        for expected, found in zip(whole, columns(kronecker_edges(8, start, stop)), strict=True):
            np.testing.assert_array_equal(found, expected[start:stop])


def test_a_graph_is_its_edges_both_ways_and_counts_every_end(tmp_path):
    edges = kronecker_edges(9, 0, 16 << 9)
    loads = integer_weights(edges.weights, 1, 255)
    for keep in (False, True):
        arcs = edges.tails, edges.heads, loads
        expected = Graph.from_arcs("expected", 1 << 9, *arcs, undirected=True, keep_parallel=keep)
        graph = kronecker_graph(Graph500Parameters(scale=9, keep_parallel=keep))
        assert content_hash(replace(graph, input_degrees=None)) == content_hash(expected)
    assert graph.metadata["input_edges"] == 16 << 9
    assert graph.metadata["self_loops"] == np.count_nonzero(edges.tails == edges.heads)
    assert graph.metadata["isolated_vertices"] == np.count_nonzero(expected.degrees == 0)
    edges = kronecker_edges(9, 0, 16 << 9)
    graph = kronecker_graph(Graph500Parameters(scale=9))
    expected = np.bincount(np.concatenate([edges.tails, edges.heads]), minlength=1 << 9)
    np.testing.assert_array_equal(graph.input_degrees, expected)
    assert graph.input_degrees.sum() == 2 * graph.metadata["input_edges"]
    write_graph(graph, tmp_path)
    np.testing.assert_array_equal(read_graph(tmp_path).input_degrees, expected)


def test_weights_spread_over_the_whole_range():
    weights = np.array([0, 0.0039, 0.00393, 0.5, 0.99999994, 1], dtype=np.float32)
    assert integer_weights(weights, 1, 255).tolist() == [1, 1, 2, 128, 255, 255]
    assert integer_weights(weights, 0, 2**32 - 2)[-1] == 2**32 - 2
    assert integer_weights(weights, 7, 7).tolist() == [7] * 6


def test_search_keys_are_different_and_have_edges(tmp_path):
    graph = kronecker_graph(Graph500Parameters(scale=10))
    keys = graph.metadata["search_keys"]
    assert len(set(keys)) == len(keys) == 64
    assert graph.degrees[keys].min() > 0
    assert search_keys(10, np.zeros(1024)) == []
    write_graph(graph, tmp_path)
    graph = read_graph(tmp_path)
    assert sources_table(graph, 8, seed=1)["source"].to_pylist() == keys[:8]
    assert sources_table(graph, 100, seed=1)["source"].to_pylist() == keys
    assert sources_table(graph, [3, 4], seed=1)["source"].to_pylist() == [3, 4]
