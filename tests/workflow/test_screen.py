"""What a run shows: a short screen that ends with the race, or with VERBOSE=1 every job."""

import os
import pty
import subprocess

import numpy as np
import pytest

from relaxometer.report.terminal import COLUMNS
from tiny_workflow import UNDRAWN, environment, only

pytestmark = pytest.mark.slow

CONFIG = {**UNDRAWN, "sssp": only("selection", "dijkstra-cpu")}
SOURCES = "results/sources/tiny.parquet"
OWN_LINES = ("Using workflow specific profile", "Config file config/config.yaml is extended")
"""Beginnings of lines that Snakemake writes before it reads the workflow."""


def plant_a_mistake(workflow):
    """Let `selection` add one to every length."""
    kernel = workflow.path("src/relaxometer/problems/sssp/phase_synchronous/selection.cu")
    text = kernel.read_text(encoding="utf-8")
    wrong = text.replace("propose(v, distance, Wa[i], overflow)", "propose(v, distance + 1, Wa[i], overflow)")
    assert wrong != text
    kernel.write_text(wrong, encoding="utf-8")


def test_a_run_is_one_screen_whose_last_lines_are_the_race(workflow):
    workflow.configure(CONFIG)
    plant_a_mistake(workflow)
    cache = workflow.path("src/relaxometer/core/__pycache__")  # without functions that Numba compiles
    cache.unlink(missing_ok=True)
    both = subprocess.run(
        workflow.command("--", "all"),
        cwd=workflow.folder,
        env=workflow.environment() | {"VERBOSE": "", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert both.returncode != 0
    lines = both.stdout.splitlines()
    assert len(lines) <= 40, both.stdout
    first = lines.index(next(line for line in lines if line.startswith("SSSP on tiny")))
    assert first > lines.index(next(line for line in lines if "1 of 2 measurements is not ok" in line))
    table = lines[first:]
    assert max(map(len, table[:-1])) <= COLUMNS, "the last line has a command with names of files"
    assert "dijkstra-cpu  1 core" in table[1]
    assert "1.00" in table[1]
    assert "100%" in table[1]
    assert any(line.startswith("  selection: invalid: rule") for line in table)
    assert "results/summary.csv" in table[-1]
    assert table[-1].endswith("snakemake --configfile tiny.yaml --report report.zip")
    log = workflow.log()
    assert "rule run_variant:" in log
    assert "sssp selection on tiny: invalid (rule" in log

    summary = workflow.summary()
    assert summary["status"].to_dict() == {"selection": "invalid", "dijkstra-cpu": "ok"}
    assert summary.loc["selection", "certified"] == 0
    assert np.isnan(summary.loc["selection", "median_ms"])
    assert workflow.path("results/claims.parquet").is_file()
    assert list(cache.glob("files.*.pyc")), "each job would compile all that it imports"


def test_a_job_that_is_killed_is_named_at_the_end(workflow):
    workflow.configure({**CONFIG, "sssp": only("dijkstra-cpu")})
    script = workflow.path("workflow/scripts/merge_contexts.py")
    script.write_text("import os\n\nos.kill(os.getpid(), 9)\n", encoding="utf-8")
    done = workflow.run("--", "results/verdict.txt", "results/context.json", check=False)
    assert done.returncode != 0
    *_, line, verdict, last = (one for one in done.stderr.splitlines() if " done after " not in one)
    assert line == "merge_contexts: failed without a message; see logs/merge_contexts.log"
    assert verdict.startswith("1 run measured, every answer proven correct")
    assert last == "error: 1 job failed: merge_contexts"


def test_a_terminal_has_a_bar(workflow):
    ours, theirs = pty.openpty()
    command = workflow.command("--", SOURCES)
    run = subprocess.Popen(
        command,
        cwd=workflow.folder,
        env=environment() | {"VERBOSE": "", "TERM": "xterm"},
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # The other end is closed.
        pass
    finally:
        os.close(ours)
    assert run.wait() == 0
    text = shown.decode()
    assert "/2" in text
    assert "draw_sources tiny" in text
    assert "rule draw_sources:" not in text
    assert text.count("\n") < 20


def only_line(done):
    """Return the only line of a run that ended in an error, without those that Snakemake writes first."""
    assert done.returncode != 0
    [error] = [line for line in done.stderr.splitlines() if not line.startswith(OWN_LINES)]
    assert error.startswith("error: ")
    return error


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("results/graphs/tinny/graph.json", "unknown dataset 'tinny'; did you mean 'tiny'?"),
        (
            "results/runs/sssp/tiny/tield/runs.parquet",
            "no run 'sssp/tiny/tield'; did you mean 'sssp/tiny/tiled'?",
        ),
        ("results/queries/sssp/tiny.parquet", "no query sets are configured for 'sssp'"),
        (
            "results/runs/sssp/tiny/tiled/rounds/9/runs.parquet",
            "tiny/tiled has 1 round, not 9; raise timing.rounds in the configuration for more",
        ),
    ],
)
def test_a_mistyped_name_is_one_line(workflow, target, message):
    workflow.configure({**UNDRAWN, "sssp": only("tiled")})
    done = workflow.run("--", target, check=False)
    assert only_line(done).endswith(message)
    assert done.stdout == ""
