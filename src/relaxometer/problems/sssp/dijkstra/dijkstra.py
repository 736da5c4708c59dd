"""Dijkstra with one settled vertex per step, found by a reduction (algorithm 1 of the survey)."""

import time
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp.dijkstra._extract_min import blocks_for


class Parameters(variants.Parameters):
    """The shape of the reduction, and its limit."""

    threads: Literal[128, 256, 512, 1024] = 512
    """Threads per block. The survey found 512 the fastest on large graphs."""
    limit: PositiveInt = 300_000
    """Graphs with more vertices than this are skipped: the work grows with their square."""


class Solver(variants.SolverBase):
    """SSSP that settles the nearest queued vertex in each step.

    Skipped if the graph has more vertices than the parameter `limit`.

    References
    ----------
    "Single-source shortest paths in parallel with CUDA" (survey, in Chinese), section 3.
    Harris, "Optimizing Parallel Reduction in CUDA", 2007.
    """

    weight_types: ClassVar = {"uint32", "float32"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        n = graph.n_vertices
        if n > parameters.limit:
            raise variants.Skipped(
                f"{n:,} vertices; the n^2 steps of dijkstra are run up to limit = {parameters.limit:,}"
            )
        super().__init__(graph, parameters)
        device = graph.device
        module = device.module(
            Path(__file__).with_name("dijkstra.cu"), cooperative=True, options=graph.lengths.options
        )
        kernel = module.get_function("dijkstra")
        most = device.max_cooperative_blocks(kernel, parameters.threads)
        self._blocks = min(blocks_for(n, parameters.threads), most)
        xp = device.xp
        self._queue, self._distance, self._predecessor = (xp.empty(n, dtype=xp.uint32) for _ in range(3))
        minima = xp.empty(self._blocks, dtype=xp.uint64)
        self._overflow, self._steps = (xp.zeros(1, dtype=xp.uint32) for _ in range(2))
        state = (self._queue, self._distance, self._predecessor, minima, self._overflow, self._steps)
        self._launch = kernel.bind(self._blocks, parameters.threads, (*graph.csr, *state))
        self.resolved["blocks"] = self._blocks

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; phases are steps, but an instrumented run records one."""
        start = time.perf_counter()
        lengths = self._graph.lengths
        self._queue.fill(lengths.unreached)
        self._distance.fill(lengths.unreached)
        self._predecessor.fill(NO_PREDECESSOR)
        self._overflow.fill(0)
        self._queue[source] = self._distance[source] = 0
        self._predecessor[source] = source
        self._launch()
        device = self._graph.device
        steps = device.item(self._steps)
        if phases is not None:
            elapsed_ms = (time.perf_counter() - start) * 1e3
            settled = device.asnumpy(self._distance) != lengths.unreached
            arcs = int(self._graph.host.degrees[settled].sum())
            phases.append(Phase("all", steps - 1, arcs, elapsed_ms))
        overflowed = bool(device.item(self._overflow))
        return Answer(lengths.distance(self._distance.copy()), self._predecessor.copy(), steps, overflowed)
