"""The frame of a script: one line per failure, and no fault of a disk that costs what was computed."""

import errno
import io
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from faults import can_mount, largest_file, under_faults
from relaxometer.cli.all_runs import FAILED, Job, _in_child
from relaxometer.core.errors import UserError
from relaxometer.core.failures import (
    Prevented,
    failure_of,
    made,
    note_failure,
    note_success,
    refuse_lack,
    retry,
)
from relaxometer.core.files import write_text
from relaxometer.core.scripting import ERRORS, job
from relaxometer.distributed.process import ending_together

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def frame(log="logs/x.log"):
    return job(SimpleNamespace(rule="make_x", wildcards=["town"], log=[log], output=[]))


def failure(error, capsys):
    """Return what a job says that ends with an error, and the line that is kept for the end of the run."""
    with pytest.raises(SystemExit) as end, frame():
        raise error
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert Path("logs/x.log").read_text(encoding="utf-8") == said
    line = ERRORS.read_text(encoding="utf-8")
    assert said.endswith(f"error: {line}")
    assert line.count("\n") == 1
    return said, line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("a.gr:3: no arc"), "a.gr:3: no arc"),
        (OSError(errno.ENOSPC, "?"), "No space left on device; make room, then run again"),
        (OSError(errno.EFBIG, "?", "a"), "a: File too large; make room, then run again"),
        (OSError(errno.EROFS, "?", "a"), "a: Read-only file system; give permission, then run again"),
        (PermissionError(errno.EACCES, "?", "a"), "a: Permission denied; give permission, then run again"),
        (MemoryError(), "not enough memory: the machine has no more"),
        (MemoryError("8 GiB\nfor x"), "not enough memory: 8 GiB"),
    ],
    ids=repr,
)
def test_a_mistake_or_a_lack_is_one_line(capsys, error, line):
    assert failure(error, capsys) == (f"error: make_x town: {line}\n", f"make_x town: {line}\n")


@pytest.mark.parametrize(
    "error", [ValueError("odd\nvery"), FileNotFoundError(errno.ENOENT, "?", "x")], ids=repr
)
def test_a_fault_of_the_program_keeps_its_traceback(capsys, error):
    said, line = failure(error, capsys)
    assert "Traceback" in said
    assert line.startswith(f"make_x town: {type(error).__name__}: ")
    assert line.endswith(" (traceback in logs/x.log)\n")


def test_a_rank_and_a_job_of_all_runs_say_it_in_one_line(capfd):
    def fill_the_disk(_=None):
        raise OSError(errno.ENOSPC, "?", "results/x")

    with pytest.raises(SystemExit), ending_together():
        fill_the_disk()
    assert _in_child(Job([Path("x")], fill_the_disk), None) == FAILED
    assert (
        capfd.readouterr().err == "error: results/x: No space left on device; make room, then run again\n" * 2
    )


def test_a_job_goes_on_without_a_log(capsys, folder):
    (folder / "logs").write_text("in the way", encoding="utf-8")
    with frame():
        write_text("result", Path("result.txt"))
    assert Path("result.txt").read_text(encoding="utf-8") == "result"
    no_log = "logs/x.log: cannot be written: File exists; this job has no log\n"
    assert capsys.readouterr().err == no_log
    with pytest.raises(SystemExit), frame():
        raise UserError("wrong")
    assert capsys.readouterr().err == f"{no_log}error: make_x town: wrong\n"


def talk(failure=None):
    for step in range(100):
        print("step", step, file=sys.stderr)
    write_text("result", Path("result.txt"))
    if failure:
        raise failure


def test_a_log_that_does_not_fit_costs_no_result(capsys):
    with capsys.disabled(), largest_file(100), frame():
        sys.stderr._streams[0] = said = io.StringIO()
        talk()
    assert Path("result.txt").read_text(encoding="utf-8") == "result"
    assert said.getvalue().count("logs/x.log: cannot be written: File too large") == 1
    assert said.getvalue().endswith("step 99\n")
    with pytest.raises(SystemExit), largest_file(100), frame():
        talk(UserError("wrong"))


