"""A user error ends in one clear line and a non-zero exit, and keeps earlier results."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiny_workflow import TINY

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({**TINY, "timming": {}}, ("tiny.yaml", "timming", "'timing'")),
        (
            {**TINY, "sssp": {"graphs": ["tiny"], "variants": {"adptive": {}}}},
            ("sssp.variants.adptive", "'adaptive'"),
        ),
        ({**TINY, "sssp": {"graphs": ["tinny"]}}, ("sssp.graphs", "'tinny'", "'tiny'")),
    ],
)
def test_a_wrong_configuration(workflow, config, parts):
    workflow.configure(config)
    line_with(failure(workflow), *parts)


def test_a_source_out_of_range(workflow):
    workflow.configure({**TINY, "timing": {"sources": [0, 108]}})
    line_with(failure(workflow), "graph tiny", "source 108 is out of range", "0 to 107")


@pytest.mark.parametrize("weight", ["-4", "2.5", "x"])
def test_a_weight_that_is_not_a_natural_number(workflow, weight):
    path = workflow.path("tiny.gr")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[7] = f"a 1 2 {weight}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    line_with(failure(workflow), "tiny.gr:8", weight)


def test_a_missing_file(workflow):
    workflow.path("tiny.gr").unlink()
    output = failure(workflow)
    line_with(output, "tiny.gr")


def test_a_wrong_checksum(workflow):
    config = {**TINY, "datasets": {"tiny": {**TINY["datasets"]["tiny"], "sha256": "0" * 64}}}
    workflow.configure(config)
    line_with(failure(workflow), "tiny.gr", "sha256", "0" * 64)


def test_a_truncated_archive(workflow):
    packed = gzip.compress(workflow.path("tiny.gr").read_bytes())
    workflow.path("tiny.gr.gz").write_bytes(packed[: len(packed) // 2])
    config = {**TINY, "datasets": {"tiny": {**TINY["datasets"]["tiny"], "path": "tiny.gr.gz"}}}
    workflow.configure(config)
    line_with(failure(workflow), "tiny.gr.gz")


def test_a_changed_weight_is_refused_and_earlier_results_stay(rerun):
    path = rerun.path("results/graphs/tiny/arcs.parquet")
    table = pq.read_table(path)
    weights = table["weight"].to_numpy().copy()
    weights[17] += 1
    pq.write_table(table.set_column(1, "weight", pa.array(weights)), path)
    kept = sorted(rerun.folder.glob("results/runs/*/*/*/*"))
    before = {file: file.read_bytes() for file in kept}
    summary = rerun.path("results/summary.csv").read_bytes()
    output = failure(rerun)
    line_with(output, "results/graphs/tiny", "content_sha256")
    assert {file: file.read_bytes() for file in kept} == before
    assert rerun.path("results/summary.csv").read_bytes() == summary
