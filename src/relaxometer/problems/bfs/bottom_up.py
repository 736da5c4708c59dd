"""Every level bottom-up, rows searched by warps or threads (Hirakushi and Takahashi, section 3.2)."""

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs._incoming import incoming
from relaxometer.problems.bfs._levels import Bitmaps, Direction, LevelByLevel, Levels, kernels, over, words_of


class Parameters(variants.Parameters):
    """How rows are searched."""

    threshold: NonNegativeInt = Field(32, lt=2**32)
    """A warp searches the rows of at least this many incoming arcs, a thread the others; 32, the size of a
    warp, in the paper."""


class BottomUp(Direction):
    """Bottom-up levels of two kernels each over words; counts vertices and, if instrumented, arcs."""

    mode, found_at, adds = "bottom-up", 0, False

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
        self, depth: int, words: tuple[int, int], bitmaps: Bitmaps, answer: Levels, *, instrumented: bool
    ) -> None:
        """Launch a level; see :meth:`Direction.run`."""
        self.counts.fill(0)
        if words[0] == words[1]:
            return
        rows = self._rows, self._large, np.uint32(words[0]), np.uint32(words[1])
        maps = bitmaps.frontier, np.uint32(depth), bitmaps.visited, bitmaps.following
        found = answer.level, answer.predecessor, self.counts, np.uint32(instrumented)
        for kernel in (self._warp, self._thread):
            kernel(*over(words[1] - words[0]), (*rows, *maps, *found))


class Solver(LevelByLevel):
    """BFS by bottom-up levels, launched by the host, which reads their counts back.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 3.2.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters, BottomUp(graph, parameters.threshold))
