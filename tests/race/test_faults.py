"""Whatever a variant does to itself, its answers or its graph: rows say so, and no other row is lost."""

import ctypes
import faulthandler
import os
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.device import KernelError, get_device
from relaxometer.graphs import fingerprint
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.plan.models import Run, Timing
from relaxometer.problems import variants
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import contestant, measurement, proofs
from relaxometer.race.variant import measure
from sample_graphs import sample_graphs

ORIGINAL = dijkstra_cpu.Solver
GRAPH = next(graph for graph in sample_graphs().values() if graph.n_vertices > 50)
N = GRAPH.n_vertices
CORES = len(os.sched_getaffinity(0))


def statuses(monkeypatch, solve, *, resolved=None, timeout_s=60.0):
    """Run Dijkstra from two sources, the second search followed by `solve(solver, answer)`."""

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            super().__init__(graph, parameters)
            self.given = graph

        def solve(self, source, phases=None):
            answer = super().solve(source, phases)
            return answer if source == 0 else solve(self, answer)

    if resolved is not None:
        Solver.resolved = resolved
    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, warmup=0, timeout_s=timeout_s)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    result = measure(run, GRAPH, np.array([0, 1]), "host")
    holds = [row["holds"] for row in result.certificates]
    return [(row["status"], row["reason"]) for row in result.runs], holds


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


DEATHS = {
    "died of SIGSEGV": undumped(lambda: ctypes.string_at(0)),
    "died of SIGABRT": undumped(os.abort),
    "exited with code 0 before it had finished": lambda solver, answer: os._exit(0),
    "exited with code 3 before it had finished": lambda solver, answer: os._exit(3),
    "SystemExit: 4": raising(SystemExit(4)),
    "KeyboardInterrupt: ": raising(KeyboardInterrupt()),
    "RecursionError: deep": raising(RecursionError("deep")),
}


@pytest.mark.parametrize("reason", DEATHS)
def test_the_death_of_a_variant_is_a_row(monkeypatch, reason):
    rows, holds = statuses(monkeypatch, DEATHS[reason])
    assert rows == [("ok", ""), ("error", reason)]
    assert holds == [True]


def test_a_mistake_of_the_user_is_a_row_without_a_traceback(monkeypatch, capfd):
    get_device("host")  # which has then compiled what it needs itself
    monkeypatch.setenv("CXX", '"')
    rows, _ = statuses(monkeypatch, lambda solver, answer: answer)
    assert {status for status, _ in rows} == {"error"}
    assert rows[0][1].startswith("$CXX is '\"', which is not a command: No closing quotation; install one")
    assert "Traceback" not in capfd.readouterr().err


def test_a_kernel_that_does_not_compile_is_a_row_with_the_first_error(monkeypatch, tmp_path):
    kernel = tmp_path / "own.cu"
    kernel.write_text('extern "C" __global__ void own(int* out)\n{\n    out[0] = thread_idx();\n}\n')

    def compiling(solver, answer):
        get_device("host").module(kernel)

    rows, _ = statuses(monkeypatch, compiling)
    status, reason = rows[1]
    assert status == "error"
    assert reason.startswith(f"KernelError: {kernel} does not compile for the host: own.cu:3:")
    assert "thread_idx" in reason
    assert "\n" not in reason


def test_an_exception_names_the_innermost_line_of_the_drivers_file(monkeypatch):
    """And a failure that is not an exception of Python's has no such line."""
    monkeypatch.setattr(dijkstra_cpu, "__file__", __file__)

    def lacking(solver, answer):
        return np.asarray(solver._bst)

    rows, _ = statuses(monkeypatch, lacking)
    line = lacking.__code__.co_firstlineno + 1
    reason = f"AttributeError: 'Solver' object has no attribute '_bst' (test_faults.py:{line})"
    assert rows[1] == ("error", reason)
    rows, _ = statuses(monkeypatch, lambda solver, answer: np.reshape(answer.distance, (N + 1, 3)))
    assert rows[1][1].startswith("ValueError: cannot reshape")
    assert rows[1][1].endswith(f" (test_faults.py:{line + 6})")
    for failure, reason in (
        (variants.Skipped("too large"), "too large"),
        (UserError("no compiler"), "no compiler"),
        (MemoryError("9 GB"), "9 GB"),
        (KernelError("k.cu:7: a race"), "KernelError: k.cu:7: a race"),
    ):
        rows, _ = statuses(monkeypatch, raising(failure))
        assert rows[1][1] == reason


