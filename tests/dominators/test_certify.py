"""Certificates of dominators: right answers pass, and every rule can fail."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dominator_samples import (
    NONE,
    all_graphs_of_four,
    both_ways,
    graph_of,
    random_batch,
    random_graph,
    reference_by_removal,
    rooted_graphs,
)
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.dominators._witnesses import Witnesses
from relaxometer.problems.dominators.certify import RULES, DominatorsCertifier
from relaxometer.problems.variants import load_solver


def check(device, graph, root, idom):
    certifier = DominatorsCertifier(ResidentGraph.upload(device, graph))
    return certifier.check(root, device.asarray(np.array(idom, dtype=np.uint32)))


def broken(certificate):
    return {rule for rule, count in certificate.violations.items() if count}


LINE = graph_of("line", 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
JOIN = graph_of("join", 5, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)])


def test_witnesses_that_were_found_ahead_serve_later_certifiers(device, monkeypatch):
    graph = replace(LINE)  # of another identity: proofs are kept by graph
    DominatorsCertifier(ResidentGraph.upload(device, graph)).find_witnesses([0])
    monkeypatch.setattr(Witnesses, "of", lambda *_: pytest.fail("witnesses were found again"))
    assert check(device, graph, 0, [0, 0, 1, 0]).holds
    assert "parent" in broken(check(device, graph, 0, [0, 0, 1, 2]))


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
    """Every parent of the flat tree is the intersection of the predecessors, but vertex 1 is nearer."""
    graph = graph_of("knot", 4, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 2)])
    assert check(device, graph, 0, [0, 0, 1, 1]).holds
    assert broken(check(device, graph, 0, [0, 0, 0, 0])) == {"immediate"}


def test_metadata_that_call_a_graph_undirected_prove_nothing(device):
    mistaken = replace(LINE, metadata={"directed": False})
    assert check(device, mistaken, 0, reference_by_removal(LINE, 0)).holds
    both = graph_of("both", 4, both_ways([*zip(LINE.tails, LINE.targets, strict=True)]))
    assert not check(device, mistaken, 0, reference_by_removal(both, 0)).holds


def test_only_the_right_tree_passes(host_device):
    """All ways to give four vertices a parent, on random graphs."""
    rng = np.random.default_rng(2)
    candidates = list(itertools.product([0, 1, 2, 3, NONE], repeat=4))
    for _ in range(4):
        graph = random_graph(rng, 4, int(rng.integers(3, 11)))
        certifier = DominatorsCertifier(ResidentGraph.upload(host_device, graph))
        expected = tuple(reference_by_removal(graph, 0).tolist())
        passed = [idom for idom in candidates if certifier.check(0, np.array(idom, dtype=np.uint32)).holds]
        assert passed == [expected]


@pytest.mark.parametrize("batch", [random_batch(), all_graphs_of_four()], ids=lambda batch: batch.name)
def test_batches_are_checked_graph_by_graph(device, batch):
    resident = ResidentBatch.upload(device, batch)
    module = load_solver("dominators", "lengauer-tarjan")
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


class TestProofsKept:
    """Witnesses are found once for each root of a graph; a proven answer is recognized."""

    @pytest.fixture
    def searches(self, monkeypatch):
        """The roots for which witnesses were found."""
        roots = []
        original = Witnesses.of

        def counted(graphs):
            roots.append(int(graphs.roots[0]))
            return original(graphs)

        monkeypatch.setattr(Witnesses, "of", counted)
        return roots

    def test_certifiers_of_a_graph_share_proofs(self, device, searches):
        graph = random_graph(np.random.default_rng(5), 30, 60)
        for root in (0, 3, 0):
            right = reference_by_removal(graph, root)
            assert check(device, graph, root, right).holds
        assert searches == [0, 3]

    def test_a_wrong_answer_is_refused_after_the_right_one(self, host_device):
        graph = graph_of("join", 5, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)])
        answer = np.array([0, 0, 1, 1, 1], dtype=np.uint32)
        certifier = DominatorsCertifier(ResidentGraph.upload(host_device, graph))
        assert certifier.check(0, answer).holds
        # On the host the certifier is given the array itself.
        answer[4] = 0
        assert broken(certifier.check(0, answer)) == {"immediate"}
        assert broken(certifier.check(1, np.array([0, 0, 1, 1, 1], dtype=np.uint32))) >= {"root"}

    def test_the_oldest_proofs_are_dropped(self, host_device, searches, monkeypatch):
        monkeypatch.setattr("relaxometer.problems.dominators.certify.VERTICES_KEPT", 10)
        graph = graph_of("join", 5, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)])
        for root in (0, 1, 2, 1, 0):
            assert check(host_device, graph, root, reference_by_removal(graph, root)).holds
        assert searches == [0, 1, 2, 0]
