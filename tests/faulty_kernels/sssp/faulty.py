"""Dijkstra's algorithm, and a fault after each search."""

import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

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

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, dijkstra_cpu.Parameters())
        self._fault = parameters.fault
        self.resolved = {"fault": {1, 2} if self._fault == "not-json" else self._fault}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Any:
        """Find the shortest paths from `source`, then fail."""
        answer = super().solve(source, phases)
        return FAULTS.get(self._fault, lambda solver, right: right)(self, answer)


def has(distance: Callable[[Any], Any]) -> Callable[[Solver, Any], Any]:
    """Return the fault that computes distances from right ones."""
    return lambda solver, answer: replace(answer, distance=distance(answer.distance))


def overrun(solver: Solver, answer: Any) -> Any:
    """Write far beyond a block on the heap."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(8), 7, 1 << 40)
    return answer


def out_of_memory(solver: Solver, answer: Any) -> Any:
    """Ask for more memory than there is."""
    return replace(answer, distance=np.zeros(1 << 60, np.uint32))


FAULTS: dict[str, Callable[[Solver, Any], Any]] = {
    "overrun": overrun,
    "exit-0": lambda solver, answer: os._exit(0),
    "kills-parent": lambda solver, answer: os.kill(os.getppid(), signal.SIGKILL),
    "wrong-type": has(distance=lambda column: column.astype(np.float64)),
    "wrong-distances": has(distance=lambda column: column + (column > 0).astype(np.uint32)),
    "out-of-memory": out_of_memory,
}
"""What is done with a right answer, by the name of the fault."""
