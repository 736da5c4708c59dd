"""Certificates: prove every answer on the device, without a reference solver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.problems.certificate import Certificate

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

RULES = {
    "source": "the distance of the source is 0 and it is its own predecessor",
    "overstretched": "no arc leads to a vertex that is further than the arc's tail plus its weight",
    "predecessor": "every reached vertex, and no other, has a predecessor at exactly its arc's length",
    "left_out": "no arc leads from a reached vertex to an unreached one",
    "tree": "predecessors lead back to the source without a cycle",
}
"""The rules of an SSSP certificate, in the order of the kernels' report."""

BLOCK = 256


class SsspCertifier:
    """Checks SSSP answers on one resident graph.

    The work is O(n + m), times log2 of the longest chain of zero-weight arcs on a shortest path.

    Parameters
    ----------
    graph : ResidentGraph

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
        self._report = xp.empty((len(RULES), 2), dtype=xp.uint64)

    def check(self, source: int, distance: Any, predecessor: Any) -> Certificate:
        """Check one answer; its arrays are as in :class:`relaxometer.problems.sssp.Answer`, on the device."""
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
        report = device.asnumpy(self._report)
        counts = dict(zip(RULES, report[:, 0].tolist(), strict=True))
        first = dict(zip(RULES, report[:, 1].tolist(), strict=True))
        return Certificate(counts, {rule: first[rule] for rule, count in counts.items() if count})

    def _follow_chains(self, launch: tuple[int, int], n: np.uint32) -> None:
        """Point every vertex to the end of its chain of equal distances.

        The vertices of a cycle still point at each other after the doublings that the longest chain needs;
        the rule about the tree finds them.
        """
        for _ in range(int(n).bit_length() + 1):
            self._moved.fill(0)
            self._double_pointers(*launch, (n, self._pointer, self._doubled, self._moved))
            self._pointer, self._doubled = self._doubled, self._pointer
            if not self._graph.device.item(self._moved):
                return
