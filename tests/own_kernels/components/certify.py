"""Proves components: no arc crosses two of them, and a tree connects each to the vertex that names it."""

from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate

RULES = ("crossing", "tree", "name")


class ComponentsCertifier:
    """Checks components on one resident graph, in host memory and O(n + m log m)."""

    def __init__(self, graph: ResidentGraph) -> None:
        host = graph.host
        self._asnumpy = graph.device.asnumpy
        self._heads = host.targets.astype(np.int64)
        self._tails = np.repeat(np.arange(host.n_vertices), np.diff(host.offsets))
        arcs = self._tails * host.n_vertices + self._heads
        self._arcs = np.union1d(arcs, self._heads * host.n_vertices + self._tails)

    def check(self, source: None, *, component: Any, parent: Any, depth: Any) -> Certificate:
        """Check one answer."""
        component, parent, depth = (
            self._asnumpy(column).astype(np.int64) for column in (component, parent, depth)
        )
        vertices = np.arange(len(component))
        is_root = depth == 0
        up = np.where(is_root, vertices, np.minimum(parent, len(vertices) - 1))
        connected = np.isin(vertices * len(vertices) + up, self._arcs)
        climbs = connected & (depth[up] == depth - 1) & (component[up] == component)
        wrong = {
            "crossing": self._tails[component[self._tails] != component[self._heads]],
            "tree": vertices[~is_root & ~climbs],
            "name": vertices[is_root & (component != vertices)],
        }
        first = {rule: int(found.min()) for rule, found in wrong.items() if len(found)}
        return Certificate({rule: len(found) for rule, found in wrong.items()}, first)
