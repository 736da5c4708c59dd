"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, trials."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import PositiveInt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.choosing import BUDGET, DOUBT, Choosing, Cost, by_total
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.near_far import near_far
from relaxometer.problems.sssp.phast import phast
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._device_tiles import Facts

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


class Model(NamedTuple):
    """Milliseconds of a variant on a kind of graph, sizes in millions: of preparation, then of a search."""

    fixed: float
    per_vertex: float
    per_arc: float
    search: float
    search_per_arc: float
    per_level: float = 0

    def cost(self, n: float, m: float, depth: float) -> Cost:
        """Return the cost on a graph of `n` million vertices and `m` million arcs."""
        prepare = self.fixed + self.per_vertex * n + self.per_arc * m
        return Cost(prepare, self.search + self.search_per_arc * m + self.per_level * depth)


Kind = Literal["even degrees", "a large map", "hubs", "few hubs"]
NEAR_FAR = Model(0.5, 0, 0.008, 0.15, 0.03, 0.015)
PUSH_PULL = Model(1, 0, 0.08, 0.3, 0.0103)

MODELS: dict[Kind, dict[str, Model]] = {
    "even degrees": {
        "tiled": Model(0.5, 0.5, 0.08, 0.05, 0, 0.0009),
        "near-far": NEAR_FAR,
        "push-pull": PUSH_PULL._replace(search_per_arc=0.08, per_level=0.1),
        "phast": Model(150, 1000, 0, 0.06, 0.03),
    },
    "a large map": {
        "tiled": Model(0, 0.35, 0, 0, 0.4),
        "near-far": Model(0.25, 0.03, 0, 0, 0.33),
        "phast": Model(0, 2500, 0, 0, 0.023),
    },
    "hubs": {
        "near-far": NEAR_FAR._replace(search=0.3, search_per_arc=0.04, per_level=0),
        "push-pull": PUSH_PULL,
    },
    "few hubs": {
        "near-far": NEAR_FAR._replace(search=0.3, search_per_arc=0.08, per_level=0),
        "push-pull": PUSH_PULL._replace(search=0.5, search_per_arc=0.075),
    },
}
"""Models by kind of graph and variant, for one NVIDIA H200; docs/performance/fast-sssp.md has the fit.

They only have to rank variants, within a factor of `DOUBT`, since weights are not in them.
"""


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

    The graph's size, degrees and depth give the expected cost of each candidate; the depth comes from balls
    of some two thousand vertices, for few searches from the size. On what may be a map, the degrees come from
    the survey that `tiled` begins with. On other graphs nothing is read if the choice does not depend on it.
    Where the model leaves the best in doubt, the first searches decide; see
    :class:`relaxometer.problems.choosing.Choosing`. Only the long preparation of `phast` is not begun in a
    search: where it is in doubt, a search is made before. Variants that do not take the type of the weights
    are left out. Skipped if every candidate is skipped or runs out of memory.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        lengths = graph.lengths
        modules = {
            name: one for name, one in CANDIDATES.items() if variants.takes_weights(one.Solver, lengths)
        }
        super().__init__(graph, parameters.searches, modules)

    def _survey(self) -> tuple[str, dict[str, Cost]]:
        """Return the kind of graph, in words, and expected costs; if it is a map, `tiled` is prepared."""
        graph, found = self._graph, []
        may_be_map = _maps.may_be_map(graph)
        if not may_be_map and self._searches == 1:
            return f"no map (mean degree above {_maps.MAP_DEGREE})", model_costs(graph, "hubs", 0)
        depth = _maps.depth_of(graph, self._searches)

        def look(facts: Facts) -> None:
            degrees = _maps.Degrees.found(graph, facts.with_arcs, facts.max_degree)
            crossing = facts.crossing / max(1, graph.n_arcs)
            if degrees.largest <= _maps.HUB:
                found.append(expected_costs(graph, degrees, depth(), crossing))
            if not found or by_total(found[0][1], self._searches)[0] != "tiled":
                raise variants.Skipped("not a map")

        self._because, self._expected = "", {}
        if may_be_map and graph.n_vertices <= LARGE:
            self._prepared("tiled", look)
        because, costs = found[0] if found else expected_costs(graph, _maps.degrees_of(graph), depth())
        return because, self._probed(costs)

    def _probed(self, costs: dict[str, Cost]) -> dict[str, Cost]:
        """Return costs with the time of a search of the best but `phast` where that decides about `phast`."""
        rest = {name: cost for name, cost in costs.items() if name != "phast"}
        k, name = self._searches, by_total(rest, self._searches)[0]
        long, best = costs.get("phast"), costs[name]
        if long is None or not best.total(k) / DOUBT < long.total(k) < best.total(k) * DOUBT:
            return costs
        if best.total(1) > BUDGET * min(long.total(k), best.total(k)) or self._prepared(name) is None:
            return costs
        # The tail of an arc: a vertex without arcs would tell nothing.
        offsets = self._graph.host.offsets
        source = int(np.searchsorted(offsets, self._graph.n_arcs // 2, side="right")) - 1
        try:
            with self._graph.device.timer() as search:
                self._solvers[name].solve(source)
        except DeviceOutOfMemory as reason:  # for what grows in a search
            self._drop(name, reason)
            return {other: cost for other, cost in costs.items() if other != name}
        return costs | {name: Cost(best.prepare, search.ms)}


def kind_of(degrees: _maps.Degrees, n_vertices: int) -> Kind:
    """Return the kind of a graph."""
    if degrees.largest > _maps.HUB:
        return "few hubs" if degrees.squares <= STEEP * degrees.mean * degrees.with_arcs else "hubs"
    return "a large map" if n_vertices > LARGE and degrees.is_map else "even degrees"


def model_costs(graph: ResidentGraph, kind: Kind, depth: float) -> dict[str, Cost]:
    """Return the cost by the model of each candidate that takes the graph's type of weights."""
    n, m = graph.n_vertices / MILLION, graph.n_arcs / MILLION
    return {
        name: model.cost(n, m, depth)
        for name, model in MODELS[kind].items()
        if variants.takes_weights(CANDIDATES[name].Solver, graph.lengths)
    }


def expected_costs(
    graph: ResidentGraph, degrees: _maps.Degrees, depth: float, crossing: float = 1
) -> tuple[str, dict[str, Cost]]:
    """Return the kind of graph, in words, and candidates' costs; `crossing`: arcs between ranges of ids."""
    kind = kind_of(degrees, graph.n_vertices)
    costs = model_costs(graph, kind, depth)
    if degrees.mean > PHAST_DEGREE:
        costs.pop("phast", None)
    elif "phast" in costs and graph.n_vertices < FEW:
        costs["phast"] = costs["phast"]._replace(prepare=10 + 1000 * graph.n_vertices / MILLION)
    if kind == "even degrees":
        # The further it is, the more often a tile repeats what it has done.
        repeated = 0.2 + 0.0025 * min(depth, MANY_LEVELS) * degrees.mean
        prepare, search = costs["tiled"]
        work = min(1, crossing / FEW_CROSS) * repeated * graph.n_arcs / MILLION
        costs["tiled"] = Cost(prepare, search + work)
    return f"{kind} ({degrees}, about {depth:.2g} levels)", costs
