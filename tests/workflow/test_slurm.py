"""The workflow on a real SLURM cluster of one node: each job runs under SLURM, answers equal a local run."""

import importlib.util
import re
import subprocess
import sys
from datetime import datetime

import pandas as pd
import pyarrow.parquet as pq
import pytest

from relaxometer.distributed.launch import obstacle
from slurm_cluster import PROCESSORS, ClusterError, one_node_cluster
from tiny_workflow import UNDRAWN, Workflow, only

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

VARIANTS = ["selection", "dijkstra-cpu"]
RANKS = {"weak-1": 1, "weak-2": 2}
CONFIG = {**UNDRAWN, "sssp": only(*VARIANTS)}
SERIES = {"weak": {"scale_per_rank": 7, "ranks": list(RANKS.values()), "roots": 2}}
DRIFT = "; the machine's speed changed"
TRIED = "true"
"""Run under srun to see whether the cluster starts MPI ranks."""

# The cluster has no accounting, so squeue reports the status of a job.
OPTIONS = (
    *("--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "1"),
    *("--latency-wait", "5"),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The folder and the environment of a running cluster."""
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("snakemake-executor-plugin-slurm is not installed")
    folder = tmp_path_factory.mktemp("slurm")
    try:
        with one_node_cluster(folder) as environment:
            yield folder, environment
    except ClusterError as reason:
        pytest.skip(f"no cluster can be started: {reason}")


@pytest.fixture(scope="module")
def no_ranks(cluster):
    """Why the cluster cannot start MPI ranks, or None if it can."""
    _, environment = cluster
    tried = subprocess.run(["srun", "--mpi=pmix", TRIED], env=environment, capture_output=True, text=True)
    return obstacle() or (tried.stderr.strip() or "srun --mpi=pmix failed" if tried.returncode else None)


@pytest.fixture(scope="module")
def finished(cluster, no_ranks, tmp_path_factory):
    """The same run on this machine only and, at the same time, on the cluster."""
    _, environment = cluster
    local, remote = (Workflow(tmp_path_factory.mktemp(name)) for name in ("local", "remote"))
    for workflow in (local, remote):
        workflow.configure(CONFIG if no_ranks else {**CONFIG, "distributed": SERIES})
    command = [sys.executable, "-m", "snakemake", "--profile", "profiles/slurm", "--configfile", "tiny.yaml"]
    output = remote.path("output.txt")
    with output.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [*command, *OPTIONS, "--", "all"],
            cwd=remote.folder,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        local.run("--cores", "2", "--", "all", timeout_s=1800)
        code = process.wait(timeout=1800)
    finally:
        process.terminate()
        process.wait()
    if code:
        files = [
            output,
            remote.path("logs/run.log"),
            *sorted(remote.folder.glob(".snakemake/slurm_logs/**/*.log")),
        ]
        ends = "\n".join(f"{file}:\n{file.read_text(errors='replace')[-2000:]}" for file in files)
        pytest.fail(f"snakemake failed on the cluster:\n{ends}")
    return local, remote


@pytest.fixture(scope="module")
def local(finished):
    """The run on this machine only."""
    return finished[0]


@pytest.fixture(scope="module")
def remote(finished):
    """The run on the cluster."""
    return finished[1]


@pytest.fixture(scope="module")
def jobs(cluster, remote):
    """SLURM's record of each job."""
    folder, _ = cluster
    lines = (folder / "jobs.txt").read_text(encoding="utf-8").splitlines()
    table = pd.DataFrame([dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines])
    for column in ("StartTime", "EndTime"):
        table[column] = table[column].map(datetime.fromisoformat)
    return table[table["Name"] != TRIED]


@pytest.mark.parametrize("variant", VARIANTS)
def test_answers_are_certified_and_equal_those_of_a_local_run(local, remote, variant):
    folder = f"results/runs/sssp/tiny/{variant}"
    assert pq.read_table(remote.path(f"{folder}/answer.parquet")) == pq.read_table(
        local.path(f"{folder}/answer.parquet")
    )
    certificates = pq.read_table(remote.path(f"{folder}/certificates.parquet"))
    assert certificates == pq.read_table(local.path(f"{folder}/certificates.parquet"))
    assert all(certificates["holds"].to_pylist())


def test_the_summaries_agree_in_all_but_times(local, remote):
    columns = ["graph", "variant", "status", "sources", "repetitions", "phases", "certified"]
    there, here = (pd.read_csv(run.path("results/summary.csv"))[columns] for run in (remote, local))
    pd.testing.assert_frame_equal(there, here)
    assert (there["status"] == "ok").all()
    # What follows the drift of a machine's speed is measured, and busy machines differ in it.
    verdicts = [run.path("results/verdict.txt").read_text("utf-8") for run in (remote, local)]
    there, here = (text.splitlines()[0] for text in verdicts)
    assert there.partition(DRIFT)[0] == here.partition(DRIFT)[0]


@pytest.mark.parametrize("run", RANKS)
def test_distributed_searches_are_certified_and_equal_those_of_a_local_run(local, remote, no_ranks, run):
    if no_ranks:
        pytest.skip(no_ranks)
    folder = f"results/runs/distributed/{run}"
    certificates = pq.read_table(remote.path(f"{folder}/certificates.parquet"))
    assert certificates == pq.read_table(local.path(f"{folder}/certificates.parquet"))
    assert all(certificates["holds"].to_pylist())
    columns = ["source", "repetition", "phases", "reached", "reached_arcs", "input_edges", "ranks", "scheme"]
    there, here = (pq.read_table(r.path(f"{folder}/times.parquet"), columns=columns) for r in (remote, local))
    assert there == here
    assert set(there["ranks"].to_pylist()) == {RANKS[run]}


def test_every_job_ran_under_slurm(local, jobs):
    done = local.run("--dry-run", "--forceall", "--", "all").stdout
    planned = re.search(r"^total\s+(\d+)$", done, re.MULTILINE)
    assert len(jobs) == int(planned.group(1)) - 1, "all but the target itself"
    assert set(jobs["JobState"]) == {"COMPLETED"}


def test_no_job_overlaps_a_timed_one(jobs, no_ranks):
    alone = jobs["ProcCnt"].astype(int) == PROCESSORS
    building = 1  # The job that builds the graph takes every core too.
    assert alone.sum() == building + len(VARIANTS) + (0 if no_ranks else len(RANKS))
    for number, timed in jobs[alone].iterrows():
        others = jobs.drop(index=number)
        beside = (others["StartTime"] < timed["EndTime"]) & (others["EndTime"] > timed["StartTime"])
        assert not beside.any()
