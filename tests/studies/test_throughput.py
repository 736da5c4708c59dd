"""Launches of many searches: every answer is proven, and every failure has a reason."""

import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.bfs import multi_source
from relaxometer.problems.sssp.near_far import many_sources
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.studies.throughput import PROGRAMS, TABLE, measure_throughput
from sample_graphs import detour_too_long, sample_graphs

COUNTS = [1, 3, 20]

OF_PATHS = ["many-sources", "phast-many", "phast-many-distances"]


def launches(device, graph, counts=COUNTS, repetitions=2, variants=("many-sources",)):
    options = {"searches": counts, "repetitions": repetitions, "seed": 1}
    return measure_throughput(graph, device, variants=variants, **options).to_pylist()


def test_every_launch_is_a_row_and_every_answer_proven(device):
    rows = launches(device, sample_graphs()["random-directed"])
    assert list(rows[0]) == TABLE.names
    assert [(row["searches"], row["repetition"]) for row in rows] == [
        (count, repetition) for count in COUNTS for repetition in (0, 1)
    ]
    assert all(row["proven"] == row["searches"] for row in rows)
    assert all(row["time_ms"] > 0 for row in rows)
    assert {(row["graph"], row["status"], row["reason"]) for row in rows} == {("random-directed", "ok", "")}
    assert {(row["device_kind"], row["device"]) for row in rows} == {(device.kind, device.name)}


def test_few_sources_repeat(host_device):
    graph = Graph.from_arcs("pair", 2, [0, 1], [1, 0], [5, 5])
    assert [row["proven"] for row in launches(host_device, graph, repetitions=1)] == COUNTS


def test_the_first_launch_of_each_size_is_not_timed(host_device, monkeypatch):
    made = []
    original = many_sources.Solver.solve_many

    def counted(self, sources):
        made.append(len(sources))
        return original(self, sources)

    monkeypatch.setattr(many_sources.Solver, "solve_many", counted)
    launches(host_device, sample_graphs()["grid"])
    assert made == [1] * 3 + [3] * 3 + [20] * 3


WRONG = {
    "many-sources": (many_sources, "solve_many", "overstretched", lambda found: found.distance[1]),
    "phast-many-distances": (
        phast_many,
        "find_distances",
        "overstretched",
        lambda found: found[0].labels[0, :, 1],
    ),
    "multi-source": (multi_source, "solve_many", "tree_levels", lambda found: found[0].labels[0][:, 1]),
    "multi-source-levels": (multi_source, "find_levels", "tree_levels", lambda found: found.labels[0][:, 1]),
}


@pytest.mark.parametrize("variant", WRONG)
def test_wrong_answers_are_counted_and_the_first_is_named(host_device, monkeypatch, variant):
    module, method, rule, second = WRONG[variant]
    original = getattr(module.Solver, method)

    def wrong(self, sources):
        found = original(self, sources)
        if len(sources) > 1:
            second(found)[5] += 1
        return found

    monkeypatch.setattr(module.Solver, method, wrong)
    rows = launches(host_device, sample_graphs()["grid"], repetitions=1, variants=[variant])
    assert [(row["status"], row["proven"]) for row in rows] == [("ok", 1), ("invalid", 2), ("invalid", 19)]
    assert rows[1]["reason"].startswith("source ")
    assert f"rule {rule} broken" in rows[1]["reason"]


@pytest.mark.parametrize(
    ("failure", "status"), [(DeviceOutOfMemory("9 GB"), "oom"), (OverflowError("32 bits"), "error")]
)
def test_a_failure_keeps_the_launches_before_it(host_device, monkeypatch, failure, status):
    original = many_sources.Solver.solve_many

    def failing(self, sources):
        if len(sources) > 1:
            raise failure
        return original(self, sources)

    monkeypatch.setattr(many_sources.Solver, "solve_many", failing)
    rows = launches(host_device, sample_graphs()["grid"], repetitions=1)
    assert [row["status"] for row in rows] == ["ok", status, status]
    assert rows[2]["time_ms"] is None
    assert rows[2]["reason"]


@pytest.mark.parametrize("variant", OF_PATHS)
def test_only_a_path_and_no_detour_may_be_too_long(host_device, variant):
    graph = Graph.from_arcs("too-far", 3, [0, 1, 2], [1, 2, 0], [MAX_WEIGHT, 1, 1])
    rows = launches(host_device, graph, repetitions=1, variants=[variant])
    assert rows[-1]["status"] == "error"
    assert rows[-1]["reason"] == LENGTHS["uint32"].too_long
    assert 0 < rows[-1]["proven"] < 20
    rows = launches(host_device, detour_too_long(), repetitions=1, variants=[variant])
    assert [(row["status"], row["reason"], row["proven"]) for row in rows] == [("ok", "", n) for n in COUNTS]


@pytest.mark.parametrize("variant", PROGRAMS)
def test_every_program_is_proven(host_device, variant):
    rows = launches(host_device, sample_graphs()["zero-weights"], repetitions=1, variants=[variant])
    assert [(row["variant"], row["status"], row["proven"]) for row in rows] == [
        (variant, "ok", count) for count in COUNTS
    ]


def test_a_program_that_skips_a_graph_leaves_the_others_alone(host_device):
    rows = launches(host_device, sample_graphs()["hub"], [1], 1, ["phast-many", "many-sources"])
    assert [(row["variant"], row["status"]) for row in rows] == [
        ("phast-many", "skipped"),
        ("many-sources", "ok"),
    ]
    assert "made for maps" in rows[0]["reason"]
