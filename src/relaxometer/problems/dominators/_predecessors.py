"""Arcs by head and the tails of arcs, on the device."""

from typing import Any

from relaxometer.graphs.resident import ResidentGraph


def predecessors(graph: ResidentGraph) -> tuple[Any, Any]:
    """Return offsets, int64, and tails, uint32, of the arcs into each vertex."""
    xp = graph.device.xp
    order = xp.argsort(graph.targets, kind="stable")
    heads = graph.targets[order]
    tails = arc_tails(graph)[order]
    vertices = xp.arange(graph.n_vertices + 1, dtype=xp.int64)
    return xp.searchsorted(heads, vertices).astype(xp.int64), tails


def arc_tails(graph: ResidentGraph) -> Any:
    """Return the tail of every arc, a device array of shape (n_arcs,), uint32."""
    xp = graph.device.xp
    arcs = xp.arange(graph.n_arcs, dtype=xp.int64)
    return (xp.searchsorted(graph.offsets, arcs, side="right") - 1).astype(xp.uint32)
