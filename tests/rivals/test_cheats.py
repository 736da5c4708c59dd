"""Rivals that cheat: each is caught, and its rows say how.

The adapters derive from `adapters/honest.py`, so that only the cheat is to be seen here.
"""

import time
from functools import partial
from pathlib import Path
from statistics import median
from unittest.mock import patch

import pytest

from relaxometer.race import clocks
from rival_runs import GRID, SOURCES, deriving, only, outcomes, race
from sample_graphs import sample_graphs

MS = 20
"""Time of a search of `Slow`, from which the adapters that cheat the clocks derive."""


def test_an_honest_rival_is_proven_and_timed_by_its_own_clock(tmp_path):
    result = race(tmp_path, "serve(Slow)", timing={"repetitions": 2})
    assert only(result) == ("ok", "")
    assert [row["holds"] for row in result.certificates] == [True] * 2 * len(SOURCES)
    assert all(MS <= row.time_ms < row.clock_ms for row in result.runs)


def invalid(result):
    """Return the reasons of the rows, which all are invalid."""
    rows = outcomes(result)
    assert {status for status, _ in rows} == {"invalid"}
    return [reason for _, reason in rows]


SOLVE = "solve(self, source)"
HONEST = "super().solve(source)"
LAST = GRID.n_vertices - 1
WRONG = {
    "an answer left from the source before": (
        "rule source broken",
        deriving(
            SOLVE,
            "self.left = getattr(self, 'found', None)",
            HONEST,
            "self.found = super().answer()",
            "self.answer = lambda: self.left or self.found",
        ),
    ),
    "an answer for another source": ("rule source broken once", deriving(SOLVE, "super().solve(source + 1)")),
    "no work at all": (
        "rule predecessor broken",
        deriving(SOLVE, "self.distance = self.predecessor = [0] * self.n"),
    ),
    "a distance too short": (f"first at vertex {LAST}", deriving(SOLVE, HONEST, "self.distance[-1] -= 1")),
    "a distance too long": (f"first at vertex {LAST}", deriving(SOLVE, HONEST, "self.distance[-1] += 1")),
    "a cycle in place of a path": (
        "rule predecessor broken",
        deriving(SOLVE, HONEST, f"self.predecessor[-1], self.predecessor[-2] = {LAST - 1}, {LAST}"),
    ),
}


