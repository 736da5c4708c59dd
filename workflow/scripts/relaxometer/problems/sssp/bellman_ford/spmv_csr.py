"""Bellman-Ford as a min-plus sparse matrix-vector product on CSR, with three mappings of rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import PositiveInt

from relaxometer.device.signature import read_source
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp.bellman_ford._arcs import WARPS, IncomingArcs
from relaxometer.problems.sssp.bellman_ford._fixed_point import FixedPoint
from relaxometer.problems.sssp.bellman_ford._vectors import Vectors
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import BLOCK, over

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

SOURCE = read_source(Path(__file__).with_name("spmv_csr.cu"))

TILE: int = SOURCE.constants["TILE"]
"""Items per block of the merged list of arcs and ends of rows."""

MIN_WIDE = 2**31
"""With this many arcs or more, kernels count them in 64 bits."""


class Parameters(variants.Parameters):
    """The mapping of rows to threads.

    Parameters
    ----------
    rows : {"scalar", "vector", "merge"}
        One thread per row, one warp per row, or equal tiles of arcs and rows.
    check_every : int
        Phases between two reads of the flag that ends the search.
    """

    rows: Literal["scalar", "vector", "merge"] = "merge"
    check_every: PositiveInt = 1


class Solver:
    """SSSP by products of the transposed adjacency matrix with the vector of distances.

    References
    ----------
    Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors",
    SC 2009. Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._parameters = parameters
        self._n = np.uint32(graph.n_vertices)
        arcs = IncomingArcs.of(graph)
        narrow = graph.n_arcs < MIN_WIDE
        offsets = arcs.offsets.astype(np.uint32) if narrow else arcs.offsets
        self._matrix = (self._n, offsets, arcs.tails, arcs.weights)
        self._vectors = Vectors(graph)
        self._fixed_point = FixedPoint(graph, graph.n_arcs, parameters.check_every)
        index = "u32" if narrow else "i64"
        kernels = [f"relax_{parameters.rows}<{index}>", f"find_overflow<{index}>"]
        module = graph.device.module(SOURCE.path, name_expressions=kernels)
        self._relax_rows, self._find_overflow = map(module.get_function, kernels)
        self._bytes = 8 * graph.n_arcs + offsets.nbytes + self._vectors.bytes
        self._relax = self._relax_tiles if parameters.rows == "merge" else self._relax_all_rows
        if parameters.rows == "merge":
            self._settle_carries = module.get_function("settle_carries")
            self._tile_rows = _tile_rows(graph.device.xp, arcs.offsets)
            self._carry = graph.device.xp.empty(len(self._tile_rows) - 1, dtype=np.uint64)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the parameters, and the minimum bytes moved by a phase: the matrix, x and y once each."""
        return self._parameters.model_dump() | {"bytes_per_phase": self._bytes}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._vectors.start(source)
        count = self._fixed_point.run(self._relax, lambda: self._vectors.x, phases)
        n, offsets, tails, _ = self._matrix
        find = (n, offsets, tails, self._vectors.x, self._vectors.overflow)
        self._find_overflow(*over(int(n)), find)
        return self._vectors.answer(count)

    def _relax_all_rows(self, phase: np.uint32) -> None:
        per_block = WARPS if self._parameters.rows == "vector" else BLOCK
        v = self._vectors
        arguments = (*self._matrix, v.x, v.y, v.predecessor, phase, self._fixed_point.last_phase)
        self._relax_rows(-(-int(self._n) // per_block), BLOCK, arguments)
        v.swap()

    def _relax_tiles(self, phase: np.uint32) -> None:
        v, flag = self._vectors, (phase, self._fixed_point.last_phase)
        tiles = len(self._carry)
        tile_arguments = (self._tile_rows, v.x, v.y, v.predecessor, self._carry)
        self._relax_rows(tiles, BLOCK, (*self._matrix, *tile_arguments, *flag))
        if tiles > 1:
            carries = (np.uint32(tiles), self._n, self._tile_rows, self._carry)
            self._settle_carries(*over(tiles - 1), (*carries, v.y, v.predecessor, *flag))
        v.swap()


def _tile_rows(xp: Any, offsets: Any) -> Any:
    """Return the row in which each tile begins, and the number of rows; shape (n_tiles + 1,), uint32.

    The end of row i is item ``offsets[i + 1] + i`` of the merged list of arcs and ends of rows.
    """
    n = len(offsets) - 1
    ends = offsets[1:] + xp.arange(n)
    items = n + int(offsets[n])
    begins = xp.arange(-(-items // TILE) + 1) * TILE
    return xp.searchsorted(ends, begins).astype(np.uint32)
