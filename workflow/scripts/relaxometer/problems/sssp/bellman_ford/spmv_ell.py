"""Bellman-Ford as a min-plus sparse matrix-vector product on ELLPACK."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp.bellman_ford._arcs import IncomingArcs
from relaxometer.problems.sssp.bellman_ford._fixed_point import FixedPoint
from relaxometer.problems.sssp.bellman_ford._vectors import Vectors
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import over

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

LINE = 32
"""Columns are padded to a multiple of this many rows, so that each begins at a cache line."""


class Parameters(variants.Parameters):
    """The memory of the padded matrix.

    Parameters
    ----------
    limit_gb : float
        Graphs whose matrix takes more than this are skipped; in units of 10**9 bytes.
    check_every : int
        Phases between two reads of the flag that ends the search.
    """

    limit_gb: PositiveFloat = 16
    check_every: PositiveInt = 1


class Solver:
    """SSSP by products of the transposed adjacency matrix, its rows padded to equal length, with distances.

    Raises
    ------
    Skipped
        If the padded matrix would be larger than the limit.

    References
    ----------
    Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors",
    SC 2009.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._parameters = parameters
        arcs = IncomingArcs.of(graph)
        xp = graph.device.xp
        n, stride = graph.n_vertices, -(-graph.n_vertices // LINE) * LINE
        width = int(xp.diff(arcs.offsets).max())
        padded = 8 * stride * width
        if padded > parameters.limit_gb * 1e9:
            raise variants.Skipped(
                f"rows padded to {width} arcs take {padded / 1e9:.3g} GB; limit_gb is {parameters.limit_gb:g}"
            )
        module = graph.device.module(Path(__file__).with_name("spmv_ell.cu"))
        self._shape = (np.uint32(n), np.uint32(stride), np.uint32(width))
        self._tails = xp.empty(stride * width, dtype=np.uint32)
        self._weights = xp.empty(stride * width, dtype=np.uint32)
        csr = (arcs.offsets, arcs.tails, arcs.weights)
        module.get_function("fill_columns")(*over(n), (*self._shape, *csr, self._tails, self._weights))
        self._relax_rows = module.get_function("relax_rows")
        self._find_overflow = module.get_function("find_overflow")
        self._vectors = Vectors(graph)
        self._fixed_point = FixedPoint(graph, graph.n_arcs, parameters.check_every)
        self._bytes = 8 * graph.n_arcs + self._vectors.bytes

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the parameters, and the minimum bytes moved by a phase: the matrix, x and y once each."""
        return self._parameters.model_dump() | {"bytes_per_phase": self._bytes}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._vectors.start(source)
        count = self._fixed_point.run(self._relax, lambda: self._vectors.x, phases)
        find = (*self._shape, self._tails, self._vectors.x, self._vectors.overflow)
        self._find_overflow(*over(int(self._shape[0])), find)
        return self._vectors.answer(count)

    def _relax(self, phase: np.uint32) -> None:
        v = self._vectors
        matrix = (*self._shape, self._tails, self._weights)
        flag = (phase, self._fixed_point.last_phase)
        self._relax_rows(*over(int(self._shape[0])), (*matrix, v.x, v.y, v.predecessor, *flag))
        v.swap()