@pytest.mark.parametrize(("reason", "code"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_invalid(tmp_path, reason, code):
    assert all(reason in said for said in invalid(race(tmp_path, code)))


@pytest.mark.parametrize("cycle", [(7, 8), tuple(range(3, 38))])
def test_a_cycle_of_predecessors_along_arcs_of_weight_0(tmp_path, cycle):
    """Each vertex has a tight arc from its predecessor, yet no path leads there from the source."""
    code = deriving(
        SOLVE,
        HONEST,
        f"cycle = {cycle}",
        "for vertex, after in zip(cycle, cycle[1:] + cycle[:1]):",
        "    self.predecessor[vertex] = after if abs(vertex - after) == 1 else vertex + 1",
        "self.predecessor[cycle[-1]] = cycle[-1] - 1",
    )
    result = race(tmp_path, code, graph=sample_graphs()["zero-weights"], sources=(0, 0))
    assert all(reason.startswith("rule tree broken") for reason in invalid(result))


# Clocks

watched_race = partial(race, believed=False)

LIES = {
    "half the time is reported": 'talk(Slow, done="done 10\\n")',
    "more time is reported than our clock saw": 'talk(Slow, done="done 300\\n")',
    "slow answers to ping": 'talk(Slow, done="done 10\\n", pong=lambda *_: time.sleep(0.01) or "pong\\n")',
    "the work goes on in a thread": """
class Cheat(Slow):
    MS = 200

    def solve(self, source):
        self.thread = threading.Thread(target=super().solve, args=[source])
        self.thread.start()

    def answer(self):
        self.thread.join()
        return super().answer()

serve(Cheat)
""",
    "the work is done when the answer is given": """
class Cheat(Slow):
    def solve(self, source):
        self.source = source

    def answer(self):
        super().solve(self.source)
        return super().answer()

serve(Cheat)
""",
}


@pytest.mark.parametrize("code", LIES.values(), ids=LIES)
def test_our_clock_counts_where_it_disagrees(tmp_path, code):
    result = watched_race(tmp_path, code)
    status, reason = only(result)
    assert (status, reason.startswith("its clock says ")) == ("disputed", True), reason
    assert all(row["holds"] for row in result.certificates)
    # Under load, a thread works for some milliseconds before we ask for the answer, so it has more to do.
    work = 200 if "thread" in code else MS
    assert all(row.time_ms == row.clock_ms > MS / 4 for row in result.runs)
    # A wait that began before a request is taken off, too.
    assert median(row.time_ms for row in result.runs) > 0.8 * work


@pytest.mark.parametrize("after", [0, 2], ids=["is slow", "becomes slow"])
def test_an_honest_clock_counts_although_writing(tmp_path, after):
    count = "self.written = getattr(self, 'written', 0) + 1"
    slow = f"time.sleep(0.5 * (self.written > {after}))"
    code = deriving("answer(self)", count, slow, "return super().answer()", of="Slow")
    # A loaded machine delays messages, by far less than the conversion would add.
    with patch.multiple(clocks, CONVERT_MS=5000, EXCUSED_MS=250):
        result = watched_race(tmp_path, code, timing={"repetitions": 2})
    assert only(result) == ("ok", "")
    assert all(MS <= row.time_ms < 400 for row in result.runs)


def test_a_lie_about_an_unproven_search(tmp_path):
    problems = {"sssp": {"answers": []}}
    result = watched_race(tmp_path, 'talk(Slow, done="done 0.001\\n")', problems=problems)
    status, reason = only(result)
    assert status == "unproven"
    assert "; its clock says 0.001 ms, ours " in reason
    assert all(row.time_ms == row.clock_ms >= MS for row in result.runs)
    assert {row.answer for row in result.runs} == {None}


def test_no_time_is_reported_for_a_search_as_short_as_a_message(tmp_path):
    # The smallest graph: its searches take less time than is excused for messages.
    tiny = sample_graphs()["parallel-arcs"]
    result = race(tmp_path, 'talk(done="done 0\\n")', graph=tiny, sources=[0])
    assert only(result) == ("ok", "")
    assert all(row.time_ms == row.clock_ms > 0 for row in result.runs)


def test_replies_are_sent_ahead(tmp_path):
    code = """
def given(mine, folder):
    write_answer(mine.answer(), folder)
    return "given\\npong\\npong\\ndone 1\\n"

talk(Slow, given=given)
"""
    reason = "wrote 'pong' to stdout unasked; only replies belong there"
    assert only(watched_race(tmp_path, code, timing={"warmup": 1})) == ("error", reason)


REMEMBERS = """
class Cheat(Slow):
    known = {}

    def solve(self, source):
        if source not in self.known:
            super().solve(source)
            self.known[source] = super().answer()
        self.found = self.known[source]

    def answer(self):
        return self.found

serve(Cheat)
"""


@pytest.mark.parametrize(
    ("sources", "ms", "warmup"),
    [(SOURCES, MS, 5), (SOURCES[:1], MS, 5), (SOURCES, 2, 1)],
    ids=["of warm-ups", "of one source", "of searches between short ones"],
)
def test_answers_of_untimed_searches_are_remembered_in_vain(tmp_path, sources, ms, warmup):
    code = REMEMBERS.replace("known", f"MS = {ms}; known", 1)
    result = watched_race(tmp_path, code, sources=sources, timing={"warmup": warmup})
    assert all(row.time_ms >= ms for row in result.runs)


def test_less_time_is_reported_for_preparing_and_what_is_prepared_unseen_shows(tmp_path):
    code = 'talk(ready=lambda *_: time.sleep(0.1) or "ready 0\\n")'
    (*rows,) = watched_race(tmp_path, code).runs
    assert all(row.prepare_ms > 90 for row in rows)
    slow = deriving(SOLVE, "time.sleep(0 if hasattr(self, 'ready') else 0.1)", "self.ready = True", HONEST)
    code = slow.replace("serve(", "time.sleep(0.2)\nserve(")
    context = race(tmp_path, code).context
    assert context["start_ms"] >= 200
    assert context["first_search_ms"] >= 100


# Ends


HANGS = {
    "preparation": "def __init__(self, graph, problem, parameters):",
    "the transfer of an answer": "def answer(self):",
}

HANGING = """
import subprocess
class Cheat(Honest):
    {method}
        child = [sys.executable, "-c", "import time; time.sleep(600)"]
        own_session = subprocess.Popen(child, start_new_session=True)
        pids = [os.getpid(), subprocess.Popen(child).pid, own_session.pid]
        open(os.environ["PIDS"], "w").write(" ".join(map(str, pids)))
        {then}

serve(Cheat)
"""


def gone(pid):
    """Whether a process has ended; one that nobody has asked for its exit code counts as there."""
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("where", HANGS)
def test_a_hang_is_a_timeout_and_leaves_no_process(tmp_path, monkeypatch, where):
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    code = HANGING.format(method=HANGS[where], then="time.sleep(600)")
    begin = time.monotonic()
    result = race(tmp_path, code, timing={"timeout_s": 3})
    assert only(result) == ("timeout", f"not finished within timeout_s = 3, during {where}")
    assert time.monotonic() - begin < 60
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 3
    assert all(map(gone, pids))


def test_a_rival_that_ends_well_leaves_no_process_either(tmp_path, monkeypatch):
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    code = HANGING.format(method="def prepare(self):", then="")
    assert only(race(tmp_path, code)) == ("ok", "")
    assert all(map(gone, (tmp_path / "pids").read_text().split()))


def test_a_program_for_another_cpu_is_absent(tmp_path):
    code = deriving(SOLVE, "os.kill(os.getpid(), 4)")
    reason = "died of SIGILL: is its program built for another CPU?"
    assert only(race(tmp_path, code)) == ("absent", reason)


CRASHES = {
    "died of SIGSEGV": "import ctypes; ctypes.string_at(0)",
    "died of SIGILL": "os.kill(os.getpid(), 4)",
    "died of signal 50": "os.kill(os.getpid(), 50)",
    "exited with code 7 before it had finished; its last line: 'goodbye'": (
        "print('hello\\ngoodbye', file=sys.stderr, flush=True); os._exit(7)"
    ),
    "ZeroDivisionError: division by zero (adapter.py:LINE)": "1 / 0",
}


@pytest.mark.parametrize("reason", CRASHES)
def test_a_crash_in_the_third_search(tmp_path, reason):
    count = "self.count = getattr(self, 'count', 0) + 1"
    code = deriving(SOLVE, count, "if self.count == 3:", f"    {CRASHES[reason]}", HONEST)
    result = race(tmp_path, code, timing={"warmup": 0})
    adapter = (tmp_path / "rival/adapter.py").read_text(encoding="utf-8").splitlines()
    line = 1 + next(i for i, text in enumerate(adapter) if text.strip() == CRASHES[reason])
    reason = reason.replace("LINE", str(line))
    assert outcomes(result) == [("ok", "")] * 2 + [("error", reason)] * 2
    assert [row["holds"] for row in result.certificates] == [True] * 2


# Output, and the files of others


def test_output_of_a_library_is_harmless(tmp_path, capfd):
    noise = 'print("Python")', 'os.write(1, b"C\\n")', 'os.system("echo a program")'
    code = deriving(SOLVE, *noise, HONEST)
    assert only(race(tmp_path, code)) == ("ok", "")
    assert capfd.readouterr() == ("", "")


def test_the_folder_of_answers_is_a_link_to_files_of_others(tmp_path):
    """Nothing behind the link is read or deleted."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").touch()
    code = f"""
def given(mine, folder):
    folder.rmdir()
    folder.symlink_to({str(precious)!r})
    write_answer(mine.answer(), folder)
    return "given\\n"

talk(given=given)
"""
    race(tmp_path, code)
    assert (precious / "thesis.tex").exists()
