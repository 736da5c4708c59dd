"""Adapters that break the protocol: rows of one status and one line of reason, and nothing else."""

import os
import resource
import sys
import time

import numpy as np
import pytest

from faults import largest_file
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.records import TOO_LONG
from relaxometer.race import measurement
from relaxometer.race.measurement import write_measurement
from relaxometer.results.gather import gather, summarise
from relaxometer.rivals.definition import HELPERS
from relaxometer.rivals.installation import Installed, installation, state_of_files
from rival_runs import ADAPTERS, GRID, make_rival, only, outcomes, race
from sample_graphs import sample_graphs

N = GRID.n_vertices

# Output

FLOODS = {
    "on stdout, in lines": (
        "write(b'y\\n' * (100 << 20))",
        "wrote 'y' to stdout, expected 'done'; only messages belong there",
    ),
    "on stdout, without an end": (
        "write(b'y' * (100 << 20))",
        "wrote a line of more than 1000 characters to stdout",
    ),
    "on stdout, of one long line": (
        "write('y' * 5000 + '\\n')",
        "wrote a line of more than 1000 characters to stdout",
    ),
    "on stdout, of garbage": ("write(bytes(range(256)) * 1000)", "wrote '\\x00\\x01\\x02"),
}


@pytest.mark.parametrize("where", FLOODS)
def test_a_flood(tmp_path, where):
    what, reason = FLOODS[where]
    status, said = only(race(tmp_path, f"talk(done=lambda *_: {what})"))
    assert status == "error"
    assert said.startswith(reason)


