"""The rows of variants: which searches are made, in which order, and what is timed, fixed work included."""

import gc
import json
import multiprocessing
import time
from contextlib import nullcontext

import numpy as np
import pytest

from race_runs import GRAPH, ORIGINAL, measured, run_of
from relaxometer.core.errors import Failed
from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.host import HostDevice
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.dominators import iterative_tree
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import contestant, measurement, reference
from relaxometer.race.measurement import Begun, Found, Prepared
from rival_runs import race


def failing(monkeypatch, failure, at):
    """Let Dijkstra's constructor, or its search from vertex 1, raise `failure`."""

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


@pytest.mark.parametrize(
    ("failure", "status", "reason"),
    [
        (variants.Skipped("n is too large"), "skipped", "n is too large"),
        (DeviceOutOfMemory("9 GB"), "oom", "9 GB"),
        (ValueError("odd\nsecond line"), "error", "ValueError: odd"),
    ],
)
def test_every_search_of_a_variant_that_fails_says_why(monkeypatch, capsys, failure, status, reason):
    failing(monkeypatch, failure, "construction")
    result = measured(run_of(repetitions=4, rounds=2), number=2)
    assert [(row.round, row.repetition, row.source) for row in result.runs] == [
        (2, repetition, source) for repetition in (2, 3) for source in (0, 1)
    ]
    assert {(row.status, row.reason) for row in result.runs} == {(status, reason)}
    assert list(result.answer) == ["distance", "predecessor"]
    failing(monkeypatch, failure, "search")
    later = measured(run_of(repetitions=2))
    assert [(row.source, row.status) for row in later.runs][:2] == [(0, "ok"), (1, status)]
    assert len(later.runs) == 4


def test_the_timed_solver_finds_nothing_of_the_first_one(monkeypatch, tmp_path):
    """Nor does the preparation include compiling, nor the garbage collector work in a timed search."""
    log = tmp_path / "log"

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            for kept in (graph, graph.host):
                assert not hasattr(kept, "left")
                object.__setattr__(kept, "left", True)
            if not log.exists():
                time.sleep(0.5)
            self._note("construct")
            super().__init__(graph, parameters)

        def solve(self, source, phases=None):
            self._note(f"solve-{gc.isenabled()}")
            return super().solve(source, phases)

        def _note(self, what):
            with log.open("a", encoding="utf-8") as file:
                file.write(what + "\n")

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    (row,) = measured(run_of(warmup=1), [0]).runs
    assert row.status == "ok"
    assert row.cold_ms > row.prepare_ms
    assert 0 < row.prepare_ms < 400
    # A solver to throw away and its search; the first search, the timed and the instrumented one; a call, and
    # a preparation with its search.
    expected = ["construct", "solve-True", "construct", "solve-True", "solve-False", "solve-True"]
    expected += ["construct", "solve-False", "construct", "solve-True"]
    assert log.read_text().split() == expected


def test_parameters_are_those_after_the_searches_which_may_decide_some(monkeypatch):
    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            super().__init__(graph, parameters)
            self.resolved = {"chosen": "first"}

        def solve(self, source, phases=None):
            self.resolved = {"chosen": "best"}
            return super().solve(source, phases)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    assert measured(run_of(warmup=0)).context["parameters"] == {"chosen": "best"}


class Scripted:
    """A contestant whose clock shows given milliseconds."""

    begun = Begun(runs_on="cpu", before={})

    def __init__(self, warm_ups=(), time_ms=20.0, slow_s=0.0, costs_fail=False, calls=()):
        self.warm_ups, self.asked, self.calls = iter(warm_ups), [], iter(calls)
        self.time_ms, self.slow_s, self.costs_fail = time_ms, slow_s, costs_fail

    def extend(self):
        pass

    def prepare(self, sources):
        self.asked.append(("prepare", sources))
        return Prepared(upload_ms=1.0, prepare_ms=5.0, resolved={}, graph={})

    def warm_up(self, source):
        self.asked.append(("warm_up", source))
        return next(self.warm_ups)

    def solve(self, source):
        time.sleep(self.slow_s)
        self.asked.append(("solve", source))
        return self.found(self.time_ms), {}

    def found(self, time_ms, cold_ms=None):
        times = {"time_ms": time_ms, "clock_ms": time_ms, "cold_ms": cold_ms, "download_ms": 0.0}
        prepare_ms = cold_ms and cold_ms - 4.0
        return Found(**times, prepare_ms=prepare_ms, phases=None, overflowed=False, proven=False)

    def call(self, source):
        times = next(self.calls, None)
        return times and (self.found(*times), {})

    def instrument(self, source):
        return None

    def cost(self, sources, more_s):
        if self.costs_fail:
            raise Failed("timeout", "too slow")

    def state_of_device(self):
        return {}

    def rows(self, run):
        return measurement.measure(nullcontext(self), run, GRAPH, np.array([0, 1]), "host").runs


