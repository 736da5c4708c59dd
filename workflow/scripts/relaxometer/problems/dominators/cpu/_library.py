"""The frame of solvers that call a graph library on the CPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from relaxometer.problems import variants
from relaxometer.problems.dominators import NO_DOMINATOR, Answer
from relaxometer.problems.dominators._flow_graphs import FlowGraphs
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.graphs.resident_batch import ResidentBatch


class LibrarySolver:
    """Immediate dominators by a library's function, one graph after the other.

    The library's own graphs are built ahead. What is timed is its function and the copy of what it returns
    into an array.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
    parameters : Parameters

    Raises
    ------
    Skipped
        If the library is not installed.
    """

    runs_on: ClassVar[Literal["cpu"]] = "cpu"
    takes: ClassVar[Literal["either"]] = "either"
    package: ClassVar[str]

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Any) -> None:
        try:
            self.library = importlib.import_module(self.package)
        except ImportError:
            raise variants.Skipped(
                f"{self.package} is not installed: install relaxometer's extra peers"
            ) from None
        self._graphs = graphs = FlowGraphs.of(graph)
        bounds = list(zip(graphs.first_vertex[:-1], graphs.first_vertex[1:], strict=True))
        self._built = [self._build_one(int(first), int(end)) for first, end in bounds]

    def _build_one(self, first: int, end: int) -> Any:
        offsets = self._graphs.offsets[first : end + 1]
        tails = np.repeat(np.arange(end - first), np.diff(offsets))
        return self.build(end - first, tails, self._graphs.targets[offsets[0] : offsets[-1]])

    def build(self, n: int, tails: npt.NDArray[Any], heads: npt.NDArray[Any]) -> Any:
        """Return the library's graph with these arcs."""
        raise NotImplementedError

    def dominators(self, built: Any, root: int, idom: npt.NDArray[np.uint32]) -> None:
        """Enter the immediate dominators of a graph into `idom`, which is preset to "none"."""
        raise NotImplementedError

    @property
    def resolved(self) -> dict[str, Any]:
        """The library's version."""
        return {"version": self.library.__version__}

    def solve(self, source: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators; see :class:`relaxometer.problems.dominators.Solver`."""
        graphs = self._graphs.rooted_at(source)
        idom = np.full(len(graphs.offsets) - 1, NO_DOMINATOR, dtype=np.uint32)
        starts = graphs.first_vertex[:-1].tolist()
        ends = graphs.first_vertex[1:].tolist()
        for built, root, first, end in zip(self._built, graphs.entries.tolist(), starts, ends, strict=True):
            self.dominators(built, root, idom[first:end])
        if phases is not None:
            phases.append(Phase("library", len(idom), len(graphs.targets), 0.0))
        return Answer(idom, None)
