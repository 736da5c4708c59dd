"""Breadth-first search (BFS): one module a variant, its kernels in the ``.cu`` beside it.

A variant module offers

``Parameters``
    a :class:`~relaxometer.problems.variants.Parameters` model: what a config may set, with its defaults;
``Solver``
    a class with the interface of :class:`Solver` below.

Modules whose names begin with an underscore are shared parts, not variants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from relaxometer.problems.bfs.certify import RULES, BfsCertifier
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import Problem

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


UNREACHED = np.uint32(2**32 - 1)
"""Level of a vertex that no path reaches."""

NO_PREDECESSOR = np.uint32(2**32 - 1)
"""Predecessor of a vertex that no path reaches; the source is its own predecessor."""

PROBLEM = Problem({"level": np.uint32, "predecessor": np.uint32}, tuple(RULES), BfsCertifier)


@dataclass(frozen=True)
class Answer:
    """Levels of a breadth-first search from one source and the tree that proves them.

    Parameters
    ----------
    level : array of shape (n_vertices,), uint32
        Arcs on a shortest path from the source; `UNREACHED` where no path leads.
    predecessor : array of shape (n_vertices,), uint32
        A vertex one level nearer with an arc to this one; `NO_PREDECESSOR` where no path leads. Which of
        several, may depend on the order of threads.
    rounds : int or device array of shape (1,), uint32
        Levels that were searched from, the last one, from which nothing new was found, included. An array is
        read when `phases` is asked for, so that a search need not wait for it.
    """

    level: Any
    predecessor: Any
    rounds: Any

    @property
    def phases(self) -> int:
        """Levels that were searched from, as a number."""
        return self.rounds if isinstance(self.rounds, int) else int(self.rounds[0])

    @property
    def columns(self) -> dict[str, Any]:
        """What is kept of the answer and proven."""
        return {"level": self.level, "predecessor": self.predecessor}


class Solver(Protocol):
    """One way to search one resident graph breadth first.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters
        Of the variant's own model. What a solver works out ahead of the first source, it works out
        in its constructor; that time is reported as ``prepare_ms``.
    """

    runs_on: ClassVar[Literal["device", "cpu"]]

    def __init__(self, graph: ResidentGraph, parameters: Any) -> None: ...

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters in force, those chosen by the solver itself included."""
        ...

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels of all vertices from `source`.

        Parameters
        ----------
        source : int
        phases : list, optional
            If given, the run is instrumented and a :class:`Phase` is appended for each level, of mode
            ``"top-down"`` or ``"bottom-up"``; such a run is not for timing.
        """
        ...
