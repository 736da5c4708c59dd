"""The rules of ``certify.cu`` in NumPy: a proof on the CPU needs neither a compiler nor the emulation."""

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs.certify import RULES
from relaxometer.problems.certificate import Certificate


class BfsCpuCertifier:
    """Checks answers of breadth-first searches on one graph in host memory, in O(m + n) work."""

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph.host

    def check(
        self, source: int, level: npt.NDArray[np.uint32], predecessor: npt.NDArray[np.uint32]
    ) -> Certificate:
        """Check one answer; its arrays are as in :class:`relaxometer.problems.bfs.Answer`, in host memory."""
        graph, depth = self._graph, level.astype(np.int64)
        tails, heads, is_reached = graph.tails, graph.targets, level != UNREACHED
        leaves = is_reached[tails]
        is_child = np.zeros(graph.n_vertices, bool)
        is_child[heads[tails == predecessor[heads]]] = True
        before = np.minimum(predecessor, graph.n_vertices - 1)
        has_parent = is_reached & (predecessor < graph.n_vertices) & is_reached[before]
        rise = depth - depth[before]
        hangs = np.where(is_reached, ~has_parent | (rise <= 0), predecessor != NO_PREDECESSOR)
        hangs[source] = level[source] != 0 or predecessor[source] != source
        has_parent[source] = False
        return Certificate.of_items(
            RULES,
            tree=np.flatnonzero(hangs),
            tree_levels=np.flatnonzero(has_parent & (rise != 1)),
            arc_levels=heads[leaves & is_reached[heads] & (depth[heads] - depth[tails] > 1)],
            spanning=heads[leaves & ~is_reached[heads]],
            tree_arcs=np.flatnonzero(has_parent & ~is_child),
        )
