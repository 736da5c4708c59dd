"""Searches over several ranks as jobs of the workflow."""

from pathlib import Path

import pytest

from relaxometer.core.failures import failure_of
from relaxometer.distributed.launch import obstacle
from relaxometer.plan.load import load_plan
from relaxometer.report import catalogue
from tiny_workflow import ROOT, UNDRAWN, only

CONFIG = {
    **UNDRAWN,
    "sssp": only("dijkstra-cpu"),
    "distributed": {
        "weak": {"scale_per_rank": 7, "ranks": [1, 2], "roots": 2},
        "map": {"problem": "sssp", "graph": "tiny", "ranks": 2, "roots": 2},
    },
}
TARGETS = ("results/distributed_verdict.txt", "results/figures/common/scaling-over-ranks.svg")
needs_mpi = pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))


@pytest.mark.mpi
@pytest.mark.slow
@needs_mpi
def test_runs_are_proven_gathered_and_drawn(workflow):
    workflow.configure(CONFIG)
    workflow.run("--cores", "2", "--", *TARGETS)
    table = workflow.frame("distributed.csv", "variant")
    assert list(table.index) == ["map", "weak-1", "weak-2"]
    assert (table["status"] == "ok").all()
    assert (table["certified"] == 1).all()
    assert table["weak"].tolist() == [False, True, True]
    assert table["scheme"].tolist() == ["1x2", "1x1", "2x1"]
    assert table.loc["weak-2", "vertices"] == 2**8
    assert table.loc["weak-1", "efficiency"] == 1
    sources = workflow.frame("sources/tiny.parquet")["source"].tolist()
    times = workflow.frame("runs/distributed/map/times.parquet")
    assert times["source"].tolist() == sources[:2] * 2
    assert "3 runs measured" in workflow.path(TARGETS[0]).read_text(encoding="utf-8")
    assert "emulated" in workflow.path(TARGETS[1]).read_text(encoding="utf-8")


@needs_mpi
def test_too_many_ranks_are_reported_in_one_line(workflow):
    workflow.configure({**CONFIG, "distributed": {"many": {"scale": 8, "ranks": 4096}}})
    done = workflow.run("--cores", "2", "--", *TARGETS, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert any(line.startswith("run_distributed many: 4096 ranks") for line in done.stderr.splitlines())


@pytest.mark.mpi
@pytest.mark.slow
@needs_mpi
def test_a_failed_rank_is_reported_in_one_line_and_leaves_no_run(workflow):
    workflow.configure(CONFIG)
    workflow.run("--cores", "2", "--", "results/sources/tiny.parquet")
    workflow.path("results/graphs/tiny/arcs.parquet").write_bytes(b"no Parquet")
    workflow.path("results/sources/tiny.parquet").touch()
    run = "results/runs/distributed/map/run.json"
    done = workflow.run("--cores", "2", "--rerun-triggers", "mtime", "--", run, check=False)
    assert done.returncode != 0
    line = "run_distributed map: results/graphs/tiny/arcs.parquet: not readable"
    assert any(said.startswith(line) for said in done.stderr.splitlines())
    assert failure_of(workflow.path(run)).startswith(line)


def test_a_missing_launcher_is_reported_in_one_line(workflow):
    workflow.configure({**CONFIG, "distributed": {"two": {"scale": 8, "ranks": 2}}})
    arguments = ("--cores", "2", "--set-resources", "run_distributed:mpi=mpiexec-of-nobody", "--", *TARGETS)
    done = workflow.run(*arguments, check=False)
    assert done.returncode != 0
    assert "run_distributed two: mpiexec-of-nobody is not on the PATH" in done.stderr


@pytest.mark.parametrize(("suite", "runs"), [("hybrid-bfs-2d", 31), ("hybrid-bfs-8", 11)])
def test_the_suites_plan_their_runs(monkeypatch, suite, runs):
    monkeypatch.chdir(ROOT)
    plan = load_plan([Path(f"config/suites/{suite}.yaml")])
    assert len(plan.distributed) == runs
    assert "results/figures/common/communication-over-ranks.svg" in catalogue.targets(plan)
