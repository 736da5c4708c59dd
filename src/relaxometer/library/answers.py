"""Answers of searches, and their proofs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import NO_PREDECESSOR

if TYPE_CHECKING:
    from relaxometer.library.prepared import Prepared


class WrongAnswer(Exception):  # noqa: N818 - named for what it reports
    """An answer that breaks a rule of its certificate; the message names the rule and the vertex."""

    __module__ = "relaxometer"


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of one search; its columns are attributes.

    ``sssp`` has ``distance`` and ``predecessor``, ``bfs`` has ``level`` and ``predecessor``, ``dominators``
    has ``idom``, each an array of shape (n_vertices,). ``routes`` has ``distance`` of shape (n_queries,) and,
    where they were asked for, the paths: ``size`` vertices of each, one after the other in ``path``, and sums
    of other weights, ``along``. The nearest of several sources is ``source``. The largest number of the type,
    or infinity, stands for "not reached"; see :attr:`reached`.
    """

    prepared: Prepared
    columns: Mapping[str, Any]  # NumPy or device arrays by name
    start: Any
    """What is proven: an answer from this source, from these sources, or for these resident queries."""
    overflowed: bool = False
    """Whether some path was too long for the type of distances, so that it was not followed."""
    proof: Mapping[str, Any] | None = None  # the columns that are proven, if `columns` are not all of them
    version: int = 0  # how often the weights had been changed before the search
    bound: Any = None  # the least distance that the search left out

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {one.dtype}{list(one.shape)}" for name, one in self.columns.items())
        return f"{type(self).__name__}({self.prepared.problem} by {self.prepared.variant}: {columns})"

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
        arrays = self.prepared.device.asnumpys(*self.columns.values())
        return replace(self, columns=dict(zip(self.columns, arrays, strict=True)))

    def path_to(self, node: Hashable) -> list[Hashable]:
        """Return the vertices of the tree's path from the source to a vertex, both included.

        Empty if the vertex was not reached. In the tree of ``dominators`` these are its dominators.

        Raises
        ------
        GraphError
            If the vertex is unknown, the problem has no tree, or the answer is a negative cycle.
        """
        graph = self.prepared.graph
        vertex = graph.vertex(node)
        parents, is_there = self._parents
        path = [vertex] if is_there[vertex] else []
        while path and (before := int(parents[path[-1]])) != path[-1]:
            path.append(before)
            if len(path) > len(parents):
                raise UserError("the answer is a negative cycle: there is no shortest path")
        names = graph.nodes
        return [one if names is None else names[one] for one in reversed(path)]

    @cached_property
    def _parents(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        """The tree, all of it since paths along negative arcs may leave the limit, and what is within it."""
        name = next((one for one in ("predecessor", "idom") if one in self.columns), None)
        if name is None:
            raise UserError(f"{self.prepared.problem} has no tree; pairs(..., paths=True) has paths")
        asnumpy = self.prepared.device.asnumpy
        return asnumpy((self.proof or self.columns)[name]), asnumpy(self.columns[name] != NO_PREDECESSOR)

    def sums_along(self, weights: Any) -> Any:
        """Add other weights, such as travel times, along the tree's path to each vertex.

        Parameters
        ----------
        weights : array_like of shape (n_given,), integers or floats
            In the order of the arcs, or edges, that the graph was made from; those of a file are in the order
            of ``graph.csr``. Between parallel arcs a path takes the lightest, of equal ones the first.

        Returns
        -------
        array of shape (n_vertices,), int64 or float64
            Where the answer's arrays are. Sums of integers are exact. Where no path leads they are infinity,
            or the largest number of the type.

        Raises
        ------
        GraphError
            If the problem has no shortest paths, the weights have changed since the search, or the array has
            a wrong type or shape, or integers whose sum might not fit.
        """
        return self.prepared.sums_along(self, weights)

    def retained(self, sizes: Any) -> Retained:
        """Add sizes over the dominator tree: what would be freed if a vertex were gone.

        Parameters
        ----------
        sizes : array_like of shape (n_vertices,), integers
            Not negative. Those of type uint64 are not copied: do not change them before the answer is
            verified.

        Raises
        ------
        UserError
            If the problem is not ``dominators``, the array has a wrong type or shape, a size is negative, or
            their sum does not fit 64 bits.
        """
        return self.prepared.retained(self, sizes)

    def verify(self) -> Answer:
        """Prove the answer by the race's certificate, without a reference solver, and return it.

        Raises
        ------
        WrongAnswer
            If a rule is broken, or a path was too long for the type of distances.
        GraphError
            If the weights have changed since the search.
        """
        self.prepared.check(self)
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Retained(Answer):
    """A dominator tree with the retained size of every vertex; see :meth:`Answer.retained`.

    ``retained_size``, of shape (n_vertices,) and type uint64, is the size of a vertex and of all that it
    dominates, 0 where it was not reached; ``size`` is its own.
    """

    def top(self, count: int) -> npt.NDArray[np.int64]:
        """Return the vertices of the largest retained sizes, the largest first, as numbers in host memory."""
        sums = self.prepared.device.asnumpy(self.retained_size)
        least = np.partition(sums, -count)[-count] if 0 < count < len(sums) else 0
        found = np.flatnonzero((sums >= least) & self._parents[1])
        return found[np.lexsort((found, ~sums[found]))][: max(count, 0)]

    def verify(self) -> Retained:
        """Prove the tree as :meth:`Answer.verify`, and the sums: each is that of the vertices just below."""
        from relaxometer.problems.dominators._retained import unproven

        super().verify()
        columns = (self.columns[name] for name in ("idom", "size", "retained_size"))
        if len(wrong := unproven(*self.prepared.device.asnumpys(*columns))):
            raise WrongAnswer(
                f"retained: vertex {wrong[0]} has a sum other than its size and the sums of its children"
            )
        return self
