"""Every level top-down, in two phases, expand and contract (Hirakushi and Takahashi, section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs._levels import PIECE, Levels, filling, kernels, over, search_levels
from relaxometer.problems.phases import Phase


class Parameters(variants.Parameters):
    """No parameters."""


class TopDown:
    """Top-down levels of three kernels each, over a range of the frontier.

    Attributes
    ----------
    counts : device array of shape (3,), uint64
        Pieces, arcs and vertices found by the last level.
    adds : bool
        `run` adds to an empty bitmap of the next level; otherwise it writes every word.
    """

    adds = True

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
        self,
        depth: int,
        words: tuple[int, int],
        frontier: DeviceArray,
        visited: DeviceArray,
        following: DeviceArray,
        answer: Levels,
        *,
        instrumented: bool,
    ) -> None:
        """Launch a level.

        Parameters
        ----------
        depth : int
            Level of the frontier.
        words : (int, int)
            Range of the words to search from.
        frontier, visited, following : device array of shape (n_words,), uint32
            Bitmaps; the level adds the vertices found to `visited` and to `following`, which is empty.
        answer : Levels
        instrumented : bool
            Without effect: arcs are always counted.
        """
        graph = self._graph
        self.counts.fill(0)
        if words[0] == words[1]:
            return
        csr = graph.offsets, graph.targets
        rows = np.uint32(words[0]), np.uint32(words[1]), graph.offsets
        gathered = self._heads, self._tails
        found = visited, following, answer.level, answer.predecessor, self.counts
        self._list(*over(words[1] - words[0]), (*rows, frontier, self._pieces, self.counts))
        self._expand(*filling(graph.device, self._expand), (*csr, self._pieces, self.counts, *gathered))
        self._contract(*filling(graph.device, self._contract), (*gathered, np.uint32(depth), *found))


class Solver:
    """BFS by top-down levels, launched by the host, which reads their counts back.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 3.1.
    Merrill, Garland and Grimshaw, "Scalable GPU Graph Traversal", PPoPP 2012.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        self._top_down = TopDown(graph)

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`."""
        return search_levels(self._graph, source, phases, "top-down", self._top_down, 2)
