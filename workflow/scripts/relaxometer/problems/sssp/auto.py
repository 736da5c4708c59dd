"""The variant that suits the graph and the number of searches, by a model of cost and a few probes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import PositiveInt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer, _maps
from relaxometer.problems.sssp.near_far import near_far
from relaxometer.problems.sssp.phast import phast
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.tiled import tiled

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

CANDIDATES: dict[str, Any] = {"tiled": tiled, "near-far": near_far, "push-pull": push_pull, "phast": phast}
"""Variants by name. `adaptive-persistent` was not the fastest on any of 17 graphs and takes long to tune."""

PHAST_DEGREE = 3.5
"""Maximum mean degree of a map for `phast`: those tried have up to 3.2, and it gives up on a grid, with 4."""

BUDGET = 0.1
"""Probes may take this part of the expected total."""

MILLION = 1e6


class Model(NamedTuple):
    """Milliseconds of a variant on a kind of graph, sizes in millions.

    Preparation is `fixed` + `per_vertex` * vertices + `per_arc` * arcs. A search takes `search` * size **
    `exponent`; the size is the number of vertices with arcs on maps, and the number of arcs on other graphs.
    """

    fixed: float
    per_vertex: float
    per_arc: float
    search: float
    exponent: float


MODELS: dict[str, dict[str, Model]] = {
    "a map": {
        "tiled": Model(0.58, 0.11, 0, 5.54, 0.81),
        "near-far": Model(0.46, 0, 0.004, 17.1, 0.75),
        "phast": Model(0, 2950, 0, 0.268, 0.36),
    },
    "hubs": {
        "near-far": Model(0.46, 0, 0.004, 0.076, 0.92),
        "push-pull": Model(0.75, 0, 0.084, 0.149, 0.52),
    },
    "even degrees": {
        "near-far": Model(0.46, 0, 0.004, 0.022, 1),
        "push-pull": Model(0.75, 0, 0.084, 0.067, 1),
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
        Sources for timing a candidate that is probed.
    """

    searches: PositiveInt = 100
    probes: PositiveInt = 1


class Cost(NamedTuple):
    """Milliseconds of preparation and of a search."""

    prepare: float
    search: float

    def total(self, searches: int) -> float:
        """Return the milliseconds of preparation and this many searches."""
        return self.prepare + searches * self.search


class Solver:
    """SSSP by the variant that is expected to take the least time for the given number of searches.

    The graph's size and degrees give its kind, and a fitted model the expected cost of each candidate. Only
    the one that is chosen is prepared, unless probes pay: candidates that can be prepared and timed within a
    tenth of the least expected total are, and their times replace the model's. If a variant is skipped or
    runs out of memory, the next is taken. All this counts as preparation; `probe_ms` in `resolved` is the
    time of the searches.

    Raises
    ------
    Skipped
        If every candidate is skipped or runs out of memory.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, self._searches = graph, parameters.searches
        self._kind, self._expected = expected_costs(graph)
        self._times: dict[str, float] = {}
        self._probe_ms = 0.0
        solvers = self._probe(worth_a_probe(self._expected, self._searches, parameters.probes), parameters)
        self._chosen, self._solver = self._choose(solvers)

    def _choose(self, solvers: dict[str, Any]) -> tuple[str, Any]:
        """Return the name and solver of the least total; a prepared variant costs no further preparation."""
        costs = {name: cost for name, cost in self._expected.items() if solvers.get(name, cost) is not None}
        costs |= {name: Cost(0, ms) for name, ms in self._times.items()}
        for name in by_total(costs, self._searches):
            solver = solvers.get(name) or self._prepare(name)
            if solver is not None:
                return name, solver
        raise variants.Skipped(f"none of {' and '.join(self._expected)} can be prepared")

    def _prepare(self, name: str) -> Any:
        """Return the solver of a candidate, or None if it does not suit the graph or the device."""
        module = CANDIDATES[name]
        try:
            return module.Solver(self._graph, module.Parameters())
        except (variants.Skipped, DeviceOutOfMemory):
            return None

    def _probe(self, names: list[str], parameters: Parameters) -> dict[str, Any]:
        """Prepare these candidates and time a few searches; return the solvers, None for those that fail."""
        if not names:
            return {}
        with_arcs = np.flatnonzero(self._graph.host.degrees)
        if not len(with_arcs):
            with_arcs = np.zeros(1, dtype=np.int64)
        places = np.linspace(0, len(with_arcs) - 1, parameters.probes + 2)[1:-1]
        sources = with_arcs[places.astype(np.int64)].tolist()
        solvers = {name: self._prepare(name) for name in names}
        start = time.perf_counter()
        for name, solver in solvers.items():
            if solver is not None:
                self._times[name] = float(np.median([self._time(solver, source) for source in sources]))
        self._probe_ms = (time.perf_counter() - start) * 1e3
        return solvers

    def _time(self, solver: Any, source: int) -> float:
        """Return the milliseconds of the second of two searches."""
        solver.solve(source)
        with self._graph.device.timer() as search:
            solver.solve(source)
        return float(search.ms)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the choice, its reason, the expected totals, the probes, and the variant's parameters."""
        totals = {name: cost.total(self._searches) for name, cost in self._expected.items()}
        choice = {
            "chosen": self._chosen,
            "because": self._kind,
            "searches": self._searches,
            "expected": _listed(totals),
            "probed": _listed(self._times),
        }
        return choice | {"probe_ms": round(self._probe_ms, 3)} | self._solver.resolved

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
    """Return the candidates that can be prepared and probed within `BUDGET`, none if that decides nothing."""
    order = by_total(expected, searches)
    left, names = BUDGET * expected[order[0]].total(searches), []
    for name in order:
        cost = expected[name].total(2 * probes)
        if cost <= left:
            left -= cost
            names.append(name)
    return [] if names == order[:1] else names


def kind_of(degrees: _maps.Degrees) -> Literal["a map", "hubs", "even degrees"]:
    """Return the kind of a graph."""
    if degrees.largest > _maps.HUB:
        return "hubs"
    return "a map" if degrees.is_map else "even degrees"


def expected_costs(graph: ResidentGraph) -> tuple[str, dict[str, Cost]]:
    """Return the kind of graph, in words, and the expected cost of each candidate."""
    degrees = _maps.degrees_of(graph)
    kind = kind_of(degrees)
    models = dict(MODELS[kind])
    if degrees.mean > PHAST_DEGREE:
        models.pop("phast", None)
    arcs = graph.n_arcs / MILLION
    size = degrees.with_arcs / MILLION if kind == "a map" else arcs
    costs = {
        name: Cost(
            model.fixed + model.per_vertex * graph.n_vertices / MILLION + model.per_arc * arcs,
            model.search * size**model.exponent,
        )
        for name, model in models.items()
    }
    return f"{kind} ({degrees})", costs
