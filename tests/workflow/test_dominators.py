"""Dominators of graphs and of a batch, from the configuration to the figures."""

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tiny_workflow import TINY

SMALL = {
    "device": "host",
    "datasets": {
        "few": {"format": "python-cfgs", "parameters": {"modules": ["heapq", "bisect"], "tests": False}}
    },
    "timing": {"sources": 2, "repetitions": 2, "rounds": 1, "warmup": 0},
    "sssp": {"graphs": []},
    "dominators": {
        "graphs": ["flow-source", "flow-random-30", "flow-random-1k", "few"],
        "variants": {
            "persistent-warp": {},
            "iterative-tree": {},
            "batch-warp": {},
            "semi-nca": {},
        },
    },
    "updates": {"graphs": ["flow-random-1k"], "arcs": [1, 5], "repetitions": 1},
    "report": {"papers": ["dominators"], "maps": []},
}


TABLES = [f"results/tables/dominators/{name}.csv" for name in ("steps", "update-times", "winners")]
FIGURES = [f"results/figures/dominators/{name}.svg" for name in ("size", "batches", "updates")]


@pytest.mark.slow
def test_from_graphs_and_batches_to_figures(workflow):
    workflow.configure({**TINY, **SMALL})
    workflow.run("--", "results/summary.csv", "results/claims.csv", *(TABLES + FIGURES))
    summary = pd.read_csv(workflow.path("results/summary.csv")).set_index(["graph", "variant"])
    statuses = summary["status"].to_dict()
    # A variant runs on what it takes: graphs, batches or both.
    assert ("few", "iterative-tree") not in statuses
    assert ("flow-source", "batch-warp") not in statuses
    assert statuses["few", "semi-nca"] == statuses["few", "batch-warp"] == "ok"
    assert statuses.pop(("flow-random-1k", "persistent-warp")) == "skipped"
    assert set(statuses.values()) == {"ok"}
    assert (summary.loc[summary["status"] == "ok", "certified"] == 1).all()
    answer = pq.read_table(workflow.path("results/runs/dominators/flow-source/iterative-tree/answer.parquet"))
    assert answer["idom"].to_pylist() == [0, 0, 0, 0, 3]
    steps = pd.read_csv(workflow.path("results/tables/dominators/steps.csv"))
    assert steps["Paper [ms]"].tolist() == [0.849, 0.047, 0.031, 1.097]
    updates = pd.read_csv(workflow.path("results/tables/dominators/update-times.csv"))
    assert updates["Status"].tolist() == ["ok"] * 4
    winners = pd.read_csv(workflow.path("results/tables/dominators/winners.csv"))
    assert set(winners["Graph"]) == {"flow-source", "flow-random-30", "flow-random-1k", "few"}
    assert all(workflow.path(figure).is_file() for figure in FIGURES)
    claims = pd.read_csv(workflow.path("results/claims.csv"))
    assert set(claims["source"]) == {"dominators"}
