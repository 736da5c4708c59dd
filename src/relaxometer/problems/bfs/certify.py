"""Certificates of breadth-first searches: Graph500's five rules, checked on the device."""

from pathlib import Path

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate

RULES = {
    "tree": "the source is at level 0 and its own predecessor; every other reached vertex, and no unreached "
    "one, has a reached predecessor at a lower level, so predecessors form no cycle",
    "tree_levels": "a vertex is exactly one level below its predecessor",
    "arc_levels": "no arc between reached vertices leads more than one level down",
    "spanning": "no arc leads from a reached vertex to an unreached one",
    "tree_arcs": "there is an arc to every vertex from its predecessor",
}
"""The rules of a BFS certificate, in the order of the kernels' report."""

BLOCK = 256
MAX_BLOCKS = 1 << 16  # limit on the grid; warps then take several rows each


class BfsCertifier:
    """Checks answers of breadth-first searches on one resident graph.

    The rules are Graph500's, applied to arcs. On an undirected graph both arcs of an edge are checked, so the
    rules are the same. On a directed graph an arc may lead back up any number of levels, and the tree spans
    what is reached.

    The work is O(m) for the arcs and O(n log d) for predecessors, where d is the largest degree.

    References
    ----------
    Graph500 specification 3, section 8 (validation).
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph
        module = graph.device.module(Path(__file__).with_name("certify.cu"))
        self._check_arcs = module.get_function("check_arcs")
        self._check_tree = module.get_function("check_tree")
        self._report = graph.device.xp.empty((len(RULES), 2), dtype=np.uint64)

    def check(self, source: int, level: DeviceArray, predecessor: DeviceArray) -> Certificate:
        """Check one answer; its arrays are as in :class:`relaxometer.problems.bfs.Answer`, on the device."""
        n = np.uint32(self._graph.n_vertices)
        rows = np.uint32(source), level, predecessor
        csr = n, self._graph.offsets, self._graph.targets
        warps_per_block = BLOCK // 32
        self._report[:, 0] = 0
        self._report[:, 1] = n
        self._check_arcs(_blocks(int(n), warps_per_block), BLOCK, (*csr, level, self._report))
        self._check_tree(_blocks(int(n), BLOCK), BLOCK, (*csr, *rows, self._report))
        return Certificate.of_report(RULES, self._graph.device.asnumpy(self._report))


def _blocks(rows: int, rows_per_block: int) -> int:
    return min((rows + rows_per_block - 1) // rows_per_block, MAX_BLOCKS)
