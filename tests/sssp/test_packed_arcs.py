"""Facts about arcs that are laid out for few dependent reads, against NumPy."""

import numpy as np
import pytest

from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._packed_arcs import MAX_ARCS, PackedArcs
from relaxometer.problems.variants import Skipped
from sample_graphs import FLOATS


def loaded(weights, kind="uint32"):
    """A star whose arcs have these weights."""
    m = len(weights)
    ends = np.zeros(m, dtype=int), np.arange(1, m + 1)
    return Graph.from_arcs("loaded", m + 1, *ends, weights, weight_type=kind)


def packed_arcs(device, graph):
    resident = ResidentGraph.upload(device, graph)
    return PackedArcs(device, *resident.csr[1:], graph.lengths)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([MAX_WEIGHT] * 5, (MAX_WEIGHT, 0)),
        ([0, MAX_WEIGHT], (MAX_WEIGHT / 2, MAX_WEIGHT / 2)),
        ([2**31 - 1] * 2 + [2**31 + 1] * 2, (2**31, 1)),
        ([0, 0, 0], (0, 0)),
        ([], (0, 0)),
        (np.arange(70_000) % 2 * 2, (1, 1)),
    ],
)
def test_sums_of_great_weights_are_exact(device, weights, expected):
    assert packed_arcs(device, loaded(weights)).weight_statistics() == expected


@pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)
def test_sums_of_floats_neither_overflow_nor_vanish(device, kind):
    for weights in ([0.1, 0.2, 0.7], [kind.largest, kind.largest, 0], [kind.tiny] * 3, [0, 0, 0]):
        graph = loaded(weights, kind.name)
        exact = graph.weights.astype(np.longdouble)
        found = tuple(map(np.longdouble, packed_arcs(device, graph).weight_statistics()))
        assert found == pytest.approx((exact.mean(), exact.std()), rel=1e-12, abs=0)


def test_arcs_from_which_a_step_would_wrap_are_refused(host_device):
    """A block whose threads step from arc 2**32 - 1 would come to the first arcs, of another vertex."""
    arcs = np.broadcast_to(np.uint32(0), MAX_ARCS + 1)
    with pytest.raises(Skipped, match="4,294,966,273 arcs; the kernels number at most 4,294,966,272"):
        PackedArcs(host_device, np.array([0, len(arcs)]), arcs, arcs)
