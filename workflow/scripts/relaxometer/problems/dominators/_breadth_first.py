"""Breadth-first order on the device: numbers in which a dominator comes before what it dominates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

THREADS = 512

NONE = np.uint32(2**32 - 1)


class BreadthFirst:
    """The numbers of the vertices of a graph from one root after the other.

    Parameters
    ----------
    graph : ResidentGraph

    Attributes
    ----------
    number : device array of shape (n_vertices,), uint32
        Of every vertex; `NONE` where the search does not come.
    order : device array of shape (n_vertices,), uint32
        The vertices by number; those of the first `reached` count.
    parent : device array of shape (n_vertices,), uint32
        By number, the number of the vertex that found each; the root's is 0.
    reached, longest_chain : device array of shape (1,), uint32
        How many vertices are reached, and in how many levels.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph
        device, xp = graph.device, graph.device.xp
        module = device.module(Path(__file__).with_name("_breadth_first.cu"), cooperative=True)
        self._kernel = module.get_function("breadth_first")
        n = graph.n_vertices
        self.number = xp.empty(n, dtype=xp.uint32)
        self.order = xp.empty(n, dtype=xp.uint32)
        self.parent = xp.zeros(n, dtype=xp.uint32)
        self.reached = xp.empty(1, dtype=xp.uint32)
        self.longest_chain = xp.empty(1, dtype=xp.uint32)
        self._hubs = xp.empty(n, dtype=xp.uint32)
        self._counters = xp.empty(6, dtype=xp.uint32)
        self._blocks = min(device.max_cooperative_blocks(self._kernel, THREADS), -(-n // THREADS))

    def search(self, root: int) -> None:
        """Give numbers to what `root` reaches; the device works on while the caller goes on."""
        self.number.fill(NONE)
        self._run(root, 0, (self._graph.offsets, self._graph.targets))

    def go_on(self, numbered: int, arcs: tuple[Any, Any]) -> None:
        """Give numbers to what else is reached.

        Parameters
        ----------
        numbered : int
            So many vertices have numbers, in `number` and `order`; all others have none.
        arcs : tuple of device arrays
            Offsets and targets of a graph of as many vertices.
        """
        self._run(0, numbered, arcs)

    def _run(self, root: int, numbered: int, arcs: tuple[Any, Any]) -> None:
        self._counters.fill(0)
        tree = (self.number, self.order, self.parent, self._hubs, self._counters)
        begin = (np.uint32(root), np.uint32(numbered))
        self._kernel(self._blocks, THREADS, (*begin, *arcs, *tree, self.reached, self.longest_chain))
