"""The variant that suits the graph, chosen by its features and a few probe searches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PositiveInt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer, _maps
from relaxometer.problems.sssp.near_far import near_far
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.tiled import tiled

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

CANDIDATES: dict[str, Any] = {"tiled": tiled, "near-far": near_far, "push-pull": push_pull}
"""Variants by name, in the order of trial.

`adaptive-persistent` was not the fastest on any of 17 graphs and takes long to tune; preparing `phast` takes
as long as thousands of searches.
"""


class Parameters(variants.Parameters):
    """Effort of the choice.

    Parameters
    ----------
    probes : int
        Sources for timing each candidate.
    """

    probes: PositiveInt = 3


class Solver:
    """SSSP by the variant that is fastest from a few sources.

    Candidates are `tiled` on maps, where degrees are small and there are no hubs, `push-pull` on other
    graphs, and always `near-far`. Each is prepared and timed, and the fastest kept. All this counts as
    preparation; `probe_ms` in `resolved` is the time of the searches.

    Raises
    ------
    Skipped
        If every candidate is skipped or runs out of memory.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._device = graph.device
        with_arcs = np.flatnonzero(graph.host.degrees)
        if not len(with_arcs):
            with_arcs = np.zeros(1, dtype=np.int64)
        places = np.linspace(0, len(with_arcs) - 1, parameters.probes + 2)[1:-1]
        sources = with_arcs[places.astype(np.int64)].tolist()
        self._times: dict[str, float] = {}
        self._probe_ms = 0.0
        self._kind, candidates = worth_a_try(graph)
        for name in candidates:
            self._try(name, graph, sources)
        if not self._times:
            raise variants.Skipped(f"none of {' and '.join(candidates)} can be prepared")

    def _try(self, name: str, graph: ResidentGraph, sources: list[int]) -> None:
        """Time a candidate, and keep it if it is the fastest so far."""
        module = CANDIDATES[name]
        try:
            solver = module.Solver(graph, module.Parameters())
        except (variants.Skipped, DeviceOutOfMemory):
            return
        start = time.perf_counter()
        median = float(np.median([self._time(solver, source) for source in sources]))
        self._probe_ms += (time.perf_counter() - start) * 1e3
        if not self._times or median < min(self._times.values()):
            self._chosen, self._solver = name, solver
        self._times[name] = median

    def _time(self, solver: Any, source: int) -> float:
        """Return the milliseconds of the second of two searches."""
        solver.solve(source)
        with self._device.timer() as search:
            solver.solve(source)
        return float(search.ms)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the chosen variant, the reason, the probes' times, and the variant's parameters."""
        medians = ", ".join(f"{name} {ms:.3g} ms" for name, ms in self._times.items())
        choice = {"chosen": self._chosen, "because": self._kind, "probed": medians}
        return choice | {"probe_ms": round(self._probe_ms, 3)} | self._solver.resolved

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        answer: Answer = self._solver.solve(source, phases)
        return answer


def worth_a_try(graph: ResidentGraph) -> tuple[str, list[str]]:
    """Return the kind of graph, in words, and the candidates that suit it."""
    is_map, features = _maps.features(graph)
    if is_map:
        return f"a map ({features})", ["tiled", "near-far"]
    kind = "hubs" if graph.host.degrees.max(initial=0) > _maps.HUB else "even degrees"
    return f"{kind} ({features})", ["near-far", "push-pull"]
