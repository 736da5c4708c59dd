"""Breadth-first search with a queue on one CPU core: the baseline for every kernel."""

from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.phases import Phase

Parameters = variants.NoParameters


class Solver(variants.SolverBase):
    """BFS that expands one vertex after another, compiled with Numba.

    References
    ----------
    Moore, "The shortest path through a maze", International Symposium on the Theory of Switching, 1959.
    """

    runs_on = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        from relaxometer.graphs.breadth_first import search  # loads Numba

        super().__init__(graph, parameters)
        self._rows = graph.host.offsets, graph.host.targets
        self._search = search
        self._search(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.uint32), 0)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; an instrumented run records the vertices and arcs of each level."""
        level, predecessor, queue, size = self._search(*self._rows, source)
        reached = queue[:size]
        deepest = int(level[reached[-1]])
        if phases is not None:
            phases += self._phases(level, reached, deepest)
        return Answer(level, predecessor, deepest + 1)

    def _phases(self, level: DeviceArray, reached: Any, deepest: int) -> list[Phase]:
        """Return what each level found and examined; their times are not told apart."""
        offsets, _ = self._rows
        degrees = offsets[reached + np.int64(1)] - offsets[reached]
        vertices = np.bincount(level[reached], minlength=deepest + 2)
        arcs = np.bincount(level[reached], weights=degrees, minlength=deepest + 1)
        return [
            Phase("top-down", int(found), int(examined), 0.0)
            for found, examined in zip(vertices[1:], arcs, strict=True)
        ]
