"""Dijkstra's algorithm, and a fault after each search."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu


class Parameters(variants.Parameters):
    """Parameters of the search.

    Parameters
    ----------
    fault : str
        One of `FAULTS`, "not-json" or "none".
    """

    fault: str = "none"


class Solver(dijkstra_cpu.Solver):
    """Right answers, with a fault of the driver."""

    kept: ClassVar[list[Any]] = []

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, dijkstra_cpu.Parameters())
        self.graph, self._fault = graph, parameters.fault
        self.resolved = {"fault": {1, 2} if self._fault == "not-json" else self._fault}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Any:
        """Find the shortest paths from `source`, then fail."""
        answer = super().solve(source, phases)
        return FAULTS.get(self._fault, lambda solver, right: right)(self, answer)


def edits(array: str) -> Callable[[Solver, Any], Any]:
    """Return the fault that changes the last entry of an array of the graph."""

    def edit(solver: Solver, answer: Any) -> Any:
        getattr(solver.graph, array)[-1] += 1
        return answer

    return edit


def has(**columns: Callable[[Any], Any]) -> Callable[[Solver, Any], Any]:
    """Return the fault that computes some columns from right ones."""
    return lambda solver, answer: replace(
        answer, **{name: change(getattr(answer, name)) for name, change in columns.items()}
    )


def loop(solver: Solver, answer: Any) -> Any:
    """Never return."""
    while True:
        pass


def overrun(solver: Solver, answer: Any) -> Any:
    """Write far beyond a block on the heap."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(8), 7, 1 << 40)
    return answer


def mend(solver: Solver, answer: Any) -> Any:
    """Answer wrongly, and mend the answer of the search before."""
    for distance, right in solver.kept:
        distance[:] = right
    solver.kept.append((answer.distance, answer.distance.copy()))
    answer.distance[:] = 0
    return answer


def out_of_memory(solver: Solver, answer: Any) -> Any:
    """Ask for more memory than there is."""
    return replace(answer, distance=np.zeros(1 << 60, np.uint32))


def one_column(solver: Solver, answer: Any) -> Any:
    """Leave out the predecessors."""
    return SimpleNamespace(columns={"distance": answer.distance}, phases=None)


FAULTS: dict[str, Callable[[Solver, Any], Any]] = {
    "edits-offsets": edits("offsets"),
    "edits-targets": edits("targets"),
    "edits-weights": edits("weights"),
    "loop": loop,
    "null-pointer": lambda solver, answer: ctypes.string_at(0),
    "overrun": overrun,
    "exit-0": lambda solver, answer: os._exit(0),
    "kills-parent": lambda solver, answer: os.kill(os.getppid(), signal.SIGKILL),
    "system-exit": lambda solver, answer: sys.exit("enough"),
    "unequal": has(predecessor=lambda column: column[:-1]),
    "two-dimensional": has(distance=lambda column: np.stack([column, column])),
    "wrong-type": has(distance=lambda column: column.astype(np.float64)),
    "one-column": one_column,
    "phases": lambda solver, answer: SimpleNamespace(columns=answer.columns, phases="many", overflowed=False),
    "mend": mend,
    "wrong-distances": has(distance=lambda column: column + (column > 0).astype(np.uint32)),
    "wrong-predecessors": has(predecessor=lambda column: np.roll(column, 1)),
    "out-of-memory": out_of_memory,
}
"""What is done with a right answer, by the name of the fault."""
