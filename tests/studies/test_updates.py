"""Updates of dominators: every state is proven, and every failure has a reason."""

import numpy as np

from dominator_samples import graph_of, random_graph
from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.graph import Graph
from relaxometer.problems.dominators.certify import DominatorsCertifier
from relaxometer.problems.dominators.incremental import incremental
from relaxometer.studies.updates import TABLE, measure_updates

COUNTS = [1, 20]


def updates(device, graph, counts=COUNTS, repetitions=2):
    return measure_updates(graph, device, arcs=counts, repetitions=repetitions, seed=1).to_pylist()


def sample():
    return random_graph(np.random.default_rng(4), 300, 700)


def test_every_update_is_a_row_and_every_state_proven(device, monkeypatch):
    checked = []
    original = DominatorsCertifier.check

    def counted(self, source, idom):
        checked.append(idom)
        return original(self, source, idom)

    monkeypatch.setattr(DominatorsCertifier, "check", counted)
    rows = updates(device, sample())
    assert list(rows[0]) == TABLE.names
    assert [(row["arcs"], row["repetition"], row["change"]) for row in rows] == [
        (count, repetition, change)
        for count in COUNTS
        for repetition in (0, 1)
        for change in ("removed", "added")
    ]
    assert {(row["status"], row["reason"]) for row in rows} == {("ok", "")}
    assert all(row["time_ms"] > 0 and row["full_ms"] > 0 and 0 <= row["kept"] <= 1 for row in rows)
    assert {(row["device_kind"], row["device"]) for row in rows} == {(device.kind, device.name)}
    assert {row["kept"] for row in rows if row["change"] == "added"} == {1.0}, "it keeps the tree"
    # The update and the full solve, including those of the two untimed changes.
    assert len(checked) == 2 * (len(rows) + 4)


def test_a_removal_that_moves_dominators_comes_before_the_timed_ones(host_device, monkeypatch):
    kept, original = [], incremental.Solver.apply

    def noted(self, added=(), removed=()):
        answer = original(self, added, removed)
        kept.append(self.kept)
        return answer

    monkeypatch.setattr(incremental.Solver, "apply", noted)
    rows = updates(host_device, sample(), [1], 1)
    untimed = kept[: -len(rows)]
    assert any(0 < some < max(kept) for some in untimed)


def test_a_small_graph_loses_all_arcs_and_parallel_ones_together(host_device):
    graph = graph_of("chain", 4, [(0, 1), (1, 2), (2, 3)])
    assert {row["status"] for row in updates(host_device, graph, [9])} == {"ok"}
    tails, heads = np.transpose([(0, 1), (0, 1), (1, 2), (0, 2), (2, 3), (2, 3)])
    graph = Graph.from_arcs("pairs", 4, tails, heads, np.ones(6, dtype=int), keep_parallel=True)
    assert {row["status"] for row in updates(host_device, graph, [1, 2, 3], 4)} == {"ok"}


def test_a_wrong_state_is_named_and_running_out_of_memory_has_its_own_status(host_device, monkeypatch):
    original = incremental.Solver.apply

    def failing(self, added=(), removed=()):
        if len(removed) > 1:
            raise DeviceOutOfMemory("9 GB")
        answer = original(self, added, removed)
        if len(added):
            answer.idom[7] = 7
        return answer

    monkeypatch.setattr(incremental.Solver, "apply", failing)
    rows = updates(host_device, sample(), repetitions=1)
    assert [row["status"] for row in rows] == ["ok", "invalid", "oom", "oom"]
    assert "first at vertex 7" in rows[1]["reason"]
    assert (rows[2]["time_ms"], rows[2]["reason"]) == (None, "9 GB")
