"""Bellman-Ford over a list of edges, like ``edge-bf``, with an atomic minimum in place of racy stores."""

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
    """The order of the edges, and their number per thread.

    Parameters
    ----------
    blocked : bool
        Sort the edges by the blocks of their ends.
    block : int
        Vertices per block.
    edges_per_thread : {1, 4}
        4 edges are read with 128-bit loads.
    check_every : int
        Phases between two reads of the flag that ends the search.
    """

    blocked: bool = True
    block: PositiveInt = 1 << 14
    edges_per_thread: Literal[1, 4] = 4
    check_every: PositiveInt = 1


class Solver:
    """SSSP with one thread per edge or four edges in every phase, and an atomic minimum per improvement.

    References
    ----------
    See :mod:`relaxometer.problems.sssp.bellman_ford.edge_bf`.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._parameters = parameters
        self._distance = graph.device.xp.empty(graph.n_vertices, dtype=np.uint32)
        self._edges = EdgeList(graph, np.uint32, parameters.block if parameters.blocked else None)
        self._fixed_point = FixedPoint(graph, self._edges.arcs, parameters.check_every)
        kernel = f"relax_edges<{parameters.edges_per_thread}>"
        path = Path(__file__).with_name("edge_bf_atomic.cu")
        self._relax_edges = graph.device.module(path, name_expressions=[kernel]).get_function(kernel)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the parameters, and the minimum bytes moved by a phase: edges and distances once each."""
        moved = self._edges.bytes + self._distance.nbytes
        return self._parameters.model_dump() | {"bytes_per_phase": moved}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._distance.fill(UNREACHED)
        self._distance[source] = 0
        count = self._fixed_point.run(self._relax, lambda: self._distance, phases)
        predecessor, overflowed = self._edges.tree(source, self._distance)
        return Answer(self._distance.copy(), predecessor, count, overflowed)

    def _relax(self, phase: np.uint32) -> None:
        arguments = (self._distance, phase, self._fixed_point.last_phase)
        self._edges.launch(self._relax_edges, self._parameters.edges_per_thread, *arguments)
