"""`labels` where they fit and the number of pairs pays for them, else `hierarchy`."""

from __future__ import annotations

from pydantic import PositiveInt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase
from relaxometer.problems.routes import Answer, ResidentQueries, hierarchy, labels
from relaxometer.problems.routes._contracted import HierarchyParameters, contract

PAYS_AFTER = 1_000_000
"""Minimum number of pairs for `labels`.

They prepare as fast as `hierarchy` but need more memory, and their first paths wait for shortcuts: about 4
million paths of New York make up for that (docs/performance/routes.md).
"""


class Parameters(HierarchyParameters):
    """Number of pairs to choose for.

    Parameters
    ----------
    searches : int
        Fewer than 1 million pairs go to `hierarchy`, which needs less memory than `labels`.
    """

    searches: PositiveInt = 1_000_000


class Solver:
    """Queries by `labels` for many pairs, by `hierarchy` for few or if labels do not fit in memory.

    The map is contracted once, and only the chosen variant is prepared. It takes new weights if that variant
    does. Skipped as :class:`relaxometer.problems.routes.hierarchy.Solver`.
    """

    runs_on = "device"
    _solver: hierarchy.Solver

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        contracted = contract(graph.host, parameters)
        chosen, because = "hierarchy", f"{parameters.searches:,} pairs"
        if parameters.searches >= PAYS_AFTER:
            try:
                solver = labels.Solver(graph, parameters, contracted)
                chosen, self._solver, self.customize = "labels", solver, solver.customize
            except DeviceOutOfMemory as reason:
                because += f", but {reason}"
        if chosen == "hierarchy":
            self._solver = hierarchy.Solver(graph, parameters, contracted)
        choice = {"chosen": chosen, "because": because, "searches": parameters.searches}
        self.resolved = choice | self._solver.resolved

    def solve(self, queries: ResidentQueries, phases: list[Phase] | None = None) -> Answer:
        """Answer a set of queries; see :class:`relaxometer.problems.routes.Solver`."""
        return self._solver.solve(queries, phases)
