"""Retained sizes of heaps: every answer is proven, and every failure has a reason."""

import pytest

from built import refusal
from relaxometer.datasets.formats.programs import HeapLikeParameters
from relaxometer.datasets.generators.heaps import heap_like
from relaxometer.graphs.graph import Graph
from relaxometer.problems.dominators import iterative_tree
from relaxometer.studies import retained
from relaxometer.studies.retained import TABLE, measure_retained

GIVEN = {"repetitions": 2, "enough_s": 100.0, "most_on_cpu": 1000, "seed": 1}


def heap(**parameters):
    return heap_like(HeapLikeParameters(**{"objects": 300, **parameters}), 1)


def rows_of(device, graph, variants=("iterative-tree", "semi-nca"), **options):
    return measure_retained(graph, device, variants=variants, **{**GIVEN, **options}).to_pylist()


@pytest.mark.parametrize("options", [{}, {"copies": 3}, {"shape": "list", "shuffled": True}, {"links": 100}])
def test_every_repetition_is_a_proven_row(device, options):
    graph = heap(**options)
    rows = rows_of(device, graph)
    assert list(rows[0]) == TABLE.names
    repetitions = [("iterative-tree", 0), ("iterative-tree", 1), ("semi-nca", 0), ("semi-nca", 1)]
    assert [(row["variant"], row["repetition"]) for row in rows] == repetitions
    assert {(row["status"], row["reason"]) for row in rows} == {("ok", "")}
    assert {(row["objects"], row["references"]) for row in rows} == {(graph.n_vertices, graph.n_arcs)}
    assert [row["device_kind"] for row in rows] == [device.kind] * 2 + ["cpu"] * 2
    parts = ("prepare_ms", "dominators_ms", "retained_ms")
    assert all(row["call_ms"] > 0 and all(row[part] > 0 for part in parts) for row in rows)
    on_core = rows[-1]
    assert on_core["call_ms"] == pytest.approx(sum(on_core[part] for part in parts))


def test_slow_variants_are_repeated_less_often_and_skip_large_heaps(host_device):
    assert len(rows_of(host_device, heap(), enough_s=1e-9)) == 2
    rows = rows_of(host_device, heap(objects=1001), variants=["semi-nca"])
    assert [row["reason"] for row in rows] == ["1,001 objects; on the CPU at most 1,000"] * 2
    assert {row["status"] for row in rows} == {"skipped"}


def test_a_graph_without_sizes_is_refused(host_device):
    assert "line: not a heap" in refusal(rows_of, host_device, Graph.from_arcs("line", 2, [0], [1], [1]))


@pytest.mark.parametrize(("copies", "said"), [(1, "vertex"), (3, "copies have different dominators")])
def test_wrong_dominators_are_named(host_device, monkeypatch, copies, said):
    original = iterative_tree.Solver.solve

    def wrong(self, root=None, phases=None):
        answer = original(self, root, phases)
        answer.idom[7] = 5 if answer.idom[7] != 5 else 6
        return answer

    monkeypatch.setattr(iterative_tree.Solver, "solve", wrong)
    rows = rows_of(host_device, heap(copies=copies), variants=["iterative-tree"])
    assert [row["status"] for row in rows] == ["invalid"] * 2
    assert said in rows[0]["reason"]


def test_a_wrong_sum_is_named(host_device, monkeypatch):
    original = retained.retained_sizes

    def wrong(device, idom, sizes, root):
        sums = original(device, idom, sizes, root)
        sums[9] += 1
        return sums

    monkeypatch.setattr(retained, "retained_sizes", wrong)
    rows = rows_of(host_device, heap(), variants=["iterative-tree"])
    assert {row["reason"] for row in rows} == {"an answer other than the proven one"}
    monkeypatch.setattr("relaxometer.problems.dominators._retained.retained_sizes", wrong)
    rows = rows_of(host_device, heap(), variants=["iterative-tree"])
    assert [row["reason"].endswith("has a wrong sum") for row in rows] == [True, True]
