"""Searches of query sets are measured and proven as those from sources; faulty answers cost their rows."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from relaxometer.plan.models import Run, Timing
from relaxometer.problems.queries import QuerySets, content_hash
from relaxometer.problems.routes import dijkstra_cpu
from relaxometer.race.measurement import write_measurement
from relaxometer.race.variant import measure
from route_samples import random_queries, right_distances
from sample_graphs import sample_graphs

ORIGINAL = dijkstra_cpu.Solver
GRAPH = sample_graphs()["grid"]
PLAIN = random_queries(GRAPH, 6)
QUERIES = QuerySets(
    {0: PLAIN, 1: replace(PLAIN, paths=True), 2: random_queries(GRAPH, 6, seed=9)}, {0: 0, 1: 0, 2: None}
)


def measured(monkeypatch, change, sources=None):
    """Measure Dijkstra's algorithm, whose answers `change` changes."""

    class Solver(ORIGINAL):
        def solve(self, queries, phases=None):
            return change(super().solve(queries, phases), queries.host)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, rounds=1, warmup=1)
    run = Run(problem="routes", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    return measure(
        run, GRAPH, QUERIES.timed(1) if sources is None else np.array(sources), "host", queries=QUERIES
    )


def test_every_set_has_a_row_and_the_first_answer_is_kept(monkeypatch, tmp_path):
    result = measured(monkeypatch, lambda answer, queries: answer)
    assert [(row.source, row.status, row.reached) for row in result.runs] == [(0, "ok", 6), (1, "ok", 6)]
    assert all(row.reached_arcs is None and row.time_ms > 0 for row in result.runs)
    assert [(row.queries, row.queries_hash) for row in result.runs] == [
        (QUERIES.sets[source].name, content_hash(QUERIES.sets[source])) for source in (0, 1)
    ]
    assert result.answer["distance"].tolist() == right_distances(GRAPH, PLAIN).tolist()
    write_measurement(result, "routes", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("runs.parquet", "certificates.parquet", "phases.parquet", "answer.parquet", "context.json")
    }


def test_an_answer_with_wrong_sizes_is_kept_without_paths(monkeypatch, tmp_path):
    for change, columns in (
        (lambda answer, _: answer, ["distance", "path"]),
        (lambda answer, _: replace(answer, path=answer.path[1:]), ["distance"]),
        (lambda answer, _: replace(answer, size=answer.size + np.uint32(2**32 - 1)), ["distance"]),
    ):
        result = measured(monkeypatch, change, sources=[1])
        assert result.runs[0].status == ("ok" if len(columns) == 2 else "invalid")
        write_measurement(result, "routes", tmp_path)
        assert pq.read_table(tmp_path / "answer.parquet").column_names == columns


@pytest.mark.parametrize(
    ("change", "statuses"),
    [
        (
            lambda answer, _: replace(answer, distance=answer.distance + np.uint32(1)),
            [
                "rule distance broken 6 times, first at query 0",
                "rule distance broken 6 times, first at query 0",
            ],
        ),
        (
            lambda answer, queries: (
                replace(answer, path=answer.path[::-1].copy()) if queries.paths else answer
            ),
            [None, "rule ends broken"],
        ),
        (
            lambda answer, _: replace(answer, distance=answer.distance[:-1]),
            ["column distance has type uint32 and shape (5,); expected uint32 and (6,)"] * 2,
        ),
        (
            lambda answer, _: replace(answer, distance=answer.distance.astype(np.int64)),
            ["column distance has type int64 and shape (6,); expected uint32 and (6,)"] * 2,
        ),
        (
            lambda answer, _: replace(answer, path=np.zeros(6 * GRAPH.n_vertices + 1, np.uint32)),
            ["column path has type uint32 and shape (4279,); expected uint32 and (0,)"] * 2,
        ),
    ],
)
def test_a_faulty_answer_is_invalid(monkeypatch, change, statuses):
    rows = measured(monkeypatch, change).runs
    for row, reason in zip(rows, statuses, strict=True):
        assert row.status == ("invalid" if reason else "ok")
        assert row.reason.startswith(reason or "")
