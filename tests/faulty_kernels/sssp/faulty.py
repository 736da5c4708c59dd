"""Dijkstra's algorithm, and a fault after each search."""

import ctypes
import os
import signal
import sys
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
        One of `FAULTS`, or "none".
    """

    fault: str = "none"


class Solver(dijkstra_cpu.Solver):
    """Right answers, with a fault of the driver."""

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, dijkstra_cpu.Parameters())
        self.resolved = parameters.model_dump()

    def solve(self, source: int, phases: list[Phase] | None = None) -> Any:
        """Find the shortest paths from `source`, then fail."""
        answer = super().solve(source, phases)
        return FAULTS.get(self.resolved["fault"], lambda right: right)(answer)


FAULTS: dict[str, Callable[[Any], Any]] = {
    "null-pointer": lambda answer: ctypes.string_at(0),
    "exit-0": lambda answer: os._exit(0),
    "kills-parent": lambda answer: os.kill(os.getppid(), signal.SIGKILL),
    "system-exit": lambda answer: sys.exit("enough"),
    "wrong-type": lambda answer: replace(answer, distance=answer.distance.astype(np.float64)),
    "wrong-predecessors": lambda answer: replace(answer, predecessor=np.roll(answer.predecessor, 1)),
    "out-of-memory": lambda answer: replace(answer, distance=np.zeros(1 << 60, np.uint32)),
}
"""What is done with a right answer, by the name of the fault."""
