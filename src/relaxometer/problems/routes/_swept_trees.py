"""Proven distances from thousands of origins on a map, by whole trees on the device."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes._queries import Queries
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp.phast import phast_many

MAX_LABELS = 1 << 29  # distances in memory at once: 2 GiB


class SweptTrees:
    """Shortest-path trees by sweeps down a contraction hierarchy, every distance of which is proven.

    The proof (:mod:`relaxometer.problems.sssp._distance_proof`) reads the graph and the distances only, so
    that an error in the hierarchy cannot go unnoticed. Skipped if the graph is not a map.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._device = graph.device
        self._solver = phast_many.Solver(graph, phast_many.Parameters.model_validate({}))
        self._prover = DistanceProver(graph)
        self._at_once = self._solver.k * max(1, MAX_LABELS // (self._solver.k * graph.n_vertices))

    def distances(self, queries: Queries) -> tuple[npt.NDArray[np.uint32], bool]:
        """Return the distances of queries, and whether all are proven; `UNREACHED` beyond the cutoff."""
        xp, count = self._device.xp, len(queries)
        origins, targets = map(self._device.asarray, (queries.origins, queries.targets))
        order = xp.argsort(self._device.asarray(self._solver.position_of(queries.origins)))
        ordered = origins[order]
        is_first = xp.concatenate([xp.ones(1, dtype=bool), ordered[1:] != ordered[:-1]])
        row, begins = xp.cumsum(is_first) - 1, xp.flatnonzero(is_first)
        distinct = self._device.asnumpy(ordered[begins])
        bounds = [*self._device.asnumpy(begins)[:: self._at_once].tolist(), count]
        found = xp.empty(count, dtype=np.uint32)
        for k, (begin, end) in enumerate(itertools.pairwise(bounds)):
            first = k * self._at_once
            own = order[begin:end]
            part = distinct[first : first + self._at_once]
            distances = self._from(part, row[begin:end] - first, targets[own])
            if distances is None:
                return self._device.asnumpy(found), False
            found[own] = distances
        found[found > np.uint32(queries.cutoff)] = UNREACHED
        return self._device.asnumpy(found), True

    def _from(self, origins: Any, rows: DeviceArray, targets: DeviceArray) -> Any:
        """Return distances from some origins, given by `rows`, to targets; None if some are not proven."""
        sweeps = self._solver.sweep(origins)
        if not self._prover.check(sweeps.sources, sweeps.labels).certificate.holds:
            return None
        k = self._solver.k
        return sweeps.labels[rows // k, targets.astype(np.int64), rows % k]
