"""Queries by a contraction hierarchy on all CPU cores: the climbs of ``hierarchy`` without a GPU."""

from typing import ClassVar, Literal

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase
from relaxometer.problems.routes import Answer, ResidentQueries
from relaxometer.problems.routes._contracted import HierarchyParameters, contract

ROOM = 1 << 16  # vertices of paths that each thread has room for at first


Parameters = HierarchyParameters


class Solver:
    """Bidirectional climbs in a customizable contraction hierarchy; threads take queries in turn.

    The preparation is that of :class:`relaxometer.problems.routes.hierarchy.Solver`. Of a table, every origin
    and target climbs once. Skipped if a vertex or the hierarchy has too many arcs for a map.

    References
    ----------
    Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM Journal of Experimental
    Algorithmics 21, 2016.
    """

    runs_on: ClassVar[Literal["device", "cpu"]] = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: HierarchyParameters) -> None:
        from relaxometer.problems.routes import _balls, _climbs  # load Numba

        self._listed, self._climbs, self._room = _balls.listed, _climbs, ROOM
        self._contracted = contract(graph.host, parameters)
        self._tree = _climbs.tree_of(self._contracted)
        one = np.zeros(1, dtype=np.uint32)
        _, paths, _ = _climbs.find_routes(self._tree, one, one, 0, 1)  # compiles
        self._listed(paths)
        _climbs.fill_table(self._tree, one, one, 0)
        from relaxometer.core.compiled import get_num_threads

        self.resolved = {**self._contracted.resolved, "threads": get_num_threads()}

    def solve(self, queries: ResidentQueries, phases: list[Phase] | None = None) -> Answer:
        """Answer a set of queries; see :class:`relaxometer.problems.routes.Solver`. It has no phases."""
        host = queries.host
        if host.columns and not host.paths:
            ends = np.ascontiguousarray(host.origins[:: host.columns]), host.targets[: host.columns]
            nothing = np.empty(0, dtype=np.uint32)
            return Answer(self._climbs.fill_table(self._tree, *ends, host.cutoff), nothing, nothing)
        while True:
            room = self._room if host.paths else 0
            ends = host.origins, host.targets
            distance, paths, fits = self._climbs.find_routes(self._tree, *ends, host.cutoff, room)
            if fits:
                return Answer(distance, paths.sizes, self._listed(paths))
            self._room *= 2
