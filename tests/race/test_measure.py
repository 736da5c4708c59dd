"""The results of variants that fail or do not suit a graph."""

import gc
import time
from contextlib import nullcontext

import numpy as np
import pytest

from relaxometer.core.errors import Failed
from relaxometer.device import DeviceOutOfMemory
from relaxometer.plan.models import Run, Timing
from relaxometer.problems import variants
from relaxometer.problems.dominators import iterative_tree
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import measurement
from relaxometer.race.measurement import Begun, Found, Prepared
from relaxometer.race.variant import measure
from sample_graphs import sample_graphs

ORIGINAL = dijkstra_cpu.Solver
GRAPH = next(graph for graph in sample_graphs().values() if graph.n_vertices > 50)


def measured(monkeypatch, failure, *, at, rounds=1, number=1):
    """Measure Dijkstra on the CPU with a constructor or a search that raises `failure`."""

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            if at == "construction":
                raise failure
            super().__init__(graph, parameters)

        def solve(self, source, phases=None):
            if source == 1:
                raise failure
            return super().solve(source, phases)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=2, rounds=rounds, warmup=0)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    return measure(run, GRAPH, np.array([0, 1]), "host", number)


@pytest.mark.parametrize(
    ("failure", "status", "reason"),
    [
        (variants.Skipped("n is too large"), "skipped", "n is too large"),
        (DeviceOutOfMemory("9 GB"), "oom", "9 GB"),
        (ValueError("odd\nsecond line"), "error", "ValueError: odd"),
    ],
)
def test_every_search_of_a_variant_that_fails_says_why(monkeypatch, capsys, failure, status, reason):
    result = measured(monkeypatch, failure, at="construction")
    assert [(row["status"], row["reason"]) for row in result.runs] == [(status, reason)] * 4
    assert list(result.answer) == ["distance", "predecessor"]
    later = measured(monkeypatch, failure, at="search")
    assert [(row["source"], row["status"]) for row in later.runs][:2] == [(0, "ok"), (1, status)]
    assert len(later.runs) == 4


def test_preparation_excludes_compiling(monkeypatch):
    seconds = iter([0.5, 0.0])

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            time.sleep(next(seconds))
            super().__init__(graph, parameters)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, warmup=0)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    (row,) = measure(run, GRAPH, np.array([0]), "host").runs
    assert 0 < row["prepare_ms"] < 400


def test_the_garbage_collector_rests_during_timed_searches_only(monkeypatch, tmp_path):
    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            with (tmp_path / "collecting").open("a") as file:
                file.write(f"{source} {gc.isenabled()}\n")
            return super().solve(source, phases)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, warmup=1)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    assert [row["status"] for row in measure(run, GRAPH, np.array([0, 2]), "host").runs] == ["ok", "ok"]
    seen = [line.split() for line in (tmp_path / "collecting").read_text().splitlines()]
    timed = [number for number, (source, _) in enumerate(seen) if source in ("0", "2")][:2]
    assert [collecting for _, collecting in seen] == [str(number not in timed) for number in range(len(seen))]


class Scripted:
    """A contestant whose clock shows given milliseconds."""

    def __init__(self, warm_ups, time_ms=20.0):
        self.warm_ups, self.asked, self.time_ms = iter(warm_ups), [], time_ms

    def extend(self):
        pass

    def begin(self):
        return Begun(runs_on="cpu", before={})

    def prepare(self, sources):
        self.asked.append(("prepare", sources))
        return Prepared(upload_ms=1.0, prepare_ms=5.0, resolved={}, graph={})

    def warm_up(self, source):
        self.asked.append(("warm_up", source))
        return next(self.warm_ups)

    def solve(self, source):
        self.asked.append(("solve", source))
        found = Found(
            time_ms=self.time_ms,
            clock_ms=self.time_ms,
            download_ms=0.0,
            phases=None,
            overflowed=False,
            proven=False,
        )
        return found, {}

    def instrument(self, source):
        return None

    def cost(self, sources, more_s):
        return None

    def state_of_device(self):
        return {}


@pytest.mark.parametrize(
    ("warmup", "cold_ms", "asked"), [(2, 12.0, ["prepare", "warm_up", "warm_up"]), (0, 25.0, ["prepare"])]
)
def test_cold_is_preparation_and_the_first_search(warmup, cold_ms, asked):
    contestant = Scripted([7.0, 1.0])
    run = Run(
        problem="sssp",
        graph="g",
        variant="v",
        solver="dijkstra-cpu",
        parameters={},
        timing=Timing(repetitions=2, rounds=1, warmup=warmup),
    )
    opener = lambda *_: nullcontext(contestant)  # noqa: E731
    rows = measurement.measure(opener, run, GRAPH, np.array([0, 1]), "host").runs
    assert [(row["prepare_ms"], row["cold_ms"]) for row in rows] == [(5.0, cold_ms)] * 4
    assert [what for what, _ in contestant.asked if what != "solve"] == asked
    searched = [source for what, source in contestant.asked if what == "warm_up"]
    (_, first), *_ = contestant.asked
    assert len(first) == (warmup > 0)
    assert not {0, 1} & {*first, *searched}


