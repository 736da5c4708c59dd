"""A batch of small graphs is built and described on request, but is not part of `all`."""

import json

from relaxometer.graphs.batch import read_batch
from tiny_workflow import TINY

JSON = {"format": "python-cfgs", "license": "PSF-2.0", "parameters": {"modules": ["json"]}}


def test_a_batch_is_built_on_request(workflow):
    workflow.configure({**TINY, "datasets": {**TINY["datasets"], "few": JSON}})
    assert not {"build_batch", "describe_batch"} & {rule for rule, _ in workflow.jobs_to_run()}
    workflow.run("--", "results/batches/few/batch.json", "results/pages/batches/few.html")
    batch = read_batch(workflow.path("results/batches/few"))
    assert (batch.name, batch.metadata["license"]) == ("few", "PSF-2.0")
    assert batch.sizes.min() >= 3
    assert json.loads(workflow.text("descriptions/batches/few.json"))["share_with_loops"] > 0
    page = workflow.text("pages/batches/few.html")
    assert f"<td>{batch.n_vertices:,}</td>" in page
    assert "<td>PSF-2.0</td>" in page


def test_a_graph_requested_as_a_batch_is_reported_in_one_line(workflow):
    done = workflow.run("--", "results/batches/tiny/batch.json", check=False)
    assert done.returncode
    assert "tiny is a graph, not a batch of graphs: it is built at results/graphs/tiny/" in done.stderr
