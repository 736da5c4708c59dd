"""Whatever a variant does to itself, its answers or its graph: rows say so, and no other row is lost."""

import ctypes
import faulthandler
import os
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from race_runs import GRAPH, ORIGINAL, measured, run_of
from relaxometer.core.errors import UserError
from relaxometer.device import KernelError, get_device
from relaxometer.device.kernels import launch_shape
from relaxometer.graphs import fingerprint
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import contestant, measurement, proofs
from sample_graphs import sample_graphs

N = GRAPH.n_vertices
CORES = len(os.sched_getaffinity(0))


def statuses(monkeypatch, solve, *, resolved=None, timeout_s=60.0):
    """Run Dijkstra from two sources, the second search followed by `solve(solver, answer)`."""

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            super().__init__(graph, parameters)
            self.given = graph
            self.resolved = self.resolved if resolved is None else resolved

        def solve(self, source, phases=None):
            answer = super().solve(source, phases)
            return answer if source == 0 else solve(self, answer)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    # Under load the two clocks may differ.
    monkeypatch.setattr("relaxometer.race.clocks.EXCUSED_MS", 1e6)
    result = measured(run_of(timeout_s=timeout_s))
    holds = [row["holds"] for row in result.certificates]
    return [(row.status, row.reason) for row in result.runs], holds


def honest(solver, answer):
    return answer


def replaced(**changes):
    """Return a function that changes columns and members of an answer."""

    def change(solver, answer):
        columns = {name: changes.get(name, values) for name, values in answer.columns.items()}
        phases = changes.get("phases", answer.phases)
        return SimpleNamespace(columns=columns, phases=phases, overflowed=answer.overflowed)

    return change


def raising(error):
    def fail(solver, answer):
        raise error

    return fail


@pytest.mark.parametrize(("resolved", "cores"), [({}, 1), ({"threads": 2}, CORES), ({"cores": 1}, 1)])
def test_a_program_for_one_core_has_one_core_as_rivals_do(monkeypatch, tmp_path, resolved, cores):
    def note(solver, answer):
        (tmp_path / "cores").write_text(str(len(os.sched_getaffinity(0))), encoding="utf-8")
        return answer

    rows, _ = statuses(monkeypatch, note, resolved=resolved)
    assert rows == [("ok", "")] * 2
    assert (tmp_path / "cores").read_text(encoding="utf-8") == str(cores)
    assert len(os.sched_getaffinity(0)) == CORES, "of this process, which proves the answers"


def undumped(die):
    """Return a search that dies without pytest's dump of the stack, which looks like a failed test."""

    def search(solver, answer):
        faulthandler.disable()
        die()

    return search


def short(answer):
    return SimpleNamespace(columns={"distance": answer.distance}, phases=None)


TYPE = "column distance has type uint32"
FAILURES = [
    ("error", "died of SIGSEGV", undumped(lambda: ctypes.string_at(0))),
    ("error", "died of SIGABRT", undumped(os.abort)),
    ("error", "exited with code 3 before it had finished", lambda *_: os._exit(3)),
    ("error", "SystemExit: 4", raising(SystemExit(4))),
    ("error", "KeyboardInterrupt: ", raising(KeyboardInterrupt())),
    ("error", "KernelError: k.cu:7: a race", raising(KernelError("k.cu:7: a race"))),
    ("error", "no compiler", raising(UserError("no compiler"))),
    ("skipped", "too large", raising(variants.Skipped("too large"))),
    ("oom", "out of memory", raising(MemoryError())),
    ("timeout", "not finished within timeout_s = 3, during a search", lambda *_: exec("while True: pass")),
    ("invalid", f"{TYPE} and shape (3,)", replaced(distance=np.zeros(3, np.uint32))),
    ("invalid", f"{TYPE} and shape ({N}, 2)", replaced(distance=np.zeros((N, 2), np.uint32))),
    ("invalid", "column predecessor has type int64", replaced(predecessor=np.zeros(N, np.int64))),
    ("invalid", "column distance has type object", replaced(distance=np.full(N, None))),
    ("invalid", "the answer has columns distance; expected distance,", lambda _, answer: short(answer)),
    ("error", "phases: Input should be a valid integer, got 'many'", replaced(phases="many")),
    ("error", "phases: Input should be greater than or equal to 0, got -1", replaced(phases=-1)),
    ("error", "TypeError: phases: object is not JSON", replaced(phases=object())),
    ("error", "dijkstra_cpu.py: solve returned NoneType, not an Answer", lambda *_: None),
]


