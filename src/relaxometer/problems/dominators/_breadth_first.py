"""Breadth-first order on the device: dominators have smaller numbers than the vertices they dominate."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device.kernels import Kernel
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators._forest import Forest, Tree

THREADS = 512
MANY_LEVELS = 640  # levels after which a search has found all but chains, or is one of a large map


class BreadthFirst:
    """Breadth-first numbers of the vertices of a graph, for one root at a time, as device arrays of uint32.

    By vertex, `number` is `UNREACHED` if the search does not reach it. By number, `order` has the vertices,
    of which only the first `reached` are set, and `parent` the number of the vertex that found each, 0 for
    the root. `longest_chain` is the number of levels.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph
        device, xp = graph.device, graph.device.xp
        module = device.module(Path(__file__).with_name("_breadth_first.cu"), cooperative=True)
        self._kernel = module.get_function("breadth_first")
        self._within = module.get_function("breadth_first_within")
        n = graph.n_vertices
        self.number = xp.empty(n, dtype=xp.uint32)
        self.order = xp.empty(n, dtype=xp.uint32)
        self.parent = xp.zeros(n, dtype=xp.uint32)
        self.reached = xp.empty(1, dtype=xp.uint32)
        self.longest_chain = xp.empty(1, dtype=xp.uint32)
        self._hubs = xp.empty(n, dtype=xp.uint32)
        self._counters = xp.empty(6, dtype=xp.uint32)
        fitting = (device.max_cooperative_blocks(kernel, THREADS) for kernel in (self._kernel, self._within))
        self._blocks = min(*fitting, -(-n // THREADS))

    def search(self, root: int) -> None:
        """Assign numbers to the vertices reached from `root`; return before the device has finished."""
        self.number.fill(UNREACHED)
        arcs = self._graph.offsets, self._graph.targets
        self._launch(self._kernel, (np.uint32(root), np.uint32(0)), arcs)

    def tree_of(self, root: int, forest: Forest | None = None) -> Tree:
        """Search from `root`, overwriting the arrays; after `MANY_LEVELS`, a forest goes on if it serves."""
        tree = Tree(self.number, self.order, self.parent, self.reached, self.longest_chain, 0)
        if forest is None:
            self.search(root)
            return tree
        self.number.fill(UNREACHED)
        self.number[root], self.order[0], self.parent[0] = 0, root, 0
        arcs = self._graph.offsets, self._graph.targets
        if self.goes_on_within(MANY_LEVELS, 1, arcs):
            return tree
        if extended := forest.extended(root, tree):
            return extended
        self.go_on(int(self._graph.device.item(self.reached)), arcs)
        self.longest_chain += MANY_LEVELS
        return tree

    def go_on(self, numbered: int, arcs: tuple[Any, Any]) -> None:
        """Search on from the first `numbered` vertices through other `arcs`, offsets and targets."""
        self._launch(self._kernel, (np.uint32(0), np.uint32(numbered)), arcs)

    def goes_on_within(self, most_levels: int, numbered: int, arcs: tuple[Any, Any]) -> bool:
        """Do the same for at most `most_levels`; return whether these were enough."""
        self._launch(self._within, (np.uint32(numbered), np.uint32(most_levels)), arcs)
        return int(self._graph.device.item(self.longest_chain)) <= most_levels

    def _launch(self, kernel: Kernel, begin: tuple[np.uint32, np.uint32], arcs: tuple[Any, Any]) -> None:
        self._counters.fill(0)
        tree = (self.number, self.order, self.parent, self._hubs, self._counters)
        kernel(self._blocks, THREADS, (*begin, *arcs, *tree, self.reached, self.longest_chain))
