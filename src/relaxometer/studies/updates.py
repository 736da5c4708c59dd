"""Updates of dominators: the time to follow the removal and return of arcs, compared with a full solve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.device import Device
from relaxometer.graphs.fingerprint import Fingerprint
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators import NO_DOMINATOR, Answer, iterative_tree
from relaxometer.problems.dominators.certify import DominatorsCertifier
from relaxometer.problems.dominators.incremental import incremental
from relaxometer.race.sources import sources_table
from relaxometer.studies.study import OUTCOME, WHERE, Row, outcome, study_table

TABLE = pa.schema(
    [
        *[("graph", pa.string()), ("change", pa.string()), ("arcs", pa.int64()), ("repetition", pa.int32())],
        *[("time_ms", pa.float64()), ("full_ms", pa.float64()), ("kept", pa.float64())],
        *(*OUTCOME, *WHERE),
    ]
)
"""One row per update, which ``removed`` or ``added`` arcs: its time, the time of `iterative-tree` on the
changed graph, and `kept`, the share of the vertices reached before whose dominators it kept as a start."""

CHANGES = ("removed", "added")

Ends = npt.NDArray[np.int64]


def measure_updates(
    graph: Graph, device: Device, *, arcs: Sequence[int], repetitions: int, seed: int
) -> pa.Table:
    """Time `incremental` while arcs leave a graph and return, and prove the dominators of every state.

    `arcs` are numbers of arcs per update, each drawn `repetitions` times; a draw is removed, then added
    again. A graph with fewer arcs loses all of them. `seed` draws the root, as the first source of a run, and
    the arcs. The table has the schema `TABLE`.
    """
    keys = [
        {"change": change, "arcs": count, "repetition": repetition}
        for count in arcs
        for repetition in range(repetitions)
        for change in CHANGES
    ]
    sizes = [count for count in arcs for _ in range(repetitions)]
    return study_table("updates", graph, device, TABLE, keys, _updates(graph, sizes, seed, device))


def _updates(graph: Graph, sizes: Sequence[int], seed: int, device: Device) -> Iterator[Row]:
    rng = np.random.default_rng(seed)
    changing = _ChangingGraph(graph, seed, device)
    # Kernels are compiled at their first call, some of them only by a removal that moves dominators.
    changing.remove_and_add(changing.draw(rng, sizes[0]))
    changing.remove_and_add(changing.into_a_leaf())
    for size in sizes:
        yield from changing.remove_and_add(changing.draw(rng, size))


class _ChangingGraph:
    """`incremental` and `iterative-tree` set up on one graph and root."""

    def __init__(self, graph: Graph, seed: int, device: Device) -> None:
        self._graph, self._device = graph, device
        self._root = int(sources_table(graph, 1, seed)["source"][0].as_py())
        self._tails = graph.tails
        self._whole = _State(graph, self._root, device)
        parameters = incremental.Parameters.model_validate({})
        resident = ResidentGraph.upload(device, graph)
        self._solver, self._fingerprint = incremental.Solver(resident, parameters), Fingerprint(resident)
        answer = self._solver.solve(self._root)
        self._idom = device.asnumpy(answer.idom)
        self._reached = _count_reached(answer)

    def into_a_leaf(self) -> Ends:
        """Return all arcs into a reached vertex that dominates no other and has few outgoing arcs."""
        may_go = self._idom != NO_DOMINATOR
        may_go[self._idom[may_go]] = False
        may_go[self._root] = False
        leaf = np.argmin(np.where(may_go, np.diff(self._graph.offsets), self._graph.n_arcs + 1))
        arcs = np.flatnonzero((self._graph.targets == leaf) & may_go[leaf])
        return np.column_stack([self._tails[arcs], self._graph.targets[arcs]]).astype(np.int64)

    def draw(self, rng: np.random.Generator, count: int) -> Ends:
        drawn = rng.choice(self._graph.n_arcs, min(count, self._graph.n_arcs), replace=False)
        return np.column_stack([self._tails[drawn], self._graph.targets[drawn]]).astype(np.int64)

    def remove_and_add(self, ends: Ends) -> list[Row]:
        without = _State(self._less(ends), self._root, self._device)
        return [self._update(without, {"removed": ends}), self._update(self._whole, {"added": ends})]

    def _update(self, after: _State, change: dict[str, Ends]) -> Row:
        self._fingerprint.warm_up()  # both solvers begin after a launch, not one after work of the host
        with self._device.timer() as timer:
            answer = self._solver.apply(**change)
        before, self._reached = self._reached, _count_reached(answer)
        reason = after.refusal(answer.idom)
        self._fingerprint.warm_up()
        full_ms, full_reason = after.solve()
        kept = self._solver.kept / before
        return {"time_ms": timer.ms, "full_ms": full_ms, "kept": kept, **outcome(reason or full_reason)}

    def _less(self, ends: Ends) -> Graph:
        graph, half = self._graph, 32
        keys = self._tails.astype(np.int64) << half | graph.targets
        stays = ~np.isin(keys, ends[:, 0] << half | ends[:, 1])
        offsets = np.concatenate([[0], np.cumsum(stays)])[graph.offsets]
        return Graph(graph.name, offsets, graph.targets[stays], graph.weights[stays])


def _count_reached(answer: Answer) -> int:
    return int((answer.idom != NO_DOMINATOR).sum())


class _State:
    """The graph between two updates: its full solve, and the proof of its dominators."""

    def __init__(self, graph: Graph, root: int, device: Device) -> None:
        resident = ResidentGraph.upload(device, graph)
        self._device, self._root = device, root
        self._solver = iterative_tree.Solver(resident, iterative_tree.Parameters())
        self._certifier = DominatorsCertifier(resident)

    def solve(self) -> tuple[float, str]:
        """Solve from scratch; return the time, and why the answer is refused or an empty string."""
        with self._device.timer() as timer:
            answer = self._solver.solve(self._root)
        return timer.ms, self.refusal(answer.idom)

    def refusal(self, idom: Any) -> str:
        """Return why an answer is refused; empty if it is proven."""
        return self._certifier.check(self._root, idom).reason
