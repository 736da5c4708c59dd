"""Kronecker graphs have the very bits of Graph500's reference generator."""

import hashlib

import numpy as np
import pytest

from relaxometer.datasets.graph500 import kronecker_edges, root_stream

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
    digest.update(root_stream(128).astype("<f8").tobytes())
    assert digest.hexdigest() == REFERENCE[scale]


@pytest.mark.parametrize("chunk", [1, 1000, 1 << 20])
def test_chunks_do_not_matter(chunk):
    for expected, found in zip(
        columns(kronecker_edges(8, 0, 4096)), columns(kronecker_edges(8, 0, 4096, chunk=chunk)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_range_can_be_made_alone():
    whole, part = kronecker_edges(8, 0, 4096), kronecker_edges(8, 1234, 2345)
    for expected, found in zip(columns(whole), columns(part), strict=True):
        np.testing.assert_array_equal(found, expected[1234:2345])
    assert not len(kronecker_edges(8, 7, 7).tails)
