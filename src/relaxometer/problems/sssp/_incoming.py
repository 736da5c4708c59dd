"""The arcs of a graph by their heads, with weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph


def incoming_arcs(graph: ResidentGraph) -> dict[str, Any]:
    """Return the members of the structs ``Incoming``.

    They are ``n``; ``offsets``, a device array of shape (n_vertices + 1,), int64; and ``arcs``, a device
    array of shape (n_arcs, 2), uint32: tail and weight, by head.
    """
    host, device = graph.host, graph.device
    by_head = np.argsort(host.targets, kind="stable")
    counts = np.bincount(host.targets, minlength=host.n_vertices)
    arcs = np.stack([host.tails[by_head], host.weights[by_head]], axis=1)
    return {
        "n": np.uint32(host.n_vertices),
        "offsets": device.asarray(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
        "arcs": device.asarray(arcs.astype(np.uint32)),
    }
