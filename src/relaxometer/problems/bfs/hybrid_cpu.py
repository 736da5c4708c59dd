"""The hybrid search on all cores of the CPU."""

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import NO_PREDECESSOR, UNREACHED, Answer
from relaxometer.problems.bfs._levels import full_beyond, words_of
from relaxometer.problems.bfs._switching import SwitchingParameters
from relaxometer.problems.phases import Phase
from relaxometer.problems.variants import SolverBase

Parameters = SwitchingParameters


class Solver(SolverBase):
    """BFS that changes direction, on all cores; each level is one parallel loop.

    The frontier is a list in top-down levels and a bitmap in bottom-up levels.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 2.
    Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
    """

    runs_on = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: SwitchingParameters) -> None:
        from relaxometer.problems.bfs import _cpu

        super().__init__(graph, parameters)
        self._cpu = _cpu
        self._host = graph.host
        self._out, self._in = _cpu.host_rows(graph)
        n = graph.n_vertices
        self._lists = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
        self._counts = np.zeros(3, dtype=np.int64)
        from relaxometer.core.compiled import get_num_threads

        self.resolved["threads"] = get_num_threads()

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`."""
        return self._solve(np.array([source], dtype=np.uint32), self._host.n_vertices, phases)

    def solve_from(self, sources: npt.NDArray[np.uint32], bound: Any = None) -> Answer:
        """Find the levels from the nearest of different sources, those below `bound`; each is a root."""
        return self._solve(sources, self._host.n_vertices if bound is None else int(bound) - 1, None)

    def _solve(self, sources: npt.NDArray[np.uint32], deepest: int, phases: list[Phase] | None) -> Answer:
        n, degrees = self._host.n_vertices, self._host.offsets
        level, predecessor = np.full(n, UNREACHED), np.full(n, NO_PREDECESSOR)
        level[sources], predecessor[sources] = 0, sources
        visited = full_beyond(np, n)
        self._cpu.mark_listed(sources, len(sources), visited)
        state = self._cpu.Found(visited, level, predecessor)
        listed, spare = self._lists
        frontier, following = np.zeros_like(visited), np.zeros_like(visited)
        vertices = len(sources)
        listed[:vertices] = sources
        many_arcs, few_vertices = self._parameters.limits(n, self._host.n_arcs)
        arcs = int((degrees[sources.astype(np.int64) + 1] - degrees[sources]).sum())
        is_top_down = True
        depth = 0
        while vertices and depth < deepest:
            begin = time.perf_counter()
            if is_top_down and arcs > many_arcs:
                is_top_down = False
                frontier.fill(0)
                self._cpu.mark_listed(listed, vertices, frontier)
            elif not is_top_down and vertices < few_vertices:
                is_top_down = True
                self._cpu.list_bitmap(frontier, 0, words_of(n), listed, self._counts)
            if is_top_down:
                self._cpu.top_down(self._out, listed, vertices, depth, state, degrees, spare, self._counts)
                listed, spare = spare, listed
            else:
                words = 0, words_of(n)
                self._cpu.bottom_up(self._in, *words, frontier, depth, state, following, self._counts)
                frontier, following = following, frontier
            vertices, arcs, examined = self._counts.tolist()
            depth += 1
            if phases is not None:
                mode = "top-down" if is_top_down else "bottom-up"
                phases.append(Phase(mode, vertices, examined, (time.perf_counter() - begin) * 1e3))
        return Answer(level, predecessor, depth)
