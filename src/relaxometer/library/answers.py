"""Answers of searches, and their proofs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import NO_PREDECESSOR

if TYPE_CHECKING:
    from relaxometer.library.prepared import Prepared


class WrongAnswer(Exception):  # noqa: N818 - named for what it reports
    """An answer that breaks a rule of its certificate; the message names the rule and the vertex."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of one search; its columns are attributes.

    ``sssp`` has ``distance`` and ``predecessor``, ``bfs`` has ``level`` and ``predecessor``, ``dominators``
    has ``idom``, each an array of shape (n_vertices,). ``routes`` has ``distance`` of shape (n_queries,) and,
    where they were asked for, the paths: ``size`` vertices of each, one after the other in ``path``. The
    largest number of the type, or infinity, stands for "not reached"; see :attr:`reached`.

    Parameters
    ----------
    prepared : Prepared
    columns : mapping of str to ndarray or device array
    start : Any
        What the certifier takes: the source, or resident queries.
    overflowed : bool
        Whether some path was too long for the type of distances, so that it was not followed.
    proof : mapping of str to array, optional
        The columns that are proven, if `columns` are not all of them.
    version : int
        How often the weights had been changed before the search.
    """

    prepared: Prepared
    columns: Mapping[str, Any]
    start: Any
    overflowed: bool = False
    proof: Mapping[str, Any] | None = None
    version: int = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "columns" not in self.__dict__:  # while it is copied
            raise AttributeError(name)
        if name in self.columns:
            return self.columns[name]
        raise AttributeError(f"{self.prepared.problem} has no {name!r}; it has {', '.join(self.columns)}")

    @property
    def reached(self) -> Any:
        """Whether each vertex was reached, or each query has an answer: a mask where the columns are."""
        return self.prepared.kind.reached(self.columns)

    def to_host(self) -> Answer:
        """Return the answer with its columns in host memory, as NumPy arrays."""
        device = self.prepared.device
        return replace(self, columns={name: device.asnumpy(one) for name, one in self.columns.items()})

    def path_to(self, node: Hashable) -> list[Hashable]:
        """Return the vertices of the tree's path from the source to a vertex, both included.

        Empty if the vertex was not reached. In the tree of ``dominators`` these are its dominators.

        Raises
        ------
        UserError
            If the vertex is unknown, the problem has no tree, or the answer is a negative cycle.
        """
        graph = self.prepared.graph
        vertex = graph.vertex(node)
        parents = self._parents
        path = [vertex] if parents[vertex] != NO_PREDECESSOR else []
        while path and (before := int(parents[path[-1]])) != path[-1]:
            path.append(before)
            if len(path) > len(parents):
                raise UserError("the answer is a negative cycle: there is no shortest path")
        names = graph.nodes
        return [one if names is None else names[one] for one in reversed(path)]

    @property
    def _parents(self) -> npt.NDArray[np.uint32]:
        name = next((one for one in ("predecessor", "idom") if one in self.columns), None)
        if name is None:
            raise UserError(f"{self.prepared.problem} has no tree; ask for paths")
        host: npt.NDArray[np.uint32] = self.prepared.device.asnumpy(self.columns[name])
        return host

    def verify(self) -> Answer:
        """Prove the answer by the race's certificate, without a reference solver, and return it.

        Raises
        ------
        WrongAnswer
            If a rule is broken, or a path was too long for the type of distances.
        UserError
            If the weights have changed since the search.
        """
        self.prepared.check(self)
        return self
