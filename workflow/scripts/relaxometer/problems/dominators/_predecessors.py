"""Lists of predecessors, built on the device: arcs sorted by head, offsets by binary search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


@dataclass(frozen=True, eq=False)
class Predecessors:
    """The arcs of a graph by head.

    Parameters
    ----------
    offsets : device array of shape (n_vertices + 1,), int64
        The arcs into ``v`` are ``offsets[v]`` to ``offsets[v + 1] - 1``.
    tails : device array of shape (n_arcs,), uint32
    """

    offsets: Any
    tails: Any

    @classmethod
    def of(cls, graph: ResidentGraph) -> Predecessors:
        """Sort the arcs of `graph`.

        Raises
        ------
        DeviceOutOfMemory
            If the lists do not fit next to the graph.
        """
        xp = graph.device.xp
        order = xp.argsort(graph.targets, kind="stable")
        heads = graph.targets[order]
        tails = arc_tails(graph)[order]
        vertices = xp.arange(graph.n_vertices + 1, dtype=xp.int64)
        return cls(xp.searchsorted(heads, vertices).astype(xp.int64), tails)


def arc_tails(graph: ResidentGraph) -> Any:
    """Return the tail of every arc, a device array of shape (n_arcs,), uint32."""
    xp = graph.device.xp
    arcs = xp.arange(graph.n_arcs, dtype=xp.int64)
    return (xp.searchsorted(graph.offsets, arcs, side="right") - 1).astype(xp.uint32)
