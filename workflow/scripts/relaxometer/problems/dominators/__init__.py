"""Immediate dominators: one module per variant, its kernels in the ``.cu`` of the same name.

A vertex d dominates v if every path from the root to v passes d. The immediate dominator of v is its nearest
dominator other than v; immediate dominators form the dominator tree.

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
"""Immediate dominator of an unreached vertex; the root is its own."""

PROBLEM = Problem({"idom": np.uint32}, tuple(RULES), DominatorsCertifier, takes_batches=True)


@dataclass(frozen=True)
class Answer:
    """The dominator tree.

    Parameters
    ----------
    idom : array of shape (n_vertices,), uint32
        Immediate dominator of every vertex; a root is its own, an unreached vertex has `NO_DOMINATOR`. In a
        batch, ids are those within the graph.
    phases : int or None
        Rounds until nothing changed. None if the variant has none, or each graph of a batch has its own.
    """

    idom: Any
    phases: int | None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are stored and proven."""
        return {"idom": self.idom}


class Solver(Protocol):
    """One way to find dominators in one resident graph, or in all graphs of a resident batch.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
        As `takes` says.
    parameters : Parameters
        Of the variant's own model. Work that does not depend on the root is done in the constructor, and its
        time is reported as ``prepare_ms``.

    Raises
    ------
    Skipped
        If the variant does not support a graph of this size.
    """

    runs_on: ClassVar[Literal["device", "cpu"]]
    takes: ClassVar[Literal["graph", "batch", "either"]]

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Any) -> None: ...

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters in force, including those that the solver chose."""
        ...

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators.

        Parameters
        ----------
        root : int, optional
            None for a batch, whose graphs have entries.
        phases : list, optional
            If given, the run is instrumented and appends a `Phase` for each round or step; such a run is not
            timed.
        """
        ...