def test_memory_that_is_not_there_is_a_row(monkeypatch):
    rows, _ = statuses(monkeypatch, raising(MemoryError()))
    assert rows == [("ok", ""), ("oom", "out of memory")]


@pytest.mark.parametrize("at", ["construction", 0, 1])
def test_a_proof_without_memory_costs_no_other_row(monkeypatch, at):
    """The prover has no memory for its graph, or for one of four answers."""
    construct, prove, proven = proofs.Prover.__init__, proofs.Prover.prove, []

    def constructing(self, *arguments):
        if at == "construction":
            raise MemoryError("9 GB")
        construct(self, *arguments)

    def proving(self, search):
        proven.append(search)
        if len(proven) == at + 1:
            raise MemoryError("9 GB")
        return prove(self, search)

    monkeypatch.setattr(proofs.Prover, "__init__", constructing)
    monkeypatch.setattr(proofs.Prover, "prove", proving)
    timing = Timing(repetitions=2, rounds=1, warmup=0)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    rows = measure(run, GRAPH, np.array([0, 1]), "host").runs
    wanted = ["oom"] * 4 if at == "construction" else ["oom" if i == at else "ok" for i in range(4)]
    assert [row["status"] for row in rows] == wanted
    assert {row["reason"] for row in rows if row["status"] == "oom"} == {"the proof: 9 GB"}


def test_a_variant_that_hangs_is_killed_at_its_deadline(monkeypatch):
    rows, holds = statuses(monkeypatch, lambda *_: exec("while True: pass"), timeout_s=6)
    assert rows == [("ok", ""), ("timeout", "not finished within timeout_s = 6")]
    assert holds == [True]


@pytest.mark.parametrize("slow", [1, 2])
def test_only_the_preparation_that_compiles_has_more_time(slow, monkeypatch):
    made = []

    class Solver(ORIGINAL):
        def __init__(self, graph, parameters):
            made.append(self)
            if len(made) == slow:
                time.sleep(4)
            super().__init__(graph, parameters)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, warmup=0, timeout_s=3)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    (row,) = measure(run, GRAPH, np.array([0]), "host").runs
    assert row["status"] == ("ok" if slow == 1 else "timeout")


SHAPES = {
    "distance has type uint32 and shape (3,)": replaced(distance=np.zeros(3, np.uint32)),
    f"distance has type uint32 and shape ({N}, 2)": replaced(distance=np.zeros((N, 2), np.uint32)),
    f"predecessor has type int64 and shape ({N},)": replaced(predecessor=np.zeros(N, np.int64)),
    f"distance has type object and shape ({N},)": replaced(distance=np.full(N, None)),
    "the answer has columns distance; expected distance, predecessor": lambda _, answer: SimpleNamespace(
        columns={"distance": answer.distance}, phases=None
    ),
}


@pytest.mark.parametrize("reason", SHAPES)
def test_columns_are_checked_before_they_are_proven(monkeypatch, reason):
    rows, holds = statuses(monkeypatch, SHAPES[reason])
    assert rows[0] == ("ok", "")
    assert rows[1][0] == "invalid"
    assert reason in rows[1][1]
    assert holds == [True]


NONSENSE = {
    "phases: Input should be a valid integer, got 'many'": replaced(phases="many"),
    "phases: Input should be greater than or equal to 0, got -1": replaced(phases=-1),
    "TypeError: phases: object is not JSON": replaced(phases=object()),
    "solve returned NoneType, not an Answer": lambda solver, answer: None,
    "solve returned tuple, not an Answer": lambda solver, answer: (answer.distance, answer.predecessor),
}


