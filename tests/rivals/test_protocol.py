"""Adapters that break the protocol: rows of one status and one line of reason, and nothing else."""

import os
import resource
import sys

import numpy as np
import pytest

from faults import largest_file
from relaxometer.device import get_device
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.records import TOO_LONG
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.race.measurement import write_measurement
from relaxometer.race.proofs import Prover
from relaxometer.results.gather import gather, summarise
from relaxometer.rivals.definition import HELPERS
from relaxometer.rivals.installation import Installed, installation, state_of_files
from rival_runs import ADAPTERS, GRID, deriving, make_rival, only, outcomes, race
from sample_graphs import sample_graphs

N = GRID.n_vertices
ONLY = "only messages belong there"
LONG_LINE = "wrote a line of more than 1000 characters to stdout"
RIGHT = "write_answer(mine.answer(), folder)"
REGULAR = "distance.i64 is not a regular file"


def solving(line):
    return deriving("solve(self, source)", line)


def answering(change):
    return deriving("answer(self)", "found = super().answer()", change, "return found")


FLOATS = "found['distance'] = found['distance'] * 1.0; found['distance']"


def giving(what):
    return f"talk(given=lambda mine, folder: [{what}] and 'given\\n')"


BROKEN = {
    # Output
    "a flood of lines": (
        "error",
        f"wrote 'y' to stdout, expected 'done'; {ONLY}",
        "write(b'y\\n' * (9 << 20))",
    ),
    "one long line": ("error", LONG_LINE, "write('y' * 5000 + '\\n')"),
    "garbage": ("error", "wrote '\\x00\\x01\\x02", "write(bytes(range(256)) * 1000)"),
    # Times
    "no time": ("error", "wrote 'done', expected `done MILLISECONDS`", "'done\\n'"),
    "a time that is not finite": ("error", "wrote 'done 1e400', expected `done MILL", "'done 1e400\\n'"),
    # It gives up
    "skipped": ("skipped", "only undirected graphs", "'skipped only undirected graphs\\n'"),
    "oom": ("oom", "12 GB", "'oom 12 GB\\n'"),
    "an error": ("error", "the sky\\tfalls\\x1b[2J", "'error the sky\\tfalls\\x1b[2J\\n'"),
    "a status that is ours": ("error", f"wrote 'absent' to stdout, expected 'done'; {ONLY}", "'absent\\n'"),
}


@pytest.mark.parametrize(("status", "reason", "what"), BROKEN.values(), ids=BROKEN)
def test_a_reply_that_is_none(tmp_path, status, reason, what):
    found, said = only(race(tmp_path, f"talk(done=lambda *_: {what})"))
    assert found == status
    assert said.startswith(reason)


ELSEWHERE = {
    "it dies at once": ("error", "exited with code 9 before it had finished", "os._exit(9)"),
    "it closes its pipe": ("error", "closed its connection", "os.close(1); time.sleep(600)"),
    "it gives up loading": ("skipped", "too large", "talk(loaded='skipped too large\\n')"),
    "it gives up answering": ("oom", "12 GB", "talk(given='oom 12 GB\\n')"),
    "the helper skips": ("skipped", "too large", solving("raise Skipped('too\\nlarge')")),
    "a type that no file has": (
        "error",
        "TypeError: distance has type float16, expected one of u32, i32, u64, i64, f32, f64",
        answering("found = {'distance': np.zeros(self.n, np.float16)}"),
    ),
    # Python ignores the signal.
    "an answer beyond the limit": (
        "error",
        "OSError: ",
        answering("found = {'distance': np.zeros(20 << 20)}"),
    ),
    "an answer beyond the limit, killed": (
        "error",
        "died of SIGXFSZ",
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        + giving("open(folder / 'distance.f64', 'wb').truncate(200 << 20)"),
    ),
    # Files
    "short": (
        "invalid",
        f"distance.f64 has 40 bytes, expected {8 * N:,}",
        giving("np.zeros(5).tofile(folder / 'distance.f64')"),
    ),
    "one of two": (
        "invalid",
        "expected one answer file predecessor.{u32,i32,u64,i64,f32,f64}, found: none",
        giving(f"{RIGHT}, os.unlink(folder / 'predecessor.u32')"),
    ),
    "a link": ("invalid", REGULAR, giving("os.symlink(__file__, folder / 'distance.i64')")),
    "a pipe": ("invalid", REGULAR, giving("os.mkfifo(folder / 'distance.i64')")),
    "gone with its folder": ("invalid", "its answer cannot be read: No such", giving("os.rmdir(folder)")),
    # Values
    "NaN": ("invalid", "distance is NaN at vertex 5", answering(f"{FLOATS}[5] = np.nan")),
    "a fraction": ("invalid", "distance is 2.5 at vertex 5", answering(f"{FLOATS}[5] = 2.5")),
    "negative": ("invalid", "rule ", answering("found['distance'][5] = -3")),
}


