"""Dominators of a changing graph: arcs are added and removed in batches, and the tree is repaired."""

from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._breadth_first import BreadthFirst
from relaxometer.problems.dominators._forest import LONG_CHAIN, Forest
from relaxometer.problems.dominators._rounds import Lifted, Rounds
from relaxometer.problems.dominators.incremental._changing_arcs import ChangingArcs, Keys, keys_of
from relaxometer.problems.dominators.incremental._doubts import Doubts, Known
from relaxometer.problems.phases import Phase

MOST_LEVELS = 64
"""Levels of a search after which an update starts over from a forest, which is found in a few passes."""


class Parameters(variants.Parameters):
    """When to solve from scratch."""

    largest_share: float = Field(0.5, ge=0, le=1)
    """An update that puts the dominators of more than this share of the reached vertices in doubt solves from
    scratch."""


class Solver(variants.SolverBase):
    """Immediate dominators by the rounds of `iterative_tree`, started from the last tree.

    A search gives every reached vertex a number and a parent. Dominators are ancestors in this tree.

    - A new arc only removes dominators, so the rounds can start from the old ones. Vertices reached for the
      first time get the next numbers.
    - A removed arc adds dominators only from among the vertices that are on every detour around it
      (`_detours.cu`), and only to vertices below them in the tree of the search. These, and what was below
      the arc if it was in that tree, leave the tree and are searched again from the rest; the rounds then
      apply the arcs into them. Other vertices keep their dominators. With two detours that share no vertex,
      and outside the tree, a removed arc changes nothing.
    - If no detour is found nearby, all vertices below the old immediate dominator of the head are in doubt.
    - Where `iterative_tree` takes its first tree from a forest, so does a solve from scratch here, and an
      update that searches more than 64 levels solves from scratch.
    - The arcs of a vertex that becomes unreachable are treated as removed. New arcs may make it reachable
      again, so they are added after that.

    Parallel arcs count once. The resident graph is the initial one; it is not changed. `kept` is the number
    of vertices whose immediate dominators the last update kept as its start.

    Notes
    -----
    Low-high orders or pairs of divergent trees would be witnesses that only the removal of their own arcs
    invalidates. But they use two arcs per vertex, which is most arcs of a road map, so most removals
    invalidate them. Detours need no upkeep.

    References
    ----------
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, leaves changing graphs open. Ramalingam and Reps, "An
    Incremental Algorithm for Maintaining the Dominator Tree of a Reducible Flowgraph", POPL 1994, and
    Georgiadis, Italiano, Laura and Santaroni, "An Experimental Study of Dynamic Dominators", ESA 2012, bound
    the changes by the old immediate dominator, as we do without detours. Georgiadis and Tarjan, "Dominator
    Tree Certification and Divergent Spanning Trees", TALG 12, 2016. The detours are ours.
    """

    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        xp, n = self._device.xp, graph.n_vertices
        self._n = n
        self._search = BreadthFirst(graph)
        self._arcs = ChangingArcs(graph)
        self._rounds = Rounds(graph.device, n, graph.n_arcs)
        has_forest = Forest(graph.device, n, *self._arcs.all).serves
        self._most_levels = MOST_LEVELS if has_forest else None
        self._doubts = Doubts(graph.device, n)
        self._longest = xp.full(1, n, dtype=np.uint32)
        self._tree = Known(
            self._search.number, self._search.order, self._search.parent, xp.zeros(n, dtype=np.uint32)
        )
        self._root = 0
        self._reached = 0
        self.kept = 0

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        """Solve the initial graph from `root`; updates continue from there."""
        self._root = root
        self._reached = 0
        self._arcs.restart()
        return self._start_over(phases)

    def apply(self, added: npt.ArrayLike = (), removed: npt.ArrayLike = ()) -> Answer:
        """Remove arcs, then add arcs, and return the immediate dominators from the same root.

        Both are tails and heads of arcs, array_like of shape (n, 2), integers; adding an existing arc changes
        nothing. UserError if an end is not a vertex of the graph, a removed arc does not exist, an array has
        another shape, or `solve` was not called; nothing is changed then. After any other error, as for want
        of memory, call `solve` again.
        """
        if not self._reached:
            raise UserError("call solve before apply")
        gone, new = self._arcs.difference(self._checked(added, "added"), self._checked(removed, "removed"))
        try:
            return self._apply(gone, new)
        except BaseException:
            self._reached = 0  # the tree may not be that of the arcs any more
            raise

    def _apply(self, gone: Keys, new: Keys) -> Answer:
        """Remove arcs that are there, then add arcs that are not."""
        self.kept = self._reached
        arcs: tuple[Any, Any] | None = self._doubts.no_arcs
        if len(gone):
            arcs = self._search_again(self._arcs.remove(gone))
        if len(new):
            self._arcs.add(new)
        if arcs is None:
            return self._start_over(None)
        if len(new):
            all_stayed = self.kept == self._reached
            first = self._reached if all_stayed else int(self._device.item(self._search.reached))
            if not self._grow(first):
                return self._start_over(None)
            arcs = self._arcs.all
        return self._finish(arcs, None)

    def _start_over(self, phases: list[Phase] | None) -> Answer:
        self.kept = 0
        if self._most_levels:
            return self._start_from(Forest(self._device, self._n, *self._arcs.all), phases)
        self._search.number.fill(UNREACHED)
        self._search.number[self._root] = 0
        self._search.order[0] = self._root
        self._search.parent[0] = 0
        self._grow(1, limited=False)
        self._tree.idom[0] = 0
        return self._finish(self._arcs.all, phases)

    def _start_from(self, forest: Forest, phases: list[Phase] | None) -> Answer:
        tree = forest.tree_of(self._root)
        for ours, found in zip(self._tree, (tree.number, tree.order, tree.parent, tree.parent), strict=True):
            ours[:] = found
        self._search.reached[:] = tree.reached
        lifted = Lifted(tree.depth, LONG_CHAIN) if tree.depth > LONG_CHAIN else None
        return self._finish(self._arcs.all, phases, lifted)

    def _grow(self, numbered: int, *, limited: bool = True) -> bool:
        """Search on from the first `numbered`; False, with an invalid tree, if a forest takes fewer steps."""
        search, arcs = self._search, self._arcs
        first = numbered
        while True:
            if not (limited and self._most_levels):
                search.go_on(first, arcs.by_tail)
            elif not search.goes_on_within(self._most_levels, first, arcs.by_tail):
                return False
            if not arcs.n_spare or not self._doubts.enter_by_spare(arcs, self._tree, search.reached):
                break
            first = int(self._device.item(search.reached))
        self._tree.idom[numbered:] = search.parent[numbered:]
        return True

    def _finish(
        self, arcs: tuple[Any, Any], phases: list[Phase] | None, lifted: Lifted | None = None
    ) -> Answer:
        """Run rounds over these arcs, if there are any, and return the answer; see :meth:`Rounds.run`."""
        search, idom = self._search, self._tree.idom
        rounds = 0
        if len(arcs[0]):
            tree = search.reached, search.number, idom
            rounds = self._rounds.run(arcs, tree, self._longest, phases, lifted)
        self._reached = int(self._device.item(search.reached))
        return Answer(self._rounds.dominators(self._n, search.reached, search.order, idom), rounds)

    def _search_again(self, gone: Any) -> tuple[Any, Any] | None:
        """Search for what `gone` arcs put in doubt; return the arcs in, None (invalid tree) if too much."""
        before, all_gone = self._tree, gone
        self._doubts.clear()
        for _ in range(2):
            in_doubt = self._doubts.add(all_gone, self._arcs, before, self._tree.number, self._reached)
            if in_doubt > self._parameters.largest_share * self._reached:
                return None
            if before is self._tree:
                if not in_doubt:
                    return self._doubts.no_arcs
                before = Known(*(array.copy() for array in self._tree))
            self.kept = self._reached - in_doubt
            self._doubts.leave_tree(before, self._tree, self._reached)
            if not self._grow(self.kept):
                return None
            arcs, lost = self._doubts.list_arcs(self._arcs, self.kept, before, self._tree.number)
            if lost is None:
                return None
            if not len(lost):
                break
            # The first pass found the vertices that became unreachable; the second ignores them.
            all_gone = self._device.xp.concatenate([gone, lost])
        return arcs

    def _checked(self, arcs: npt.ArrayLike, what: str) -> Keys:
        """Return arcs as sorted, unique keys."""
        shape = "expected a row per arc, its tail and its head"
        try:
            given = np.asarray(arcs)
        except ValueError:  # rows of different lengths
            raise UserError(f"{what}: {shape}") from None
        if given.size and given.dtype.kind not in "iu":
            raise UserError(f"{what}: ends of arcs must be integers, not {given.dtype}")
        if given.size and (given.ndim != 2 or given.shape[1] != 2):
            raise UserError(f"{what}: {shape}; the shape is {given.shape}")
        ends = given.astype(np.int64).reshape(-1, 2)
        outside = ends[(ends < 0) | (ends >= self._n)]
        if len(outside):
            raise UserError(f"{what}: {outside[0]} is not a vertex; expected 0 to {self._n - 1}")
        keys: Keys = np.unique(keys_of(ends[:, 0], ends[:, 1]))
        return keys
