"""The variant that suits the graph and the number of searches, by a model of cost and, in doubt, probes."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import PositiveInt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer, _maps
from relaxometer.problems.sssp.near_far import near_far
from relaxometer.problems.sssp.phast import phast
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._device_tiles import Facts

CANDIDATES: dict[str, Any] = {"tiled": tiled, "near-far": near_far, "push-pull": push_pull, "phast": phast}
"""Variants by name."""

PHAST_DEGREE = 3.5
"""Maximum mean degree of a map for `phast`: those tried have up to 3.2, and it gives up on a grid, with 4."""

LARGE = 3_277_824
"""Vertices of a map that tiles in the shared memory of an H200 hold; one with more is large."""

BUDGET = 0.1
"""Probes may take this part of the expected total."""

MILLION = 1e6


class Model(NamedTuple):
    """Milliseconds of a variant on a kind of graph, sizes in millions.

    Preparation is `fixed` + `per_vertex` * vertices + `per_arc` * arcs. A search takes `search` * size **
    `exponent`; the size is the number of vertices with arcs on maps, and the number of arcs on other graphs.
    A search may be faster by the factor `doubt`.
    """

    fixed: float
    per_vertex: float
    per_arc: float
    search: float
    exponent: float
    doubt: float


Kind = Literal["a map", "a large map", "hubs", "even degrees"]

MODELS: dict[Kind, dict[str, Model]] = {
    "a map": {
        "tiled": Model(0.3, 0.75, 0, 5.54, 0.81, 2.4),
        "near-far": Model(0.25, 0, 0.005, 17.1, 0.75, 10),
        "phast": Model(420, 2600, 0, 0.18, 0.4, 1.5),
    },
    "a large map": {
        "tiled": Model(0, 0.35, 0, 1, 1, 2),
        "near-far": Model(0.25, 0.03, 0, 0.82, 1, 2),
        "phast": Model(0, 3740, 0, 0.057, 1, 1.5),
    },
    "hubs": {
        "near-far": Model(0.25, 0, 0.005, 0.076, 0.92, 1.4),
        "push-pull": Model(0.75, 0, 0.084, 0.149, 0.52, 1.4),
    },
    "even degrees": {
        "near-far": Model(0.25, 0, 0.005, 0.022, 1, 2),
        "push-pull": Model(0.75, 0, 0.084, 0.067, 1, 2),
    },
}
"""Models by kind of graph and variant, for one NVIDIA H200; docs/performance/fast-sssp.md has the fit.

