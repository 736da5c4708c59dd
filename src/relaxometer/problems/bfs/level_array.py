"""One thread per vertex at every level: the baseline for the other variants."""

from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs._levels import Levels, kernels, over
from relaxometer.problems.phases import Phase, PhaseLog

Parameters = variants.NoParameters


class Solver(variants.SolverBase):
    """BFS by one all-vertex kernel per level, launched by the host, which reads a word back each time.

    References
    ----------
    Harish and Narayanan, "Accelerating Large Graph Algorithms on the GPU Using CUDA", HiPC 2007.
    """

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        super().__init__(graph, parameters)
        self._last_depth = graph.device.xp.zeros(1, dtype=np.uint32)
        csr = np.uint32(graph.n_vertices), graph.offsets, graph.targets
        arguments = (*csr, np.uint32(0), None, None, self._last_depth)
        kernel = kernels(graph.device, "level_array.cu").get_function("level_array")
        self._run_level = kernel.bind(*over(graph.n_vertices), arguments)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`."""
        graph, answer = self._graph, Levels(self._graph, source)
        self._run_level.set(level=answer.level, predecessor=answer.predecessor)
        self._last_depth.fill(0)
        log = PhaseLog(graph.device, phases)
        depth = 0
        found = True
        while found:
            self._run_level(depth=np.uint32(depth))
            depth += 1
            found = graph.device.item(self._last_depth) == depth
            if log.wanted:
                elapsed_ms = log.elapsed_ms()
                of_level = self._vertices_at(depth - 1, answer.level)
                examined = int((graph.offsets[of_level + 1] - graph.offsets[of_level]).sum())
                log.end("top-down", len(self._vertices_at(depth, answer.level)), examined, elapsed_ms)
        return Answer(answer.level, answer.predecessor, depth)

    def _vertices_at(self, depth: int, level: DeviceArray) -> Any:
        return self._device.xp.flatnonzero(level == np.uint32(depth))
