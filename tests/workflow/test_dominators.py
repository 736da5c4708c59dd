"""Dominators of graphs and of a batch, from the configuration to the figures."""

import pytest

from tiny_workflow import ONCE, TINY

GRAPHS = ["flow-source", "few", "heap"]
SMALL = {
    "datasets": {
        "few": {"format": "python-cfgs", "parameters": {"modules": ["heapq", "bisect"], "tests": False}},
        "heap": {"format": "heap-like", "seed": 1, "parameters": {"objects": 200}},
    },
    "timing": {**ONCE, "repetitions": 2},
    "sssp": {"graphs": []},
    "dominators": {
        "graphs": GRAPHS,
        "only": ["persistent-warp", "iterative-tree", "batch-warp", "semi-nca"],
    },
    "updates": {"graphs": ["heap"], "arcs": [1, 5], "repetitions": 1},
    "retained": {"graphs": ["heap"], "repetitions": 1},
    "report": {"papers": ["dominators"], "maps": []},
}


TABLES = [f"results/tables/dominators/{name}.csv" for name in ("steps", "update-times", "winners")]
TABLES += ["results/tables/common/retained.csv"]
FIGURES = [f"results/figures/dominators/{name}.svg" for name in ("size", "batches", "updates")]


@pytest.mark.slow
def test_from_graphs_and_batches_to_figures(workflow):
    workflow.configure({**TINY, **SMALL})
    workflow.run("--", "results/summary.csv", "results/claims.csv", *(TABLES + FIGURES))
    summary = workflow.frame("summary.csv", ["graph", "variant"])
    statuses = summary["status"].to_dict()
    # A variant runs on what it takes: graphs, batches or both.
    assert ("few", "iterative-tree") not in statuses
    assert ("flow-source", "batch-warp") not in statuses
    assert statuses["few", "semi-nca"] == statuses["few", "batch-warp"] == "ok"
    assert statuses.pop(("heap", "persistent-warp")) == "skipped"
    assert set(statuses.values()) == {"ok"}
    assert (summary.loc[summary["status"] == "ok", "certified"] == 1).all()
    answer = workflow.frame("runs/dominators/flow-source/iterative-tree/answer.parquet")
    assert answer["idom"].tolist() == [0, 0, 0, 0, 3]
    steps = workflow.frame("tables/dominators/steps.csv")
    assert steps["Paper [ms]"].tolist() == [0.849, 0.047, 0.031, 1.097]
    assert workflow.frame("tables/dominators/update-times.csv")["Status"].tolist() == ["ok"] * 4
    assert set(workflow.frame("tables/dominators/winners.csv")["Graph"]) == set(GRAPHS)
    assert workflow.frame("tables/common/retained.csv")["Status"].tolist() == ["ok"] * 2
    assert all(workflow.path(figure).is_file() for figure in FIGURES)
    assert set(workflow.frame("claims.csv")["source"]) == {"dominators"}
