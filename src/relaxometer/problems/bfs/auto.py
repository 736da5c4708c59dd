"""The variant that suits the graph; on dense graphs with hubs, also the number of searches."""

from __future__ import annotations

from typing import Any

from pydantic import PositiveInt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer, hybrid
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.tiled._device_tiles import Facts

SPECIAL = {"tiled": tiled, "hybrid-packed": hybrid_packed}
"""Variants for some graphs; all others are searched by `hybrid`."""

PAYS_AFTER = 50
"""Minimum number of searches for `hybrid-packed`, which takes longer than `hybrid` to prepare.

On an H200 it repays that after about 25 searches of a Graph500 graph of SCALE 20, and 50 of SCALE 22
(docs/performance/bfs.md).
"""


class Parameters(variants.Parameters):
    """Number of searches to choose for.

    Parameters
    ----------
    searches : int
        Fewer than 50 of a dense graph with hubs go to `hybrid`, which prepares faster than `hybrid-packed`.
    """

    searches: PositiveInt = 100


class Solver:
    """BFS by `tiled` on maps, by `hybrid-packed` on dense graphs with hubs, and by `hybrid` on others.

    Maps have small degrees and no hubs. A dense graph with hubs has a mean degree, over vertices with
    arcs, above `_maps.MAP_DEGREE` and a maximum degree above `_maps.HUB`; for fewer than `PAYS_AFTER`
    searches it goes to `hybrid`, too. Only the chosen variant is prepared, and none is tried: no search is
    made before the first one. On what may be a map, the degrees come from the survey that `tiled` begins
    with. A graph that the chosen variant refuses goes to `hybrid`; a map that is too large is refused before
    it is cut. The features do not tell how deep a graph is, and on a shallow graph of small even degrees
    `hybrid` may be faster.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, self._searches = graph, parameters.searches
        self._because = self._chosen = ""
        self._solver: Any = None
        if _maps.may_be_map(graph):
            self._try(tiled, self._look)
        if not self._because:
            self._see(_maps.degrees_of(graph))
        if self._chosen == "hybrid-packed":
            self._try(hybrid_packed)
        if self._solver is None:
            self._chosen, self._solver = "hybrid", _prepared(hybrid, graph)
        choice = {"chosen": self._chosen, "because": self._because, "searches": self._searches}
        self.resolved = choice | self._solver.resolved

    def _look(self, facts: Facts) -> None:
        """Stop the preparation of `tiled` unless the graph is a map."""
        if not self._see(_maps.Degrees.found(self._graph, facts.with_arcs, facts.max_degree)):
            raise variants.Skipped("not a map")

    def _see(self, degrees: _maps.Degrees) -> bool:
        """Choose a variant, note why, and return whether the graph is a map."""
        self._because = f"{'a map' if degrees.is_map else 'not a map'} ({degrees})"
        self._chosen = _choice(degrees, self._searches)
        return degrees.is_map

    def _try(self, variant: Any, *more: Any) -> None:
        """Prepare a variant, unless it refuses the graph."""
        try:
            self._solver = _prepared(variant, self._graph, *more)
        except (variants.Skipped, DeviceOutOfMemory) as reason:
            if not self._because:
                self._see(_maps.degrees_of(self._graph))
            if SPECIAL.get(self._chosen) is variant:
                self._because += f", but not for {self._chosen}: {reason}"
                self._chosen = ""

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; see :class:`relaxometer.problems.problem.Solver`."""
        answer: Answer = self._solver.solve(source, phases)
        return answer


def _prepared(variant: Any, graph: ResidentGraph, *more: Any) -> Any:
    return variant.Solver(graph, variant.Parameters(), *more)


def _choice(degrees: _maps.Degrees, searches: int) -> str:
    if degrees.is_map:
        return "tiled"
    is_dense = degrees.mean > _maps.MAP_DEGREE and degrees.largest > _maps.HUB
    return "hybrid-packed" if is_dense and searches >= PAYS_AFTER else "hybrid"
