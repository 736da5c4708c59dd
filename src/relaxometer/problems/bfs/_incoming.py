"""The arcs that enter each vertex, which a bottom-up search reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph

HALF = np.uint64(32)
"""Bits of an end in a key of an arc."""


def incoming(graph: ResidentGraph) -> tuple[Any, Any]:
    """Return offsets and tails of the arcs into each vertex, as CSR arrays on the graph's device.

    An undirected graph's are its own arrays. Otherwise the arcs are sorted by head, which takes 24 bytes per
    arc of temporary memory.

    Returns
    -------
    offsets : device array of shape (n_vertices + 1,), int64
    tails : device array of shape (n_arcs,), uint32
        Ascending within a vertex.
    """
    if graph.host.metadata.get("directed") is False:
        return graph.offsets, graph.targets
    xp = graph.device.xp
    arcs = xp.arange(graph.n_arcs, dtype=xp.int64)
    tails = xp.searchsorted(graph.offsets, arcs, side="right") - 1
    keys = graph.targets.astype(xp.uint64) << HALF | tails.astype(xp.uint64)
    del arcs, tails
    return rows_of(keys, graph.n_vertices, xp)


def rows_of(keys: Any, n: int, xp: Any) -> tuple[Any, Any]:
    """Return offsets and ends of `n` rows, given arcs as row << 32 | end, which are sorted in place."""
    keys.sort()
    firsts = xp.arange(n + 1, dtype=xp.uint64) << HALF
    return xp.searchsorted(keys, firsts).astype(xp.int64), keys.astype(xp.uint32)
