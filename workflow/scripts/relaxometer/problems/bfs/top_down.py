"""Every level top-down, in two phases, expand and contract (Hirakushi and Takahashi, section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs._levels import (
    PIECE,
    WORD,
    LevelLog,
    Levels,
    filling,
    full_beyond,
    kernels,
    over,
    singleton,
    words_of,
)
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Parameters(variants.Parameters):
    """Nothing to set."""


class TopDown:
    """Top-down levels of three kernels each, over a range of the frontier.

    Attributes
    ----------
    counts : device array of shape (3,), uint64
        Pieces, arcs and vertices found by the last level.
    """

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
        self, depth: int, words: tuple[int, int], frontier: Any, visited: Any, following: Any, answer: Levels
    ) -> None:
        """Launch a level.

        Parameters
        ----------
        depth : int
            Level of the frontier.
        words : (int, int)
            Range of the words to search from.
        frontier, visited, following : device array of shape (n_words,), uint32
            Bitmaps; the level adds the vertices found to the last two.
        answer : Levels
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
        graph, device = self._graph, self._graph.device
        n = graph.n_vertices
        answer = Levels(graph, source)
        frontier = singleton(device.xp, n, source)
        visited = full_beyond(device.xp, n)
        visited[source // WORD] |= np.uint32(1 << source % WORD)
        following = device.xp.zeros_like(frontier)
        log = LevelLog(device, phases)
        depth = 0
        found = 1
        while found:
            self._top_down.run(depth, (0, words_of(n)), frontier, visited, following, answer)
            frontier, following = following, frontier
            following.fill(0)
            depth += 1
            found = device.item(self._top_down.counts, 2)
            if log.wanted:
                elapsed_ms = log.elapsed_ms()
                log.end_level("top-down", found, device.item(self._top_down.counts, 1), elapsed_ms)
        return Answer(answer.level, answer.predecessor, depth)