def test_a_flood_on_stderr_is_read_and_forgotten(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = "talk(loaded=lambda *_: os.system('head -c 100000000 /dev/zero >&2') or 'loaded 1\\n')"
    begin = time.monotonic()
    assert only(race(tmp_path, code)) == ("ok", "")
    assert time.monotonic() - begin < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_the_end_of_stderr_reaches_the_log_if_an_adapter_fails(tmp_path, capfd):
    code = "print('\\x1b[2J' + 'early ' * 5000, 'late', sep='\\n', file=sys.stderr); sys.exit(3)"
    reason = "exited with code 3 before it had finished; its last line: 'late'"
    assert only(race(tmp_path, code)) == ("error", reason)
    said = capfd.readouterr().err
    assert said.endswith("early \nlate\n")
    assert len(said) < 10_000
    assert "\x1b" not in said


# Ends


def test_an_adapter_dies_at_once(tmp_path):
    reason = "exited with code 9 before it had finished"
    assert only(race(tmp_path, "os._exit(9)")) == ("error", reason)


def test_an_adapter_closes_its_pipes_and_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxometer.rivals.adapter.GRACE_S", 0.2)
    assert only(race(tmp_path, "os.close(1); time.sleep(600)")) == ("error", "closed its connection")
    code = "talk(ready=lambda *_: os.close(0) or write('ready 1\\n') or time.sleep(600))"
    assert only(race(tmp_path, code)) == ("error", "closed its connection")


def test_an_adapter_that_does_not_end_is_killed_and_keeps_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxometer.rivals.adapter.GRACE_S", 0.2)
    assert only(race(tmp_path, "serve(Honest); time.sleep(600)")) == ("ok", "")


def test_programs_that_cannot_run(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program", encoding="utf-8")
    for path, why in (
        (tmp_path / "missing", "No such file or directory"),
        (plain, "Permission denied"),
        (tmp_path, "Permission denied"),
    ):
        status, reason = only(race(tmp_path, "", installed=Installed([str(path)])))
        assert status == "error"
        assert reason.endswith(f"cannot be run: {why}")
    plain.chmod(0o755)
    _, reason = only(race(tmp_path, "", installed=Installed([str(plain)])))
    assert reason.endswith("cannot be run: Exec format error")
    _, reason = only(race(tmp_path, "", installed=Installed(["sh", "\0"])))
    assert reason == "'sh' cannot be run: embedded null byte"


COMMANDS = {
    "no-such-program --fast": "no program 'no-such-program', which `command` names",
    "./plain --fast": "'./plain', which `command` names, is not executable: chmod +x",
    "'unfinished": '`command` is "\'unfinished", which is not a command: No closing quotation',
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_cannot_run_is_absent(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").touch()
    why = installation(make_rival(tmp_path / "rival"), command)
    assert why == COMMANDS[command]
    assert only(race(tmp_path, "", installed=why)) == ("absent", why)


def test_a_command_names_files_from_where_the_workflow_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rival = make_rival(tmp_path / "rival", "")
    (tmp_path / "own.py").write_text(
        "from rival import *; from honest import *; serve(Honest)", encoding="utf-8"
    )
    start = installation(rival, f"{sys.executable} own.py")
    assert start.command == [sys.executable, str(tmp_path / "own.py")]
    start.environment["PYTHONPATH"] += f":{ADAPTERS}"
    assert only(race(tmp_path, "", installed=start)) == ("ok", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert installation(rival, f"{sys.executable} ~/own.py").command == start.command
    assert state_of_files("sh ~/own.py") == state_of_files(f"sh {tmp_path}/own.py") != state_of_files("sh")


def test_a_limit_on_our_own_files_is_kept(tmp_path):
    with largest_file(1 << 30):
        assert only(race(tmp_path, "serve(Honest)")) == ("ok", "")


# Messages

NONSENSE = {
    "": "expected `done MILLISECONDS`",
    "nan": "wrote 'done nan', expected `done MILLISECONDS`",
    "-1": "wrote 'done -1', expected `done MILLISECONDS`",
    "1e400": "wrote 'done 1e400', expected `done MILLISECONDS`",
    "soon": "wrote 'done soon', expected `done MILLISECONDS`",
    "\\x1b[2J": "wrote 'done \\x1b[2J', expected `done MILLISECONDS`",
}


@pytest.mark.parametrize("time_ms", NONSENSE)
def test_a_time_that_is_none(tmp_path, time_ms):
    status, reason = only(race(tmp_path, f"talk(done='done {time_ms}\\n')"))
    assert status == "error"
    assert NONSENSE[time_ms] in reason


@pytest.mark.parametrize("word", ["loaded", "ready"])
def test_no_time_of_loading(tmp_path, word):
    reason = f"wrote '{word}', expected `{word} MILLISECONDS`"
    assert only(race(tmp_path, f"talk({word}='{word}\\n')")) == ("error", reason)


WORDS = {
    "skipped only undirected graphs": ("skipped", "only undirected graphs"),
    "oom 12 GB": ("oom", "12 GB"),
    "error the sky\\tfalls\\x1b[2J": ("error", "the sky\\tfalls\\x1b[2J"),
    "error": ("error", "no reason given"),
    "absent I am not here": (
        "error",
        "wrote 'absent I am not here' to stdout, expected {!r}; only messages belong there",
    ),
}


@pytest.mark.parametrize("line", WORDS)
@pytest.mark.parametrize("instead", ["loaded", "done", "given"])
def test_an_adapter_gives_up(tmp_path, line, instead):
    status, reason = WORDS[line]
    code = f"talk({instead}={line + chr(92) + 'n'!r})".replace("\\\\", "\\")
    assert only(race(tmp_path, code)) == (status, reason.format(instead))


def test_exceptions_of_the_helper_become_statuses(tmp_path):
    code = """
class Failing(Honest):
    def solve(self, source):
        raise {}

serve(Failing)
"""
    assert only(race(tmp_path, code.format("Skipped('too\\nlarge')"))) == ("skipped", "too large")
    assert only(race(tmp_path, code.format("MemoryError('12 GB')"))) == ("oom", "12 GB")


def test_the_helper_names_a_column_of_a_type_that_no_file_has(tmp_path):
    code = """
class Halves(Honest):
    def answer(self):
        return {"distance": np.zeros(self.n, np.float16)}

serve(Halves)
"""
    reason = "TypeError: distance has type float16, expected one of u32, i32, u64, i64, f32, f64"
    assert only(race(tmp_path, code)) == ("error", reason)


def test_facts_are_recorded_and_cannot_change_what_we_know(tmp_path):
    ready = "ready 5 version=2.1 delta=7 threads=64 =x Path=/ nonsense\\n"
    context = race(tmp_path, f"talk(ready='{ready}')").context
    assert context["parameters"] == {"version": "2.1", "delta": "7", "threads": 1}


# Files

RIGHT = "write_answer(mine.answer(), folder)"
REGULAR = "distance.i64 is not a regular file"
FILES = {
    "short": (
        "np.zeros(5).tofile(folder / 'distance.f64')",
        f"distance.f64 has 40 bytes, expected {8 * N:,}",
    ),
    "long": (
        f"np.zeros({N} + 1).tofile(folder / 'distance.f64')",
        f"distance.f64 has {8 * N + 8:,} bytes, expected {8 * N:,}",
    ),
    "of two types": (
        f"{RIGHT}, np.zeros({N}).tofile(folder / 'distance.f64')",
        "found: 'distance.f64', 'distance.i64'",
    ),
    "of many types": (
        "[(folder / f'distance.{i}').touch() for i in range(9)]",
        "found: 'distance.0', 'distance.1', 'distance.2' and 6 more",
    ),
    "of a type that is none": ("(folder / 'distance.f16').touch()", "found: 'distance.f16'"),
    "without a type": ("(folder / 'distance').touch()", "found: 'distance'"),
    "one of two": (
        f"{RIGHT}, os.unlink(folder / 'predecessor.u32')",
        "predecessor.{u32,i32,u64,i64,f32,f64}, found: none",
    ),
    "a link": (
        f"{RIGHT}, os.rename(folder / 'distance.i64', 'x'), "
        "os.symlink(os.path.abspath('x'), folder / 'distance.i64')",
        REGULAR,
    ),
    "a dangling link": ("os.symlink('nowhere', folder / 'distance.i64')", REGULAR),
    "a folder": ("(folder / 'distance.i64').mkdir()", REGULAR),
    "a pipe": ("os.mkfifo(folder / 'distance.i64')", REGULAR),
    "gone with its folder": ("os.rmdir(folder)", "its answer cannot be read: No such file or directory"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_no_answer(tmp_path, kind):
    what, reason = FILES[kind]
    status, said = only(race(tmp_path, f"talk(given=lambda mine, folder: [{what}] and 'given\\n')"))
    assert status == "invalid"
    assert said.endswith(reason)


def test_a_file_beyond_the_limit(tmp_path):
    code = """
class Huge(Honest):
    def answer(self):
        return {"distance": np.zeros(20 << 20)}

serve(Huge)
"""
    status, reason = only(race(tmp_path, code))
    assert status == "error"
    assert reason.startswith("OSError: ")  # Python ignores the signal


def test_a_file_beyond_the_limit_from_a_program_that_does_not_ask(tmp_path):
    code = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

def given(mine, folder):
    with open(folder / "distance.f64", "wb") as file:
        file.truncate(200 << 20)

talk(given=given)
"""
    assert only(race(tmp_path, code)) == ("error", "died of SIGXFSZ")


def test_the_working_folder_is_removed(tmp_path):
    code = """
import shutil
here = os.getcwd()
talk(pong=lambda *_: shutil.rmtree(here, True) or "pong\\n")
"""
    reason = "no folder for its answer: No such file or directory"
    assert only(race(tmp_path, code, timing={"warmup": 0})) == ("error", reason)


# Values

VALUES = {
    "NaN": ("np.nan", "invalid", "distance is NaN at vertex 5"),
    "a fraction": ("2.5", "invalid", "distance is 2.5 at vertex 5"),
    "minus a fraction": ("-0.5", "invalid", "rule "),
    "negative": ("-3", "invalid", "rule "),
    "beyond 32 bits": ("2**32", "error", LENGTHS["uint32"].too_long),
    "beyond 53 bits": (
        "2.0**60",
        "skipped",
        "distance reaches 9,007,199,254,740,992, from where float64 rounds integers",
    ),
}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_is_no_distance(tmp_path, value):
    what, status, reason = VALUES[value]
    code = f"""
class Odd(Honest):
    def answer(self):
        distance = np.array(self.distance, np.float64)
        distance[5] = {what}
        return super().answer() | {{"distance": distance}}

serve(Odd)
"""
    for said_status, said in outcomes(race(tmp_path, code)):
        assert said_status == status
        assert said.startswith(reason)


@pytest.mark.parametrize(("weight", "status"), [(1, "ok"), (2, "skipped"), (3, "skipped")])
def test_float32_is_taken_while_it_is_exact(tmp_path, weight, status):
    code = """
class Single(Honest):
    def answer(self):
        return super().answer() | {"distance": np.array(self.distance, np.float32)}

serve(Single)
"""
    graph = Graph.from_arcs("path", 3, [0, 1], [1, 2], [2**24 - 2, weight])
    reason = "" if status == "ok" else "distance reaches 16,777,216, from where float32 rounds integers"
    result = race(tmp_path, code, graph=graph, sources=(0,), timing={"repetitions": 4})
    assert only(result) == (status, reason)


def test_lengths_beyond_32_bits_are_an_overflow(tmp_path):
    """As for a variant, which cannot hold them either."""
    graph = Graph.from_arcs("long", 3, [0, 1], [1, 2], [MAX_WEIGHT, 9])
    result = race(tmp_path, "serve(Honest)", graph=graph, sources=(0, 1))
    assert outcomes(result) == [("error", LENGTHS["uint32"].too_long), ("ok", "")]


def test_a_wrong_answer_with_a_length_beyond_32_bits_is_invalid(tmp_path):
    graph = Graph.from_arcs("long", 4, [0, 1, 0], [1, 2, 3], [MAX_WEIGHT, 9, 5])
    code = """
class Wrong(Honest):
    def answer(self):
        found = super().answer()
        found["distance"][3] += 1
        return found

serve(Wrong)
"""
    status, reason = only(race(tmp_path, code, graph=graph, sources=(0,)))
    assert status == "invalid"
    assert "rule overstretched broken once, first at vertex 3" in reason


@pytest.mark.parametrize("problem", ["sssp", "bfs"])
def test_a_length_beyond_32_bits_of_a_vertex_that_is_not_reached_is_wrong(tmp_path, problem):
    graph = Graph.from_arcs("island", 3, [0, 1, 2], [1, 0, 2], [1, 1, 1])
    column = {"sssp": "distance", "bfs": "level"}[problem]
    code = f"""
class Odd(Honest):
    def answer(self):
        found = super().answer()
        distance = np.where(found["distance"] == FAR, 2**33, found["distance"])
        return {{"{column}": distance, "predecessor": found["predecessor"]}}

serve(Odd)
"""
    problems = {problem: {"answers": [column, "predecessor"]}}
    result = race(tmp_path, code, graph=graph, sources=(0, 1), problem=problem, problems=problems)
    assert only(result) == ("invalid", TOO_LONG)


@pytest.mark.parametrize("column", ["level", "predecessor"])
def test_levels_and_predecessors_beyond_32_bits_are_wrong(tmp_path, column):
    code = f"""
class Odd(Honest):
    def answer(self):
        columns = {{"level": self.distance, "predecessor": self.predecessor}}
        columns["{column}"][7] = 2**40
        return {{name: np.array(values, np.int64) for name, values in columns.items()}}

serve(Odd)
"""
    ones = Graph("ones", GRID.offsets, GRID.targets, np.ones_like(GRID.weights))
    problems = {"bfs": {"answers": ["level", "predecessor"]}}
    for status, _ in outcomes(race(tmp_path, code, graph=ones, problem="bfs", problems=problems)):
        assert status == "invalid"


@pytest.mark.parametrize("name", ["zero-weights", "random-directed", "parallel-arcs", "two-islands"])
def test_distances_alone_are_enough(tmp_path, name):
    code = """
class Alone(Honest):
    def answer(self):
        distance = np.array(self.distance, np.float64)
        distance[distance == FAR] = np.inf
        return {"distance": distance + 0}

serve(Alone)
"""
    problems = {"sssp": {"answers": ["distance"]}}
    graph = sample_graphs()[name]
    assert only(race(tmp_path, code, graph=graph, sources=(0, 1), problems=problems)) == ("ok", "")
    wrong = code.replace("distance + 0", "distance + 1")
    rows = outcomes(race(tmp_path, wrong, graph=graph, sources=(0, 1), problems=problems))
    assert {status for status, _ in rows} == {"invalid"}


def test_a_rival_without_answers_is_never_proven(tmp_path):
    result = race(tmp_path, "serve(Honest)", problems={"sssp": {"answers": []}})
    assert only(result) == ("unproven", "it gives no answer that could be proven")
    assert result.certificates == []
    write_measurement(result, "sssp", tmp_path)
    line = summarise(gather([tmp_path], "runs.parquet")).iloc[0]
    assert (line["status"], line["certified"]) == ("unproven", 0)
    assert np.isnan(line["median_ms"])


# Threads and environment

ENVIRONMENT = """
class Spy(Honest):
    @property
    def facts(self):
        names = {"omp": "OMP_NUM_THREADS", "bind": "OMP_PROC_BIND", "path": "PYTHONPATH"}
        found = {name: os.environ.get(variable) for name, variable in names.items()}
        return found | {"cores": len(os.sched_getaffinity(0))}

serve(Spy)
"""
CORES = len(os.sched_getaffinity(0))


def test_a_rival_of_one_core_has_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/ours")
    found = race(tmp_path, ENVIRONMENT).context["parameters"]
    assert found.pop("path") == f"{HELPERS}:{ADAPTERS}"
    assert found == {"version": "1.0", "threads": 1, "omp": "1", "bind": "None", "cores": "1"}


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_a_rival_of_all_cores_has_all_or_what_the_configuration_says(tmp_path, threads):
    found = race(tmp_path, ENVIRONMENT, threads=threads, **{"class": "cpu-all"}).context["parameters"]
    assert found["threads"] == int(found["omp"]) == (threads or CORES)
    assert found["cores"] == str(CORES)
    assert found["bind"] == ("None" if found["threads"] == 1 else "close")


def test_answers_beyond_the_limit_are_proven_in_between(tmp_path, monkeypatch):
    monkeypatch.setattr(measurement, "MAX_UNPROVEN_BYTES", 12 * N)
    result = race(tmp_path, "serve(Honest)", timing={"repetitions": 3})
    assert only(result) == ("ok", "")
    assert [row["holds"] for row in result.certificates] == [True] * 12


def test_a_rival_for_batches_solves_without_a_source(tmp_path):
    """It is tuned without one, too; what it takes over the vertices of all graphs is one answer."""
    code = """
class Dominators(Rival):
    def __init__(self, graph, problem, parameters):
        self.first, self.entries = graph.first_vertex, graph.entries

    def solve(self, source):
        assert source is None

    def answer(self):
        return {"idom": np.zeros(self.first[-1], np.uint32)}

serve(Dominators)
"""
    batch = Batch.from_graphs("stars", [("a", 3, [0, 0], [1, 2], 0), ("b", 2, [0], [1], 0)])
    result = race(
        tmp_path,
        code,
        graph=batch,
        sources=(0,),
        problem="dominators",
        problems={"dominators": {"answers": ["idom"], "takes": "batch"}},
        parameters={"delta": {"default": 1, "about": "nothing"}},
        tune={"delta": [1, 2]},
        timing={"repetitions": 4},
    )
    assert only(result) == ("ok", "")


def test_a_format_that_cannot_hold_the_graph_skips_the_rival(tmp_path):
    graph = Graph.from_arcs("heavy", 2, [0], [1], [2**31])
    reason = ".wsg holds vertices and weights up to 2,147,483,647"
    assert only(race(tmp_path, "serve(Honest)", graph=graph, sources=(0,), formats=["wsg"])) == (
        "skipped",
        reason,
    )
