"""Common to the project's own solvers on one CPU core."""

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
    """Immediate dominators by a compiled function."""

    runs_on: ClassVar[Literal["cpu"]] = "cpu"
    takes: ClassVar[Literal["either"]] = "either"
    find: ClassVar[Callable[..., int]]
    """Takes :class:`FlowGraphs` and a uint32 array for the answer; returns the largest number of rounds of a
    graph, 0 if the algorithm has none."""

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Any) -> None:
        self._graphs = FlowGraphs.of(graph)
        # The first call compiles.
        type(self).find(FlowGraphs.one_vertex(), np.empty(1, dtype=np.uint32))

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators; an instrumented run records the search as one phase."""
        graphs = self._graphs.rooted_at(root)
        idom = np.empty(graphs.n_vertices, dtype=np.uint32)
        rounds = type(self).find(graphs, idom)
        if phases is not None:
            phases.append(Phase("cpu", len(idom), len(graphs.out.ends) * max(rounds, 1), 0.0))
        return Answer(idom, rounds or None)
