"""The base of the solvers by min-plus matrix-vector products, with the vectors of the products."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp._tight_tree import TightTree
from relaxometer.problems.sssp.bellman_ford._fixed_point import FixedPoint, drop_too_short
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import over
from relaxometer.problems.variants import SolverBase


class MatrixSolver(SolverBase, ABC):
    """Multiplies the transposed adjacency matrix with the vector of distances until nothing changes.

    A subclass sets `_find_overflow`, a kernel, and `_pattern`, the kernel's arguments for the matrix, of
    which a phase moves at least `matrix_bytes`. If its kernels leave no predecessors, it sets `_tree`.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64", "int32"}
    _find_overflow: Any
    _pattern: tuple[Any, ...]
    _tree: TightTree | None = None

    def __init__(self, graph: ResidentGraph, parameters: Any, matrix_bytes: int) -> None:
        super().__init__(graph, parameters)
        xp, n = graph.device.xp, graph.n_vertices
        # The distances that a product reads, and those that it writes.
        self._x, self._y = (xp.empty(n, dtype=graph.lengths.word) for _ in range(2))
        self._predecessor = xp.empty(n, dtype=np.uint32)
        self._overflow = xp.zeros(1, dtype=np.uint32)
        self._fixed_point = FixedPoint(graph, graph.n_arcs)
        # At least the matrix, x and y once each.
        self.resolved["bytes_per_phase"] = matrix_bytes + int(self._x.nbytes + self._y.nbytes)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        lengths = self._graph.lengths
        self._x.fill(lengths.unreached)
        self._predecessor.fill(NO_PREDECESSOR)
        self._overflow.fill(0)
        self._x[source] = lengths.zero
        self._predecessor[source] = source
        count = self._fixed_point.run(self._relax_and_swap, lambda: self._x, phases)
        return self._fixed_point.verdict(lambda: self._answer(source, count), count)

    def _answer(self, source: int, count: int) -> Answer:
        lengths, device = self._graph.lengths, self._graph.device
        words = self._x.copy()
        predecessor = self._tree.predecessors(source, words) if self._tree else self._predecessor.copy()
        is_any_too_short = drop_too_short(lengths, words)
        if is_any_too_short:
            predecessor[words == lengths.unreached] = NO_PREDECESSOR
        self._find_overflow(*over(self._graph.n_vertices), (*self._pattern, words, self._overflow))
        overflowed = is_any_too_short or bool(device.item(self._overflow))
        return Answer(lengths.distance(words), predecessor, count, overflowed)

    def _relax_and_swap(self, phase: np.uint32) -> None:
        self._relax(phase, self._fixed_point.last_phase)
        self._x, self._y = self._y, self._x

    @abstractmethod
    def _relax(self, *flag: Any) -> None:
        """Launch a product; its kernels take `flag` as their last arguments."""
