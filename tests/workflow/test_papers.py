"""Two papers, dominators and Bellman-Ford over edges, from the configuration to their figures and claims."""

import json

import pytest

from relaxometer.graphs.batch import read_batch
from tiny_workflow import ONCE, TINY, only

GRAPHS = ["flow-source", "few", "heap"]
VARIANTS = {
    "edge-bf": {},
    "edge-bf-block": {"solver": "edge-bf", "block": [4, 8, 16, 32]},
    "spmv-ell": {"limit_gb": 1e-6},
}
CONFIG = {
    **TINY,
    "datasets": {
        "few": {
            "format": "python-cfgs",
            "license": "PSF-2.0",
            "parameters": {"modules": ["heapq", "bisect"], "tests": False},
        },
        "heap": {"format": "heap-like", "seed": 1, "parameters": {"objects": 200}},
        "rmat-6": {"format": "rmat", "seed": 1, "parameters": {"scale": 6}},
    },
    "timing": {**ONCE, "repetitions": 2},
    "sssp": {**only(*VARIANTS, "dijkstra-cpu", variants=VARIANTS), "graphs": ["rmat-6"]},
    "dominators": {
        "graphs": GRAPHS,
        "only": ["persistent-warp", "iterative-tree", "batch-warp", "semi-nca"],
    },
    "updates": {"graphs": ["heap"], "arcs": [1, 5], "repetitions": 1},
    "retained": {"graphs": ["heap"], "repetitions": 1},
    "report": {"papers": ["dominators", "edge-bf"], "maps": []},
}
TABLES = [f"dominators/{name}" for name in ("steps", "update-times", "winners")]
TABLES += ["common/retained", "edge-bf/bandwidth"]
FIGURES = [f"dominators/{name}" for name in ("size", "batches", "updates")]
FIGURES += [f"edge-bf/{name}" for name in ("performance", "speedup", "gains", "blocks/rmat-6")]


@pytest.mark.slow
def test_from_graphs_and_batches_to_figures(workflow):
    workflow.configure({**TINY, "datasets": TINY["datasets"] | CONFIG["datasets"]})
    assert not {"build_batch", "describe_batch"} & {rule for rule, _ in workflow.jobs_to_run()}
    workflow.configure(CONFIG)
    files = [f"results/tables/{name}.csv" for name in TABLES]
    files += [f"results/figures/{name}.svg" for name in FIGURES]
    files += ["results/pages/batches/few.html"]
    workflow.run("--", "results/summary.csv", "results/claims.csv", *files)
    assert all(workflow.path(file).is_file() for file in files)
    assert set(workflow.frame("claims.csv")["source"]) == {"dominators", "edge-bf"}
    summary = workflow.frame("summary.csv", ["graph", "variant"])
    statuses = summary["status"].to_dict()
    # A variant runs on what it takes: graphs, batches or both.
    assert ("few", "iterative-tree") not in statuses
    assert ("flow-source", "batch-warp") not in statuses
    assert statuses["few", "semi-nca"] == statuses["few", "batch-warp"] == "ok"
    assert {f"edge-bf-block-{block}" for block in (4, 8, 16, 32)} <= {name for _, name in statuses}
    assert statuses.pop(("heap", "persistent-warp")) == statuses.pop(("rmat-6", "spmv-ell")) == "skipped"
    assert "limit_gb is 1e-06" in summary.loc[("rmat-6", "spmv-ell"), "reason"]
    assert set(statuses.values()) == {"ok"}
    assert (summary.loc[summary["status"] == "ok", "certified"] == 1).all()

    batch = read_batch(workflow.path("results/batches/few"))
    assert (batch.name, batch.metadata["license"]) == ("few", "PSF-2.0")
    assert json.loads(workflow.text("descriptions/batches/few.json"))["share_with_loops"] > 0
    page = workflow.text("pages/batches/few.html")
    assert f"<td>{batch.n_vertices:,}</td>" in page
    assert "<td>PSF-2.0</td>" in page

    answer = workflow.frame("runs/dominators/flow-source/iterative-tree/answer.parquet")
    assert answer["idom"].tolist() == [0, 0, 0, 0, 3]
    steps = workflow.frame("tables/dominators/steps.csv")
    assert steps["Paper [ms]"].tolist() == [0.849, 0.047, 0.031, 1.097]
    assert workflow.frame("tables/dominators/update-times.csv")["Status"].tolist() == ["ok"] * 4
    assert set(workflow.frame("tables/dominators/winners.csv")["Graph"]) == set(GRAPHS)
    assert workflow.frame("tables/common/retained.csv")["Status"].tolist() == ["ok"] * 2
    bandwidth = workflow.frame("tables/edge-bf/bandwidth.csv")
    assert len(bandwidth) == 5
    assert (bandwidth["GB/s"] > 0).all()
    assert json.loads(workflow.text("device_rates.json"))["copy_gb_s"] > 0
    assert "Vertices per block" in workflow.text("figures/edge-bf/blocks/rmat-6.svg")