@pytest.mark.parametrize(("status", "reason", "solve"), FAILURES, ids=[one[1] for one in FAILURES])
def test_a_failure_is_the_row_of_its_search_only(monkeypatch, status, reason, solve):
    timeout_s = 3 if status == "timeout" else 60
    (first, second), holds = statuses(monkeypatch, solve, timeout_s=timeout_s)
    assert first == ("ok", "")
    assert holds == [True]
    assert second[0] == status
    assert second[1].startswith(reason)


def test_a_mistake_of_the_user_is_a_row_without_a_traceback(monkeypatch, capfd):
    get_device("host")  # which has then compiled what it needs itself
    monkeypatch.setenv("CXX", '"')
    rows, _ = statuses(monkeypatch, honest)
    assert {status for status, _ in rows} == {"error"}
    assert rows[0][1].startswith("$CXX is '\"', which is not a command: No closing quotation; install one")
    assert "Traceback" not in capfd.readouterr().err


def test_a_kernel_that_does_not_compile_is_a_row_with_the_first_error(monkeypatch, tmp_path):
    kernel = tmp_path / "own.cu"
    kernel.write_text('extern "C" __global__ void own(int* out)\n{\n    out[0] = thread_idx();\n}\n')
    rows, _ = statuses(monkeypatch, lambda *_: get_device("host").module(kernel))
    status, reason = rows[1]
    assert status == "error"
    assert reason.startswith(f"KernelError: {kernel} does not compile for the host: own.cu:3:")
    assert "thread_idx" in reason
    assert "\n" not in reason


def test_an_exception_names_the_innermost_line_of_the_drivers_file(monkeypatch):
    monkeypatch.setattr(dijkstra_cpu, "__file__", __file__)

    def lacking(solver, answer):
        return np.asarray(solver._bst)

    rows, _ = statuses(monkeypatch, lacking)
    line = lacking.__code__.co_firstlineno + 1
    reason = f"AttributeError: 'Solver' object has no attribute '_bst' (test_faults.py:{line})"
    assert rows[1] == ("error", reason)

    def misshapen(solver, answer):
        launch_shape("relax", 0, 32)

    rows, _ = statuses(monkeypatch, misshapen)
    assert rows[1][1].startswith(
        "KernelError: kernel relax: a grid of 0 blocks of 32 threads is impossible: "
    )
    assert rows[1][1].endswith(f"(test_faults.py:{misshapen.__code__.co_firstlineno + 1})")


@pytest.mark.parametrize("at", ["construction", 1])
def test_a_proof_without_memory_costs_no_other_row(monkeypatch, at):
    """The prover has no memory for its graph, or for one of four answers."""
    construct, prove, proven = proofs.Prover.__init__, proofs.Prover.prove, []

    def constructing(self, *arguments):
        if at == "construction":
            raise MemoryError("9 GB")
        construct(self, *arguments)

    def proving(self, *search):
        proven.append(search)
        if len(proven) == at + 1:
            raise MemoryError("9 GB")
        return prove(self, *search)

    monkeypatch.setattr(proofs.Prover, "__init__", constructing)
    monkeypatch.setattr(proofs.Prover, "prove", proving)
    rows = measured(run_of(repetitions=2)).runs
    wanted = ["oom"] * 4 if at == "construction" else ["oom" if i == at else "ok" for i in range(4)]
    assert [row.status for row in rows] == wanted
    assert {row.reason for row in rows if row.status == "oom"} == {"the proof: 9 GB"}


@pytest.mark.parametrize("slow", [1, 2])
def test_only_the_preparation_that_compiles_has_more_time(slow, monkeypatch):
    made = []

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            made.append(self)
            if len(made) == slow:
                time.sleep(3)
            super().__init__(graph, parameters)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    (row,) = measured(run_of(timeout_s=2), [0]).runs
    assert row.status == ("ok" if slow == 1 else "timeout")


@pytest.mark.parametrize(
    ("resolved", "reason"),
    [
        ({"a": {1, 2}}, "TypeError: resolved: set is not JSON"),
        (["a"], "resolved: Input should be an object, got ['a']"),
    ],
)
def test_resolved_parameters_must_be_json(monkeypatch, resolved, reason):
    rows, _ = statuses(monkeypatch, honest, resolved=resolved)
    assert [status for status, _ in rows] == ["error", "error"]
    assert rows[0][1].startswith(reason)


