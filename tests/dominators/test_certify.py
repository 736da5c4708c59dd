"""Certificates of dominators: right answers pass, and every rule can be broken."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dominator_samples import (
    NONE,
    all_graphs_of_four,
    graph_of,
    random_batch,
    random_graph,
    reference_by_removal,
    rooted_graphs,
)
from relaxometer.certify_dominators import RULES, DominatorsCertifier
from relaxometer.resident import ResidentGraph
from relaxometer.resident_batch import ResidentBatch
from relaxometer.variants import load_variant


def check(device, graph, root, idom):
    certifier = DominatorsCertifier(ResidentGraph.upload(device, graph))
    return certifier.check(root, device.asarray(np.array(idom, dtype=np.uint32)))


def broken(certificate):
    return {rule for rule, count in certificate.violations.items() if count}


LINE = graph_of("line", 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
JOIN = graph_of("join", 5, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)])


@pytest.mark.parametrize(
    ("graph", "root", "idom", "rules"),
    [
        (LINE, 0, [1, 0, 1, 0], {"root"}),
        (LINE, 0, [NONE, 0, 1, 0], {"root", "reached"}),
        (LINE, 0, [0, 0, NONE, 0], {"reached"}),
        (rooted_graphs()["islands"], 0, [0, 0, 1, 1, 0, NONE, NONE], {"reached"}),
        (LINE, 0, [0, 0, 2, 0], {"tree"}),
        (LINE, 0, [0, 2, 1, 0], {"tree"}),
        (LINE, 0, [0, 0, 99, 0], {"tree"}),
        (LINE, 0, [0, 0, 1, 2], {"parent"}),
        (JOIN, 0, [0, 0, 1, 1, 2], {"parent"}),
        (JOIN, 0, [0, 0, 1, 1, 0], {"immediate"}),
        (LINE, 0, [0, 0, 0, 0], {"immediate"}),
    ],
)
def test_each_rule_can_be_broken(device, graph, root, idom, rules):
    certificate = check(device, graph, root, idom)
    assert not certificate.holds
    assert rules <= broken(certificate), certificate.reason
    assert certificate.violations.keys() == RULES.keys()


def test_the_first_vertex_is_named(device):
    certificate = check(device, JOIN, 0, [0, 0, 0, 0, 0])
    assert certificate.violations["immediate"] == 3
    assert certificate.first == {"immediate": 2}
    assert certificate.reason == "rule immediate broken 3 times, first at vertex 2"


def test_a_rule_over_every_arc_is_not_enough(device):
    """A flat tree in which every parent is where the predecessors meet, and yet vertex 1 is nearer."""
    graph = graph_of("knot", 4, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 2)])
    assert check(device, graph, 0, [0, 0, 1, 1]).holds
    assert broken(check(device, graph, 0, [0, 0, 0, 0])) == {"immediate"}


@pytest.mark.parametrize("graph", rooted_graphs().values(), ids=lambda graph: graph.name)
def test_an_answer_for_another_root_is_refused(device, graph):
    if graph.n_vertices < 2 or graph.n_vertices > 1000:
        pytest.skip("of no use here")
    other = reference_by_removal(graph, graph.n_vertices - 1)
    assert not check(device, graph, 0, other).holds


def test_only_the_right_answer_of_every_tree_passes(host_device):
    """All ways to give four vertices a parent, on random graphs."""
    rng = np.random.default_rng(2)
    candidates = list(itertools.product([0, 1, 2, 3, NONE], repeat=4))
    for _ in range(4):
        graph = random_graph(rng, 4, int(rng.integers(3, 11)))
        certifier = DominatorsCertifier(ResidentGraph.upload(host_device, graph))
        expected = tuple(reference_by_removal(graph, 0).tolist())
        passed = [idom for idom in candidates if certifier.check(0, np.array(idom, dtype=np.uint32)).holds]
        assert passed == [expected]


@pytest.mark.parametrize("n", [8, 30, 200])
def test_one_wrong_vertex_is_found(host_device, n):
    rng = np.random.default_rng(n)
    for _ in range(30):
        graph = random_graph(rng, n, 2 * n)
        certifier = DominatorsCertifier(ResidentGraph.upload(host_device, graph))
        right = reference_by_removal(graph, 0)
        assert certifier.check(0, right).holds
        for _ in range(10):
            wrong = right.copy()
            wrong[rng.integers(n)] = rng.choice([*range(n), NONE])
            assert certifier.check(0, wrong).holds == np.array_equal(wrong, right)


@pytest.mark.parametrize("batch", [random_batch(), all_graphs_of_four()], ids=lambda batch: batch.name)
def test_batches_are_checked_graph_by_graph(device, batch):
    resident = ResidentBatch.upload(device, batch)
    module = load_variant("dominators", "lengauer-tarjan")
    right = module.Solver(resident, module.Parameters()).solve().idom
    certifier = DominatorsCertifier(resident)
    assert certifier.check(None, device.asarray(right)).holds
    rng = np.random.default_rng(1)
    for row in rng.integers(0, batch.n_vertices, 20):
        wrong = right.copy()
        wrong[row] = right[row] + 1
        certificate = certifier.check(None, device.asarray(wrong))
        assert not certificate.holds
        graph = int(np.searchsorted(batch.first_vertex, row, side="right")) - 1
        first, end = batch.first_vertex[graph : graph + 2]
        assert all(first <= vertex < end for vertex in certificate.first.values())
