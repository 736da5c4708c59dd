"""Dijkstra's algorithm with a binary heap on one CPU core: the baseline for every kernel."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer

Parameters = variants.NoParameters


class Solver(variants.SolverBase):
    """SSSP that settles one vertex after another, compiled with Numba.

    The heap holds 64-bit words, the bits of a distance << 32 | vertex. When a vertex comes nearer,
    another entry is pushed; the stale one is dropped when it is popped. If distances have 64 bits, the heap
    is two arrays.

    References
    ----------
    Dijkstra, "A Note on Two Problems in Connexion with Graphs", Numerische Mathematik 1, 1959.
    """

    runs_on = "cpu"
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        from relaxometer.problems.sssp.dijkstra import _heap, _wide_heap  # load Numba

        super().__init__(graph, parameters)
        host, self._lengths = graph.host, graph.lengths
        self._csr = (host.offsets, host.targets, host.weights)
        rounded = np.zeros(1, dtype=self._lengths.dtype) if self._lengths.is_float else None
        heap = _wide_heap if self._lengths.is_wide else _heap
        self._search = partial(heap.search, rounded=rounded)
        nothing = np.zeros(0, dtype=np.uint32)
        self._search(np.zeros(2, dtype=np.int64), nothing, host.weights[:0], nothing, self._lengths.unreached)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; an instrumented run records the search as one phase."""
        answer, relaxed = self._solve(np.array([source], dtype=np.uint32), self._lengths.unreached)
        if phases is not None:
            phases.append(Phase("heap", int((answer.predecessor != source).sum()), relaxed, 0.0))
        return answer

    def solve_from(self, sources: npt.NDArray[np.uint32], bound: Any = None) -> Answer:
        """Find the shortest paths from the nearest source; parameters are those of `near_far.Solver`."""
        lengths = self._lengths
        words = lengths.unreached if bound is None else lengths.words(np.array([bound]))[0]
        return self._solve(sources, words)[0]

    def _solve(self, sources: npt.NDArray[np.uint32], bound: Any) -> tuple[Answer, int]:
        distance, predecessor, relaxed, overflowed = self._search(*self._csr, sources, bound)
        answer = Answer(self._lengths.distance(distance), predecessor, None, bool(overflowed))
        return answer, int(relaxed)
