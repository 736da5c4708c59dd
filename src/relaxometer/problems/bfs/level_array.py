"""One thread per vertex at every level: the baseline for the other variants."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs._levels import LevelLog, Levels, kernels, over
from relaxometer.problems.phases import Phase


class Parameters(variants.Parameters):
    """No parameters."""


class Solver:
    """BFS by one all-vertex kernel per level, launched by the host, which reads a word back each time.

    References
    ----------
    Harish and Narayanan, "Accelerating Large Graph Algorithms on the GPU Using CUDA", HiPC 2007.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        self._tally_kernel = kernels(graph.device, "_tally.cu").get_function("tally")
        self._last_depth = graph.device.xp.zeros(1, dtype=np.uint32)
        csr = np.uint32(graph.n_vertices), graph.offsets, graph.targets
        arguments = (*csr, np.uint32(0), None, None, self._last_depth)
        kernel = kernels(graph.device, "level_array.cu").get_function("level_array")
        self._run_level = kernel.bind(*over(graph.n_vertices), arguments)
        self._tally = graph.device.xp.zeros(2, dtype=np.uint64)

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`."""
        graph, answer = self._graph, Levels(self._graph, source)
        self._run_level.set(level=answer.level, predecessor=answer.predecessor)
        self._last_depth.fill(0)
        log = LevelLog(graph.device, phases)
        depth = 0
        found = True
        while found:
            self._run_level(depth=np.uint32(depth))
            depth += 1
            found = graph.device.item(self._last_depth) == depth
            if log.wanted:
                elapsed_ms = log.elapsed_ms()
                _, examined = self._count(answer.level, depth - 1)
                updated, _ = self._count(answer.level, depth)
                log.end_level("top-down", updated, examined, elapsed_ms)
        return Answer(answer.level, answer.predecessor, depth)

    def _count(self, level: DeviceArray, depth: int) -> tuple[int, int]:
        """Count the vertices at a level and the arcs that leave them."""
        graph = self._graph
        self._tally.fill(0)
        arguments = (np.uint32(graph.n_vertices), graph.offsets, level, np.uint32(depth), self._tally)
        self._tally_kernel(*over(graph.n_vertices), arguments)
        vertices, arcs = graph.device.asnumpy(self._tally).tolist()
        return vertices, arcs
