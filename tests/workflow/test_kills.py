"""Runs that are killed at random points: the next one finishes them, and no summary claims more than it has.

``make kill-test COUNT=100`` kills a hundred times.
"""

import os
import random
import signal
import subprocess
import time

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tiny_workflow import TINY, Workflow, environment, only

KILLS = int(os.environ.get("RELAXOMETER_KILLS", "2"))
FINISHED_AFTER = 5
"""A run is let finish, and compared, after this many kills and at the end."""

TARGETS = ("results/summary.csv", "results/verdict.txt")
UNEQUAL = "_ms$|^mteps"
"""Columns that no two runs share."""

pytestmark = pytest.mark.slow


def configure(workflow, repetitions):
    """Let a workflow make this many repetitions, so that the summary of another configuration shows."""
    timing = {**TINY["timing"], "repetitions": repetitions}
    workflow.configure({**TINY, "timing": timing, "sssp": only("conventional", "dijkstra-cpu")})


def begin(workflow):
    """Start a run in a process group of its own, with its output in a file."""
    with workflow.path("output.txt").open("w", encoding="utf-8") as output:
        return subprocess.Popen(
            workflow.command("--", *TARGETS),
            cwd=workflow.folder,
            env=environment() | {"VERBOSE": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def kill_after(workflow, seconds):
    """Start a run and kill it with all its jobs, unless it ends before; return whether it was killed."""
    process = begin(workflow)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        if has_begun(workflow):
            refused = workflow.run("--", *TARGETS, check=False)
            # A run gives its lock back a moment before it ends, when everything is made.
            expected = "LockException", "Nothing to be done"
            assert any(said in refused.stderr for said in expected) or process.poll() is not None
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
    assert process.returncode == 0
    return False


def has_begun(workflow):
    """Return whether the last run had come to its first job."""
    return "Select jobs to execute" in workflow.path("output.txt").read_text(encoding="utf-8")


def facts(workflow):
    """Everything in the results that two runs share, by file."""
    found = {}
    for file in sorted(workflow.path("results").rglob("*")):
        name = str(file.relative_to(workflow.folder))
        if file.suffix == ".parquet":
            table = pq.read_table(file).to_pandas()
        elif file.suffix == ".csv":
            table = pd.read_csv(file)
        elif file.is_file():
            # The speed of a busy machine drifts, of which the verdict warns.
            lines = file.read_text(encoding="utf-8").splitlines() if file.name == "verdict.txt" else []
            said = (line.partition("; the machine's speed changed")[0] for line in lines)
            found[name] = [line for line in said if not line.startswith("warning:")]
            continue
        else:
            continue
        found[name] = table.loc[:, ~table.columns.str.contains(UNEQUAL)].to_json()
    return found


def test_killed_runs_are_finished_by_the_next_one(tmp_path):
    undisturbed, killed = (tmp_path / name for name in ("undisturbed", "killed"))
    undisturbed.mkdir()
    killed.mkdir()
    reference, workflow = Workflow(undisturbed), Workflow(killed)
    configure(reference, 2)
    start = time.monotonic()
    reference.run("--", *TARGETS)
    whole_s = time.monotonic() - start
    expected = facts(reference)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    kills = 0
    while kills < KILLS:
        repetitions = moments.choice((1, 2))
        configure(workflow, repetitions)
        kills += kill_after(workflow, moments.uniform(0, whole_s))
        summary = workflow.path("results/summary.csv")
        if has_begun(workflow) and summary.is_file():
            assert set(pd.read_csv(summary)["repetitions"]) == {repetitions}, "a stale summary"
        if kills % FINISHED_AFTER == 0 or kills == KILLS:
            configure(workflow, 2)
            workflow.run("--", *TARGETS)
            assert facts(workflow) == expected
