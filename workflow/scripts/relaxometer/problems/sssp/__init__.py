"""Single-source shortest paths (SSSP): one module a variant, its kernels in the ``.cu`` beside it.

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

from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import Problem
from relaxometer.problems.sssp.certify import RULES, SsspCertifier

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

__all__ = ["NO_PREDECESSOR", "PROBLEM", "UNREACHED", "Answer", "Solver"]

PROBLEM = Problem({"distance": np.uint32, "predecessor": np.uint32}, tuple(RULES), SsspCertifier)


@dataclass(frozen=True)
class Answer:
    """Shortest distances from one source and the tree that proves them.

    Parameters
    ----------
    distance : array of shape (n_vertices,), uint32
        In the graph's weight unit; `UNREACHED` where no path leads.
    predecessor : array of shape (n_vertices,), uint32
        The vertex before on a shortest path; `NO_PREDECESSOR` where no path leads.
    phases : int or None
        Rounds of a phase-synchronous kernel; None where the variant has none.
    overflowed : bool
        Whether some path's length passed 2**32 - 2, so that it was not followed.
    """

    distance: Any
    predecessor: Any
    phases: int | None
    overflowed: bool

    @property
    def columns(self) -> dict[str, Any]:
        """What is kept of the answer and proven."""
        return {"distance": self.distance, "predecessor": self.predecessor}


class Solver(Protocol):
    """One way to solve SSSP on one resident graph.

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
        """Find the shortest paths from `source`.

        Parameters
        ----------
        source : int
        phases : list, optional
            If given, the run is instrumented and a :class:`Phase` is appended for each phase; such a run
            is not for timing.
        """
        ...