@pytest.mark.parametrize(("status", "reason", "code"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_adapter_that_fails(tmp_path, monkeypatch, status, reason, code):
    monkeypatch.setattr("relaxometer.rivals.adapter.GRACE_S", 0.2)
    found, said = only(race(tmp_path, code, sources=[0]))
    assert found == status
    assert said.startswith(reason)


def test_the_end_of_stderr_reaches_the_log_if_an_adapter_fails(tmp_path, capfd):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = "os.system('head -c 100000000 /dev/zero >&2')\n"
    code += "print('\\x1b[2J' + 'early ' * 5000, 'late', sep='\\n', file=sys.stderr); sys.exit(3)"
    reason = "exited with code 3 before it had finished; its last line: 'late'"
    assert only(race(tmp_path, code)) == ("error", reason)
    said = capfd.readouterr().err
    assert said.endswith("early \nlate\n")
    assert len(said) < 10_000
    assert "\x1b" not in said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_an_adapter_that_does_not_end_is_killed_and_keeps_its_rows(tmp_path, monkeypatch):
    """A limit on the size of our own files does not matter."""
    monkeypatch.setattr("relaxometer.rivals.adapter.GRACE_S", 0.2)
    with largest_file(1 << 30):
        assert only(race(tmp_path, "serve(Honest); time.sleep(600)")) == ("ok", "")


def test_the_working_folder_is_removed(tmp_path):
    code = """
import shutil
here = os.getcwd()
talk(pong=lambda *_: shutil.rmtree(here, True) or "pong\\n")
"""
    reason = "no folder for its answer: No such file or directory"
    assert only(race(tmp_path, code, timing={"warmup": 0})) == ("error", reason)


def test_programs_that_cannot_run(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program", encoding="utf-8")
    plain.chmod(0o755)
    for command, why in (
        ([str(tmp_path / "missing")], "No such file or directory"),
        ([str(tmp_path)], "Permission denied"),
        ([str(plain)], "Exec format error"),
        (["sh", "\0"], "embedded null byte"),
    ):
        status, reason = only(race(tmp_path, "", installed=Installed(command)))
        assert status == "error"
        assert reason.endswith(f"cannot be run: {why}")


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


def test_facts_are_recorded_and_cannot_change_what_we_know(tmp_path):
    ready = "ready 5 version=2.1 delta=7 threads=64 =x Path=/ nonsense\\n"
    context = race(tmp_path, f"talk(ready='{ready}')").context
    assert context["parameters"] == {"version": "2.1", "delta": "7", "threads": 1}


# Values


@pytest.mark.parametrize(("weight", "status"), [(1, "ok"), (2, "skipped")])
def test_float32_is_taken_while_it_is_exact(tmp_path, weight, status):
    graph = Graph.from_arcs("path", 3, [0, 1], [1, 2], [2**24 - 2, weight])
    reason = "" if status == "ok" else "distance reaches 16,777,216, from where float32 rounds integers"
    code = answering("found['distance'] = np.array(self.distance, np.float32)")
    assert only(race(tmp_path, code, graph=graph, sources=[0])) == (status, reason)


def test_lengths_beyond_32_bits_are_an_overflow_unless_another_rule_is_broken(tmp_path):
    """As for a variant, which cannot hold them either."""
    graph = Graph.from_arcs("long", 4, [0, 1, 0], [1, 2, 3], [MAX_WEIGHT, 9, 5])
    result = race(tmp_path, "serve(Honest)", graph=graph, sources=(0, 1))
    assert outcomes(result) == [("error", LENGTHS["uint32"].too_long), ("ok", "")]
    status, reason = only(race(tmp_path, answering("found['distance'][3] += 1"), graph=graph, sources=[0]))
    assert status == "invalid"
    assert "rule overstretched broken once, first at vertex 3" in reason


@pytest.mark.parametrize(("problem", "column"), [("sssp", "distance"), ("bfs", "level")])
def test_a_length_beyond_32_bits_of_a_vertex_that_is_not_reached_is_wrong(tmp_path, problem, column):
    graph = Graph.from_arcs("island", 3, [0, 1, 2], [1, 0, 2], [1, 1, 1])
    beyond = "np.where(found.pop('distance') == FAR, 2**33, self.distance)"
    problems = {problem: {"answers": [column, "predecessor"]}}
    code = answering(f"found['{column}'] = {beyond}")
    result = race(tmp_path, code, graph=graph, sources=[0], problem=problem, problems=problems)
    assert only(result) == ("invalid", TOO_LONG)


@pytest.mark.parametrize("name", ["zero-weights", "two-islands"])
def test_distances_alone_are_enough(tmp_path, name):
    lines = "d = np.array(self.distance, float)", "d[d >= FAR] = np.inf", "return {'distance': d + 0}"
    code = deriving("answer(self)", *lines)
    given = {"problems": {"sssp": {"answers": ["distance"]}}, "graph": sample_graphs()[name]}
    result = race(tmp_path, code, sources=(0, 1), **given)
    assert only(result) == ("ok", "")
    assert {row.answer for row in result.runs} == {"distances"}
    # What is stored of the first source is the tree that the prover made.
    assert list(result.answer) == ["distance", "predecessor"]
    device = get_device("host")
    answer = {name: device.asarray(values) for name, values in result.answer.items()}
    assert SsspCertifier(ResidentGraph.upload(device, given["graph"])).check(0, **answer).holds
    rows = outcomes(race(tmp_path, code.replace("d + 0", "d + 1"), sources=(0, 1), **given))
    assert {status for status, _ in rows} == {"invalid"}


def test_distances_that_no_proof_completed_are_not_stored(tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError("9 GB")

    monkeypatch.setattr(Prover, "missing", fail)
    code = deriving("answer(self)", "return {'distance': super().answer()['distance']}")
    result = race(tmp_path, code, problems={"sssp": {"answers": ["distance"]}})
    assert only(result) == ("oom", "the proof: 9 GB")
    assert {name: len(values) for name, values in result.answer.items()} == {"distance": 0, "predecessor": 0}


def test_a_rival_without_answers_is_never_proven(tmp_path):
    result = race(tmp_path, "serve(Honest)", problems={"sssp": {"answers": []}})
    assert only(result) == ("unproven", "it gives no answer that could be proven")
    assert result.certificates == []
    write_measurement(result, "sssp", tmp_path)
    line = summarise(gather([tmp_path], "runs.parquet").to_pandas()).iloc[0]
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


@pytest.mark.parametrize("threads", [None, 3])
def test_a_rival_of_all_cores_has_all_or_what_the_configuration_says(tmp_path, threads):
    found = race(tmp_path, ENVIRONMENT, threads=threads, **{"class": "cpu-all"}).context["parameters"]
    assert found["threads"] == int(found["omp"]) == (threads or CORES)
    assert found["cores"] == str(CORES)
    assert found["bind"] == ("None" if found["threads"] == 1 else "close")


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
    )
    assert only(result) == ("ok", "")


def test_a_format_that_cannot_hold_the_graph_skips_the_rival(tmp_path):
    graph = Graph.from_arcs("heavy", 2, [0], [1], [2**31])
    result = race(tmp_path, "serve(Honest)", graph=graph, sources=(0,), formats=["wsg"])
    assert only(result) == ("skipped", ".wsg holds vertices and weights up to 2,147,483,647")