They only have to rank variants. A search on a map takes between 0.4 and 2.4 times the model, since neither
its shape nor its weights are in it.
"""


class Parameters(variants.Parameters):
    """Number of searches to choose for, and effort of the choice.

    Parameters
    ----------
    searches : int
        Choose the variant that prepares and finds this many trees in the least time.
    probes : int
        Searches that time a candidate that is probed.
    """

    searches: PositiveInt = 100
    probes: PositiveInt = 1


class Cost(NamedTuple):
    """Milliseconds of preparation and of a search, which may be faster by the factor `doubt`."""

    prepare: float
    search: float
    doubt: float = 1

    def total(self, searches: int) -> float:
        """Return the milliseconds of preparation and this many searches."""
        return self.prepare + searches * self.search

    def least(self, searches: int) -> float:
        """Return the same for searches as fast as can be hoped for."""
        return self.prepare + searches * self.search / self.doubt


class Solver:
    """SSSP by the variant that is expected to take the least time for the given number of searches.

    The graph's size and degrees give its kind, and a fitted model the expected cost of each candidate. On
    what may be a map, the degrees come from the survey that `tiled` begins with. On other graphs they are not
    read if the choice does not depend on them. Only the one that is chosen is prepared, unless probes pay:
    where the model leaves the best in doubt, candidates that can be prepared and timed within a tenth of the
    least expected total are, and their times replace the model's. If a variant is skipped or runs out of
    memory, the next is taken. Variants that do not take the type of the weights are left out. All this
    counts as preparation; `probe_ms` in `resolved` is the time of the searches.

    Raises
    ------
    Skipped
        If every candidate is skipped or runs out of memory.
    """

    runs_on = "device"
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, self._searches = graph, parameters.searches
        self._solvers: dict[str, Any] = {}
        self._times: dict[str, float] = {}
        self._probe_ms = 0.0
        self._kind, self._expected = self._survey()
        self._probe(worth_a_probe(self._expected, self._searches, parameters.probes), parameters.probes)
        self._chosen, self._solver = self._choose()
        if hasattr(self._solver, "solve_from"):
            self.solve_from = self._solver.solve_from
        totals = {name: cost.total(self._searches) for name, cost in self._expected.items()}
        choice = {
            "chosen": self._chosen,
            "because": self._kind,
            "searches": self._searches,
            "expected": _listed(totals),
            "probed": _listed(self._times),
        }
        self.resolved = choice | {"probe_ms": round(self._probe_ms, 3)} | self._solver.resolved

    def _survey(self) -> tuple[str, dict[str, Cost]]:
        """Return the kind of graph, in words, and expected costs; if it is a map, `tiled` is prepared."""
        graph = self._graph
        if not _maps.may_be_map(graph):
            with_hubs, without = (costs_of(kind, graph) for kind in ("hubs", "even degrees"))
            choices = {by_total(costs, self._searches)[0] for costs in (with_hubs, without)}
            if len(choices) == 1:
                return f"no map (mean degree above {_maps.MAP_DEGREE})", with_hubs
            return expected_costs(graph, _maps.degrees_of(graph))
        if graph.n_vertices > LARGE or "tiled" not in candidates(graph):
            return expected_costs(graph, _maps.degrees_of(graph))
        found = []

        def look(facts: Facts) -> None:
            found.append(expected_costs(graph, _maps.Degrees.found(graph, facts.with_arcs, facts.max_degree)))
            if "tiled" not in found[0][1]:
                raise variants.Skipped("not a map")

        solver = self._prepare("tiled", look)
        if solver is not None or found:
            self._solvers["tiled"] = solver
        return found[0] if found else expected_costs(graph, _maps.degrees_of(graph))

    def _choose(self) -> tuple[str, Any]:
        """Return the name and solver of the least total; a prepared variant costs no further preparation."""
        costs = dict(self._expected)
        for name, solver in self._solvers.items():
            if solver is None:
                costs.pop(name, None)
            elif name in costs:
                costs[name] = Cost(0, self._times.get(name, costs[name].search))
        for name in by_total(costs, self._searches):
            solver = self._solvers.get(name) or self._prepare(name)
            if solver is not None:
                return name, solver
        raise variants.Skipped(f"none of {' and '.join(self._expected)} can be prepared")

    def _prepare(self, name: str, *more: Any) -> Any:
        """Return the solver of a candidate, or None if it does not suit the graph or the device."""
        module = CANDIDATES[name]
        try:
            return module.Solver(self._graph, module.Parameters(), *more)
        except (variants.Skipped, DeviceOutOfMemory):
            return None

    def _probe(self, names: list[str], probes: int) -> None:
        """Prepare these candidates unless they are, and time a few searches."""
        if not names:
            return
        arcs = np.linspace(0, max(0, self._graph.n_arcs - 1), probes + 2)[1:-1].astype(np.int64)
        # Tails of these arcs: a vertex without arcs would tell nothing.
        sources = (np.searchsorted(self._graph.host.offsets, arcs, side="right") - 1).tolist()
        for name in names:
            if name not in self._solvers:
                self._solvers[name] = self._prepare(name)
            if self._solvers[name] is None:
                continue
            start = time.perf_counter()
            try:
                self._times[name] = float(np.median([self._time(self._solvers[name], s) for s in sources]))
            except DeviceOutOfMemory:  # for what grows in a search
                self._solvers[name] = None
            self._probe_ms += (time.perf_counter() - start) * 1e3

    def _time(self, solver: Any, source: int) -> float:
        """Return the milliseconds of a search."""
        with self._graph.device.timer() as search:
            solver.solve(source)
        return float(search.ms)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        answer: Answer = self._solver.solve(source, phases)
        return answer


def _listed(times: dict[str, float]) -> str:
    return ", ".join(f"{name} {float(f'{ms:.3g}'):g} ms" for name, ms in times.items())


def by_total(costs: dict[str, Cost], searches: int) -> list[str]:
    """Return the names in the order of the total of preparation and searches."""
    return sorted(costs, key=lambda name: costs[name].total(searches))


def worth_a_probe(expected: dict[str, Cost], searches: int, probes: int) -> list[str]:
    """Return the candidates to probe, none if probes decide nothing or nothing is in doubt.

    They are those that may be the best, as far as the model is in doubt, and that can be prepared and probed,
    one after the other, within `BUDGET`.
    """
    order = by_total(expected, searches)
    least = expected[order[0]].total(searches)
    left, names = BUDGET * least, []
    for name in order:
        cost = expected[name].total(probes)
        if cost <= left and expected[name].least(searches) <= least:
            left -= cost
            names.append(name)
    return [] if names == order[:1] else names


def candidates(graph: ResidentGraph) -> list[str]:
    """Return the candidates that take the graph's type of weights."""
    lengths = graph.lengths
    return [name for name, module in CANDIDATES.items() if variants.takes_weights(module.Solver, lengths)]


def kind_of(degrees: _maps.Degrees, n_vertices: int) -> Kind:
    """Return the kind of a graph."""
    if degrees.largest > _maps.HUB:
        return "hubs"
    if not degrees.is_map:
        return "even degrees"
    return "a map" if n_vertices <= LARGE else "a large map"


def expected_costs(graph: ResidentGraph, degrees: _maps.Degrees) -> tuple[str, dict[str, Cost]]:
    """Return the kind of graph, in words, and the expected cost of each candidate."""
    kind = kind_of(degrees, graph.n_vertices)
    costs = costs_of(kind, graph, degrees.with_arcs)
    if degrees.mean > PHAST_DEGREE:
        costs.pop("phast", None)
    return f"{kind} ({degrees})", costs


def costs_of(kind: Kind, graph: ResidentGraph, with_arcs: int = 0) -> dict[str, Cost]:
    """Return the expected cost of each candidate on a graph of this kind; `with_arcs` vertices, on a map."""
    names = candidates(graph)
    vertices, arcs = graph.n_vertices / MILLION, graph.n_arcs / MILLION
    size = with_arcs / MILLION if kind in ("a map", "a large map") else arcs
    return {
        name: Cost(
            model.fixed + model.per_vertex * vertices + model.per_arc * arcs,
            model.search * size**model.exponent,
            model.doubt,
        )
        for name, model in MODELS[kind].items()
        if name in names
    }
