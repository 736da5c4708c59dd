"""Dijkstra's algorithm, and a fault after each search."""

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
    "kills-parent": lambda answer: os.kill(os.getppid(), signal.SIGKILL),
    "wrong-predecessors": lambda answer: replace(answer, predecessor=np.roll(answer.predecessor, 1)),
}
"""What is done with a right answer, by the name of the fault."""
