"""The variant that suits the graph, chosen by its features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relaxometer.device import DeviceOutOfMemory
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer, hybrid, hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import _maps

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


SPECIAL = {"tiled": tiled, "hybrid-packed": hybrid_packed}
"""Variants for some graphs; all others are searched by `hybrid`."""


class Parameters(variants.Parameters):
    """No parameters."""


class Solver:
    """BFS by `tiled` on maps, by `hybrid-packed` on dense graphs with hubs, and by `hybrid` on others.

    On maps degrees are small and there are no hubs. A dense graph with hubs has a mean degree above
    `_maps.MAP_DEGREE`, of the vertices with arcs, and a largest one above `_maps.HUB`. Only the chosen
    variant is prepared, and none is tried: no search is made before the first one. A graph that the chosen
    variant refuses goes to `hybrid`; a map that is too large is refused before it is cut. The features do not
    tell how deep a graph is, and on a shallow graph of small even degrees `hybrid` may be faster.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        degrees = _maps.degrees_of(graph)
        self._because = f"{'a map' if degrees.is_map else 'not a map'} ({degrees})"
        self._solver: Any = None
        self._chosen = _choice(degrees)
        if self._chosen in SPECIAL:
            try:
                self._solver = _prepared(SPECIAL[self._chosen], graph)
            except (variants.Skipped, DeviceOutOfMemory) as reason:
                self._because += f", but not for {self._chosen}: {reason}"
        if self._solver is None:
            self._chosen, self._solver = "hybrid", _prepared(hybrid, graph)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the chosen variant, the reason, and the variant's parameters."""
        return {"chosen": self._chosen, "because": self._because} | self._solver.resolved

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; see :class:`relaxometer.problems.problem.Solver`."""
        answer: Answer = self._solver.solve(source, phases)
        return answer


def _choice(degrees: _maps.Degrees) -> str:
    if degrees.is_map:
        return "tiled"
    is_dense = degrees.mean > _maps.MAP_DEGREE and degrees.largest > _maps.HUB
    return "hybrid-packed" if is_dense else "hybrid"


def _prepared(variant: Any, graph: ResidentGraph) -> Any:
    return variant.Solver(graph, variant.Parameters())
