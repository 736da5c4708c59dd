"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, trials."""

from typing import Any, ClassVar

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.survey import Features
from relaxometer.problems import variants
from relaxometer.problems.choosing import AS_H200, Choosing, Cost, Scale
from relaxometer.problems.sssp.near_far import near_far
from relaxometer.problems.sssp.near_far._near_far import SPARSE
from relaxometer.problems.sssp.phast import phast
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.tiled import tiled

CANDIDATES: dict[str, Any] = {"tiled": tiled, "near-far": near_far, "push-pull": push_pull, "phast": phast}
"""Variants by name."""

PHAST_DEGREE = 3.5
"""Maximum mean degree of a map for `phast`, without directions: those tried have up to 3.2, a grid, on which
it gives up, has 4."""

FAR = 0.3  # least depth of a map, by the square root of its vertices: others have no small separators
LARGE = 3_277_824  # vertices of a map that tiles in the shared memory of an H200 hold; one with more is large
STEEP = 300
"""Mean degree of the ends of arcs above which hubs decide; about 100 where degrees fall off as a cube."""

FEW_CROSS = 0.05  # share of arcs between tiles below which tiles hardly wait for each other
MANY_LEVELS = 140  # depth beyond which tiles repeat no more work


class Parameters(variants.Parameters):
    """Number of searches to choose for."""

    searches: PositiveInt = 100
    """Choose the variant that prepares and finds this many trees in the least time."""


class Solver(Choosing):
    """SSSP by the variant that is expected to take the least time for the given number of searches.

    The expected costs follow from the graph's size, degrees, locality and depth; see
    :class:`relaxometer.problems.choosing.Choosing`, also for what happens if they leave the best in doubt.
    Variants that do not take the type of the weights are left out.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        modules, lengths = CANDIDATES, graph.lengths
        if lengths.name != "uint32":
            takes = variants.takes_weights
            modules = {name: one for name, one in CANDIDATES.items() if takes(one.Solver, lengths)}
        super().__init__(graph, parameters.searches, modules)

    def _costs(self, features: Features, scale: Scale) -> dict[str, Cost]:
        costs = expected_costs(features, scale)
        if self._modules is CANDIDATES:
            return costs
        return {name: cost for name, cost in costs.items() if name in self._modules}


def expected_costs(f: Features, scale: Scale = AS_H200) -> dict[str, Cost]:
    """Return the expected cost of each candidate, in ms; see docs/performance/auto.md.

    `near-far` waits for a few barriers per level, `push-pull` for more; both read arcs as often as the
    weights of the hubs let them. A hub's arcs are read one step after the other. A tile repeats work for
    each arc that enters it, the more often the deeper the graph and the more cycles it has.
    """
    n, m, depth = scale.sizes(f)
    near_far, push_pull = 0.5 + 0.008 * m, 1 + (0.08 + 0.45 * f.one_way) * m
    if f.has_hubs:
        # One block reads the arcs of hubs if it expects those of a map.
        of_hub = (150e-6 if f.n_arcs <= SPARSE * f.n_vertices else 0.7e-6) * scale.memory * f.largest
        per_arc = (0.04, 0.004) if f.ends > STEEP else (0.08, 0.05)
        return {
            "near-far": Cost(near_far, 0.3 + per_arc[0] * m + of_hub),
            "push-pull": Cost(push_pull, (0.4 if f.ends > STEEP else 0.5) + per_arc[1] * m),
        }
    large = f.n_vertices > LARGE
    costs = {
        "near-far": Cost(near_far, 0.33 * m if large else 0.15 + 0.03 * m + 0.015 * depth),
        "push-pull": Cost(push_pull, 0.3 + 0.05 * m + 0.07 * depth),
    }
    repeated = 0.2 + 0.0045 * min(f.depth, MANY_LEVELS) * max(0.0, f.mean - 2)
    work = min(1, f.crossing / FEW_CROSS) * repeated * m
    costs["tiled"] = Cost(0.55 + 0.2 * n + 0.05 * m, 0.4 * m if large else 0.05 + 0.0009 * depth + work)
    if f.mean_undirected <= PHAST_DEGREE and f.depth > FAR * f.n_vertices**0.5:
        cycles = max(0.0, m * (1 + f.one_way) / 2 - n)
        costs["phast"] = Cost(55 + 25 * n + 720 * cycles, 0.06 + 0.03 * m)
    return costs
