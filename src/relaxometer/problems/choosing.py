"""What the solvers called `auto` share: a survey, expected costs, and first searches that decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import survey
from relaxometer.problems.phases import Phase
from relaxometer.problems.survey import Features
from relaxometer.problems.variants import Skipped

DOUBT = 3.0  # the searches of two variants may differ by this factor more, or less, than expected
BUDGET = 0.06  # what decides between variants may take this part of the expected total
ROUNDS = 2  # searches that each of them makes, unless the first of each differ by `CLEAR`
CLEAR = 1.5
LONG = 50.0  # milliseconds of a preparation that no search begins
OPTIONAL = ("solve_from", "customize")  # methods that only some solvers have
FEW = 10  # searches below which a survey may take longer than it saves


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
        lost = prepare + ROUNDS * max(0.0, search - best.search)
        if prepare < LONG and lost <= left and prepare + searches * search / DOUBT < searches * best.search:
            left -= lost
            names.append(name)
    return names if len(names) > 1 else []


class Choosing:
    """Base of a solver that prepares the variant, of some modules, of the least expected total.

    The costs follow from the features of the graph, which one launch finds. Nothing is read for few searches
    if the same variant is best on whatever graph of this size. If the best is in doubt, the first searches
    are made by each of the variants in turn, and the fastest makes all others. So nothing is searched that
    was not asked for, and a variant is prepared only for a search. Only a long preparation is not begun in a
    search: where it is in doubt, a search is made before. If a variant is skipped or runs out of memory, the
    next is taken; Skipped if no candidate can be prepared.
    """

    runs_on = "device"
    searches_decide = True  # whether searches are made to decide

    def __init__(self, graph: ResidentGraph, searches: int, modules: Mapping[str, Any]) -> None:
        self._graph, self._searches, self._modules = graph, searches, modules
        self._solvers: dict[str, Any] = {}
        self._tried: dict[str, float] = {}
        self._times: list[tuple[str, float]] = []
        self._because, self._expected = self._expectation()
        if self.searches_decide:
            self._try_before_long()
        self._trial = self._settle()

    def _costs(self, features: Features) -> dict[str, Cost]:
        """Return the expected cost of each candidate."""
        raise NotImplementedError

    def _reason(self, features: Features | None) -> str:
        """Return in words what decides; no features are known if the size does."""
        graph = self._graph
        return str(features or f"{graph.n_arcs / max(1, graph.n_vertices):.3g} arcs per vertex")

    def _expectation(self) -> tuple[str, dict[str, Cost]]:
        """Return the reason of the choice, in words, and expected costs."""
        graph = self._graph
        if self._searches < FEW:
            likely = [self._costs(kind) for kind in survey.kinds(graph.n_vertices, graph.n_arcs)]
            if len({by_total(costs, self._searches)[0] for costs in likely}) == 1:
                return self._reason(None), likely[0]
        features = survey.features_of(graph)
        return self._reason(features), self._costs(features)

    def _try_before_long(self) -> None:
        """Time a search of the best quickly prepared candidate if it decides about a long preparation."""
        names, k = by_total(self._expected, self._searches), self._searches
        quick = [name for name in names if self._expected[name].prepare < LONG]
        long = [name for name in names if name not in quick]
        if not quick or not long:
            return
        costs = [self._expected[names[0]] for names in (quick, long)]
        best, other = (cost.total(k) for cost in costs)
        clear = not best / DOUBT < other < best * DOUBT
        if clear or costs[0].total(1) > BUDGET * min(best, other) or self._prepared(quick[0]) is None:
            return
        # The tail of an arc: a vertex without arcs would tell nothing.
        offsets = self._graph.host.offsets
        source = int(np.searchsorted(offsets, self._graph.n_arcs // 2, side="right")) - 1
        try:
            with self._graph.device.timer() as search:
                self._solvers[quick[0]].solve(source)
        except DeviceOutOfMemory as reason:  # for what grows in a search
            self._drop(quick[0], reason)
            return
        self._expected[quick[0]] = Cost(costs[0].prepare, search.ms)

    def _settle(self) -> list[str]:
        """Prepare the best candidate that can be; return those to try, it included."""
        while self._expected:
            name = by_total(self._expected, self._searches)[0]
            if self._prepared(name) is not None:
                self._use(name)
                return worth_a_trial(self._expected, self._searches) if self.searches_decide else []
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
        return module.Solver(self._graph, module.Parameters())

    def _drop(self, name: str, reason: Exception) -> None:
        self._solvers.pop(name, None)
        if self._expected.pop(name, None) is not None:
            self._because += f", but not for {name}: {reason}"

    def _use(self, name: str) -> None:
        self._chosen, self._solver = name, self._solvers[name]
        for method in OPTIONAL:
            self.__dict__.pop(method, None)
            if hasattr(self._solver, method):
                setattr(self, method, getattr(self._solver, method))

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the choice, which the first searches may change, and the parameters of the chosen one."""
        names = by_total(self._expected, self._searches)
        return {
            "chosen": self._chosen,
            "because": self._because,
            "searches": self._searches,
            "expected": listed({name: self._expected[name].total(self._searches) for name in names}),
            "probed": listed(self._tried),
        } | self._solver.resolved

    def solve(self, source: int, phases: list[Phase] | None = None) -> Any:
        """Search from `source`; see :class:`relaxometer.problems.problem.Solver`."""
        while self._trial:
            name = self._trial[len(self._times) % len(self._trial)]
            if self._prepared(name) is None:
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
            self._use(min(self._tried, key=lambda name: self._tried[name]))
            self._trial, self._solvers = [], {self._chosen: self._solver}


def listed(times: Mapping[str, float]) -> str:
    """Return names and milliseconds as text."""
    return ", ".join(f"{name} {float(f'{ms:.3g}'):g} ms" for name, ms in times.items())
