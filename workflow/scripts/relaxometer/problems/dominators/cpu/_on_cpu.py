"""The frame of the solvers on one CPU core: graphs or batches in, immediate dominators out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._flow_graphs import FlowGraphs
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.graphs.resident_batch import ResidentBatch


class CpuSolver:
    """Immediate dominators by a compiled function over the arrays of :class:`FlowGraphs`.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
    parameters : Parameters
    """

    runs_on: ClassVar[Literal["cpu"]] = "cpu"
    takes: ClassVar[Literal["either"]] = "either"
    find: ClassVar[Callable[..., int]]
    """Compiled: takes the arrays of the graphs and a uint32 array for the answer, returns the most rounds."""

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Any) -> None:
        self._graphs = FlowGraphs.of(graph)
        arcs = (np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.uint32))
        one_vertex = FlowGraphs(np.array([0, 1]), np.zeros(1, dtype=np.uint32), *arcs, *arcs)
        # The first call compiles.
        type(self).find(*one_vertex.arrays, np.empty(1, dtype=np.uint32))

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators; see :class:`relaxometer.problems.dominators.Solver`.

        An instrumented run records the whole search as one phase.
        """
        graphs = self._graphs.rooted_at(source)
        idom = np.empty(len(graphs.offsets) - 1, dtype=np.uint32)
        rounds = type(self).find(*graphs.arrays, idom)
        if phases is not None:
            phases.append(Phase("cpu", len(idom), len(graphs.targets) * max(rounds, 1), 0.0))
        return Answer(idom, rounds or None)
