"""Proven distances from thousands of origins on a map, by whole trees on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes._queries import Queries
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp.phast import phast_many

MAX_LABELS = 1 << 29
"""Distances in memory at once: 2 GiB."""


class SweptTrees:
    """Shortest-path trees by sweeps down a contraction hierarchy, every distance of which is proven.

    The proof (:mod:`relaxometer.problems.sssp._distance_proof`) reads the graph and the distances only, so
    that an error in the hierarchy cannot go unnoticed.

    Parameters
    ----------
    graph : ResidentGraph

    Raises
    ------
    Skipped
        If the graph is not a map.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._device = graph.device
        self._solver = phast_many.Solver(graph, phast_many.Parameters.model_validate({}))
        self._prover = DistanceProver(graph)
        self._at_once = self._solver.k * max(1, MAX_LABELS // (self._solver.k * graph.n_vertices))

    def distances(self, queries: Queries) -> tuple[npt.NDArray[np.uint32], bool]:
        """Return the distances of queries, and whether all are proven; `UNREACHED` beyond the cutoff."""
        origins, row = np.unique(queries.origins, return_inverse=True)
        order = np.argsort(row, kind="stable")
        found = np.empty(len(queries), dtype=np.uint32)
        for first in range(0, len(origins), self._at_once):
            part = origins[first : first + self._at_once]
            begin, end = np.searchsorted(row[order], [first, first + len(part)])
            own = order[begin:end]
            distances = self._from(part, row[own] - first, queries.targets[own])
            if distances is None:
                return found, False
            found[own] = distances
        return np.where(found > queries.cutoff, UNREACHED, found).astype(np.uint32), True

    def _from(self, origins: Any, rows: Any, targets: DeviceArray) -> npt.NDArray[np.uint32] | None:
        """Return distances from some origins, given by `rows`, to targets; None if some are not proven."""
        sweeps = self._solver.sweep(origins)
        if not self._prover.check(sweeps.sources, sweeps.labels).certificate.holds:
            return None
        k, asarray = self._solver.k, self._device.asarray
        places = asarray(rows // k), asarray(targets.astype(np.int64)), asarray(rows % k)
        distances: npt.NDArray[np.uint32] = self._device.asnumpy(sweeps.labels[places])
        return distances
