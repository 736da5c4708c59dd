"""Certificates: prove every answer on the device, without a reference solver."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED, Graph
from relaxometer.graphs.lengths import ON_CYCLE, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate

RULES = {
    "source": "the distance of the source is 0 and it is its own predecessor",
    "overstretched": "no arc leads to a vertex that is further than the arc's tail plus its weight",
    "predecessor": "every reached vertex, and no other, has a predecessor at exactly its arc's length",
    "left_out": "no arc leads from a reached vertex to an unreached one",
    "tree": "predecessors lead back to the source without a cycle",
    "cycle": "vertices on a cycle have predecessors along arcs round one cycle, all others are unreached",
    "negative": "the weights round the cycle add up to less than 0",
    "reachable": "a path leads from the source to the cycle",
}
"""The rules of an SSSP certificate, the first `ON_DEVICE` in the order of the kernels' report.

The others are for the answer that is a negative cycle, which rules the first ones out.
"""

ON_DEVICE = 5  # rules that kernels check
BLOCK = 256


class SsspCertifier:
    """Checks SSSP answers on one resident graph.

    The work is O(m) for arcs and O(n log k) for predecessors, each looked up in a row of up to k arcs; chains
    of up to k zero-weight arcs are followed by doubling. With int32 weights, chains are paths of the tree.

    References
    ----------
    Ahuja, Magnanti and Orlin, "Network Flows", 1993, section 5.2 (shortest path optimality conditions).
    Graph500 specification 3, section 8 (validation of SSSP).
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph
        module = graph.device.module(Path(__file__).with_name("certify.cu"), options=graph.lengths.options)
        self._check_arcs = module.get_function("check_arcs")
        self._check_predecessors = module.get_function("check_predecessors")
        self._double_pointers = module.get_function("double_pointers")
        self._check_tree = module.get_function("check_tree")
        xp = graph.device.xp
        self._pointer = xp.empty(graph.n_vertices, dtype=xp.uint32)
        self._doubled = xp.empty(graph.n_vertices, dtype=xp.uint32)
        self._moved = xp.zeros(1, dtype=xp.uint32)
        self._report = xp.empty((ON_DEVICE, 2), dtype=xp.uint64)

    def check(self, source: int, distance: DeviceArray, predecessor: DeviceArray) -> Certificate:
        """Check one answer; its arrays are as in :class:`relaxometer.problems.sssp.Answer`, on the device."""
        if self._graph.lengths.is_signed and bool((distance == ON_CYCLE).any()):
            columns = map(self._graph.device.asnumpy, (distance, predecessor))
            return check_cycle(self._graph.host, source, *columns)
        n, device = np.uint32(self._graph.n_vertices), self._graph.device
        launch = ((self._graph.n_vertices + BLOCK - 1) // BLOCK, BLOCK)
        root = np.uint32(source)
        self._report[:, 0] = 0
        self._report[:, 1] = n
        distance = self._graph.lengths.words(distance)
        problem = (*self._graph.csr, distance, predecessor, root)
        self._check_arcs(*launch, (*problem, self._report))
        self._check_predecessors(*launch, (*problem, self._pointer, self._report))
        self._follow_chains(launch, n)
        self._check_tree(*launch, (n, distance, predecessor, root, self._pointer, self._report))
        return Certificate.of_report(RULES, device.asnumpy(self._report))

    def _follow_chains(self, launch: tuple[int, int], n: np.uint32) -> None:
        """Point vertices to the end of their chain of equal distances; the tree's rule finds cycles."""
        for _ in range(int(n).bit_length() + 1):
            self._moved.fill(0)
            self._double_pointers(*launch, (n, self._pointer, self._doubled, self._moved))
            self._pointer, self._doubled = self._doubled, self._pointer
            if not self._graph.device.item(self._moved):
                return


def check_cycle(
    graph: Graph, source: int, distance: npt.NDArray[np.int32], predecessor: npt.NDArray[np.uint32]
) -> Certificate:
    """Check an answer that is a negative cycle, in host memory; weights are added in 64 bits."""
    from relaxometer.graphs.breadth_first import search  # loads Numba

    is_wrong, weight = _round(graph, distance, predecessor)
    start = int((distance == ON_CYCLE).argmax())
    is_negative = is_wrong.any() or weight < 0
    level, *_ = search(graph.offsets, graph.targets, source)
    return Certificate.of_items(
        RULES,
        cycle=np.flatnonzero(is_wrong),
        negative=np.array([] if is_negative else [start]),
        reachable=np.array([start] if level[start] == UNREACHED else []),
    )


def _round(
    graph: Graph, distance: npt.NDArray[np.int32], predecessor: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.bool_], int]:
    """Return which vertices break the rule about the cycle, and the weight of the cycle's lightest arcs."""
    from relaxometer.problems.sssp import _cycles  # loads Numba

    is_on_cycle = distance == ON_CYCLE
    is_wrong = ~is_on_cycle & ((distance != unreached(distance.dtype)) | (predecessor != NO_PREDECESSOR))
    is_wrong |= is_on_cycle & (predecessor >= graph.n_vertices)
    heads = np.flatnonzero(is_on_cycle & ~is_wrong)
    tails = predecessor[heads].astype(np.int64)
    weights, exists = _cycles.lightest_arcs(graph.offsets, graph.targets, graph.weights, tails, heads)
    is_wrong[heads] = ~exists | ~is_on_cycle[tails]
    if not is_wrong.any() and _cycles.length_of_round(predecessor, heads[0], len(heads)) != len(heads):
        is_wrong[heads] = True
    return is_wrong, int(weights.sum())