@pytest.mark.parametrize("count", [-1, 2**63, "many"])
def test_counts_of_phases_fit_their_table(monkeypatch, count):
    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            if phases is not None:
                phases.append(Phase("all", 0, count, 1.0))
            return super().solve(source)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    (row,) = measured(run_of(), [0]).runs
    assert row.status == "error"
    assert row.reason.startswith("instrumented search: phases.0")


@pytest.mark.parametrize("array", ["offsets", "targets", "weights"])
def test_a_variant_that_changes_its_graph_is_invalid(monkeypatch, array):
    def edit(solver, answer):
        # As a stray write would.
        getattr(solver.given, array)[-1] += 1
        return answer

    rows, holds = statuses(monkeypatch, edit)
    assert rows == [("ok", ""), ("invalid", f"changed the graph: {array}")]
    assert holds == [True, False]


def test_a_search_cannot_mend_the_answer_of_another(monkeypatch):
    kept = []

    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            answer = super().solve(source, phases)
            kept.append((answer, answer.distance.copy()))
            answer.distance[:] = 0 if len(kept) == 1 else answer.distance
            kept[0][0].distance[:] = kept[0][1] if len(kept) > 1 else 0
            return answer

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    # Under load the two clocks may differ.
    monkeypatch.setattr("relaxometer.race.clocks.EXCUSED_MS", 1e6)
    result = measured()
    assert [row.status for row in result.runs] == ["invalid", "ok"]
    assert [row["holds"] for row in result.certificates] == [False, True]


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        (lambda link, *_: link._connection.send_bytes(b"{"), "sent a reply that is not JSON"),
        (lambda link, *_: link._connection.send_bytes(b"[" * 10**6), "sent a reply that is not JSON"),
        (lambda link, *_: link._connection.send_bytes(b"7"), "sent a reply that is not an object"),
        (lambda link, *_: link.reply(runs_on="moon", before={}), "runs_on: "),
        (lambda link, *_: link.reply(status="ok", reason="trust me"), "trust me"),
    ],
)
def test_replies_are_not_trusted(monkeypatch, serve, reason):
    monkeypatch.setattr(contestant, "serve", serve)
    (row,) = measured(sources=[0]).runs
    assert row.status == "error"
    assert row.reason.startswith(reason)


def test_a_search_takes_some_time(monkeypatch):
    monkeypatch.setattr(contestant, "stopwatch", lambda: nullcontext(SimpleNamespace(ms=0.0)))
    rows, _ = statuses(monkeypatch, honest)
    assert rows == [("error", "time_ms: Input should be greater than 0, got 0.0")] * 2


def test_answers_beyond_the_limit_are_proven_in_between(monkeypatch):
    monkeypatch.setattr(measurement, "MAX_UNPROVEN_BYTES", 12 * N)
    result = measured(run_of(repetitions=3, warmup=1))
    order = [(source, repetition) for repetition in range(3) for source in (0, 1)]
    assert [(row.source, row.repetition) for row in result.runs] == order
    assert {row.status for row in result.runs} == {"ok"}
    assert [row["holds"] for row in result.certificates] == [True] * 6


@pytest.mark.parametrize("limit", [0, 2**32])
@pytest.mark.parametrize(
    ("off", "outcome"), [(1, "invalid: rule source broken"), (0, "skipped: instrumented")]
)
def test_a_later_failure_hides_no_wrong_answer(monkeypatch, limit, off, outcome):
    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            if phases is not None:
                raise variants.Skipped("no phases here")
            answer = super().solve(source, phases)
            answer.distance[source] += off
            return answer

    monkeypatch.setattr(measurement, "MAX_UNPROVEN_BYTES", limit)
    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    (row,) = measured(sources=[0]).runs
    assert f"{row.status}: {row.reason}".startswith(outcome)


@pytest.mark.parametrize("place", [0, 255, 256, 2743])
def test_a_change_beyond_the_grid_is_noticed(device, monkeypatch, place):
    monkeypatch.setattr(fingerprint, "MAX_BLOCKS", 1)
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    prints = fingerprint.Fingerprint(resident)
    before = prints.take()
    resident.weights[place] += 1
    assert {name for name, one in prints.take().items() if one != before[name]} == {"weights"}
