"""Certificates of point-to-point queries: every distance against a proven ball, every path arc by arc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.problems.certificate import Certificate

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.problems.routes._queries import Queries, ResidentQueries

RULES = {
    "distance": "a distance is that of the shortest path, or none if that is longer than the cutoff",
    "proof": "the distances that they are compared with are proven",
    "listed": "the sizes of paths are those of the queries that have one, and add up to the list",
    "ends": "a path leads from the origin to the target",
    "arcs": "an arc leads from each vertex of a path to the next",
    "length": "the lightest of these arcs add up to the distance",
}
"""The rules of a certificate."""


class RoutesCertifier:
    """Checks answers to queries on one graph, in host memory.

    Around every distinct origin it grows a ball by Dijkstra's algorithm, until the last target is settled,
    and proves by the optimality conditions of shortest paths that the distances in the ball are right
    (``_balls.py``). The balls of a query set are grown once for all answers to it. Paths are followed arc by
    arc.

    Parameters
    ----------
    graph : ResidentGraph
        Only its host copy is read.

    References
    ----------
    Ahuja, Magnanti and Orlin, "Network Flows", 1993, section 5.2 (shortest path optimality conditions).
    """

    def __init__(self, graph: ResidentGraph) -> None:
        from relaxometer.problems.routes import _balls, _path_proof  # load Numba

        self._balls, self._path_proof = _balls, _path_proof
        self._asnumpy = graph.device.asnumpy
        host = graph.host
        self._csr = _balls.Csr(host.offsets, host.targets, host.weights)
        self._known: dict[Queries, tuple[npt.NDArray[np.uint32], bool]] = {}

    def check(self, queries: ResidentQueries, distance: Any, size: Any, path: Any) -> Certificate:
        """Check one answer; its arrays are as in :class:`relaxometer.problems.routes.Answer`."""
        host = queries.host
        distance, size, path = map(self._asnumpy, (distance, size, path))
        right, is_proven = self._distances(host)
        wrong = {
            "distance": distance != right,
            "proof": np.full(len(host), not is_proven),
            **self._path_proof.broken(self._csr, host, distance, size, path),
        }
        first = {rule: int(found.argmax()) for rule, found in wrong.items() if found.any()}
        return Certificate({rule: int(wrong[rule].sum()) for rule in RULES}, first, "query")

    def _distances(self, queries: Queries) -> tuple[npt.NDArray[np.uint32], bool]:
        """Return the distances of a set's queries, and whether they are proven."""
        if queries not in self._known:
            pairs = self._balls.grouped(queries.origins, queries.targets)
            self._known[queries] = self._balls.distances(self._csr, pairs, queries.cutoff)
        return self._known[queries]
