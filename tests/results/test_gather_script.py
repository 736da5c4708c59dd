"""The job that makes the summary reads the graphs that its rule names, and no others."""

import json

import pandas as pd
import pytest

from script_runs import run_script
from synthetic_runs import searches

IDENTITY = ["problem", "graph", "variant", "kernel", "device_kind", "device", "class", "rival"]


def test_named_graphs_say_whether_edges_count_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = searches("tiled", [1.0] * 8)
    for name in ("runs", "certificates"):
        rows.drop(columns=IDENTITY).to_parquet(f"{name}.parquet")
    run = {"problem": "sssp", "graph": "town", "variant": "tiled", "solver": "tiled"}
    context = {"run": run, "device_kind": "cuda", "device": "NVIDIA X"}
    (tmp_path / "context.json").write_text(json.dumps(context), encoding="utf-8")
    graph = tmp_path / "graph.json"
    stray = tmp_path / "results/graphs/town/graph.json"
    stray.parent.mkdir(parents=True)
    stray.write_text('{"name": "town", "directed": false}', encoding="utf-8")
    rates = {}
    for directed in (True, False):
        graph.write_text(json.dumps({"name": "town", "directed": directed}), encoding="utf-8")
        run_script(
            "gather_timings",
            log=tmp_path / "log",
            inputs={"runs": ["runs.parquet"], "graphs": [str(graph)]},
            outputs={one: f"out/{one}" for one in ("timings", "certificates", "summary")},
            rivals={},
        )
        rates[directed] = pd.read_csv("out/summary")["mteps"].item()
    assert rates[True] == pytest.approx(2 * rates[False])
