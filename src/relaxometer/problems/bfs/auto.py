"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, trials."""

from __future__ import annotations

from typing import Any

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs import hybrid
from relaxometer.problems.bfs.hybrid_packed import hybrid_packed
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.choosing import Choosing, Cost
from relaxometer.problems.survey import Features

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
    with hubs is not cut into tiles. See :class:`relaxometer.problems.choosing.Choosing` for what happens if
    the best is in doubt.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters.searches, CANDIDATES)

    def _costs(self, features: Features) -> dict[str, Cost]:
        return expected_costs(features)


def expected_costs(f: Features) -> dict[str, Cost]:
    """Return the expected cost of each candidate."""
    n, m, depth = f.n_vertices / MILLION, f.n_arcs / MILLION, f.depth
    # Hubs make a graph shallow, and many of its arcs need not be read.
    searches = (
        (0.07 + 0.002 * m, 0.06 + 0.001 * m)
        if f.has_hubs
        else (0.011 * depth + 0.01 * m, 0.016 * depth + 0.0045 * m)
    )
    costs = {"hybrid": Cost(0.5 + 0.015 * m, searches[0]), "hybrid-packed": Cost(1.2 + 0.02 * m, searches[1])}
    if not f.has_hubs:
        border = 0.012 * max(f.mean, 5) * (1 + n) * (0.3 + 0.7 * f.crossing)
        costs["tiled"] = Cost(0.6 + 0.6 * n + 0.06 * m, 0.0005 * depth + border * m)
    return costs
