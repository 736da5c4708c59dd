"""A batch of small graphs is built and described on request, but is not part of `all`."""

import json

from relaxometer.graphs.batch import read_batch
from tiny_workflow import TINY

JSON = {"format": "python-cfgs", "license": "PSF-2.0", "parameters": {"modules": ["json"]}}


def test_a_batch_is_built_on_request(workflow):
    workflow.configure({**TINY, "datasets": {**TINY["datasets"], "few": JSON}})
    workflow.run("--", "results/batches/few/batch.json")
    batch = read_batch(workflow.path("results/batches/few"))
    assert (batch.name, batch.metadata["license"]) == ("few", "PSF-2.0")
    assert batch.sizes.min() >= 3
    assert not {"build_batch", "describe_batch"} & {rule for rule, _ in workflow.jobs_to_run()}
    workflow.run("--", "results/pages/batches/few.html")
    facts = json.loads(workflow.path("results/descriptions/batches/few.json").read_text(encoding="utf-8"))
    assert facts["share_with_loops"] > 0
    page = workflow.path("results/pages/batches/few.html").read_text(encoding="utf-8")
    assert f"<td>{batch.n_vertices:,}</td>" in page
    assert "<td>PSF-2.0</td>" in page


def test_a_graph_requested_as_a_batch_is_reported_in_one_line(workflow):
    done = workflow.run("--", "results/batches/tiny/batch.json", check=False)
    assert done.returncode
    assert "tiny is a graph, not a batch of graphs: it is built at results/graphs/tiny/" in done.stderr
