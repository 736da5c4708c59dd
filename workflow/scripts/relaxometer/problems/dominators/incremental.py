"""Dominators of a graph that changes: arcs come and go in batches, and what still holds is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from relaxometer.core.errors import UserError
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._breadth_first import BreadthFirst
from relaxometer.problems.dominators._predecessors import arc_tails
from relaxometer.problems.dominators._sinking import Sinking
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

NONE = np.uint32(2**32 - 1)

LOW = np.uint64(2**32 - 1)


class Parameters(variants.Parameters):
    """When to start over.

    Parameters
    ----------
    largest_share : float, default=0.5
        An update that leaves the dominators of more than this share of the reached vertices in doubt starts
        over.
    """

    largest_share: float = Field(0.5, ge=0, le=1)


class Solver:
    """Immediate dominators by a sinking tree that is kept from one state of a graph to the next.

    What an update does:

    - A new arc only takes dominators away. The old tree is one from which the rounds of
      `iterative_tree.Solver` can start, and vertices reached for the first
      time are found from it, numbered behind the others.
    - Without an arc u -> w, new dominators come only to what the old immediate dominator of w dominates.
      They do not come if the old immediate dominator of w has an arc to w that stays. These vertices lose
      their place in the tree and are searched again, from what is left. What the search
      does not find any more has lost its arcs too, so that their heads are treated likewise, until nothing
      is added.

    Then rounds follow until the tree rests. Parallel arcs count once.

    Parameters
    ----------
    graph : ResidentGraph
        The graph at the beginning; it is not changed.
    parameters : Parameters

    Attributes
    ----------
    kept : int
        Vertices whose immediate dominators the last update began with.

    References
    ----------
    The source names graphs that change as open. Ramalingam and Reps, "An Incremental Algorithm for
    Maintaining the Dominator Tree of a Reducible Flowgraph", POPL 1994, bound what changes likewise.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._device, self._parameters = graph.device, parameters
        self._n = graph.n_vertices
        self._search = BreadthFirst(graph)
        self._sinking = Sinking(graph.device, graph.n_vertices, graph.n_arcs)
        self._original = self._device.xp.unique(_keys(self._device.xp, arc_tails(graph), graph.targets))
        self._arcs = self._original
        self._root = 0
        self.kept = 0

    @property
    def resolved(self) -> dict[str, Any]:
        """The share in force."""
        return self._parameters.model_dump()

    def solve(self, source: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Solve the graph as it was given, from the root `source`; updates go on from there."""
        assert source is not None, "a graph has no entry of its own"
        self._root, self._arcs = source, self._original
        return self._start_over(phases)

    def apply(self, added: npt.ArrayLike = (), removed: npt.ArrayLike = ()) -> Answer:
        """Change the graph, removing arcs first, and return its immediate dominators from the same root.

        Parameters
        ----------
        added, removed : array_like of shape (n, 2), integers
            Tails and heads of arcs. Adding an arc that is there changes nothing.

        Returns
        -------
        Answer

        Raises
        ------
        UserError
            If an end is no vertex of the graph, or a removed arc is not there; nothing has changed then.
        """
        xp = self._device.xp
        come, go = self._checked(added, "added"), self._checked(removed, "removed")
        left = self._without(go)
        self.kept = int(self._device.item(self._search.reached))
        arcs = xp.unique(xp.concatenate([left, come])) if len(come) else left
        gone = len(go) > 0 and not self._forget_what_hangs_on(go, left)
        self._arcs = arcs
        if gone:
            return self._start_over(None)
        if len(come):
            self._search.go_on(int(self._device.item(self._search.reached)), self._rows(arcs))
        return self._rest(None)

    def _start_over(self, phases: list[Phase] | None) -> Answer:
        """Search and sink from the beginning."""
        self._search.number.fill(NONE)
        self._search.number[self._root] = 0
        self._search.order[0] = self._root
        self._search.parent[0] = 0
        self._search.go_on(1, self._rows(self._arcs))
        self.kept = 0
        return self._rest(phases)

    def _rest(self, phases: list[Phase] | None) -> Answer:
        """Let the tree sink."""
        search = self._search
        ends = (self._arcs >> np.uint64(32)).astype(np.uint32), (self._arcs & LOW).astype(np.uint32)
        longest = self._device.xp.full(1, self._n, dtype=np.uint32)
        rounds = self._sinking.run(ends, (search.reached, search.number, search.parent), longest, phases)
        return Answer(self._sinking.dominators(self._n, search.reached, search.order, search.parent), rounds)

    def _forget_what_hangs_on(self, removed: Any, left: Any) -> bool:
        """Take what removed arcs leave in doubt out of the tree, and search it again.

        Parameters
        ----------
        removed, left : device array of uint64
            Arcs as keys.

        Returns
        -------
        bool
            Whether that could be done; if not, the tree is of no use any more.
        """
        xp, search = self._device.xp, self._search
        reached = int(self._device.item(search.reached))
        number, order = search.number.copy(), search.order[:reached].copy()
        parent = search.parent[:reached].copy()
        tails, heads = _ends(left)
        reached_heads = _ends(removed)[1][number[_ends(removed)[0]] != NONE]
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
            search.go_on(kept, self._rows(left))
            # Arcs of what is not found any more into what was thought to be safe.
            lost = (number[tails] != NONE) & (search.number[tails] == NONE)
            entered = number[heads[lost]]
            suspects = entered[~in_doubt[entered] & (entered != 0)]
            if not len(suspects):
                self.kept = kept
                return True

    def _renumber(self, number: Any, order: Any, parent: Any, stays: Any, kept: int) -> None:
        """Set the search's tree to the vertices that stay, in their old order."""
        xp, search = self._device.xp, self._search
        new_number = (xp.cumsum(stays) - 1).astype(xp.uint32)
        search.number.fill(NONE)
        search.order[:kept] = order[stays]
        search.number[search.order[:kept]] = xp.arange(kept, dtype=xp.uint32)
        search.parent[:kept] = new_number[parent[stays]]

    def _rows(self, keys: Any) -> tuple[Any, Any]:
        """Return offsets and targets of arcs given as sorted keys."""
        xp = self._device.xp
        firsts = xp.arange(self._n + 1, dtype=xp.uint64) << np.uint64(32)
        return xp.searchsorted(keys, firsts).astype(xp.int64), (keys & LOW).astype(xp.uint32)

    def _without(self, removed: Any) -> Any:
        """Return the arcs less those removed, which must be there."""
        xp = self._device.xp
        missing = ~_contains(xp, self._arcs, removed)
        if missing.any():
            tail, head = divmod(int(removed[missing][0]), 2**32)
            raise UserError(f"removed: {tail} -> {head} is no arc of the graph")
        return self._arcs[~_contains(xp, removed, self._arcs)]

    def _checked(self, arcs: npt.ArrayLike, what: str) -> Any:
        """Return arcs as sorted keys, each once, on the device."""
        ends = np.asarray(arcs, dtype=np.int64).reshape(-1, 2)
        outside = ends[(ends < 0) | (ends >= self._n)]
        if len(outside):
            raise UserError(f"{what}: {outside[0]} is no vertex; expected 0 to {self._n - 1}")
        keys = np.unique(_keys(np, ends[:, 0], ends[:, 1]))
        return self._device.asarray(keys)


def _keys(xp: Any, tails: Any, heads: Any) -> Any:
    """Return arcs as words that sort by tail, then head."""
    return (tails.astype(xp.uint64) << np.uint64(32)) | heads.astype(xp.uint64)


def _ends(keys: Any) -> tuple[Any, Any]:
    """Return tails and heads of keys, fit to be indices."""
    return (keys >> np.uint64(32)).astype(np.int64), (keys & LOW).astype(np.int64)


def _contains(xp: Any, keys: Any, wanted: Any) -> Any:
    """Mark which of the wanted keys are among the sorted ones."""
    if not len(keys):
        return xp.zeros(len(wanted), dtype=bool)
    return keys[xp.minimum(xp.searchsorted(keys, wanted), len(keys) - 1)] == wanted


def _strictly_below(xp: Any, parent: Any, flagged: Any) -> Any:
    """Mark what has a flagged vertex above it in a tree, by doubling; vertex 0 is the root."""
    below = flagged[parent]
    below[0] = False
    jump = parent
    while bool((jump != 0).any()):
        below = below | below[jump]
        jump = jump[jump]
    return below
