"""Common to the solvers that call a graph library on one CPU core."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from relaxometer.core.environment import how_to_install
from relaxometer.problems import variants
from relaxometer.problems.dominators import NO_DOMINATOR, Answer
from relaxometer.problems.dominators._flow_graphs import FlowGraphs
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.graphs.resident_batch import ResidentBatch


class LibrarySolver(ABC):
    """Immediate dominators by a library's function, called once per graph.

    The constructor builds the library's graphs. A search includes copying the result into an array.

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
            raise variants.Skipped(f"{self.package} is not installed{how_to_install(self.package)}") from None
        self._graphs = graphs = FlowGraphs.of(graph)
        self._bounds = list(pairwise(graphs.first_vertex.tolist()))
        self._built = [self._build_one(first, end) for first, end in self._bounds]

    def _build_one(self, first: int, end: int) -> Any:
        offsets = self._graphs.out.offsets[first : end + 1]
        tails = np.repeat(np.arange(end - first), np.diff(offsets))
        return self.build(end - first, tails, self._graphs.out.ends[offsets[0] : offsets[-1]])

    @abstractmethod
    def build(self, n: int, tails: npt.NDArray[Any], heads: npt.NDArray[Any]) -> Any:
        """Return the library's graph with these arcs."""

    @abstractmethod
    def dominators(self, built: Any, root: int, idom: npt.NDArray[np.uint32]) -> None:
        """Write the immediate dominators of a graph into `idom`, which is filled with `NO_DOMINATOR`."""

    @property
    def resolved(self) -> dict[str, Any]:
        """The library's version."""
        return {"version": self.library.__version__}

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators."""
        graphs = self._graphs.rooted_at(root)
        idom = np.full(graphs.n_vertices, NO_DOMINATOR, dtype=np.uint32)
        roots = graphs.roots.tolist()
        for built, own_root, (first, end) in zip(self._built, roots, self._bounds, strict=True):
            self.dominators(built, own_root, idom[first:end])
        if phases is not None:
            phases.append(Phase("library", len(idom), len(graphs.out.ends), 0.0))
        return Answer(idom, None)
