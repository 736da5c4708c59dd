"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, trials."""

from __future__ import annotations

from typing import Any

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import hybrid
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.choosing import Choosing, Cost, by_total
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.tiled._device_tiles import Facts

CANDIDATES: dict[str, Any] = {"tiled": tiled, "hybrid": hybrid, "hybrid-packed": hybrid_packed}
"""Variants by name."""

MILLION = 1e6


class Parameters(variants.Parameters):
    """Number of searches to choose for.

    Parameters
    ----------
    searches : int
        Choose the variant that prepares and makes this many searches in the least time.
    """

    searches: PositiveInt = 100


class Solver(Choosing):
    """BFS by `tiled`, `hybrid` or `hybrid-packed`, as the number of searches and the graph suggest.

    A search by levels takes about as long as the graph is deep, one by tiles as the graph is large; a graph
    with hubs is not cut into tiles. On a possible map, the degrees come from the survey of `tiled`. Where the
    model leaves the best in doubt, the first searches decide; see
    :class:`relaxometer.problems.choosing.Choosing`. Skipped if no candidate can be prepared.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters.searches, CANDIDATES)

    def _survey(self) -> tuple[str, dict[str, Cost]]:
        """Return the kind of graph, in words, and expected costs; if it is a map, `tiled` is prepared."""
        graph, found = self._graph, []
        depth = _maps.depth_of(graph, self._searches)

        def look(facts: Facts) -> None:
            degrees = _maps.Degrees.found(graph, facts.with_arcs, facts.max_degree)
            crossing = facts.crossing / max(1, graph.n_arcs)
            found.append(expected_costs(graph, degrees, depth(), crossing))
            if by_total(found[0][1], self._searches)[0] != "tiled":
                raise variants.Skipped("not a map")

        self._because, self._expected = "", {}
        if _maps.may_be_map(graph):
            self._prepared("tiled", look)
        return found[0] if found else expected_costs(graph, _maps.degrees_of(graph), depth())


def expected_costs(
    graph: ResidentGraph, degrees: _maps.Degrees, depth: float, crossing: float = 0.5
) -> tuple[str, dict[str, Cost]]:
    """Return the kind of graph, in words, and the expected milliseconds of each candidate.

    Fitted to an H200 (docs/performance/fast-sssp.md). `crossing`: the share of arcs between ranges of ids.
    """
    n, m = graph.n_vertices / MILLION, graph.n_arcs / MILLION
    has_hubs = degrees.largest > _maps.HUB
    # Hubs make a graph shallow, and many of its arcs need not be read.
    searches = (
        (0.07 + 0.002 * m, 0.06 + 0.001 * m)
        if has_hubs
        else (0.011 * depth + 0.01 * m, 0.016 * depth + 0.0045 * m)
    )
    costs = {"hybrid": Cost(0.5 + 0.015 * m, searches[0]), "hybrid-packed": Cost(1.2 + 0.02 * m, searches[1])}
    if not has_hubs:
        border = 0.012 * max(degrees.mean, 5) * (1 + n) * (0.3 + 0.7 * crossing)
        costs["tiled"] = Cost(0.6 + 0.6 * n + 0.06 * m, 0.0005 * depth + border * m)
    kind = "hubs" if has_hubs else "even degrees"
    return f"{kind} ({degrees}, about {depth:.2g} levels)", costs
