"""Bellman-Ford over a list of edges with plain, racy stores, after a paper on a GTX Titan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import PositiveInt

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import UNREACHED, Answer
from relaxometer.problems.sssp.bellman_ford._edge_list import EdgeList
from relaxometer.problems.sssp.bellman_ford._fixed_point import FixedPoint

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Parameters(variants.Parameters):
    """The paper's two optimizations, and later additions.

    Parameters
    ----------
    read_only_cache : bool
        Read distances through the read-only cache, although other threads write them in the same phase.
    blocked : bool
        Sort the edges by the blocks of their ends.
    block : int
        Vertices per block: P in the paper, which does not state its value.
    distance : {"float64", "uint32"}
        Type of distances and weights; "float64" in the paper.
    edges_per_thread : {1, 4}
        1 in the paper; 4 edges are read with 128-bit loads.
    check_every : int
        Phases between two reads of the flag that ends the search; 1 in the paper.
    """

    read_only_cache: bool = True
    blocked: bool = True
    block: PositiveInt = 1 << 14
    distance: Literal["float64", "uint32"] = "float64"
    edges_per_thread: Literal[1, 4] = 1
    check_every: PositiveInt = 1


class Solver:
    """SSSP with one thread per edge in every phase, and races for the distances.

    References
    ----------
    "GPU SSSP implementation", an article on Bellman-Ford over edges on a GTX Titan; after Bellman, "On a
    Routing Problem", Quarterly of Applied Mathematics 16, 1958.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._parameters = parameters
        self._xp = graph.device.xp
        self._distance = self._xp.empty(graph.n_vertices, dtype=parameters.distance)
        self._edges = EdgeList(graph, self._distance.dtype, parameters.block if parameters.blocked else None)
        self._fixed_point = FixedPoint(graph, self._edges.arcs, parameters.check_every)
        name = "double" if parameters.distance == "float64" else "u32"
        cached = str(parameters.read_only_cache).lower()
        kernel = f"relax_edges<{name}, {cached}, {parameters.edges_per_thread}>"
        path = Path(__file__).with_name("edge_bf.cu")
        self._relax_edges = graph.device.module(path, name_expressions=[kernel]).get_function(kernel)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the parameters, and the minimum bytes moved by a phase: edges and distances once each."""
        moved = self._edges.bytes + self._distance.nbytes
        return self._parameters.model_dump() | {"bytes_per_phase": moved}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._distance.fill(np.inf if self._distance.dtype == np.float64 else UNREACHED)
        self._distance[source] = 0
        count = self._fixed_point.run(self._relax, lambda: self._distance, phases)
        # Distances that do not fit 32 bits become unreached; `tree` detects them.
        distance = self._xp.minimum(self._distance, UNREACHED).astype(np.uint32)
        predecessor, overflowed = self._edges.tree(source, distance)
        return Answer(distance, predecessor, count, overflowed)

    def _relax(self, phase: np.uint32) -> None:
        arguments = (self._distance, phase, self._fixed_point.last_phase)
        self._edges.launch(self._relax_edges, self._parameters.edges_per_thread, *arguments)
