"""Dijkstra's algorithm with a binary heap on one CPU core: the baseline for every kernel."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import UNREACHED, Answer
from relaxometer.problems.sssp.dijkstra._heap import compiled_heap

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Parameters(variants.Parameters):
    """No parameters."""


class Solver:
    """SSSP that settles one vertex after another, compiled with Numba.

    The heap holds words of 64 bits, distance << 32 | vertex. When a vertex comes nearer, another entry is
    pushed; the stale one is dropped when it is popped.

    References
    ----------
    Dijkstra, "A Note on Two Problems in Connexion with Graphs", Numerische Mathematik 1, 1959.
    """

    runs_on: ClassVar[Literal["device", "cpu"]] = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._csr = (graph.host.offsets, graph.host.targets, graph.host.weights)
        self._search = _compiled()
        nothing = np.zeros(0, dtype=np.uint32)
        self._search(np.zeros(2, dtype=np.int64), nothing, nothing, 0)

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`.

        There are no phases; an instrumented run records the search as one.
        """
        distance, predecessor, relaxed, overflowed = self._search(*self._csr, source)
        if phases is not None:
            phases.append(Phase("heap", int((predecessor != source).sum()), int(relaxed), 0.0))
        return Answer(distance, predecessor, None, bool(overflowed))


@cache
def _compiled() -> Any:
    """Compile the search, and import Numba."""
    from numba import njit

    push, pop = compiled_heap()
    unreached = UNREACHED
    low = np.uint64(32)

    @njit(cache=True)
    def search(offsets, targets, weights, source):  # type: ignore[no-untyped-def]
        n = len(offsets) - 1
        distance = np.full(n, unreached, dtype=np.uint32)
        predecessor = np.full(n, unreached, dtype=np.uint32)
        heap = np.empty(len(targets) + 1, dtype=np.uint64)
        distance[source] = 0
        predecessor[source] = source
        heap[0] = np.uint64(source)
        size = 1
        relaxed = 0
        overflowed = False
        while size > 0:
            entry = pop(heap, size)
            size -= 1
            v = np.uint32(entry)
            if np.uint32(entry >> low) > distance[v]:
                continue
            relaxed += offsets[v + 1] - offsets[v]
            for i in range(offsets[v], offsets[v + 1]):
                length = np.uint64(distance[v]) + np.uint64(weights[i])
                head = targets[i]
                if length >= np.uint64(unreached):
                    overflowed = True
                elif length < np.uint64(distance[head]):
                    distance[head] = np.uint32(length)
                    predecessor[head] = v
                    push(heap, size, length << low | np.uint64(head))
                    size += 1
        return distance, predecessor, relaxed, overflowed

    return search
