"""A user error ends in one clear line and a non-zero exit, and keeps earlier results."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.device import cuda
from tiny_workflow import TINY, only

pytestmark = pytest.mark.slow

ALONE = {**TINY, "sssp": only("dijkstra-cpu")}
"""A run of one variant."""


def failure(workflow, *arguments):
    """Run until the expected failure and return the output."""
    done = workflow.run(*(arguments or ("--", "all")), check=False)
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "Traceback (most recent call last)" not in output
    return output


def line_with(output, *parts):
    """Assert that one line holds all parts."""
    assert any(all(part in line for part in parts) for line in output.splitlines()), output


def test_a_wrong_value_on_the_command_line(workflow):
    line_with(failure(workflow, "--config", "timing={rounds: 0}", "--", "all"), "--config: timing.rounds: 0")


def test_a_report_of_an_edited_configuration_is_one_line(rerun):
    entry = TINY["datasets"]["tiny"]
    shutil.copy(rerun.path("tiny.gr"), rerun.path("other.gr"))
    rerun.configure({**TINY, "datasets": {"tiny": {**entry, "path": "other.gr"}}})
    other = "results/summary.csv is of another configuration: "
    expected = other + "file of graph tiny was 'tiny.gr', is now 'other.gr'; "
    line_with(failure(rerun, "--report", "report.zip"), expected)
    rerun.configure({**TINY, "datasets": {"tiny": {**entry, "license": "MIT", "description": "a map"}}})
    rerun.run("--report", "report.zip")


def test_a_report_after_a_run_is_of_that_run(rerun):
    rerun.configure({**ALONE, "timing": {**TINY["timing"], "sources": 2}})
    target = "results/figures/common/median-times.svg"
    rerun.run("--report", "report.zip", "--report-after-run", "--", target)
    assert rerun.path("report.zip").is_file()


def test_a_mistyped_target_of_a_report_is_one_line(finished):
    expected = "no rule makes 'results/sumary.csv'; did you mean 'results/summary.csv'?"
    line_with(failure(finished, "--report", "report.zip", "--", "results/sumary.csv"), expected)
    assert not (finished.folder / "report.zip").exists()


def test_a_graph_requested_as_a_batch_is_one_line(rerun):
    expected = "tiny is a graph, not a batch of graphs: it is built at results/graphs/tiny/"
    line_with(failure(rerun, "--", "results/batches/tiny/batch.json"), expected)


def test_a_file_in_the_place_of_a_folder_is_one_line(workflow):
    workflow.path("results").touch()
    output = failure(workflow)
    assert output.splitlines()[-1] == "error: results: not a folder; move it away, then run again"


@pytest.mark.skipif(cuda.missing() != cuda.NO_DRIVER, reason="there is an NVIDIA driver")
def test_a_gpu_that_is_not_there_is_one_line_before_any_job(workflow):
    workflow.configure({**TINY, "device": "cuda"})
    output = failure(workflow)
    assert output.splitlines()[-1].endswith(
        "tiny.yaml: device: cuda, but this machine has no NVIDIA driver; device: host emulates the kernels"
    )
    assert "run_variant" not in output
    assert not workflow.path("results/graphs").exists()


def test_a_damaged_file_of_a_graph_is_one_line_of_the_report(rerun):
    damaged = "results/graphs/tiny/arcs.parquet"
    whole = rerun.path(damaged).read_bytes()
    rerun.path(damaged).write_bytes(whole[: len(whole) // 2])
    figure = "results/figures/common/arc-weights/tiny.svg"
    line_with(failure(rerun, "--rerun-triggers", "mtime", "--", figure), f"{damaged}: not readable")


def test_a_changed_weight_is_refused_and_measurements_stay(rerun):
    path = rerun.path("results/graphs/tiny/arcs.parquet")
    table = pq.read_table(path)
    weights = table["weight"].to_numpy().copy()
    weights[17] += 1
    pq.write_table(table.set_column(1, "weight", pa.array(weights)), path)
    kept = sorted(rerun.folder.glob("results/runs/sssp/tiny/*/*.*"))
    before = {file: file.read_bytes() for file in kept}
    rerun.configure(ALONE)
    output = failure(rerun, "--", "results/summary.csv")
    line_with(output, "results/graphs/tiny", "content_sha256")
    failed = rerun.path("results/runs/sssp/tiny/dijkstra-cpu")
    now = {file: file.with_name(f"{file.name}.previous") if file.parent == failed else file for file in kept}
    assert {file: path.read_bytes() for file, path in now.items()} == before
    summary = rerun.summary()
    assert set(summary["status"]) == {"error"}
    assert summary["reason"].str.contains("content_sha256").all()
