"""A run on a full disk, in a folder without permission, or with too little memory; most need ``--faults``."""

import subprocess

import pytest

from faults import can_mount, under_faults
from tiny_workflow import Workflow, environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_mount(), reason="needs user namespaces"),
]
GRAPH = "results/graphs/tiny/graph.json"
RUN = "results/runs/sssp/tiny/dijkstra-cpu/runs.parquet"


@pytest.fixture(autouse=True)
def folders(workflow: Workflow, request):
    """Make the folders that faults are laid on."""
    for name in "results/graphs/tiny", "results/sources", "logs/sssp/tiny", "cache":
        workflow.path(name).mkdir(parents=True)


def said(workflow, target, *, memory=None, env=None, **faults):
    """Run until the expected failure and return the output."""
    command = workflow.command("--forceall", "--", target)
    if memory:
        command = ["prlimit", f"--as={memory}", *command]
    places = {fault: [workflow.path(name) for name in names] for fault, names in faults.items()}
    done = subprocess.run(
        under_faults(command, **places),
        cwd=workflow.folder,
        env=environment() | (env or {}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode
    output = done.stdout + done.stderr + workflow.log()
    assert "Traceback" not in output
    return output


def test_a_read_only_folder_of_logs_is_one_line(workflow):
    assert "\nlogs: not writable; give permission, then run again" in said(
        workflow, GRAPH, read_only=["logs"]
    )


@pytest.fixture
def faults(request):
    """Skip what only ``--faults`` asks for."""
    if not request.config.getoption("faults"):
        pytest.skip("needs --faults")


@pytest.mark.usefixtures("faults")
class TestFaults:
    def test_results_that_cannot_be_replaced(self, workflow):
        workflow.run("--", GRAPH)
        before = workflow.path(GRAPH).read_bytes()
        output = said(workflow, GRAPH, read_only=["results/graphs/tiny"])
        assert "Write-protected output files for rule build_graph" in output  # Snakemake's own words
        assert workflow.path(GRAPH).read_bytes() == before

    def test_a_disk_that_fills_up(self, workflow):
        """The map fits on the disk of its folder, its graph does not; the run after that succeeds."""
        lines = ["p sp 40000 39999", *(f"a {v} {v + 1} {v * 7919 % 99991}" for v in range(1, 40000))]
        workflow.path("tiny.gr").write_text("\n".join(lines) + "\n", encoding="utf-8")
        output = said(workflow, GRAPH, full=["results/graphs"])
        line = "build_graph tiny: results/graphs/tiny/"
        assert f"error: {line}" in output
        assert "No space left on device; make room, then run again" in output
        workflow.run("--", GRAPH)

    def test_a_full_disk_for_logs(self, workflow):
        assert "\nlogs: No space left on device; make room" in said(workflow, GRAPH, full=["logs"])

    @pytest.mark.parametrize("fault", ["full", "read_only"])
    def test_a_cache_that_cannot_be_written(self, workflow, fault):
        env = {"RELAXOMETER_CACHE": str(workflow.path("cache"))}
        output = said(workflow, "results/verdict.txt", env=env, **{fault: ["cache"]})
        assert "cannot write compiled kernels to " in output

    def test_too_little_memory(self, workflow):
        datasets = {"tiny": {"format": "uniform-random", "seed": 1,
                             "parameters": {"vertices": 2**31, "mean_degree": 1}}}  # fmt: skip
        workflow.configure({"device": "host", "datasets": datasets, "sssp": {"graphs": ["tiny"]},
                            "bfs": {"graphs": []}, "report": {"maps": []}})  # fmt: skip
        output = said(workflow, GRAPH, memory=6 << 30)
        assert "error: build_graph tiny: not enough memory: " in output
