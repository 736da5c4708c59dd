"""The report of Bellman-Ford over edges, on an R-MAT graph small enough for the emulation."""

import json
from pathlib import Path

import pandas as pd
import pytest

from relaxometer.plan.load import load_plan
from relaxometer.report import catalogue
from tiny_workflow import ROOT, TINY

SMALL = {"format": "rmat", "license": "CC0-1.0", "weight_unit": "none", "seed": 1, "parameters": {"scale": 6}}
LEFT_OUT = dict.fromkeys(("conventional", "selection", "adaptive", "near-far", "tiled", "phast"), False)
CONFIG = {
    **TINY,
    "datasets": {"rmat-6": SMALL},
    "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0},
    "sssp": {
        "graphs": ["rmat-6"],
        "variants": {
            **LEFT_OUT,
            "edge-bf": {},
            "edge-bf-block": {"solver": "edge-bf", "block": [4, 8, 16, 32]},
            "spmv-ell": {"limit_gb": 1e-6},
        },
    },
    "report": {"papers": ["edge-bf"], "maps": []},
}

OVER_SIZES = ("performance", "speedup", "gains")


@pytest.mark.slow
def test_figures_tables_and_claims_come_out_of_a_run(workflow):
    workflow.configure(CONFIG)
    figures = [f"results/figures/edge-bf/{name}.svg" for name in (*OVER_SIZES, "blocks/rmat-6")]
    tables = ["results/summary.csv", "results/claims.csv", "results/tables/edge-bf/bandwidth.csv"]
    workflow.run("--", *tables, *figures)
    summary = pd.read_csv(workflow.path("results/summary.csv")).set_index("variant")
    assert summary["status"].to_dict() == {
        "edge-bf": "ok",
        **{f"edge-bf-block-{block}": "ok" for block in (4, 8, 16, 32)},
        "spmv-ell": "skipped",
        "dijkstra-cpu": "ok",
    }
    assert "limit_gb is 1e-06" in summary.loc["spmv-ell", "reason"]
    assert all(workflow.path(figure).is_file() for figure in figures)
    assert "Vertices per block" in workflow.path("results/figures/edge-bf/blocks/rmat-6.svg").read_text()
    bandwidth = pd.read_csv(workflow.path("results/tables/edge-bf/bandwidth.csv"))
    assert len(bandwidth) == 5
    assert (bandwidth["GB/s"] > 0).all()
    assert json.loads(workflow.path("results/device_rates.json").read_text())["copy_gb_s"] > 0
    claims = pd.read_csv(workflow.path("results/claims.csv"))
    assert set(claims["source"]) == {"edge-bf"}


def test_the_suite_plans_its_figures(monkeypatch):
    monkeypatch.chdir(ROOT)
    planned = set(catalogue.targets(load_plan([Path("config/suites/edge-bf.yaml")])))
    assert planned >= {
        *(f"results/figures/edge-bf/{name}.svg" for name in OVER_SIZES),
        *("results/figures/edge-bf/blocks/rmat-20-d32.svg", "results/tables/edge-bf/graphs.csv"),
    }
    assert not any("figure-" in name for name in planned)
