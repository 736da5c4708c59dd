"""Rates and statistics follow Graph500's specification."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators.graph500 import kronecker_edges, kronecker_graph
from relaxometer.graphs.graph import describe
from relaxometer.plan.models import Run
from relaxometer.race.variant import measure
from relaxometer.results.graph500_result import (
    edges_per_second,
    official_output,
    rate_statistics,
    searches,
    statistics,
    traversed_edges,
)

RESULTS = Path(__file__).parents[2] / "docs/results"

GRAPH = {"vertices": 1024, "arcs": 20_000, "input_edges": 16_384, "directed": False}


def runs(times_ms, edges=1000.0, **columns):
    rows = {"source": range(len(times_ms)), "time_ms": times_ms, "input_edges": edges, "reached_arcs": 1800}
    return pd.DataFrame({**rows, "repetition": 0, "status": "ok", **columns})


def values(text):
    return {key: float(value) for key, value in re.findall(r"^(\w+): +?(\S+)$", text, re.MULTILINE)}


def test_the_statistics_of_times_and_edges():
    found = statistics(np.array([1.0, 2.0, 3.0, 4.0, 10.0]))
    quartiles = {"firstquartile": 2, "median": 3, "thirdquartile": 4}
    assert found == pytest.approx({"min": 1, **quartiles, "max": 10, "mean": 4, "stddev": 12.5**0.5})
    assert statistics(np.array([2.0]))["stddev"] == 0


def test_the_mean_of_rates_is_harmonic():
    found, inverse = rate_statistics(np.array([2.0, 4.0, 8.0])), np.array([0.5, 0.25, 0.125])
    assert found["harmonic_mean"] == pytest.approx(3 / inverse.sum())
    expected = inverse.std(ddof=1) / (inverse.mean() ** 2 * 2**0.5)
    assert found["harmonic_stddev"] == pytest.approx(expected)
    assert rate_statistics(np.array([2.0]))["harmonic_stddev"] == 0


def test_input_edges_count_if_known():
    table = runs([1.0, 2.0], edges=[1000.0, np.nan])
    assert traversed_edges(table, directed=False).tolist() == [1000, 900]
    assert traversed_edges(table, directed=True).tolist() == [1000, 1800]
    assert edges_per_second(table, directed=False).tolist() == [1e6, 4.5e5]


def test_a_result_uses_the_first_proven_search_from_each_key():
    table = pd.concat([runs([5.0, 6.0]).assign(repetition=1), runs([1.0, 2.0], status=["ok", "invalid"])])
    assert searches(table).set_index("source")["time_ms"].to_dict() == {0: 1.0, 1: 6.0}


def test_the_output_is_in_the_benchmarks_format():
    text = official_output(runs([1.0, 2.0, 4.0], certify_ms=[9.0, 7.0, 8.0]), GRAPH)
    lines = text.splitlines()
    assert lines[:4] == ["SCALE: 10", "edgefactor: 16", "NBFS: 3", "construction_time: nan"]
    found = values(text)
    assert found["bfs_median_time"] == pytest.approx(2e-3)
    assert found["bfs_median_nedge"] == 1000
    assert found["bfs_median_TEPS"] == pytest.approx(5e5)
    assert found["bfs_harmonic_mean_TEPS"] == pytest.approx(3000 / 7e-3)
    assert found["bfs_median_validate"] == pytest.approx(8e-3)
    assert len(lines) == 4 + 4 * 7
    assert lines[4] == "bfs_min_time: 1.00000000000000002e-03"


def test_without_a_proven_search_there_are_no_statistics():
    assert values(official_output(runs([1.0], status="invalid"), GRAPH))["NBFS"] == 0


def test_measured_edges_are_the_input_edges_of_the_component():
    parameters = Graph500Parameters(scale=8)
    graph = kronecker_graph(parameters)
    given = {"graph": graph.name, "parameters": {}, "timing": {"sources": 3, "repetitions": 1}}
    run = Run(problem="bfs", variant="hybrid", solver="hybrid", **given)
    keys = np.array(graph.metadata["search_keys"][:3])
    result = measure(run, graph, keys, "host")
    edges = kronecker_edges(8, 0, 16 << 8)
    _, labels = graph.component_labels()
    for row in result.runs:
        inside = labels[edges.tails] == labels[row.source]
        assert row.input_edges == inside.sum()
        assert row.status == "ok"
    text = official_output(pd.DataFrame(result.runs), describe(graph))
    assert values(text)["NBFS"] == 3


def test_a_published_result_has_the_searches_of_the_first_process():
    for suite in sorted(path.parent for path in RESULTS.glob("*/graph500") if _has_samples(path.parent)):
        searched = pd.read_parquet(suite / "samples.parquet").query("round == 1")
        for (graph, variant), rows in searched.groupby(["graph", "variant"]):
            file = suite / f"graph500/{graph}-{variant}.txt"
            if file.is_file():
                found = values(file.read_text(encoding="utf-8"))
                assert found["NBFS"] == len(searches(rows))
                assert found["bfs_mean_time"] == pytest.approx(1e-3 * searches(rows)["time_ms"].mean()), file
        assert "those of the first process" in (suite / "README.md").read_text(encoding="utf-8")


def _has_samples(suite):
    return (suite / "samples.parquet").is_file()
