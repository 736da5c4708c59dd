"""Bellman-Ford over a list of edges, like ``edge-bf``, with an atomic minimum in place of racy stores."""

from typing import ClassVar, Literal

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.bellman_ford._edge_list import EdgeSolver


class Parameters(variants.Parameters):
    """The order of the edges, and their number per thread."""

    blocked: bool = True
    """Sort the edges by the blocks of their ends."""
    block: PositiveInt = 1 << 14
    """Vertices per block."""
    edges_per_thread: Literal[1, 4] = 4
    """4 edges are read with 128-bit loads."""


class Solver(EdgeSolver):
    """SSSP with one thread per edge or four edges in every phase, and an atomic minimum per improvement.

    References
    ----------
    See :mod:`relaxometer.problems.sssp.bellman_ford.edge_bf`.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64", "int32"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        kernel = f"relax_edges<{parameters.edges_per_thread}>"
        super().__init__(graph, parameters, graph.lengths.word, "edge_bf_atomic.cu", kernel)
