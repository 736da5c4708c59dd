"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, trials."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.choosing import Choosing, Cost
from relaxometer.problems.sssp.near_far import near_far
from relaxometer.problems.sssp.phast import phast
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.survey import Features

CANDIDATES: dict[str, Any] = {"tiled": tiled, "near-far": near_far, "push-pull": push_pull, "phast": phast}
"""Variants by name."""

PHAST_DEGREE = 3.5
"""Maximum mean degree of a map for `phast`: those tried have up to 3.2, and it gives up on a grid, with 4."""

LARGE = 3_277_824  # vertices of a map that tiles in the shared memory of an H200 hold; one with more is large
STEEP = 300
"""Mean degree of the ends of arcs above which hubs decide; about 100 where degrees fall off as a cube."""

FEW = 1 << 16  # vertices below which `phast` starts no processes
FEW_CROSS = 0.05  # share of arcs between tiles below which tiles hardly wait for each other
MANY_LEVELS = 140  # depth beyond which tiles repeat no more work
MILLION = 1e6


class Parameters(variants.Parameters):
    """Number of searches to choose for.

    Parameters
    ----------
    searches : int
        Choose the variant that prepares and finds this many trees in the least time.
    """

    searches: PositiveInt = 100


class Solver(Choosing):
    """SSSP by the variant that is expected to take the least time for the given number of searches.

    The expected costs follow from the graph's size, degrees, locality and depth; see
    :class:`relaxometer.problems.choosing.Choosing`, also for what happens if they leave the best in doubt.
    Variants that do not take the type of the weights are left out.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        lengths = graph.lengths
        modules = {
            name: one for name, one in CANDIDATES.items() if variants.takes_weights(one.Solver, lengths)
        }
        super().__init__(graph, parameters.searches, modules)

    def _costs(self, features: Features) -> dict[str, Cost]:
        costs = expected_costs(features)
        return {name: cost for name, cost in costs.items() if name in self._modules}


def expected_costs(f: Features) -> dict[str, Cost]:
    """Return the expected cost of each candidate."""
    n, m, depth = f.n_vertices / MILLION, f.n_arcs / MILLION, f.depth
    near_far, push_pull = Cost(0.5 + 0.008 * m, 0), 1 + 0.08 * m
    if f.has_hubs:
        steep = f.ends > STEEP
        return {
            "near-far": near_far._replace(search=0.3 + (0.04 if steep else 0.08) * m),
            "push-pull": Cost(push_pull, 0.3 + 0.0103 * m if steep else 0.5 + 0.075 * m),
        }
    large = f.n_vertices > LARGE
    costs = {
        "near-far": near_far._replace(search=0.33 * m if large else 0.15 + 0.03 * m + 0.015 * depth),
        "push-pull": Cost(push_pull, 0.3 + 0.08 * m + 0.1 * depth),
    }
    # The further it is, the more often a tile repeats what it has done.
    work = min(1, f.crossing / FEW_CROSS) * (0.2 + 0.0025 * min(depth, MANY_LEVELS) * f.mean) * m
    costs["tiled"] = Cost(0.5 + 0.5 * n + 0.08 * m, 0.4 * m if large else 0.05 + 0.0009 * depth + work)
    if f.mean <= PHAST_DEGREE:
        prepare = 10 + 1000 * n if f.n_vertices < FEW else 2500 * n if large else 150 + 1000 * n
        costs["phast"] = Cost(prepare, 0.06 + 0.03 * m)
    return costs
