"""One large graph: vertices move up a tree until it is the dominator tree."""

from contextlib import nullcontext
from typing import ClassVar, Literal

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._breadth_first import BreadthFirst
from relaxometer.problems.dominators._forest import LONG_CHAIN, Forest, Tree
from relaxometer.problems.dominators._out_of_core import OutOfCore
from relaxometer.problems.dominators._predecessors import arc_tails
from relaxometer.problems.dominators._rounds import Lifted, Rounds
from relaxometer.problems.phases import Phase


class Parameters(variants.Parameters):
    """How many arcs the device holds, and how the rounds begin."""

    resident_arcs: PositiveInt | None = None
    """A graph with more arcs is solved out of core: every round streams them from host memory in pieces of
    this many. By default the device holds all arcs."""
    first_tree: Literal["auto", "search"] = "auto"
    """Where the first tree comes from if the input's order does not serve: "search", a breadth-first search.
    "auto": a forest of smallest predecessors, if at most one vertex in 64 has none that is smaller; else a
    search, which a forest of only predecessors ends if chains are left after 640 levels."""
    lift_above: PositiveInt = LONG_CHAIN
    """Rounds on a tree with longer chains have tables of ancestors."""

    def wants_arcs(self, n_arcs: int) -> bool:
        """Return whether this many arcs are kept on the device."""
        return self.resident_arcs is None or n_arcs <= self.resident_arcs


class Solver(variants.SolverBase):
    """Immediate dominators by intersecting paths in a tree, all arcs at once and in place.

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, leaves large and out-of-core graphs open.
    """

    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        limit = parameters.resident_arcs
        self._out_of_core: OutOfCore | None = None
        if limit is not None and not parameters.wants_arcs(graph.n_arcs):
            self._out_of_core = OutOfCore(graph, limit)
            # The other parameters are of searches in memory.
            self.resolved = {"resident_arcs": limit, "out_of_core": True, "input_order": False}
            return
        self._rounds = Rounds(graph.device, graph.n_vertices, graph.n_arcs)
        self._arcs = arc_tails(graph), graph.targets
        forest = Forest(graph.device, graph.n_vertices, *self._arcs)
        self._in_order = forest.tree_in_order() if forest.tops == 0 else None
        is_auto = parameters.first_tree == "auto"
        self._forest = forest if is_auto else None
        self._search = None if is_auto and forest.serves else BreadthFirst(graph)
        first_tree = "search" if self._search else "forest"
        in_order = self._in_order is not None
        self.resolved |= {"first_tree": first_tree, "out_of_core": False, "input_order": in_order}

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators from `root`."""
        if self._out_of_core:
            return self._out_of_core.solve(root, phases)
        tree = self._in_order if root == 0 else None
        if tree is None:
            tree = self._find_tree(root, phases)
        parent = tree.parent.copy()
        above = self._parameters.lift_above
        lifted = Lifted(tree.depth, above) if tree.depth > above else None
        arrays = tree.reached, tree.number, parent
        rounds = self._rounds.run(self._arcs, arrays, tree.longest_chain, phases, lifted)
        n = self._graph.n_vertices
        return Answer(self._rounds.dominators(n, tree.reached, tree.order, parent), rounds)

    def _find_tree(self, root: int, phases: list[Phase] | None) -> Tree:
        device = self._graph.device
        with device.timer() if phases is not None else nullcontext() as timer:
            if self._search:
                tree = self._search.tree_of(root, self._forest)
            else:
                assert self._forest
                tree = self._forest.tree_of(root)
        if phases is None or timer is None:
            return tree
        mode = "breadth-first" if self._search else "forest"
        phases.append(Phase(mode, int(device.item(tree.reached)), self._graph.n_arcs, timer.ms))
        return tree
