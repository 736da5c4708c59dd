"""SciPy's Dijkstra, with a Fibonacci heap, on one CPU core."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED, Answer

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

MAX_ARCS = 2**31 - 1
"""SciPy counts arcs in signed integers of 32 bits."""


class Parameters(variants.Parameters):
    """No parameters."""


class Solver:
    """SSSP by ``scipy.sparse.csgraph.dijkstra``.

    Its distances are float64, so lengths that fit 32 bits are exact. Zero weights are explicit entries of
    the sparse matrix; SciPy drops zeros only when it converts a dense matrix.

    Raises
    ------
    Skipped
        If the graph has 2**31 arcs or more.
    """

    runs_on: ClassVar[Literal["device", "cpu"]] = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        if graph.n_arcs > MAX_ARCS:
            raise variants.Skipped(f"{graph.n_arcs:,} arcs; SciPy's indices hold up to {MAX_ARCS:,}")
        host, n = graph.host, graph.n_vertices
        indices = (host.targets.astype(np.int32), host.offsets.astype(np.int32))
        self._matrix = csr_array((host.weights.astype(np.float64), *indices), shape=(n, n))
        self._degrees = host.degrees
        self._dijkstra = dijkstra

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`.

        There are no phases; an instrumented run records the search as one. Paths longer than 2**32 - 2 set
        the answer's flag, and their ends count as unreached.
        """
        start = time.perf_counter()
        exact, before = self._dijkstra(self._matrix, indices=source, return_predecessors=True)
        reached = exact < UNREACHED
        distance = np.where(reached, exact, UNREACHED).astype(np.uint32)
        predecessor = np.where(reached, before, NO_PREDECESSOR).astype(np.uint32)
        predecessor[source] = source
        if phases is not None:
            elapsed_ms = (time.perf_counter() - start) * 1e3
            arcs = int(self._degrees[reached].sum())
            phases.append(Phase("heap", int(reached.sum()) - 1, arcs, elapsed_ms))
        return Answer(distance, predecessor, None, bool((np.isfinite(exact) & ~reached).any()))
