"""What the near-far variants share: the graph as their kernels read it, and the width of their buckets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.resident import ResidentGraph

NO_ARC = 2**32 - 1
MORE_ARCS = 2**32 - 2
"""Marks in the lists of first arcs; see ``_near_far.cuh``."""

FIRST = 4
"""Arcs of a vertex that lie where its number says."""

QUEUE = 2048
QUEUE_BYTES = 2 * QUEUE * 16
"""Near entries of a block's own search, and the shared memory that those of two phases take."""

PILES = 36
STATE_WORDS = 64
"""Piles of a search, and room for its state in 32-bit words."""

LOG_ROOM = 1 << 17
"""Phases that an instrumented run tells apart."""


def threads_per_block(device: Any) -> int:
    """Return 1024 on a GPU; the emulation runs threads one after another and gains nothing by more than 128."""
    return 1024 if device.kind == "cuda" else 128


class PackedArcs:
    """A graph in the layout that costs the fewest dependent reads.

    Parameters
    ----------
    graph : ResidentGraph

    Attributes
    ----------
    rows : device array of shape (n_vertices, 2), uint32
        Where a vertex's arcs begin and end: one read of 8 bytes.
    arcs : device array of shape (n_arcs, 2), uint32
        Target and weight of each arc: one read of 8 bytes.

    Raises
    ------
    Skipped
        If the graph has 2**32 arcs or more.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        if graph.n_arcs >= 2**32:
            raise Skipped(f"{graph.n_arcs} arcs; the kernels number arcs with 32 bits")
        xp = graph.device.xp
        self.graph = graph
        offsets = graph.offsets.astype(xp.uint32)
        self.rows = xp.ascontiguousarray(xp.stack([offsets[:-1], offsets[1:]], axis=1))
        self.arcs = xp.ascontiguousarray(xp.stack([graph.targets, graph.weights], axis=1))

    def first(self) -> Any:
        """Return the first four arcs of every vertex, device array of shape (n_vertices, 4, 2), uint32.

        They lie where the vertex's number says, so that they are read without looking up its row. Places
        without an arc hold `NO_ARC`; the last place of a vertex with more arcs holds `MORE_ARCS`.
        """
        xp = self.graph.device.xp
        first = xp.zeros((self.graph.n_vertices, FIRST, 2), dtype=xp.uint32)
        degree = self.rows[:, 1] - self.rows[:, 0]
        for place in range(FIRST):
            has = xp.flatnonzero(degree > place)
            first[:, place, 0] = NO_ARC
            first[has, place] = self.arcs[self.rows[has, 0] + np.uint32(place)]
        first[degree > FIRST, FIRST - 1] = xp.array([MORE_ARCS, 0], dtype=xp.uint32)
        return first


def bucket_shift(graph: ResidentGraph, delta: float | None) -> int:
    """Return the power of two that a bucket is wide.

    Parameters
    ----------
    graph : ResidentGraph
    delta : float or None
        Width of a bucket in mean weights. None stands for a sixth of the near pile's width of Davidson et
        al., 32 mean weights over the mean degree: here a phase takes the next buckets along when it has room.
    """
    if graph.n_arcs == 0:
        return 0
    mean = float(graph.host.weights.mean())
    if delta is None:
        delta = 32 / 6 / (graph.n_arcs / graph.n_vertices)
    return min(31, max(0, int(np.log2(max(1.0, delta * mean)))))


def kernels(graph: ResidentGraph, file: str, *, cooperative: bool = False) -> Any:
    """Compile a ``.cu`` file of this folder."""
    return graph.device.module(Path(__file__).with_name(file), cooperative=cooperative)
