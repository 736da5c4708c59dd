"""Bellman-Ford as a min-plus sparse matrix-vector product on ELLPACK."""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveFloat

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.bellman_ford._arcs import IncomingArcs
from relaxometer.problems.sssp.bellman_ford._matrix import MatrixSolver
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import over

SOURCE = Path(__file__).with_name("spmv_ell.cu")
LINE = 32  # columns are padded to a multiple of this many rows, so that each begins at a cache line


class Parameters(variants.Parameters):
    """The memory of the padded matrix."""

    limit_gb: PositiveFloat = 16
    """Graphs whose matrix takes more than this are skipped; in units of 10**9 bytes."""


class Solver(MatrixSolver):
    """SSSP by products of the transposed adjacency matrix, its rows padded to equal length, with distances.

    Skipped if the padded matrix would be larger than the limit.

    References
    ----------
    Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors",
    SC 2009.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters, graph.lengths.arc_bytes * graph.n_arcs)
        arcs = IncomingArcs.of(graph)
        xp = graph.device.xp
        n, stride = graph.n_vertices, -(-graph.n_vertices // LINE) * LINE
        width = int(xp.diff(arcs.offsets).max())
        padded = graph.lengths.arc_bytes * stride * width
        if padded > parameters.limit_gb * 1e9:
            raise variants.Skipped(
                f"rows padded to {width} arcs take {padded / 1e9:.3g} GB; limit_gb is {parameters.limit_gb:g}"
            )
        module = graph.device.module(SOURCE, options=graph.lengths.options)
        self._shape = (np.uint32(n), np.uint32(stride), np.uint32(width))
        self._tails = xp.empty(stride * width, dtype=np.uint32)
        self._weights = xp.empty(stride * width, dtype=graph.lengths.weight_word)
        csr = (arcs.offsets, arcs.tails, arcs.weights)
        module.get_function("fill_columns")(*over(n), (*self._shape, *csr, self._tails, self._weights))
        self._relax_rows = module.get_function("relax_rows")
        self._find_overflow = module.get_function("find_overflow")
        self._pattern = (*self._shape, self._tails)

    def _relax(self, *flag: Any) -> None:
        matrix = (*self._shape, self._tails, self._weights)
        self._relax_rows(*over(self._graph.n_vertices), (*matrix, self._x, self._y, self._predecessor, *flag))
