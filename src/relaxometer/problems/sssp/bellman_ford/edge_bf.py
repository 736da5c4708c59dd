"""Bellman-Ford over a list of edges with plain, racy stores, after a paper on a GTX Titan."""

from typing import Literal

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.bellman_ford._edge_list import EdgeSolver


class Parameters(variants.Parameters):
    """The paper's two optimizations, and later additions."""

    read_only_cache: bool = True
    """Read distances through the read-only cache, although other threads write them in the same phase."""
    blocked: bool = True
    """Sort the edges by the blocks of their ends."""
    block: PositiveInt = 1 << 14
    """Vertices per block: P in the paper, which does not state its value."""
    distance: Literal["float64", "uint32"] = "float64"
    """Type of distances and weights; "float64" in the paper. "uint32" stands for the type of the graph's
    weights."""
    edges_per_thread: Literal[1, 4] = 1
    """1 in the paper; 4 edges are read with 128-bit loads."""


class Solver(EdgeSolver):
    """SSSP with one thread per edge in every phase, and races for the distances.

    References
    ----------
    "GPU SSSP implementation", an article on Bellman-Ford over edges on a GTX Titan; after Bellman, "On a
    Routing Problem", Quarterly of Applied Mathematics 16, 1958.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        name = "double" if parameters.distance == "float64" else "u32"
        cached = str(parameters.read_only_cache).lower()
        kernel = f"relax_edges<{name}, {cached}, {parameters.edges_per_thread}>"
        super().__init__(graph, parameters, parameters.distance, "edge_bf.cu", kernel)
