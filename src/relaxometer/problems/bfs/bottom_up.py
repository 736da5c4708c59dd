"""Every level bottom-up, rows searched by warps or threads (Hirakushi and Takahashi, section 3.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs._incoming import incoming
from relaxometer.problems.bfs._levels import Levels, kernels, over, search_levels, words_of
from relaxometer.problems.phases import Phase


class Parameters(variants.Parameters):
    """How rows are searched.

    Parameters
    ----------
    threshold : int
        A warp searches the rows of at least this many incoming arcs, a thread the others; 32, the size of a
        warp, in the paper.
    """

    threshold: NonNegativeInt = Field(32, lt=2**32)


class BottomUp:
    """Bottom-up levels of two kernels each, over a range of vertices.

    Attributes
    ----------
    counts : device array of shape (2,), uint64
        Vertices found by the last level and, if it was instrumented, arcs examined.
    adds : bool
        `run` writes every word of the bitmap of the next level.
    """

    adds = False

    def __init__(self, graph: ResidentGraph, threshold: int) -> None:
        self._graph = graph
        module = kernels(graph.device, "bottom_up.cu")
        self._warp = module.get_function("warp_bottom_up")
        self._thread = module.get_function("thread_bottom_up")
        xp, n = graph.device.xp, graph.n_vertices
        offsets, tails = incoming(graph)
        self._rows = module.struct("Rows", offsets=offsets, targets=tails)
        self._large = xp.empty(words_of(n), dtype=xp.uint32)
        module.get_function("mark_large")(
            *over(n), (np.uint32(n), offsets, np.uint32(threshold), self._large)
        )
        self.counts = xp.zeros(2, dtype=xp.uint64)

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
            Range of the words whose vertices are searched.
        frontier, visited, following : device array of shape (n_words,), uint32
            Bitmaps; the level writes the words of `following` and adds to those of `visited`.
        answer : Levels
        instrumented : bool
            Whether to count arcs.
        """
        self.counts.fill(0)
        if words[0] == words[1]:
            return
        rows = self._rows, self._large, np.uint32(words[0]), np.uint32(words[1])
        bitmaps = frontier, np.uint32(depth), visited, following
        found = answer.level, answer.predecessor, self.counts, np.uint32(instrumented)
        for kernel in (self._warp, self._thread):
            kernel(*over(words[1] - words[0]), (*rows, *bitmaps, *found))


class Solver:
    """BFS by bottom-up levels, launched by the host, which reads their counts back.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 3.2.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        self._threshold = parameters.threshold
        self._bottom_up = BottomUp(graph, parameters.threshold)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the threshold."""
        return {"threshold": self._threshold}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`."""
        return search_levels(self._graph, source, phases, "bottom-up", self._bottom_up, 0)
