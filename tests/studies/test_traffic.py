"""Changes of weights: every answer is proven against the new ones, and every failure has a reason."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.routes import labels
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.problems.sssp.phast import phast
from relaxometer.race.sources import sources_table
from relaxometer.studies.traffic import TABLE, WARM_UPS, measure_traffic, slowed
from sample_graphs import detour_too_long, sample_graphs

VARIANTS = ["phast", "near-far", "dijkstra-cpu"]
ROUTES = {"labels": "customized", "hierarchy-cpu": "prepared anew"}


def changes(device_kind, graph, variants=VARIANTS, **given):
    options = {"rounds": 2, "searches": 3, "share": 0.3, "factor": 4.0, "seed": 1} | given
    return measure_traffic(graph, device_kind, variants=variants, **options).to_pylist()


def grid():
    return sample_graphs()["grid"]


def test_every_round_of_every_variant_is_a_row_and_every_answer_proven(device):
    pairs = {"routes": list(ROUTES), "pairs": 50}
    if device.kind == "host":
        rows = changes("host", grid(), **pairs)
    else:  # this process may have opened the GPU, and then none that it forks can
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            rows = pool.submit(changes, device.kind, grid(), **pairs).result()
    assert list(rows[0]) == TABLE.names
    assert [(row["variant"], row["pairs"], row["round"]) for row in rows] == [
        (name, 50 * (name in ROUTES), k) for name in [*VARIANTS, *ROUTES] for k in (0, 1)
    ]
    assert {(row["status"], row["reason"]) for row in rows} == {("ok", "")}
    assert {(row["searches"], row["proven"]) for row in rows} == {(3, 3)}
    assert all(row[time] > 0 for row in rows for time in ("update_ms", "first_ms", "tree_ms"))
    ways = {row["variant"]: row["way"] for row in rows}
    alone = {"phast": "customized", "near-far": "prepared anew", "dijkstra-cpu": "prepared anew"}
    assert ways == alone | ROUTES
    kinds = {row["variant"]: row["device_kind"] for row in rows}
    assert kinds == {name: "cpu" if name.endswith("-cpu") else device.kind for name in ways}


def test_a_share_of_the_arcs_is_slowed_up_to_the_factor_and_the_largest_weight():
    n = 4000
    weights = np.tile([0, 1000, MAX_WEIGHT], n)
    graph = Graph.from_arcs("star", 3 * n + 1, np.zeros(3 * n, int), 1 + np.arange(3 * n), weights)
    new = slowed(graph, 0.25, 3.0, np.random.default_rng(2))
    assert new.dtype == np.uint32
    nothing, between, most = new.reshape(-1, 3).T
    assert {*nothing, *most} == {0, MAX_WEIGHT}
    assert between.min() == 1000
    assert 2900 < between.max() <= 3000
    assert 0.2 < (between > 1000).mean() < 0.3


@pytest.mark.parametrize("routes", [[], ["labels"]], ids=["trees", "pairs"])
def test_weights_that_a_variant_ignores_are_noticed(monkeypatch, routes):
    for module in (phast, labels):
        monkeypatch.setattr(module.Solver, "customize", lambda self, weights: None)
    ignoring = [] if routes else ["phast", "dijkstra-cpu"]
    rows = changes("host", grid(), ignoring, share=1.0, routes=routes, pairs=50)
    assert [row["status"] for row in rows] == ["invalid", "invalid", *["ok", "ok"] * (not routes)]
    assert rows[0]["proven"] < 3
    assert rows[0]["reason"].startswith("source ")


def test_a_variant_cannot_reach_its_proof(monkeypatch):
    construct, solve, check = dijkstra_cpu.Solver.__init__, dijkstra_cpu.Solver.solve, SsspCertifier.check

    def constructing(self, graph, parameters):
        construct(self, graph, parameters)
        SsspCertifier.check = lambda *_: Certificate({}, {})
        graph.host.weights[:] = 1

    def wrong(self, source, phases=None):
        answer = solve(self, source, phases)
        answer.distance[source] = 1
        return answer

    monkeypatch.setattr(dijkstra_cpu.Solver, "__init__", constructing)
    monkeypatch.setattr(dijkstra_cpu.Solver, "solve", wrong)
    rows = changes("host", grid(), ["dijkstra-cpu", "phast"])
    assert [row["status"] for row in rows] == ["invalid", "invalid", "ok", "ok"]
    assert SsspCertifier.check is check


def failing_at_the_second(monkeypatch, fail):
    """Let the second customization of `phast` fail."""
    original, calls = phast.Solver.customize, []

    def customize(self, weights):
        calls.append(weights)
        if len(calls) == 2:
            fail()
        original(self, weights)

    monkeypatch.setattr(phast.Solver, "customize", customize)


def run_out():
    raise DeviceOutOfMemory("9 GB")


@pytest.mark.parametrize(
    ("fail", "status", "reason"),
    [(run_out, "oom", "9 GB"), (partial(time.sleep, 1000), "timeout", "not finished within timeout_s = 3")],
)
def test_a_failure_leaves_other_rounds_and_variants(monkeypatch, fail, status, reason):
    failing_at_the_second(monkeypatch, fail)
    rows = changes("host", grid(), ["phast", "dijkstra-cpu"], rounds=3, timeout_s=3)
    assert [row["status"] for row in rows] == ["ok", status, status, "ok", "ok", "ok"]
    assert rows[1]["first_ms"] is None
    assert rows[1]["reason"].startswith(reason)


def test_a_graph_that_does_not_suit_a_variant_is_skipped():
    rng = np.random.default_rng(3)
    graph = Graph.from_arcs("dense", 300, *rng.integers(0, 300, (2, 6000)), np.ones(6000, dtype=int))
    rows = changes("host", graph, ["phast", "dijkstra-cpu"])
    assert [row["status"] for row in rows] == ["skipped", "skipped", "ok", "ok"]
    assert "made for maps" in rows[0]["reason"]


def test_only_a_path_and_no_detour_may_be_too_long():
    rows = changes("host", detour_too_long(), ["phast"], share=0)
    assert {(row["status"], row["reason"], row["proven"]) for row in rows} == {("ok", "", 3)}
    graph = Graph.from_arcs("far", 3, [0, 1, 2], [1, 2, 0], [MAX_WEIGHT // 2, 1, 1])
    rows = changes("host", graph, ["phast", "dijkstra-cpu"], share=1.0, factor=1000.0)
    assert {row["status"] for row in rows} == {"error"}
    assert [row["device_kind"] for row in rows] == ["host", "host", "cpu", "cpu"]
    assert {row["reason"] for row in rows} == {LENGTHS["uint32"].too_long}


def test_a_wrong_answer_is_reported_although_a_later_path_is_too_long(monkeypatch):
    original, starts = dijkstra_cpu.Solver.solve, []
    graph = Graph.from_arcs("far", 3, [0, 1, 2], [1, 2, 0], [MAX_WEIGHT // 2, 1, 1])
    first = sources_table(graph, 3, 1)["source"][0].as_py()

    def wrong(self, source, phases=None):
        answer = original(self, source, phases)
        starts.append(source)
        if len(starts) == 2 + WARM_UPS:  # another search has loaded the code
            assert source == first
            answer.distance[source] = 1
        return answer

    monkeypatch.setattr(dijkstra_cpu.Solver, "solve", wrong)
    (row,) = changes("host", graph, ["dijkstra-cpu"], rounds=1, share=1.0, factor=1000.0)
    assert row["status"] == "invalid"
    assert row["reason"].startswith(f"source {first}: rule ")
    assert (row["searches"], row["proven"]) == (3, 1)
    assert row["first_ms"] > 0
