"""Proofs of distances from many sources without predecessors: right ones hold, and each rule can fail."""

import numpy as np
import pytest

from relaxometer.device import get_device
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.lengths import unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.variants import Skipped
from sample_graphs import as_type, reference_distances, sample_graphs
from sssp.searches import graph_of

KINDS = ["uint32", "uint32/uint64"]
CYCLE = graph_of("uint32", 5, [0, 2, 3, 4, 4], [1, 3, 4, 2, 1], [5, 0, 0, 0, 1])


def prove(device, graph, sources, change=None):
    """The proof of the right distances from these sources, 32 in a batch, after a change."""
    batches = -(-len(sources) // 32)
    padded = np.append(sources, np.full(32 * batches - len(sources), UNREACHED)).astype(np.uint32)
    number = graph.lengths.distances
    labels = np.full((batches, graph.n_vertices, 32), unreached(number), dtype=number)
    for place, source in enumerate(sources):
        labels[place // 32, :, place % 32] = reference_distances(graph, int(source))
    if change is not None:
        change(labels)
    prover = DistanceProver(ResidentGraph.upload(device, graph))
    return prover.check(device.asarray(padded), device.asarray(labels))


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize("kind", KINDS)
def test_right_distances_hold_and_are_summed(device, graph, kind):
    graph = as_type(graph, kind)
    sources = np.resize(np.arange(graph.n_vertices), 40)
    proof = prove(device, graph, sources)
    assert proof.certificate.holds, proof.certificate.reason
    assert not proof.wrong.any()
    for place, source in enumerate(sources):
        distance = reference_distances(graph, int(source))
        reached = distance[distance != unreached(distance.dtype)]
        found = (int(column[place]) for column in (proof.reached, proof.farthest, proof.total))
        assert [*found] == [len(reached), int(reached.max()), int(reached.sum(dtype=np.uint64))]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda d: d.__setitem__((0, 5, 2), d[0, 5, 2] + 1), "overstretched"),
        (lambda d: d.__setitem__((0, 5, 2), d[0, 5, 2] - 1), "tight"),
        (lambda d: d.__setitem__((0, 5, 2), unreached(d.dtype)), "overstretched"),
        (lambda d: d.__setitem__((0, 2, 2), 1), "source"),
        (lambda d: d.__setitem__((0, slice(None), 2), d[0, :, 2] + 7), "source"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_distance_is_found_and_named(device, kind, change, rule):
    proof = prove(device, as_type(sample_graphs()["grid"], kind), range(6), change)
    assert proof.certificate.violations[rule] > 0
    assert np.flatnonzero(proof.wrong).tolist() == [2]


def claim(vertices, lengths, place=0):
    return lambda d: d.__setitem__((place // 32, vertices, place % 32), lengths)


@pytest.mark.parametrize(
    ("graph", "change", "first"),
    [
        pytest.param(sample_graphs()["two-islands"], claim(slice(3, 6), [7, 12, 18]), 3, id="unreached part"),
        pytest.param(CYCLE, claim(slice(2, 5), 4), 2, id="free cycle"),
        pytest.param(graph_of("uint32", 3, [0, 1, 2], [1, 2, 2], [5, 7, 0]), claim(2, 3), 2, id="free loop"),
    ],
)
def test_nothing_holds_itself(device, graph, change, first):
    """Every arc of a free cycle is tight wherever the cycle claims to be."""
    proof = prove(device, graph, [0], change)
    assert proof.certificate.violations == {"source": 0, "overstretched": 0, "tight": 1}
    assert proof.certificate.first == {"tight": first}


def test_free_cycles_are_checked_for_more_sources_than_a_block_has_threads(device):
    assert prove(device, CYCLE, [2, 0]).certificate.holds
    proof = prove(device, CYCLE, [0] * 300, claim(slice(2, 5), 4, place=299))
    assert np.flatnonzero(proof.wrong).tolist() == [299]


def test_more_cycles_of_weight_zero_than_a_grid_has_rows(device):
    """A chain of 65,536 zero-weight edges; in a second answer the last of them is too near."""
    n = 2 * 65_536
    tails = np.arange(n - 1)
    ends = np.concatenate([tails, tails[::2] + 1]), np.concatenate([tails + 1, tails[::2]])
    graph = graph_of("uint32", n, *ends, np.concatenate([tails % 2, np.zeros(n // 2, dtype=int)]))
    assert prove(device, graph, [0, 0]).certificate.holds
    proof = prove(device, graph, [0, 0], claim(slice(n - 2, n), n // 2 - 2, place=1))
    assert proof.certificate.first["tight"] == n - 2
    assert np.flatnonzero(proof.wrong).tolist() == [1]


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_floats_are_skipped(kind):
    graph = as_type(sample_graphs()["grid"], kind)
    with pytest.raises(Skipped, match=f"distances of type {kind}"):
        DistanceProver(ResidentGraph.upload(get_device("host"), graph))
