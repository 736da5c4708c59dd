"""The job that makes the summary reads the graphs that its rule names, and no others."""

import json

import pandas as pd
import pytest

from script_runs import run_script
from synthetic_runs import searches


def test_named_graphs_say_whether_edges_count_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    searches("tiled", [1.0] * 8).to_parquet("timings.parquet")
    graph = tmp_path / "graph.json"
    stray = tmp_path / "results/graphs/town/graph.json"
    stray.parent.mkdir(parents=True)
    stray.write_text('{"name": "town", "directed": false}', encoding="utf-8")
    rates = {}
    for directed in (True, False):
        graph.write_text(json.dumps({"name": "town", "directed": directed}), encoding="utf-8")
        run_script(
            "summarise_runs",
            log=tmp_path / "log",
            inputs={"timings": "timings.parquet", "graphs": [str(graph)]},
            outputs={"summary": "summary.csv"},
        )
        rates[directed] = pd.read_csv("summary.csv")["mteps"].item()
    assert rates[True] == pytest.approx(2 * rates[False])