@pytest.mark.parametrize(
    ("warmup", "cold_ms", "asked"), [(2, 12.0, ["prepare", "warm_up", "warm_up"]), (0, 25.0, ["prepare"])]
)
def test_cold_is_preparation_and_the_first_search(warmup, cold_ms, asked):
    one = Scripted([7.0, 1.0])
    rows = one.rows(run_of(repetitions=2, warmup=warmup))
    assert [(row.prepare_ms, row.cold_ms) for row in rows] == [(5.0, cold_ms)] * 4
    assert [what for what, _ in one.asked if what != "solve"] == asked
    searched = [source for what, source in one.asked if what == "warm_up"]
    (_, first), *_ = one.asked
    assert len(first) == (warmup > 0)
    assert not {0, 1} & {*first, *searched}


COLDS = (7.0, 8.0, 10.0, 11.0)  # milliseconds from the graph to the first answer, of four calls


@pytest.mark.parametrize(
    ("budget_s", "most", "calls", "cold_ms"),
    [
        (60, 16, [50, 60, 70, 80], 9.0),
        (0, 16, [50, 60, 70, None], 8.0),
        (60, 2, [50, 60, None, None], 7.5),
        (60, 0, [None] * 4, 12.0),
    ],
)
def test_each_search_has_a_call_while_there_is_time(monkeypatch, budget_s, most, calls, cold_ms):
    monkeypatch.setattr(measurement, "CALLS_S", budget_s)
    monkeypatch.setattr(measurement, "FEWEST_CALLS", 3)
    one = Scripted([7.0], calls=list(zip((50, 60, 70, 80), COLDS, strict=True)))
    rows = one.rows(run_of(repetitions=2, warmup=1, calls=most))
    assert [(row.call_ms, row.cold_ms) for row in rows] == [(ms, cold_ms) for ms in calls]
    assert {row.prepare_ms for row in rows} == {cold_ms - 4.0 if most else 5.0}
    shown = zip(calls, COLDS, strict=True)
    parts = [(None,) * 3 if ms is None else (ms, cold - 4.0, cold) for ms, cold in shown]
    assert [(row.call_ms, row.call_prepare_ms, row.call_cold_ms) for row in rows] == parts


SPAN_S = 0.05
"""What each part of a call takes at least in the test below."""


@pytest.mark.parametrize(("solver", "spans"), [("dijkstra-cpu", 2), ("conventional", 4)])
def test_a_call_takes_all_from_host_memory_to_host_memory(monkeypatch, solver, spans):
    """A CPU program has nothing to upload and to download."""

    def slowed(of, name):
        original = getattr(of, name)

        def slow(*arguments, **named):
            time.sleep(SPAN_S)
            return original(*arguments, **named)

        monkeypatch.setattr(of, name, slow)

    run = run_of(solver)
    module = variants.load_solver("sssp", solver)
    for of, name in ((ResidentGraph, "upload"), (module.Solver, "__init__"), (module.Solver, "solve")):
        slowed(of, name)
    slowed(contestant._VariantProcess, "_fetch")
    collect = gc.collect
    monkeypatch.setattr(gc, "collect", lambda: time.sleep(1) or collect())
    first, second = measured(run).runs
    assert (first.status, second.status) == ("ok", "ok")
    assert spans * SPAN_S * 1e3 <= first.call_ms < 1000, "without freeing what an earlier solver had"
    assert first.prepare_ms < 2 * SPAN_S * 1e3
    assert (second.call_ms is None) == (solver == "conventional")  # emulated


@pytest.mark.parametrize(("problem", "solver"), [("sssp", "conventional"), ("bfs", "top-down")])
def test_weights_are_uploaded_where_lengths_depend_on_them(monkeypatch, problem, solver):
    class Watched(ResidentGraph):
        @classmethod
        def upload(cls, device, graph, *, arcs, weights):
            assert weights == (problem == "sssp")
            return ResidentGraph.upload(device, graph, arcs=arcs, weights=weights)

    monkeypatch.setattr(contestant, "ResidentGraph", Watched)
    assert [row.status for row in measured(run_of(solver, problem), sources=[0]).runs] == ["ok"]


def test_the_answer_of_a_call_is_proven(monkeypatch):
    class Wrong(ORIGINAL):
        built = 0

        def __init__(self, graph, parameters):
            Wrong.built += 1
            super().__init__(graph, parameters)

        def solve(self, source, phases=None):
            answer = super().solve(source, phases)
            if self.built > 2:  # the first solver is thrown away, the second timed
                answer.distance[source] = 1
            return answer

    monkeypatch.setattr(dijkstra_cpu, "Solver", Wrong)
    result = measured(sources=[0])
    assert [row.status for row in result.runs] == ["invalid"]
    assert result.runs[0].reason.startswith("call: rule source broken once, first at vertex 0")
    assert [row["holds"] for row in result.certificates] == [True]


