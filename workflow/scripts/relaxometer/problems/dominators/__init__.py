"""Immediate dominators: one module a variant, its kernels in the ``.cu`` beside it.

A vertex d dominates v if every path from the root to v passes d; the immediate dominator of v is the
dominator nearest to v other than v itself. Immediate dominators form a tree.

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

from relaxometer.problems.dominators.certify import RULES, DominatorsCertifier
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import Problem

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.graphs.resident_batch import ResidentBatch


NO_DOMINATOR = np.uint32(2**32 - 1)
"""Immediate dominator of a vertex that no path reaches; the root is its own."""

PROBLEM = Problem({"idom": np.uint32}, tuple(RULES), DominatorsCertifier, takes_batches=True)


@dataclass(frozen=True)
class Answer:
    """The tree of immediate dominators.

    Parameters
    ----------
    idom : array of shape (n_vertices,), uint32
        Immediate dominator of every vertex; a root is its own, `NO_DOMINATOR` where no path leads. In a
        batch, ids are those within a vertex's graph.
    phases : int or None
        Rounds until nothing changed; None where the variant has none or each graph of a batch its own.
    """

    idom: Any
    phases: int | None

    @property
    def columns(self) -> dict[str, Any]:
        """What is kept of the answer and proven."""
        return {"idom": self.idom}


class Solver(Protocol):
    """One way to find dominators in one resident graph, or in all graphs of a resident batch.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
        What `takes` says; a solver that takes ``"either"`` looks at what it is given.
    parameters : Parameters
        Of the variant's own model. What a solver works out ahead of the first root, it works out in its
        constructor; that time is reported as ``prepare_ms``.

    Raises
    ------
    Skipped
        If the variant is not meant for a graph of this size.
    """

    runs_on: ClassVar[Literal["device", "cpu"]]
    takes: ClassVar[Literal["graph", "batch", "either"]]

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Any) -> None: ...

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters in force, those chosen by the solver itself included."""
        ...

    def solve(self, source: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators.

        Parameters
        ----------
        source : int, optional
            The root; left out for a batch, whose graphs have entries of their own.
        phases : list, optional
            If given, the run is instrumented and a `Phase` is appended for each phase; such a run is not for
            timing.
        """
        ...