def test_the_timed_solver_finds_nothing_of_the_first_one(monkeypatch, tmp_path):
    log = tmp_path / "log"

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            for kept in (graph, graph.host):
                assert not hasattr(kept, "left")
                object.__setattr__(kept, "left", True)
            self._note("construct")
            super().__init__(graph, parameters)

        def solve(self, source, phases=None):
            self._note("solve")
            return super().solve(source, phases)

        def _note(self, what):
            with log.open("a", encoding="utf-8") as file:
                file.write(what + "\n")

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, rounds=1, warmup=1)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    (row,) = measure(run, GRAPH, np.array([0]), "host").runs
    assert row["status"] == "ok"
    assert row["cold_ms"] > row["prepare_ms"] > 0
    # A solver to throw away and its search; then the first search, the timed and the instrumented one.
    assert log.read_text().split() == ["construct", "solve", "construct", "solve", "solve", "solve"]


def test_slow_variants_have_fewer_repetitions_and_instrumented_searches(monkeypatch):
    class Slow(ORIGINAL):
        def solve(self, source, phases=None):
            time.sleep(0.02)
            return super().solve(source, phases)

    for solver, repetitions, instrumented in ((ORIGINAL, 4, {0, 1}), (Slow, 1, {0})):
        monkeypatch.setattr(dijkstra_cpu, "Solver", solver)
        timing = Timing(repetitions=4, rounds=1, warmup=0, enough_s=0.01 if solver is Slow else 60)
        run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
        result = measure(run, GRAPH, np.array([0, 1]), "host")
        expected = [(source, k, "ok") for k in range(repetitions) for source in (0, 1)]
        assert [(row["source"], row["repetition"], row["status"]) for row in result.runs] == expected
        assert {row["source"] for row in result.runs if "relaxed_arcs" in row} == instrumented


def test_passes_that_a_slow_variant_may_leave_out_are_not_failures():
    class Costly(Scripted):
        def solve(self, source):
            time.sleep(0.02)
            return super().solve(source)

        def cost(self, sources, more_s):
            raise Failed("timeout", "too slow")

    timing = Timing(repetitions=4, rounds=1, warmup=0, enough_s=0.01)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    opener = lambda *_: nullcontext(Costly([]))  # noqa: E731
    result = measurement.measure(opener, run, GRAPH, np.array([0, 1]), "host")
    assert [(row["repetition"], row["status"]) for row in result.runs] == [(0, "unproven")] * 2


@pytest.mark.parametrize(
    ("solver", "rounds", "number", "expected"),
    [
        ("dijkstra-cpu", None, 1, [(1, 0), (1, 1)]),
        ("dijkstra-cpu", None, 2, [(2, 2), (2, 3)]),
        ("conventional", None, 1, [(1, 0), (1, 1), (1, 2)]),
        ("conventional", 2, 1, [(1, 0), (1, 1)]),
        ("conventional", 2, 2, [(2, 2), (2, 3)]),
    ],
)
def test_rounds_divide_the_passes(solver, rounds, number, expected):
    timing = Timing(repetitions=3, rounds=rounds, warmup=0)
    run = Run(problem="sssp", graph="g", variant="v", solver=solver, parameters={}, timing=timing)
    result = measure(run, GRAPH, np.array([7]), "host", number)
    for rows in (result.runs, result.certificates):
        assert [(row["round"], row["repetition"]) for row in rows] == expected
    assert [row["status"] for row in result.runs] == ["ok"] * len(expected)
    assert result.context["round"] == number


def test_only_the_first_round_is_instrumented():
    run = Run(
        problem="bfs",
        graph="g",
        variant="v",
        solver="hybrid-cpu",
        parameters={},
        timing=Timing(repetitions=2, rounds=2),
    )
    first, second = (measure(run, GRAPH, np.array([7]), "host", number) for number in (1, 2))
    assert first.phases
    assert not second.phases


def test_a_failure_fills_the_rows_of_its_own_round(monkeypatch):
    result = measured(monkeypatch, ValueError("odd"), at="construction", rounds=2, number=2)
    assert [(row["round"], row["repetition"], row["source"], row["status"]) for row in result.runs] == [
        (2, 1, source, "error") for source in (0, 1)
    ]


@pytest.mark.parametrize(("limit", "is_resident"), [(1, False), (10**6, True)])
def test_a_graph_out_of_core_leaves_its_arcs_in_host_memory(monkeypatch, limit, is_resident):
    original = iterative_tree.Solver.__init__

    def checked(self, graph, parameters):
        assert (graph.targets is not None) == is_resident
        original(self, graph, parameters)

    monkeypatch.setattr(iterative_tree.Solver, "__init__", checked)
    run = Run(
        problem="dominators",
        graph="g",
        variant="v",
        solver="iterative-tree",
        parameters={"resident_arcs": limit},
        timing=Timing(repetitions=1, warmup=0),
    )
    result = measure(run, GRAPH, np.array([0]), "host")
    assert [(row["status"], row["reason"]) for row in result.runs] == [("ok", "")]


@pytest.mark.parametrize(
    ("time_ms", "warmup", "between"), [(4.9, 1, ["warm_up"]), (5.1, 1, []), (4.9, 0, [])]
)
def test_a_short_search_follows_an_untimed_one(time_ms, warmup, between):
    contestant = Scripted([1.0] * 9, time_ms)
    timing = Timing(repetitions=1, rounds=1, warmup=warmup)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    measurement.measure(lambda *_: nullcontext(contestant), run, GRAPH, np.array([0, 1]), "host")
    assert [what for what, _ in contestant.asked[1 + warmup :]] == ["solve", *between, "solve"]