@pytest.mark.parametrize("reason", NONSENSE)
def test_nonsense_beside_an_answer_is_an_error(monkeypatch, reason):
    rows, _ = statuses(monkeypatch, NONSENSE[reason])
    assert rows == [("ok", ""), ("error", reason)]


@pytest.mark.parametrize(
    ("resolved", "reason"),
    [
        ({"a": {1, 2}}, "TypeError: resolved: set is not JSON"),
        (["a"], "resolved: Input should be a valid dictionary, got ['a']"),
    ],
)
def test_resolved_parameters_must_be_json(monkeypatch, resolved, reason):
    rows, _ = statuses(monkeypatch, replaced(), resolved=resolved)
    assert [status for status, _ in rows] == ["error", "error"]
    assert rows[0][1].startswith(reason)


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

    def solve(solver, answer):
        kept.append(answer)
        if len(kept) == 1:
            right = answer.distance.copy()
            answer.distance[:] = 0
            kept.append(right)
            return answer
        kept[0].distance[:] = kept[1]
        return answer

    rows, holds = statuses(monkeypatch, solve)
    assert [status for status, _ in rows] == ["ok", "invalid"]
    assert holds == [True, False]


def test_replies_are_not_trusted(monkeypatch):
    for serve, reason in (
        (lambda link, *_: link._connection.send_bytes(b"{"), "sent a reply that is not JSON"),
        (lambda link, *_: link._connection.send_bytes(b"[" * 10**6), "sent a reply that is not JSON"),
        (lambda link, *_: link._connection.send_bytes(b"7"), "sent a reply that is not an object"),
        (lambda link, *_: link.reply(runs_on="moon", before={}), "runs_on: "),
        (lambda link, *_: link.reply(status="ok", reason="trust me"), "trust me"),
    ):
        monkeypatch.setattr(contestant, "serve", serve)
        timing = Timing(repetitions=1, warmup=0)
        run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
        (row,) = measure(run, GRAPH, np.array([0]), "host").runs
        assert row["status"] == "error"
        assert row["reason"].startswith(reason)


def test_a_search_takes_some_time(monkeypatch):
    monkeypatch.setattr(contestant, "stopwatch", lambda: nullcontext(SimpleNamespace(ms=0.0)))
    rows, _ = statuses(monkeypatch, lambda solver, answer: answer)
    assert rows == [("error", "time_ms: Input should be greater than 0, got 0.0")] * 2


def test_answers_beyond_the_limit_are_proven_in_between(monkeypatch):
    monkeypatch.setattr(measurement, "MAX_UNPROVEN_BYTES", 12 * N)
    timing = Timing(repetitions=3, rounds=1, warmup=1)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    result = measure(run, GRAPH, np.array([0, 1]), "host")
    order = [(source, repetition) for repetition in range(3) for source in (0, 1)]
    assert [(row["source"], row["repetition"]) for row in result.runs] == order
    assert {row["status"] for row in result.runs} == {"ok"}
    assert [row["holds"] for row in result.certificates] == [True] * 6


@pytest.mark.parametrize("limit", [0, 2**32])
def test_a_later_failure_hides_no_wrong_answer(monkeypatch, limit):
    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            if phases is not None:
                raise variants.Skipped("no phases here")
            answer = super().solve(source, phases)
            answer.distance[source] += 1
            return answer

    monkeypatch.setattr(measurement, "MAX_UNPROVEN_BYTES", limit)
    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, rounds=1, warmup=0)
    run = Run(problem="sssp", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    rows = measure(run, GRAPH, np.array([0]), "host").runs
    assert [(row["status"], row["reason"][:18]) for row in rows] == [("invalid", "rule source broken")]


@pytest.mark.parametrize("place", [0, 255, 256, 2743])
def test_a_change_beyond_the_grid_is_noticed(device, monkeypatch, place):
    monkeypatch.setattr(fingerprint, "MAX_BLOCKS", 1)
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    prints = fingerprint.Fingerprint(resident)
    before = prints.take()
    resident.weights[place] += 1
    assert {name for name, one in prints.take().items() if one != before[name]} == {"weights"}