@pytest.mark.skipif(not can_mount(), reason="needs user namespaces")
@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ({"full": ["results/graphs/mine", "logs"]}, "No space left on device; make room, then run again"),
        ({"read_only": ["results", "logs"]}, "Read-only file system; give permission, then run again"),
    ],
    ids=["full", "read-only"],
)
def test_a_script_on_a_bad_disk_is_one_line(folder, faults, reason):
    for name in "results/graphs/mine", "logs":
        (folder / name).mkdir(parents=True)
    dataset = {"format": "grid", "seed": 1, "parameters": {"rows": 300, "columns": 300}}
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from pathlib import Path
        from script_runs import run_script
        outputs = {{"metadata": "results/graphs/mine/graph.json"}}
        log = Path("logs/graphs/mine.log")
        entry = {{"dataset": {dataset!r}, "about": {{}}}}
        run_script("build_dataset", log=log, inputs={{}}, outputs=outputs, **entry)
    """)
    places = {fault: [folder / name for name in names] for fault, names in faults.items()}
    command = under_faults([sys.executable, "-c", script], **places)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: build_dataset: results/graphs/mine/")
    assert line.endswith(f".parquet: {reason}")


@pytest.mark.skipif(not can_mount(), reason="needs user namespaces")
@pytest.mark.parametrize(
    ("fault", "where", "line"),
    [
        ("read_only", "logs", "logs: not writable; give permission, then run again"),
        ("read_only", "results/a/b", "results/a/b: not writable; give permission, then run again"),
        ("full", "results", "results: No space left on device; make room, then run again"),
        ("full", "elsewhere", ""),
    ],
)
def test_a_run_does_not_start_where_it_could_not_write(folder, fault, where, line):
    for name in "results/a/b", "elsewhere", where:
        (folder / name).mkdir(parents=True, exist_ok=True)
    script = textwrap.dedent("""
        from pathlib import Path
        from relaxometer.core.errors import UserError
        from relaxometer.core.scripting import check_folders
        try:
            check_folders(Path("results"), Path("logs"))
        except UserError as error:
            print(error)
    """)
    command = under_faults([sys.executable, "-c", script], **{fault: [folder / where]})
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (line, "")


AS_SNAKEMAKE = """
import atexit, gc, os, sys, time
from pathlib import Path
from snakemake.iocontainers import Snakemake
snakemake = Snakemake.__new__(Snakemake)
snakemake.rule, snakemake.wildcards, snakemake.log = "make_x", ["town"], ["logs/x.log"]
snakemake.input, snakemake.output = [], ["made"]
from relaxometer.core.errors import UserError
from relaxometer.core.scripting import job
"""
"""As Snakemake starts a job: its own class of the object `snakemake` tells such a process from others."""


def job_of_snakemake(script):
    text = AS_SNAKEMAKE + textwrap.dedent(script)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("print('collects:', gc.isenabled())", 0, "collects: False\ncollects: True\nthe end\n"),
        ("raise UserError('a.gr:3: no arc')", 1, "collects: False\nthe end\n"),
    ],
    ids=["ends well", "fails"],
)
def test_a_process_of_a_job_ends_with_its_frame(body, code, said):
    done = job_of_snakemake(f"""
        print("collects:", gc.isenabled())
        atexit.register(print, "the end")
        class Module:
            def __del__(self):
                print("taken down")
        kept = Module()
        with job(snakemake):
            {body}
        print("after the frame")
    """)
    assert done.returncode == code, done.stderr
    assert done.stdout.replace("taken down\n", "") == said
    assert ("taken down" in done.stdout) == bool(code)


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ("Path('made').write_text('new')", 0, ""),
        ("raise UserError('a.gr:3: no arc')", 0, "make_x town: a.gr:3: no arc"),
        ("os.kill(os.getpid(), 9)", 0, "make_x town: died of SIGKILL; see logs/x.log"),
        ("os.kill(os.getppid(), 15); time.sleep(60)", 1, ""),
    ],
    ids=["ends well", "fails", "is killed", "is stopped"],
)
def test_the_failure_of_an_isolated_job_is_a_result(folder, body, code, reason):
    (folder / "made").write_text("old", encoding="utf-8")
    done = job_of_snakemake(f"""
        with job(snakemake, isolated=True):
            {body}
    """)
    assert done.returncode == code, done.stderr
    assert failure_of("made") == reason
    kept = folder / ("made.previous" if reason else "made")
    assert kept.read_text(encoding="utf-8") == ("new" if not code and not reason else "old")
    assert (ERRORS.read_text(encoding="utf-8") if reason else "") == (f"{reason}\n" if reason else "")


def test_what_lacks_something_is_made_again_with_what_failed(folder):
    note_failure(["graphs/lost.json"], "download_file lost.gr: no network")
    note_success(["summary.csv"], ["graphs/lost.json"])
    note_success(["figure.svg"], ["summary.csv"])
    note_success(["other.svg"], ["town.json"])
    for name in ("summary.csv", "figure.svg", "other.svg"):
        Path(name).touch()
    assert made(["graphs/lost.json", "summary.csv"]) == ["summary.csv"]
    with pytest.raises(Prevented, match="no network"):
        refuse_lack(["graphs/lost.json"])
    retry(folder)
    assert [path.name for path in sorted(folder.rglob("*")) if path.is_file()] == ["other.svg"]


HIDDEN = """
import pyarrow
from relaxometer.core.scripting import _hide_pandas_from_pyarrow
_hide_pandas_from_pyarrow()
assert pyarrow.Table.from_pylist([{"a": 1}])["a"].to_pylist() == [1]
assert "pandas" not in sys.modules
assert pyarrow.table({"a": [1]}).to_pandas()["a"].sum() == 1
"""


def test_a_job_without_pandas_does_not_import_it():
    subprocess.run([sys.executable, "-c", f"import sys{HIDDEN}"], check=True)
