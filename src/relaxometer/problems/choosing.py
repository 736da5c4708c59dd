"""What the solvers called `auto` share: a survey, expected costs, and first searches that decide."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.device.pace import Pace, pace_of
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.survey import Features
from relaxometer.problems.phases import Phase
from relaxometer.problems.variants import Skipped

DOUBT = 2.0  # the searches of two variants may differ by this factor more, or less, than expected
BUDGET = 0.05  # what decides between variants may take this part of the expected total
ROUNDS = 2  # searches that each of them makes, unless the first of each differ by `CLEAR`
CLEAR = 1.5
LOADING = 60.0  # milliseconds to load the kernels of a variant at its first use in a process
LONG = 50.0  # milliseconds of a preparation that no search begins
OPTIONAL = ("solve_from", "customize")  # methods that only some solvers have
H200 = Pace(copy_gb_s=4000, barrier_us=0.95)  # the device that the costs were fitted on


class Cost(NamedTuple):
    """Milliseconds of preparation and of a search."""

    prepare: float
    search: float

    def total(self, searches: int) -> float:
        """Return the milliseconds of preparation and this many searches."""
        return self.prepare + searches * self.search


def by_total(costs: Mapping[str, Cost], searches: int) -> list[str]:
    """Return the names in the order of the total of preparation and searches."""
    return sorted(costs, key=lambda name: costs[name].total(searches))


def worth_a_trial(costs: Mapping[str, Cost], searches: int) -> list[str]:
    """Return, the best first, variants that may be best and are within `BUDGET` if lost; none if clear."""
    first, *others = by_total(costs, searches)
    best = costs[first]
    left, names = BUDGET * best.total(searches), [first]
    for name in others:
        prepare, search = costs[name]
        lost = LOADING + prepare + ROUNDS * max(0.0, search - best.search)
        if prepare < LONG and lost <= left and prepare + searches * search / DOUBT < searches * best.search:
            left -= lost
            names.append(name)
    return names if len(names) > 1 else []


class Scale(NamedTuple):
    """How much longer than an H200 a device takes, where it waits for memory and where for barriers."""

    memory: float = 1.0
    latency: float = 1.0

    @classmethod
    def of(cls, device: Device) -> Scale:
        """Return the scale of a device, measured once per process; the emulation chooses as an H200."""
        if device.kind != "cuda":
            return cls()
        pace = pace_of(device)
        return cls(H200.copy_gb_s / pace.copy_gb_s, pace.barrier_us / H200.barrier_us)

    def sizes(self, f: Features) -> tuple[float, float, float]:
        """Return millions of vertices, millions of arcs, and levels, for which an H200 would take as long."""
        return 1e-6 * self.memory * f.n_vertices, 1e-6 * self.memory * f.n_arcs, self.latency * f.depth


AS_H200 = Scale()


class Choosing(ABC):
    """Base of a solver that prepares the variant, of some modules, of the least expected total.

    The costs follow from the features of the graph, which one launch finds, and the pace of the device. If
    the best is in doubt, the first searches are made by each of the variants in turn, and the fastest makes
    all others. So nothing is searched that was not asked for, and a variant is prepared only for a search.
    Only a long preparation is not begun in a search: where it is in doubt, a search is made before. If a
    variant is skipped or runs out of memory, the next is taken; Skipped if no candidate can be prepared.
    """

    runs_on = "device"
    searches_decide = True  # whether searches are made to decide

    def __init__(self, graph: ResidentGraph, searches: int, modules: Mapping[str, Any]) -> None:
        self._graph, self._searches, self._modules = graph, searches, modules
        self._solvers: dict[str, Any] = {}
        self._dropped: dict[str, str] = {}
        self._tried: dict[str, float] = {}
        self._lost_ms = 0.0
        self._times: list[tuple[str, float]] = []
        self._expected = self._costs(graph.features, Scale.of(graph.device))
        if searches > 1 and self.searches_decide:
            self._try_before_long()
        self._trial = self._settle()
        if not self._trial:
            self._end_trial()

    @abstractmethod
    def _costs(self, features: Features, scale: Scale) -> dict[str, Cost]:
        """Return the expected cost of each candidate."""

    def _reason(self) -> str:
        """Return in words what decides."""
        return str(self._graph.features)

    def _try_before_long(self) -> None:
        """Time a search of the best quickly prepared candidate if a long preparation depends on it."""
        costs, k = self._expected, self._searches
        long = {name: cost for name, cost in costs.items() if cost.prepare >= LONG}
        quick = [name for name in by_total(costs, k) if name not in long] if long else []
        if not quick:
            return
        name, best = quick[0], costs[quick[0]]
        others = min(cost.total(k) for cost in long.values())
        clear = not best.total(k) / DOUBT < others < best.total(k) * DOUBT
        if clear or best.total(1) > BUDGET * min(best.total(k), others) or self._prepared(name) is None:
            return
        # The tail of an arc: a vertex without arcs would tell nothing.
        offsets = self._graph.host.offsets
        source = int(np.searchsorted(offsets, self._graph.n_arcs // 2, side="right")) - 1
        try:
            with self._graph.device.timer() as search:
                self._solvers[name].solve(source)
        except DeviceOutOfMemory as reason:  # for what grows in a search
            self._drop(name, reason)
            return
        costs[name] = Cost(best.prepare, search.ms)

    def _settle(self) -> list[str]:
        """Prepare the best candidate that can be; return those to try, it included."""
        costs, k = self._expected, self._searches
        while costs:
            name = min(costs, key=lambda name: costs[name].total(k))
            if self._prepared(name) is not None:
                self._use(name)
                return worth_a_trial(costs, k) if k > 1 and self.searches_decide else []
        raise Skipped(f"none of {' and '.join(self._modules)} can be prepared: {self._because}")

    def _prepared(self, name: str) -> Any:
        """Return the solver of a candidate; None, and no candidate, if it does not suit graph or device."""
        if name not in self._solvers:
            try:
                self._solvers[name] = self._made(name)
            except (Skipped, DeviceOutOfMemory) as reason:
                self._drop(name, reason)
        return self._solvers.get(name)

    def _made(self, name: str) -> Any:
        """Return the solver of a candidate; Skipped or DeviceOutOfMemory if there cannot be one."""
        module = self._modules[name]
        return module.Solver(self._graph, _defaults(module.Parameters))

    def _drop(self, name: str, reason: Exception) -> None:
        self._solvers.pop(name, None)
        if self._expected.pop(name, None) is not None:
            self._dropped[name] = str(reason)

    def _use(self, name: str) -> None:
        self._chosen, self._solver = name, self._solvers[name]
        for method in OPTIONAL:
            self.__dict__.pop(method, None)
            if hasattr(self._solver, method):
                setattr(self, method, getattr(self._solver, method))

    @property
    def _because(self) -> str:
        """Return the reason of the choice, in words."""
        dropped = [f"but not for {name}: {reason}" for name, reason in self._dropped.items()]
        return ", ".join([self._reason(), *dropped])

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the choice, which the first searches may change, and the parameters of the chosen one.

        ``lost_ms`` is by how much those took longer than if the fastest had made them all, the preparation of
        the others included.
        """
        names = by_total(self._expected, self._searches)
        return {
            "chosen": self._chosen,
            "because": self._because,
            "searches": self._searches,
            "expected": listed({name: self._expected[name].total(self._searches) for name in names}),
            "probed": listed(self._tried),
            "lost_ms": round(self._lost_ms, 4),
        } | self._solver.resolved

    def solve(self, source: int, phases: list[Phase] | None = None) -> Any:
        """Search from `source`; see :class:`relaxometer.problems.problem.Solver`."""
        while self._trial:
            name = self._trial[len(self._times) % len(self._trial)]
            if name not in self._solvers:
                with self._graph.device.timer() as preparation:
                    self._prepared(name)
                self._lost_ms += preparation.ms
            if name not in self._solvers:
                self._trial = []
                break
            try:
                with self._graph.device.timer() as search:
                    answer = self._solvers[name].solve(source, phases)
            except DeviceOutOfMemory as reason:  # for what grows in a search
                self._drop(name, reason)
                self._trial = self._settle()
                self._times.clear()
                continue
            self._times.append((name, search.ms))
            self._judge()
            return answer
        return self._solver.solve(source, phases)

    def _judge(self) -> None:
        """After each round of a trial, end it if it is decided."""
        rounds, left = divmod(len(self._times), len(self._trial))
        if left:
            return
        self._tried = {name: min(ms for one, ms in self._times if one == name) for name in self._trial}
        best, second, *_ = sorted(self._tried.values())
        if rounds == ROUNDS or second > CLEAR * best:
            self._lost_ms += sum(ms - best for _, ms in self._times)
            self._use(min(self._tried, key=lambda name: self._tried[name]))
            self._solvers = {self._chosen: self._solver}
            self._end_trial()

    def _end_trial(self) -> None:
        """From now on, searches go to the chosen solver directly: short ones notice each step of Python."""
        self._trial = []
        self.__dict__["solve"] = self._solver.solve


@functools.cache
def _defaults(parameters: Any) -> Any:
    return parameters()


def listed(times: Mapping[str, float]) -> str:
    """Return names and milliseconds as text."""
    return ", ".join(f"{name} {float(f'{ms:.3g}'):g} ms" for name, ms in times.items())
