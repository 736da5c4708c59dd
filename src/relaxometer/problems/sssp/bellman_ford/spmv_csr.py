"""Bellman-Ford as a min-plus sparse matrix-vector product on CSR, with three mappings of rows."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp._tight_tree import TightTree
from relaxometer.problems.sssp.bellman_ford._arcs import WARPS, IncomingArcs
from relaxometer.problems.sssp.bellman_ford._matrix import MatrixSolver
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import BLOCK, over

SOURCE = read_source(Path(__file__).with_name("spmv_csr.cu"))
TILE_ITEMS: int = SOURCE.constants["TILE_ITEMS"]
"""Items per block of the merged list of arcs and ends of rows."""

MIN_WIDE = 2**31  # with this many arcs or more, kernels count them in 64 bits


class Parameters(variants.Parameters):
    """The mapping of rows to threads."""

    rows: Literal["scalar", "vector", "merge"] = "merge"
    """One thread per row, one warp per row, or equal tiles of arcs and rows."""


class Solver(MatrixSolver):
    """SSSP by products of the transposed adjacency matrix with the vector of distances.

    References
    ----------
    Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors",
    SC 2009. Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        arcs = IncomingArcs.of(graph)
        narrow = graph.n_arcs < MIN_WIDE
        offsets = arcs.offsets.astype(np.uint32) if narrow else arcs.offsets
        super().__init__(graph, parameters, graph.lengths.arc_bytes * graph.n_arcs + offsets.nbytes)
        self._matrix = (np.uint32(graph.n_vertices), offsets, arcs.tails, arcs.weights)
        self._pattern = self._matrix[:3]
        index = "u32" if narrow else "i64"
        kernels = [f"relax_{parameters.rows}<{index}>", f"find_overflow<{index}>"]
        module = graph.device.module(SOURCE.path, name_expressions=kernels, options=graph.lengths.options)
        self._relax_rows, self._find_overflow = map(module.get_function, kernels)
        if parameters.rows == "merge":
            self._settle_carries = module.get_function("settle_carries")
            self._tile_rows = _tile_rows(graph.device.xp, arcs.offsets)
            self._tree = TightTree(graph) if graph.lengths.is_wide else None
            self._carry = graph.device.xp.empty(len(self._tile_rows) - 1, dtype=np.uint64)

    def _relax(self, *flag: Any) -> None:
        vectors = self._x, self._y, self._predecessor
        if self._parameters.rows != "merge":
            per_block = WARPS if self._parameters.rows == "vector" else BLOCK
            blocks = -(-self._graph.n_vertices // per_block)
            self._relax_rows(blocks, BLOCK, (*self._matrix, *vectors, *flag))
            return
        tiles = len(self._carry)
        self._relax_rows(tiles, BLOCK, (*self._matrix, self._tile_rows, *vectors, self._carry, *flag))
        if tiles > 1:
            carries = (np.uint32(tiles), self._matrix[0], self._tile_rows, self._carry)
            self._settle_carries(*over(tiles - 1), (*carries, *vectors[1:], *flag))


def _tile_rows(xp: Any, offsets: DeviceArray) -> Any:
    """Return the row in which each tile begins, and the number of rows; shape (n_tiles + 1,), uint32.

    The end of row i is item ``offsets[i + 1] + i`` of the merged list of arcs and ends of rows.
    """
    n = len(offsets) - 1
    ends = offsets[1:] + xp.arange(n)
    items = n + int(offsets[n])
    begins = xp.arange(-(-items // TILE_ITEMS) + 1) * TILE_ITEMS
    return xp.searchsorted(ends, begins).astype(np.uint32)
