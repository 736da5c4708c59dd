"""Every level top-down, in two phases, expand and contract (Hirakushi and Takahashi, section 3.1)."""

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs._levels import (
    PIECE,
    Bitmaps,
    Direction,
    LevelByLevel,
    Levels,
    filling,
    kernels,
    over,
)

Parameters = variants.NoParameters


class TopDown(Direction):
    """Top-down levels of three kernels each over words, with counts of pieces, arcs and vertices."""

    mode, found_at, adds = "top-down", 2, True

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph
        module = kernels(graph.device, "top_down.cu")
        self._list = module.get_function("list_frontier")
        self._expand = module.get_function("expand")
        self._contract = module.get_function("contract")
        xp = graph.device.xp
        self._pieces = xp.empty(graph.n_vertices + graph.n_arcs // PIECE, dtype=xp.uint64)
        self._heads = xp.empty(graph.n_arcs, dtype=xp.uint32)
        self._tails = xp.empty(graph.n_arcs, dtype=xp.uint32)
        self.counts = xp.zeros(3, dtype=xp.uint64)

    def run(
        self, depth: int, words: tuple[int, int], bitmaps: Bitmaps, answer: Levels, *, instrumented: bool
    ) -> None:
        """Launch a level; see :meth:`Direction.run`."""
        graph = self._graph
        self.counts.fill(0)
        if words[0] == words[1]:
            return
        csr = graph.offsets, graph.targets
        rows = np.uint32(words[0]), np.uint32(words[1]), graph.offsets
        gathered = self._heads, self._tails
        found = bitmaps.visited, bitmaps.following, answer.level, answer.predecessor, self.counts
        self._list(*over(words[1] - words[0]), (*rows, bitmaps.frontier, self._pieces, self.counts))
        self._expand(*filling(graph.device, self._expand), (*csr, self._pieces, self.counts, *gathered))
        self._contract(*filling(graph.device, self._contract), (*gathered, np.uint32(depth), *found))


class Solver(LevelByLevel):
    """BFS by top-down levels, launched by the host, which reads their counts back.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 3.1.
    Merrill, Garland and Grimshaw, "Scalable GPU Graph Traversal", PPoPP 2012.
    """

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        super().__init__(graph, parameters, TopDown(graph))
