"""Dijkstra's algorithm from each origin on all cores, until its last target is settled: the baseline."""

from typing import ClassVar, Literal

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.routes import Answer, ResidentQueries

ROOM = 1 << 16  # vertices of paths that each thread has room for at first


Parameters = variants.NoParameters


class Solver:
    """Shortest paths by one search per distinct origin; threads take origins in turn.

    Room for paths that turns out too small is doubled and kept, and the queries are answered again.

    References
    ----------
    Dijkstra, "A Note on Two Problems in Connexion with Graphs", Numerische Mathematik 1, 1959.
    """

    runs_on: ClassVar[Literal["device", "cpu"]] = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        from relaxometer.problems.routes import _balls  # loads Numba

        self._balls, self._room = _balls, ROOM
        host = graph.host
        self._csr = _balls.Csr(host.offsets, host.targets, host.weights)
        one = np.zeros(1, dtype=np.uint32)
        _, paths, _ = _balls.search(self._csr, _balls.grouped(one, one), 0, 1)  # compiles
        _balls.listed(paths)
        from relaxometer.core.compiled import get_num_threads

        self.resolved = {"threads": get_num_threads()}

    def solve(self, queries: ResidentQueries, phases: list[Phase] | None = None) -> Answer:
        """Answer a set of queries; see :class:`relaxometer.problems.routes.Solver`. It has no phases."""
        host = queries.host
        pairs = self._balls.grouped(host.origins, host.targets)
        while True:
            room = self._room if host.paths else 0
            distance, paths, fits = self._balls.search(self._csr, pairs, host.cutoff, room)
            if fits:
                return Answer(distance, paths.sizes, self._balls.listed(paths))
            self._room *= 2
