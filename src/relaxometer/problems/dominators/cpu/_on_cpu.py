"""Common to the project's own solvers on the CPU: one core, or all for a batch."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numba
import numpy as np
import numpy.typing as npt
from pydantic import PositiveInt

from relaxometer.core.environment import usable_cores
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._flow_graphs import FlowGraphs, Ids
from relaxometer.problems.phases import Phase

Bounds = npt.NDArray[np.int64]
SHARES = 4  # shares of a batch per core, since graphs of as many arcs do not take equally long


class CpuParameters(variants.Parameters):
    """How many cores work."""

    cores: PositiveInt | Literal["all"] = 1
    """Cores that share the graphs of a batch; a single graph takes one core."""


def cores_of(wanted: int | Literal["all"]) -> int:
    """Return how many of the wanted cores this process can use."""
    # Numba cannot start more threads than it found.
    threads: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    most = min(usable_cores(), threads)
    return most if wanted == "all" else min(wanted, most)


def answer_of(idom: Ids, rounds: int, n_arcs: int, phases: list[Phase] | None) -> Answer:
    """Return the answer of a search in some rounds, 0 if it has none; record the search as one phase."""
    if phases is not None:
        phases.append(Phase("cpu", len(idom), n_arcs * max(rounds, 1), 0.0))
    return Answer(idom, rounds or None)


class CpuSolver:
    """Immediate dominators by a compiled function."""

    runs_on: ClassVar[Literal["cpu"]] = "cpu"
    takes: ClassVar[Literal["either"]] = "either"
    find: ClassVar[Callable[..., int]]
    """Takes :class:`FlowGraphs` and a uint32 array for the answer; returns the largest number of rounds of a
    graph, 0 if the algorithm has none."""
    find_on_cores: ClassVar[Callable[..., int]]
    """The same on several cores; takes also the first graph of every share, and the number of graphs."""

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: CpuParameters) -> None:
        self._graphs = FlowGraphs.of(graph)
        self._cores = cores_of(parameters.cores) if len(self._graphs.roots) > 1 else 1
        self._bounds = self._shares()
        # The first call compiles.
        if self._cores == 1:
            type(self).find(FlowGraphs.one_vertex(), np.empty(1, dtype=np.uint32))
        else:
            type(self).find_on_cores(FlowGraphs.one_vertex(), np.empty(1, dtype=np.uint32), np.arange(2))

    def _shares(self) -> Bounds:
        """Cut the graphs into shares of similar numbers of arcs."""
        first_arc = self._graphs.out.offsets[self._graphs.first_vertex]
        wanted = np.linspace(0, first_arc[-1], self._cores * SHARES + 1)[1:-1]
        cuts = np.searchsorted(first_arc[:-1], wanted)
        return np.concatenate([[0], cuts, [len(first_arc) - 1]]).astype(np.int64)

    @property
    def resolved(self) -> dict[str, Any]:
        """The cores that work."""
        return {"cores": self._cores}

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators; an instrumented run records the search as one phase."""
        graphs = self._graphs.rooted_at(root)
        idom = np.empty(graphs.n_vertices, dtype=np.uint32)
        if self._cores == 1:
            rounds = type(self).find(graphs, idom)
        else:
            numba.set_num_threads(self._cores)
            rounds = type(self).find_on_cores(graphs, idom, self._bounds)
        return answer_of(idom, rounds, len(graphs.out.ends), phases)
