"""Certificates of point-to-point queries: every distance against a proven one, every path arc by arc."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.routes._queries import Queries, ResidentQueries
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.problems.routes._proven_climbs import ProvenClimbs

RULES = {
    "distance": "a distance is that of the shortest path, or none if that is longer than the cutoff",
    "proof": "the distances that they are compared with are proven",
    "listed": "the sizes of paths are those of the queries that have one, and add up to the list",
    "ends": "a path leads from the origin to the target",
    "arcs": "an arc leads from each vertex of a path to the next",
    "length": "the lightest of these arcs add up to the distance",
    "once": "no vertex occurs twice on a path, which free arcs would allow",
}
"""The rules of a certificate."""

MANY_ORIGINS = 512  # on a GPU, a map is contracted if a set has more distinct origins than this


class RoutesCertifier:
    """Checks answers to queries on one graph, of which it reads the host copy.

    Around every distinct origin it grows a ball by Dijkstra's algorithm, until the last target is settled,
    and proves by the optimality of shortest paths that the distances in it are right (``_balls.py``). On a
    GPU, if there are more than `many_origins` and the graph is a map, it climbs in a contraction hierarchy
    instead, and proves this (``_proven_climbs.py``). This is done once per query set. Paths are followed arc
    by arc.

    References
    ----------
    Ahuja, Magnanti and Orlin, "Network Flows", 1993, section 5.2 (shortest path optimality conditions).
    """

    def __init__(self, graph: ResidentGraph, many_origins: int | None = None) -> None:
        from relaxometer.problems.routes import _balls, _path_proof  # load Numba

        self._graph = graph
        on_gpu = MANY_ORIGINS if graph.device.kind == "cuda" else 2**32
        self._many_origins = on_gpu if many_origins is None else many_origins
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
            found = self._climb(queries) if self._has_many_origins(queries) else None
            self._known[queries] = found or self._grow(queries)
        return self._known[queries]

    def _has_many_origins(self, queries: Queries) -> bool:
        if len(queries) <= self._many_origins:
            return False
        device = self._graph.device
        return len(device.xp.unique(device.asarray(queries.origins))) > self._many_origins

    def _grow(self, queries: Queries) -> tuple[npt.NDArray[np.uint32], bool]:
        pairs = self._balls.grouped(queries.origins, queries.targets)
        return self._balls.distances(self._csr, pairs, queries.cutoff)

    @cached_property
    def _climbs(self) -> ProvenClimbs | None:
        from relaxometer.problems.routes._proven_climbs import ProvenClimbs

        try:
            return ProvenClimbs(self._graph)
        except Skipped:
            return None

    def _climb(self, queries: Queries) -> tuple[npt.NDArray[np.uint32], bool] | None:
        """Return distances by climbs; None if they do not suit the graph, or are not proven."""
        if self._climbs is None:
            return None
        found, is_proven = self._climbs.distances(queries)
        return (found, True) if is_proven else None
