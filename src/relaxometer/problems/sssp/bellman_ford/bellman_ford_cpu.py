"""Bellman-Ford's algorithm with a queue on one CPU core: the baseline with negative arcs."""

from typing import Any, ClassVar

import numpy as np

from relaxometer.graphs.lengths import ON_CYCLE
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp.bellman_ford._fixed_point import keeps_whole_paths

Parameters = variants.NoParameters


class Solver(variants.SolverBase):
    """SSSP that relaxes the vertices that came nearer, first in, first out, compiled with Numba.

    Lengths have 64 bits. After every n improvements, n the number of vertices, predecessors are searched for
    a cycle, which is a negative one: the amortized search of Cherkassky and Goldberg.

    References
    ----------
    Moore, "The Shortest Path through a Maze", 1959. Bellman, "On a Routing Problem", Quarterly of Applied
    Mathematics 16, 1958. Cherkassky and Goldberg, "Negative-Cycle Detection Algorithms", Mathematical
    Programming 85, 1999.
    """

    runs_on = "cpu"
    weight_types: ClassVar = {"uint32", "int32"}

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        from relaxometer.problems.sssp.bellman_ford import _queue  # loads Numba

        super().__init__(graph, parameters)
        self._lengths = graph.lengths
        self._csr = (graph.host.offsets, graph.host.targets, graph.host.weights)
        self._search = _queue.search
        nothing = np.zeros(0, dtype=np.uint32)
        self._search(np.zeros(2, dtype=np.int64), nothing, nothing.view(self._lengths.dtype), 0)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; an instrumented run records the search as one phase."""
        lengths, predecessor, relaxed, on_cycle = self._search(*self._csr, source)
        if phases is not None:
            phases.append(Phase("queue", int((predecessor != NO_PREDECESSOR).sum()), int(relaxed), 0.0))
        distance = np.full(len(lengths), self._lengths.distance(self._lengths.unreached), self._lengths.dtype)
        if on_cycle >= 0:
            return self._cycle(distance, predecessor, on_cycle)
        is_reached = predecessor != NO_PREDECESSOR
        fits = is_reached & (lengths >= self._lengths.smallest) & (lengths < int(distance[0]))
        is_any_lost = bool((is_reached & ~fits).any())
        if is_any_lost:
            fits = keeps_whole_paths(np, predecessor, fits)
        distance[fits] = lengths[fits]
        predecessor[~fits] = NO_PREDECESSOR
        return Answer(distance, predecessor, None, is_any_lost)

    def _cycle(self, distance: Any, predecessor: Any, start: int) -> Answer:
        """Keep one cycle of predecessors as the answer."""
        v = start
        while distance[v] != ON_CYCLE:
            distance[v] = ON_CYCLE
            v = int(predecessor[v])
        return Answer(distance, np.where(distance == ON_CYCLE, predecessor, NO_PREDECESSOR), None, False)
