"""The arcs of a graph by their heads, with weights."""

from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph


def incoming_arcs(graph: ResidentGraph) -> dict[str, Any]:
    """Return the members of the structs ``Incoming``.

    They are ``n``; ``offsets``, a device array of shape (n_vertices + 1,), int64; and ``arcs``, a device
    array of shape (n_arcs, 2), uint32: tail and weight, by head.
    """
    n, xp = graph.n_vertices, graph.device.xp
    by_head = xp.argsort(graph.targets, kind="stable")
    tails = xp.searchsorted(graph.offsets, by_head, side="right") - 1
    offsets = xp.searchsorted(graph.targets[by_head], xp.arange(n + 1, dtype=xp.uint32))
    arcs = xp.stack([tails.astype(xp.uint32), graph.weights[by_head]], axis=1)
    return {"n": np.uint32(n), "offsets": offsets.astype(xp.int64), "arcs": arcs}
