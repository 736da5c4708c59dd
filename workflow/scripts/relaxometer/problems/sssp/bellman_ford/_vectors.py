"""The vectors of the min-plus matrix-vector products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED, Answer

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Vectors:
    """Distances before and after a product, and predecessors, on a device.

    Parameters
    ----------
    graph : ResidentGraph

    Attributes
    ----------
    x, y : device array of shape (n_vertices,), uint32
        Distances that a product reads, and those that it writes.
    predecessor : device array of shape (n_vertices,), uint32
    overflow : device array of shape (1,), uint32
        Not 0 if a length did not fit 32 bits.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._device = graph.device
        xp = self._device.xp
        self.x = xp.empty(graph.n_vertices, dtype=np.uint32)
        self.y = xp.empty(graph.n_vertices, dtype=np.uint32)
        self.predecessor = xp.empty(graph.n_vertices, dtype=np.uint32)
        self.overflow = xp.zeros(1, dtype=np.uint32)

    @property
    def bytes(self) -> int:
        """Bytes of x and y."""
        return int(self.x.nbytes + self.y.nbytes)

    def start(self, source: int) -> None:
        """Initialize the vectors for a search from `source`, except y, which a product overwrites."""
        self.x.fill(UNREACHED)
        self.predecessor.fill(NO_PREDECESSOR)
        self.overflow.fill(0)
        self.x[source] = 0
        self.predecessor[source] = source

    def swap(self) -> None:
        """Make the output of the last product the input of the next one."""
        self.x, self.y = self.y, self.x

    def answer(self, phases: int) -> Answer:
        """Return copies of distances and predecessors, which later searches do not change."""
        overflowed = bool(self._device.item(self.overflow))
        return Answer(self.x.copy(), self.predecessor.copy(), phases, overflowed)