@pytest.mark.parametrize(
    ("time_ms", "warmup", "between"), [(4.9, 1, ["warm_up"]), (5.1, 1, []), (4.9, 0, [])]
)
def test_a_short_search_follows_an_untimed_one(time_ms, warmup, between):
    one = Scripted([1.0] * 9, time_ms)
    one.rows(run_of(warmup=warmup))
    assert [what for what, _ in one.asked[1 + warmup :]] == ["solve", *between, "solve"]


@pytest.mark.parametrize("flush_cache", [True, False])
def test_caches_are_flushed_before_each_timed_search_if_wanted(monkeypatch, flush_cache):
    flushed = multiprocessing.Value("i", 0)

    def flush(device):
        flushed.value += 1

    monkeypatch.setattr(HostDevice, "flush_cache", flush)
    measured(run_of(repetitions=3, warmup=2, flush_cache=flush_cache))
    assert flushed.value == (6 if flush_cache else 0)


def test_passes_that_a_slow_variant_may_leave_out_are_not_failures():
    one = Scripted(slow_s=0.02, costs_fail=True)
    rows = one.rows(run_of(repetitions=4, enough_s=0.01))
    assert [(row.repetition, row.status) for row in rows] == [(0, "unproven")] * 2


def test_slow_variants_have_fewer_repetitions_and_instrumented_searches(monkeypatch):
    class Slow(ORIGINAL):
        def solve(self, source, phases=None):
            time.sleep(0.02)
            return super().solve(source, phases)

    for solver, repetitions, instrumented in ((ORIGINAL, 4, {0, 1}), (Slow, 1, {0})):
        monkeypatch.setattr(dijkstra_cpu, "Solver", solver)
        result = measured(run_of(repetitions=4, enough_s=0.01 if solver is Slow else 60))
        expected = [(source, k, "ok") for k in range(repetitions) for source in (0, 1)]
        assert [(row.source, row.repetition, row.status) for row in result.runs] == expected
        assert {row.source for row in result.runs if row.relaxed_arcs is not None} == instrumented


@pytest.mark.parametrize(
    ("solver", "rounds", "number", "expected"),
    [
        ("dijkstra-cpu", None, 1, [(1, 0), (1, 1)]),
        ("dijkstra-cpu", None, 2, [(2, 2), (2, 3)]),
        ("conventional", None, 1, [(1, 0), (1, 1)]),
        ("conventional", 2, 2, [(2, 2), (2, 3)]),
    ],
)
def test_rounds_divide_the_passes_and_the_first_is_instrumented(solver, rounds, number, expected):
    result = measured(run_of(solver, repetitions=3, rounds=rounds), [7], number)
    assert [(row.round, row.repetition) for row in result.runs] == expected
    assert [(row["round"], row["repetition"]) for row in result.certificates] == expected
    assert [row.status for row in result.runs] == ["ok"] * len(expected)
    assert result.context["round"] == number
    assert result.context["kernels"] == variants.kernel_hash("sssp", solver)
    assert bool(result.phases) == (number == 1)
    before, after = (result.context["reference_ms"][when] for when in ("before", "after"))
    assert [ms is not None and ms > 0.1 for ms in (before, after)] == [solver == "dijkstra-cpu"] * 2


@pytest.mark.parametrize(("limit", "is_resident"), [(1, False), (10**6, True)])
def test_a_graph_out_of_core_leaves_its_arcs_in_host_memory(monkeypatch, limit, is_resident):
    original = iterative_tree.Solver.__init__

    def checked(self, graph, parameters):
        assert (graph.targets is not None) == is_resident
        original(self, graph, parameters)

    monkeypatch.setattr(iterative_tree.Solver, "__init__", checked)
    result = measured(run_of("iterative-tree", "dominators", {"resident_arcs": limit}), [0])
    assert [(row.status, row.reason) for row in result.runs] == [("ok", "")]


def test_the_kernel_makes_every_step(device):
    value = 0
    for _ in range(1000):
        value = (value * reference.MULTIPLIER + reference.INCREMENT) % reference.MODULUS
    ms, last = reference.kernel_ms(device, 1000)
    assert last == value
    assert ms > 0


def test_a_gpu_has_a_steady_one_and_the_emulation_none(device):
    times = [reference.device_ms(device) for _ in range(3)]
    if device.kind == "host":
        assert times == [None] * 3
    else:
        assert 0.2 < min(times) <= max(times) < min(1.2 * min(times), 10)


def test_a_process_apart_opens_the_device():
    assert reference.apart_ms("host") is None
    assert reference.apart_ms("no such device") is None


def test_a_rival_is_between_two(tmp_path):
    result = race(tmp_path, "serve(Honest)")
    assert all(ms > 0.1 for ms in result.context["reference_ms"].values())
    json.dumps(result.context)
    absent = race(tmp_path / "absent", "", installed="it is not here")
    assert absent.context["reference_ms"] == {"before": None, "after": None}
