"""A layout of arcs that needs few dependent reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.device.signature import read_source
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.device import Device

_CONSTANTS = read_source(Path(__file__).with_name("_packed_arcs.cuh")).constants
FIRST, NO_ARC, MORE_ARCS = (_CONSTANTS[name] for name in ("FIRST", "NO_ARC", "MORE_ARCS"))


class PackedArcs:
    """The arcs of a graph, given as the device arrays of its CSR.

    Attributes
    ----------
    rows : device array of shape (n_vertices, 2), uint32
        Where a vertex's arcs begin and end, in 8 bytes.
    arcs : device array of shape (n_arcs, 2), uint32
        Head and weight of each arc, in 8 bytes.

    Raises
    ------
    Skipped
        If the graph has 2**32 arcs or more.
    """

    def __init__(self, device: Device, offsets: Any, targets: Any, weights: Any) -> None:
        if len(targets) >= 2**32:
            raise Skipped(f"{len(targets)} arcs; the kernel numbers arcs with 32 bits")
        self._xp = xp = device.xp
        ends = offsets.astype(xp.uint32)
        self.rows = xp.ascontiguousarray(xp.stack([ends[:-1], ends[1:]], axis=1))
        self.arcs = xp.ascontiguousarray(xp.stack([targets, weights], axis=1))

    def first(self) -> Any:
        """Return the first four arcs of every vertex, device array of shape (n_vertices, 4, 2), uint32.

        The vertex's number gives their address, so kernels read them without looking up the row. `NO_ARC`
        replaces missing heads, and `MORE_ARCS` the fourth if the vertex has more arcs.
        """
        xp = self._xp
        first = xp.zeros((len(self.rows), FIRST, 2), dtype=xp.uint32)
        degree = self.rows[:, 1] - self.rows[:, 0]
        for place in range(FIRST):
            has = xp.flatnonzero(degree > place)
            first[:, place, 0] = NO_ARC
            first[has, place] = self.arcs[self.rows[has, 0] + np.uint32(place)]
        first[degree > FIRST, FIRST - 1] = xp.array([MORE_ARCS, 0], dtype=xp.uint32)
        return first
