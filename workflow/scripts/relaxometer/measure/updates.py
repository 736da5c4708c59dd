"""Updates of dominators: how long they take when so many arcs go and come back, beside a full solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.progress import Progress
from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.measure.sources import sources_table
from relaxometer.problems.dominators import NO_DOMINATOR, Answer, incremental, iterative_tree
from relaxometer.problems.dominators.certify import DominatorsCertifier

TABLE = pa.schema(
    [
        ("graph", pa.string()),
        ("change", pa.string()),
        ("arcs", pa.int64()),
        ("repetition", pa.int32()),
        ("time_ms", pa.float64()),
        ("full_ms", pa.float64()),
        ("kept", pa.float64()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("device_kind", pa.string()),
        ("device", pa.string()),
    ]
)
"""A row for each update: arcs were ``removed`` or ``added``; the time of the update, that of `iterative-tree`
on the graph as it is then, and the share of the vertices reached before whose dominators it began with."""

CHANGES = ("removed", "added")

Ends = npt.NDArray[np.int64]


def measure_updates(
    graph: Graph, counts: Sequence[int], *, repetitions: int, seed: int, device: Device
) -> pa.Table:
    """Time `incremental` where arcs are taken from a graph and given back, and prove every state.

    Parameters
    ----------
    graph : Graph
    counts : sequence of int
        Numbers of arcs in an update. A graph with fewer loses all.
    repetitions : int
        Draws of arcs for each number; each is removed, and then added again.
    seed : int
        Of the root, which is drawn as a run's first source is, and of the arcs.
    device : Device

    Returns
    -------
    Table of the schema `TABLE`
    """
    draws = [(count, repetition) for count in counts for repetition in range(repetitions)]
    progress = Progress(f"updates {graph.name}: draws", len(draws))
    rng = np.random.default_rng(seed)
    results: list[dict[str, Any]] = []
    failure = {}
    try:
        study = _Study(graph, seed, device)
        # Kernels are compiled at their first call.
        study.remove_and_add(study.draw(rng, counts[0]))
        for count, _ in draws:
            results += study.remove_and_add(study.draw(rng, count))
            progress.step()
    except DeviceOutOfMemory as error:
        failure = {"status": "oom", "reason": str(error)}
    keys = [
        {"change": change, "arcs": count, "repetition": repetition}
        for count, repetition in draws
        for change in CHANGES
    ]
    results += [failure] * (len(keys) - len(results))
    identity = {"graph": graph.name, "device_kind": device.kind, "device": device.name}
    rows = [identity | key | result for key, result in zip(keys, results, strict=True)]
    return pa.Table.from_pylist(rows, TABLE)


class _Study:
    """`incremental` and `iterative-tree` set up on one graph and root."""

    def __init__(self, graph: Graph, seed: int, device: Device) -> None:
        self._graph, self._device = graph, device
        self._root = int(sources_table(graph, 1, seed)["source"][0].as_py())
        self._tails = graph.tails
        self._whole = _State(graph, self._root, device)
        parameters = incremental.Parameters.model_validate({})
        self._solver = incremental.Solver(ResidentGraph.upload(device, graph), parameters)
        self._reached = _count_reached(self._solver.solve(self._root))

    def draw(self, rng: np.random.Generator, count: int) -> Ends:
        """Draw arcs of the graph: tails and heads."""
        drawn = rng.choice(self._graph.n_arcs, min(count, self._graph.n_arcs), replace=False)
        return np.column_stack([self._tails[drawn], self._graph.targets[drawn]]).astype(np.int64)

    def remove_and_add(self, ends: Ends) -> list[dict[str, Any]]:
        """Take arcs away and give them back; return times, status and what was kept for both."""
        without = _State(self._less(ends), self._root, self._device)
        return [self._update(without, {"removed": ends}), self._update(self._whole, {"added": ends})]

    def _update(self, after: _State, change: dict[str, Ends]) -> dict[str, Any]:
        """Change the graph to the state that is `after`."""
        with self._device.timer() as timer:
            answer = self._solver.apply(**change)
        before, self._reached = self._reached, _count_reached(answer)
        reason = after.refusal(answer.idom)
        full_ms, full_reason = after.solve()
        return {
            "time_ms": timer.ms,
            "full_ms": full_ms,
            "kept": self._solver.kept / before,
            "status": "invalid" if reason or full_reason else "ok",
            "reason": reason or full_reason,
        }

    def _less(self, ends: Ends) -> Graph:
        """Return the graph without some arcs, parallel ones included."""
        graph, half = self._graph, 32
        keys = self._tails.astype(np.int64) << half | graph.targets
        stays = ~np.isin(keys, ends[:, 0] << half | ends[:, 1])
        offsets = np.concatenate([[0], np.cumsum(stays)])[graph.offsets]
        return Graph(graph.name, offsets, graph.targets[stays], graph.weights[stays])


def _count_reached(answer: Answer) -> int:
    return int((answer.idom != NO_DOMINATOR).sum())


class _State:
    """The graph as it is between two updates: its full solve, and the proof of its dominators."""

    def __init__(self, graph: Graph, root: int, device: Device) -> None:
        resident = ResidentGraph.upload(device, graph)
        self._device, self._root = device, root
        self._solver = iterative_tree.Solver(resident, iterative_tree.Parameters())
        self._certifier = DominatorsCertifier(resident)

    def solve(self) -> tuple[float, str]:
        """Return the time of a full solve, and why its answer was refused, if it was."""
        with self._device.timer() as timer:
            answer = self._solver.solve(self._root)
        return timer.ms, self.refusal(answer.idom)

    def refusal(self, idom: Any) -> str:
        """Return why an answer is no proven one; empty if it is."""
        return self._certifier.check(self._root, idom).reason
