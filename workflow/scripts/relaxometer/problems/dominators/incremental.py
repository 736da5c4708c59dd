"""Dominators of a changing graph: arcs are added and removed in batches, and the tree is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import UNREACHED
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._breadth_first import BreadthFirst
from relaxometer.problems.dominators._predecessors import arc_tails
from relaxometer.problems.dominators._rounds import Rounds
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

LOW = np.uint64(2**32 - 1)


class Parameters(variants.Parameters):
    """When to solve from scratch.

    Parameters
    ----------
    largest_share : float, default=0.5
        An update that puts the dominators of more than this share of the reached vertices in doubt solves
        from scratch.
    """

    largest_share: float = Field(0.5, ge=0, le=1)


class Solver:
    """Immediate dominators by the rounds of `iterative_tree`, started from the last tree.

    - A new arc only removes dominators, so the rounds can start from the old tree. Vertices reached for the
      first time get the next numbers.
    - Removing an arc u -> w gives new dominators only to vertices below the old immediate dominator of w, and
      to none if that dominator keeps an arc to w. These vertices leave the tree and are searched again from
      the rest. A vertex that is no longer reached loses its arcs: their heads are treated in the same way.

    Rounds follow until nothing moves. Parallel arcs count once.

    Parameters
    ----------
    graph : ResidentGraph
        The initial graph; it is not changed.
    parameters : Parameters

    Attributes
    ----------
    kept : int
        Number of vertices whose immediate dominators the last update kept as its start.

    References
    ----------
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, leaves changing graphs open. Ramalingam and Reps, "An
    Incremental Algorithm for Maintaining the Dominator Tree of a Reducible Flowgraph", POPL 1994, bound the
    changes in the same way.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._device, self._parameters = graph.device, parameters
        self._n = graph.n_vertices
        self._search = BreadthFirst(graph)
        self._rounds = Rounds(graph.device, graph.n_vertices, graph.n_arcs)
        self._original = self._device.xp.unique(_keys(self._device.xp, arc_tails(graph), graph.targets))
        self._arcs = self._original
        self._root = 0
        self.kept = 0

    @property
    def resolved(self) -> dict[str, Any]:
        """The share in force."""
        return self._parameters.model_dump()

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Solve the initial graph from `root`; updates continue from there."""
        assert root is not None, "a graph needs a root"
        self._root, self._arcs = root, self._original
        return self._start_over(phases)

    def apply(self, added: npt.ArrayLike = (), removed: npt.ArrayLike = ()) -> Answer:
        """Remove arcs, then add arcs, and return the immediate dominators from the same root.

        Parameters
        ----------
        added, removed : array_like of shape (n, 2), integers
            Tails and heads of arcs. Adding an existing arc changes nothing.

        Returns
        -------
        Answer

        Raises
        ------
        UserError
            If an end is not a vertex of the graph or a removed arc does not exist; nothing is changed then.
        """
        xp = self._device.xp
        new, gone = self._checked(added, "added"), self._checked(removed, "removed")
        left = self._without(gone)
        self.kept = int(self._device.item(self._search.reached))
        self._arcs = xp.unique(xp.concatenate([left, new])) if len(new) else left
        if len(gone) and not self._search_again(gone, left):
            return self._start_over(None)
        if len(new):
            self._search.go_on(int(self._device.item(self._search.reached)), self._csr(self._arcs))
        return self._finish(None)

    def _start_over(self, phases: list[Phase] | None) -> Answer:
        """Solve from scratch."""
        self._search.number.fill(UNREACHED)
        self._search.number[self._root] = 0
        self._search.order[0] = self._root
        self._search.parent[0] = 0
        self._search.go_on(1, self._csr(self._arcs))
        self.kept = 0
        return self._finish(phases)

    def _finish(self, phases: list[Phase] | None) -> Answer:
        search = self._search
        ends = (self._arcs >> np.uint64(32)).astype(np.uint32), (self._arcs & LOW).astype(np.uint32)
        longest = self._device.xp.full(1, self._n, dtype=np.uint32)
        rounds = self._rounds.run(ends, (search.reached, search.number, search.parent), longest, phases)
        return Answer(self._rounds.dominators(self._n, search.reached, search.order, search.parent), rounds)

    def _search_again(self, removed: Any, left: Any) -> bool:
        """Search again for the vertices with dominators in doubt; False if they are too many.

        `removed` and `left` are keys of arcs. The tree is invalid if the result is False.
        """
        xp, search = self._device.xp, self._search
        reached = int(self._device.item(search.reached))
        number, order = search.number.copy(), search.order[:reached].copy()
        parent = search.parent[:reached].copy()
        tails, heads = _ends(left)
        reached_heads = _ends(removed)[1][number[_ends(removed)[0]] != UNREACHED]
        nearest = order[parent[number[reached_heads]]]
        in_reserve = _contains(xp, left, _keys(xp, nearest, reached_heads))
        suspects = number[reached_heads[~in_reserve]]
        suspects = suspects[suspects != 0]
        flagged = xp.zeros(reached, dtype=bool)
        while True:
            flagged[parent[suspects]] = True
            in_doubt = _strictly_below(xp, parent, flagged)
            kept = reached - int(in_doubt.sum())
            if reached - kept > self._parameters.largest_share * reached:
                return False
            self._renumber(number, order, parent, ~in_doubt, kept)
            search.go_on(kept, self._csr(left))
            # Arcs from vertices no longer reached to vertices that were not in doubt.
            lost = (number[tails] != UNREACHED) & (search.number[tails] == UNREACHED)
            entered = number[heads[lost]]
            suspects = entered[~in_doubt[entered] & (entered != 0)]
            if not len(suspects):
                self.kept = kept
                return True

    def _renumber(self, number: Any, order: Any, parent: Any, stays: Any, kept: int) -> None:
        """Reduce the tree of the search to the vertices that stay, in their old order."""
        xp, search = self._device.xp, self._search
        new_number = (xp.cumsum(stays) - 1).astype(xp.uint32)
        search.number.fill(UNREACHED)
        search.order[:kept] = order[stays]
        search.number[search.order[:kept]] = xp.arange(kept, dtype=xp.uint32)
        search.parent[:kept] = new_number[parent[stays]]

    def _csr(self, keys: Any) -> tuple[Any, Any]:
        """Return offsets and targets of arcs given as sorted keys."""
        xp = self._device.xp
        firsts = xp.arange(self._n + 1, dtype=xp.uint64) << np.uint64(32)
        return xp.searchsorted(keys, firsts).astype(xp.int64), (keys & LOW).astype(xp.uint32)

    def _without(self, removed: Any) -> Any:
        """Return the arcs without those removed, which must exist."""
        xp = self._device.xp
        missing = ~_contains(xp, self._arcs, removed)
        if missing.any():
            tail, head = divmod(int(removed[missing][0]), 2**32)
            raise UserError(f"removed: {tail} -> {head} is not an arc of the graph")
        return self._arcs[~_contains(xp, removed, self._arcs)]

    def _checked(self, arcs: npt.ArrayLike, what: str) -> Any:
        """Return arcs as sorted, unique keys on the device."""
        ends = np.asarray(arcs, dtype=np.int64).reshape(-1, 2)
        outside = ends[(ends < 0) | (ends >= self._n)]
        if len(outside):
            raise UserError(f"{what}: {outside[0]} is not a vertex; expected 0 to {self._n - 1}")
        keys = np.unique(_keys(np, ends[:, 0], ends[:, 1]))
        return self._device.asarray(keys)


def _keys(xp: Any, tails: Any, heads: Any) -> Any:
    """Pack arcs into uint64 that sort by tail, then head."""
    return (tails.astype(xp.uint64) << np.uint64(32)) | heads.astype(xp.uint64)


def _ends(keys: Any) -> tuple[Any, Any]:
    """Return tails and heads of keys, as indices."""
    return (keys >> np.uint64(32)).astype(np.int64), (keys & LOW).astype(np.int64)


def _contains(xp: Any, keys: Any, wanted: Any) -> Any:
    """Mark the wanted keys that are among the sorted ones."""
    if not len(keys):
        return xp.zeros(len(wanted), dtype=bool)
    return keys[xp.minimum(xp.searchsorted(keys, wanted), len(keys) - 1)] == wanted


def _strictly_below(xp: Any, parent: Any, flagged: Any) -> Any:
    """Mark the vertices with a flagged proper ancestor, by doubling; vertex 0 is the root."""
    below = flagged[parent]
    below[0] = False
    jump = parent
    while bool((jump != 0).any()):
        below = below | below[jump]
        jump = jump[jump]
    return below
