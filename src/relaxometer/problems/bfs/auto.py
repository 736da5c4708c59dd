"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, trials."""

from typing import Any

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.survey import Features
from relaxometer.problems import variants
from relaxometer.problems.bfs import hybrid
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.choosing import AS_H200, Choosing, Cost, Scale

CANDIDATES: dict[str, Any] = {"tiled": tiled, "hybrid": hybrid, "hybrid-packed": hybrid_packed}
"""Variants by name."""

SHALLOW = 60  # levels
MANY_ARCS = 5_000_000


class Parameters(variants.Parameters):
    """Number of searches to choose for."""

    searches: PositiveInt = 100
    """Choose the variant that prepares and makes this many searches in the least time."""


class Solver(Choosing):
    """BFS by `tiled`, `hybrid` or `hybrid-packed`, as the number of searches and the graph suggest.

    A search by levels takes about as long as the graph is deep, one by tiles as the graph is large; a graph
    with hubs is not cut into tiles. See :class:`relaxometer.problems.choosing.Choosing` for what happens if
    the best is in doubt.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters.searches, CANDIDATES)

    def _costs(self, features: Features, scale: Scale) -> dict[str, Cost]:
        return expected_costs(features, scale)


def expected_costs(f: Features, scale: Scale = AS_H200) -> dict[str, Cost]:
    """Return the expected cost of each candidate, in ms; see docs/performance/auto.md.

    Hubs make a graph shallow, and many of its arcs need not be read. Searches by levels wait for a barrier
    per level, those by tiles for arcs between tiles.
    """
    n, m, depth = scale.sizes(f)
    incoming = 0.13 * f.one_way * m
    hybrid, packed = 0.5 + incoming + 0.005 * m, 1.1 + incoming + 0.015 * m
    if f.has_hubs:
        return {"hybrid": Cost(hybrid, 0.07 + 0.002 * m), "hybrid-packed": Cost(packed, 0.06 + 0.001 * m)}
    costs = {
        "hybrid": Cost(hybrid, 0.05 + 0.009 * depth + 0.003 * m),
        "hybrid-packed": Cost(packed, 0.05 + 0.0105 * depth + 0.001 * m),
    }
    # In a shallow graph arcs rarely stay within a tile, and the number that may leave one is limited.
    if f.depth >= SHALLOW or f.n_arcs <= MANY_ARCS:
        border = 0.012 * max(f.mean, 5) * (1 + n) * (0.3 + 0.7 * f.crossing)
        costs["tiled"] = Cost(0.8 + 0.2 * n + 0.05 * m, 0.0005 * depth + border * m)
    return costs
