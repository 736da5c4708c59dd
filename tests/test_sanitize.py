"""The outcomes read from compute-sanitizer's output, and the searches that it runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sanitize
from relaxometer.device import get_device
from relaxometer.problems.sssp.phase_synchronous import selection
from sanitize import Job, Outcome, exercise, gpu_variants, main, outcome

OWN = Path(__file__).parent / "own_kernels"

CLEAN = """========= COMPUTE-SANITIZER
grid: done
========= ERROR SUMMARY: 0 errors
"""
OUT_OF_BOUNDS = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at relax+0x120
=========     by thread (3,0,0) in block (0,0,0)
========= ERROR SUMMARY: 5 errors
"""
RACES = "========= Race reported\n========= RACECHECK SUMMARY: 12 hazards displayed ({} errors, {} warnings)"
CRASH = """========= COMPUTE-SANITIZER
Traceback (most recent call last):
AssertionError: grid, source 0: rule tree
========= Target application returned an error
========= ERROR SUMMARY: 0 errors
"""


@pytest.mark.parametrize(
    ("output", "returncode", "meant", "expected"),
    [
        (CLEAN, 0, None, Outcome("ok", good=True)),
        (CRASH, 1, None, Outcome("failed", False, "AssertionError: grid, source 0: rule tree")),
        ("", 127, "why", Outcome("failed", good=False, why="no output")),
        (OUT_OF_BOUNDS, 0, "why", Outcome("5 errors", False, "Invalid __global__ read of size 4 bytes")),
        (RACES.format(0, 12), 0, None, Outcome("12 warnings", good=True, why="Race reported")),
        (RACES.format(12, 0), 0, None, Outcome("12 errors", good=False, why="Race reported")),
        (RACES.format(12, 0), 0, "why", Outcome("meant", good=True, why="why")),
        (RACES.format(12, 0), 1, "why", Outcome("12 errors", good=False, why="Race reported")),
    ],
)
def test_an_outcome_is_read_from_the_summary(output, returncode, meant, expected):
    assert outcome(output, returncode, meant) == expected


def test_meant_races_and_parameters_name_variants_and_tools():
    variants = {"/".join(pair) for pair in gpu_variants()}
    assert set(sanitize.WAYS) <= variants
    for name in sanitize.MEANT:
        variant, tool = name.split(", ")
        assert variant in variants
        assert tool in sanitize.TOOLS


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.setattr(sanitize, "LOGS", tmp_path)
    return tmp_path


@pytest.fixture
def fake(logs, monkeypatch):
    """A tool that finds errors in near-far, prints its arguments, and the variants without a tool."""
    path = logs / "compute-sanitizer"
    path.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        "errors = 2 if 'sssp/near-far' in sys.argv else 0\n"
        "print('========= Barrier error', *sys.argv[1:3], *sys.argv[4:])\n"
        "print(f'========= ERROR SUMMARY: {errors} errors')\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    monkeypatch.setattr(sanitize, "obstacle", lambda: None)
    monkeypatch.setenv("PATH", str(logs))
    return str(path)


def test_a_variant_runs_under_the_tool_and_leaves_a_log(fake, logs):
    found = Job("sssp", "near-far", "synccheck", (fake, "--tool", "synccheck")).run()
    assert (found.text, found.good) == ("2 errors", False)
    assert found.why == (
        f"Barrier error --tool synccheck {sanitize.__file__} --exercise sssp/near-far --tools synccheck"
    )
    assert "ERROR SUMMARY: 2" in (logs / "sssp-near-far-synccheck.log").read_text(encoding="utf-8")


def test_errors_fail_the_whole(fake, monkeypatch, capsys):
    run = Job.run
    monkeypatch.setattr(Job, "run", lambda job: Outcome("ok", True) if job.tool == "none" else run(job))
    assert main(["sssp/tiled", "--tools", "memcheck", "--jobs", "1"]) == 0
    assert main(["sssp/tiled", "sssp/near-far", "--tools", "memcheck", "racecheck", "--jobs", "2"]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["sssp/near-far", "ok", "2", "errors", "2", "errors"] in lines
    assert lines[-1][:4] == ["sssp/near-far,", "racecheck:", "Barrier", "error"]


def test_without_a_gpu_the_emulation_is_sanitized(logs, monkeypatch, capsys):
    monkeypatch.setattr(sanitize, "obstacle", lambda: "CuPy sees no GPU")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert main(["bfs/level-array", "--tools", "thread"]) == 0
    output = capsys.readouterr().out
    assert "the emulation's sanitizers, since CuPy sees no GPU" in output
    assert output.splitlines()[-1].split() == ["bfs/level-array", "ok"]
    assert (logs / "bfs-level-array-thread.log").exists()


def test_a_race_in_a_variant_of_ones_own_is_found(tmp_path):
    own = shutil.copytree(OWN, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    kernel = own / "components/label_propagation.cu"
    sound = kernel.read_text(encoding="utf-8")
    kernel.write_text(sound.replace("store_relaxed(changed, 1u)", "*changed = 1u"), encoding="utf-8")
    program = [sys.executable, sanitize.__file__, "components/label-propagation"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    options = ["--exercise", program[-1], "--tools", "thread", "--kernels", str(own)]
    done = subprocess.run([*program, *options], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"label_propagation\.cu:\d+: .*race: .*changed\[0\]", done.stderr)


def test_an_unknown_variant_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["sssp/nothing"])
    assert "error: unknown GPU variant 'sssp/nothing'; known: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("sssp/conventional", "address"),
        ("sssp/adaptive", "thread"),
        ("bfs/top-down", "thread"),
        ("dominators/batch-warp", "thread"),
        ("sssp/selection", "undefined"),
    ],
)
def test_a_share_of_the_variants_is_clean_in_every_run(name, tool):
    """`make sanitize` runs the others."""
    exercise(*name.split("/"), get_device("host", sanitize=tool), tiny=True)


def test_all_gpu_variants_are_examined_and_no_others():
    found = gpu_variants()
    assert {("sssp", "many-sources"), ("sssp", "auto")} <= set(found)
    assert {("bfs", "hybrid"), ("bfs", "cooperative")} <= set(found)
    assert not {("sssp", "dijkstra-cpu"), ("bfs", "hybrid-cpu")} & set(found)
    assert gpu_variants(["bfs/hybrid"]) == [("bfs", "hybrid")]


def test_a_wrong_answer_is_a_failure(host_device, monkeypatch):
    solve = selection.Solver.solve

    def wrong(self, source, phases=None):
        answer = solve(self, source, phases)
        answer.distance[np.argmax(answer.distance != 0)] += 1
        return answer

    monkeypatch.setattr(selection.Solver, "solve", wrong)
    with pytest.raises(AssertionError, match="two-islands, source 0: rule"):
        exercise("sssp", "selection", host_device)


@pytest.mark.parametrize(
    "variant", [*sorted(sanitize.WAYS), "dominators/batch-block", "dominators/multiword"]
)
def test_the_searches_hold_on_the_host(host_device, variant):
    exercise(*variant.split("/"), host_device, tiny=True)
