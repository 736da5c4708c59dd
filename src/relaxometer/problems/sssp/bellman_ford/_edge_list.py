"""A graph as a list of edges (COO), the predecessors that distances imply on it, and the solvers' base."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp.bellman_ford._arcs import is_mirrored, tails_of_arcs
from relaxometer.problems.sssp.bellman_ford._fixed_point import FixedPoint, drop_too_short
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import over
from relaxometer.problems.variants import SolverBase

GROUP_EDGES = 4  # edges that one thread reads with 128-bit loads; lists are padded to a multiple of it
PIECE = 1 << 30
"""Maximum number of edges per launch, a multiple of `GROUP_EDGES`: kernels count them in 32 bits."""


class EdgeList:
    """The edges of a graph, listed and sorted on its device.

    If every arc has one of the same weight in the other direction, each pair is one edge, relaxed both ways;
    its start is the smaller end. Otherwise every arc is an edge. Self-loops are left out unless negative.

    With `block`, edges are sorted by block of the end, then block of the start, of this many consecutive
    vertices each. Otherwise they keep the order of the CSR arrays.

    Starts and ends, uint32, and weights, float64 or words, are padded to a multiple of `GROUP_EDGES` with
    edges of weight zero from vertex 0 to itself, which change nothing; `n_edges` is without these.
    """

    def __init__(self, graph: ResidentGraph, weight_type: Any, block: int | None) -> None:
        self._graph = graph
        xp = graph.device.xp
        tails = tails_of_arcs(graph)
        self.both_ways = is_mirrored(graph, tails)
        chosen = tails < graph.targets if self.both_ways else tails != graph.targets
        weights = graph.weights.view(graph.lengths.dtype)
        if graph.lengths.is_signed:
            chosen |= (tails == graph.targets) & (weights < 0)
        starts, ends, weights = tails[chosen], graph.targets[chosen], weights[chosen]
        del tails, chosen
        self.n_edges = len(starts)
        # Whether some tight edge may be part of a cycle of tight edges.
        self._has_zero = graph.lengths.dtype != np.uint32 or bool((weights == 0).any())
        if block is not None:
            order = xp.argsort(_tiles(starts, ends, block, graph.n_vertices), kind="stable")
            starts, ends, weights = starts[order], ends[order], weights[order]
        self.starts, self.ends = _padded(xp, starts), _padded(xp, ends)
        is_double = np.dtype(weight_type) == np.float64
        word = graph.lengths.weight_word
        self.weights = _padded(xp, weights.astype(np.float64) if is_double else weights.view(word))
        name = "double" if is_double else f"u{8 * word.itemsize}"
        self._overflow = xp.zeros(1, dtype=np.uint32)
        self._joined = xp.zeros(1, dtype=np.uint32)
        kernels = [f"attach_tight<{name}>", f"attach_by_zero<{name}>"]
        file, options = Path(__file__).with_name("_edge_list.cu"), graph.lengths.options
        module = graph.device.module(file, name_expressions=kernels, options=options)
        self._attach_tight, self._attach_by_zero = map(module.get_function, kernels)

    @property
    def arcs(self) -> int:
        """Arcs examined by a phase."""
        return self.n_edges * (2 if self.both_ways else 1)

    @property
    def bytes(self) -> int:
        """Bytes of all edges."""
        return self.n_edges * (8 + int(self.weights.dtype.itemsize))

    def launch(self, kernel: Any, edges_per_thread: int, *arguments: Any) -> None:
        """Launch over all edges a kernel of groups, starts, ends, weights, both_ways and `arguments`."""
        for begin in range(0, len(self.starts), PIECE):
            piece = slice(begin, begin + PIECE)
            starts, ends, weights = self.starts[piece], self.ends[piece], self.weights[piece]
            groups = len(starts) // edges_per_thread
            edges = (np.uint32(groups), starts, ends, weights, np.bool_(self.both_ways))
            kernel(*over(groups), (*edges, *arguments))

    def tree(self, source: int, distance: DeviceArray) -> tuple[Any, bool]:
        """Return the predecessors that distances, as words, imply, and whether the search overflowed.

        It has if some vertex counts as unreached only because the type does not hold its distance.
        """
        predecessor = self._graph.device.xp.full(self._graph.n_vertices, NO_PREDECESSOR, dtype=np.uint32)
        predecessor[source] = source
        self._overflow.fill(0)
        self.launch(self._attach_tight, GROUP_EDGES, distance, predecessor, self._overflow)
        joined = self._has_zero
        while joined:
            self._joined.fill(0)
            self.launch(self._attach_by_zero, GROUP_EDGES, distance, predecessor, self._joined)
            joined = bool(self._graph.device.item(self._joined))
        return predecessor, bool(self._graph.device.item(self._overflow))


def _tiles(starts: Any, ends: Any, block: int, n_vertices: int) -> Any:
    """Return each edge's pair of blocks as one number, the block of the end first; (n_edges,), uint64."""
    block = min(block, n_vertices)
    blocks = -(-n_vertices // block)
    return (ends // np.uint32(block)).astype(np.uint64) * np.uint64(blocks) + starts // np.uint32(block)


def _padded(xp: Any, array: Any) -> Any:
    """Append zeros up to a multiple of `GROUP_EDGES` elements."""
    return xp.concatenate([array, xp.zeros(-len(array) % GROUP_EDGES, dtype=array.dtype)])


class EdgeSolver(SolverBase):
    """Base of the solvers that relax all edges in every phase, by the kernel ``relax_edges``.

    `parameters` have `blocked`, `block` and `edges_per_thread`; `kernel` is a full name.
    """

    weight_types: ClassVar = {"uint32", "int32"}

    def __init__(
        self, graph: ResidentGraph, parameters: Any, distance_type: Any, file: str, kernel: str
    ) -> None:
        super().__init__(graph, parameters)
        self._xp, self._lengths = graph.device.xp, graph.lengths
        self._distance = self._xp.empty(graph.n_vertices, dtype=distance_type)
        self._edges = EdgeList(graph, self._distance.dtype, parameters.block if parameters.blocked else None)
        self._fixed_point = FixedPoint(graph, self._edges.arcs)
        source, options = Path(__file__).with_name(file), graph.lengths.options
        module = graph.device.module(source, name_expressions=[kernel], options=options)
        self._relax_edges = module.get_function(kernel)
        # At least edges and distances once each.
        self.resolved["bytes_per_phase"] = self._edges.bytes + self._distance.nbytes

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        is_double = self._distance.dtype == np.float64
        self._distance.fill(np.inf if is_double else self._lengths.unreached)
        self._distance[source] = 0 if is_double else self._lengths.zero
        count = self._fixed_point.run(self._relax, lambda: self._distance, phases)
        return self._fixed_point.verdict(lambda: self._answer(source, count), count)

    def _answer(self, source: int, count: int) -> Answer:
        words = self._words()
        is_any_too_short = drop_too_short(self._lengths, words)
        predecessor, overflowed = self._edges.tree(source, words)
        if overflowed and self._lengths.is_signed:
            # Where a length fits again after one on the way did not, no predecessor was found.
            words[predecessor == NO_PREDECESSOR] = self._lengths.unreached
        distance = self._lengths.distance(words)
        return Answer(distance, predecessor, count, is_any_too_short or overflowed)

    def _words(self) -> Any:
        """Return the words of the distances, unreached if too long; `EdgeList.tree` detects these."""
        xp, distance = self._xp, self._distance
        if distance.dtype == np.float64 and self._lengths.is_signed:
            distance = xp.maximum(distance + int(self._lengths.zero), 0)
        return xp.minimum(distance, self._lengths.unreached).astype(self._lengths.word, copy=False)

    def _relax(self, phase: np.uint32) -> None:
        arguments = (self._distance, phase, self._fixed_point.last_phase)
        self._edges.launch(self._relax_edges, self._parameters.edges_per_thread, *arguments)
