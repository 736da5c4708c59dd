"""What every figure of times promises: labelled axes, no failed run, and emulated times named as such."""

import re

import pandas as pd
import pytest

from relaxometer.report.figures import pareto, throughput, traffic
from relaxometer.report.figures.style import save
from relaxometer.report.papers import adaptive, dominators, edge_bf, hybrid_bfs, survey
from relaxometer.results.samples import proven
from synthetic_runs import metadata, phases, searches, spread, texts

TOWN = [metadata() | {"directed": False, "graphs": 9}]


def runs(variants, **columns):
    """Return a function that makes rows of searches of these variants, given their device and status."""

    def rows(**options):
        tables = [searches(name, spread(2 + n), **options) for n, name in enumerate(variants)]
        return pd.concat(tables, ignore_index=True).assign(**columns)

    return rows


def counted(draw, mode="all"):
    """Return a function that draws the phases of the proven ones among some searches."""

    def drawn(rows):
        options = {"device_kind": rows["device_kind"].iloc[0], "mode": mode}
        of_variants = [phases(name, [5, 50, 7, 0], **options) for name in rows["variant"].unique()]
        return draw(proven(pd.concat(of_variants).assign(problem=rows["problem"].iloc[0]), rows), "town")

    return drawn


ADAPTIVE = runs(["conventional", "adaptive"])
QUEUE = runs(["bfq-fifo"], kernel="bellman-ford-queue", parameter_order="fifo", relaxed_arcs=9)
RULE = {"parameter_delta": 5, "parameter_delta_rule": "mean"}
BUCKETS = runs(["delta"], kernel="delta-stepping", relaxed_arcs=9, **RULE)
CORNER = {"read_only_cache": True, "blocked": True, "block": 64, "distance": "float64", "edges_per_thread": 1}
EDGES = runs(["edge-bf"], kernel="edge-bf", **{f"parameter_{name}": of for name, of in CORNER.items()})
BFS = runs(["hybrid", "top-down"], problem="bfs", input_edges=4e6, reached_arcs=7e6, parameter_alpha=1.0)
TREES = runs(["multiword"], problem="dominators")


def launched(rows):
    """Draw the rates of launches of several searches with the device and status of some rows."""
    table = rows.head(3).assign(searches=[1, 10, 100], proven=[1, 10, 100], reason="9 GB")
    table.loc[table["status"] != "ok", "time_ms"] = float("nan")
    return throughput.throughput(table, rows, "town")


def changed(rows):
    """Draw the times after changes of weights with the device and status of some rows."""
    columns = ("update_ms", "first_ms", "tree_ms")
    table = rows.head(3).assign(round=[0, 1, 2], slowed=7, way="customized", searches=8, proven=8, threads=1)
    times = {name: table["time_ms"].where(table["status"] == "ok") for name in columns}
    return traffic.traffic(table.assign(pairs=0, reason="9 GB", **times), "town")


def updated(rows):
    """Draw the times of updates with the device and status of some rows."""
    table = rows.head(3).assign(change="removed", arcs=[1, 10, 100], full_ms=2.0, kept=1.0)
    return dominators.over_arcs(table)


FIGURES = {
    "updated": (ADAPTIVE, counted(adaptive.updated_per_phase), False),
    "distribution": (ADAPTIVE, counted(adaptive.updated_distribution), False),
    "phase-times": (ADAPTIVE, counted(adaptive.phase_times), True),
    "mean-times": (ADAPTIVE, lambda rows: adaptive.mean_times(rows, TOWN), True),
    "queues": (QUEUE, lambda rows: survey.queue_orders(rows, "town"), True),
    "widths": (BUCKETS, lambda rows: survey.widths(rows, "town"), True),
    "edge-rates": (EDGES, lambda rows: edge_bf.performance(edge_bf.rates(rows, TOWN)), True),
    "bfs-rates": (BFS, lambda rows: hybrid_bfs.rates_over_scale(rows, TOWN), True),
    "bfs-times": (BFS, lambda rows: hybrid_bfs.computing_times(rows, TOWN), None),
    "levels": (BFS, counted(hybrid_bfs.level_times, "top-down"), True),
    "sweeps": (BFS, lambda rows: hybrid_bfs.sweeps(rows, {"alpha": ["hybrid"]}, "town"), True),
    "trees-over-size": (TREES, lambda rows: dominators.over_size(rows, TOWN), True),
    "trees-per-second": (TREES, lambda rows: dominators.throughput(rows, TOWN), True),
    "updates": (TREES, updated, True),
    "launches": (ADAPTIVE, launched, True),
    "traffic": (ADAPTIVE, changed, True),
    "pareto": (ADAPTIVE, lambda rows: pareto.preparation_against_search(rows, "sssp"), None),
}
"""Runs of each figure, how it is drawn, and whether it shows emulated times: None if it leaves them out."""

EMPTY = r"(?i)proven correct|no launch finished|on no graph did two"


@pytest.fixture(params=FIGURES)
def figure(request):
    return FIGURES[request.param]


def test_proven_runs_are_drawn_on_labelled_axes(figure, tmp_path):
    rows, draw, _ = figure
    drawn = draw(rows())
    shown = [axes for axes in drawn.axes if axes.axison]
    assert shown
    assert all(axes.get_xlabel() or axes.get_ylabel() for axes in shown)
    assert "emulated" not in texts(drawn)
    save(drawn, tmp_path / "figure.svg")


def test_a_wrong_answer_takes_the_variant_out_and_without_a_proven_run_the_figure_says_so(figure):
    rows, draw, _ = figure
    drawn = draw(rows(status="invalid"))
    assert not [axes for axes in drawn.axes if axes.axison]
    assert re.search(EMPTY, texts(drawn))
    rows, draw, _ = figure
    table = rows()
    table.loc[table["source"] < 3, "status"] = "invalid"
    assert not [axes for axes in draw(table).axes if axes.axison]


def test_emulated_times_are_named_and_never_compared(figure):
    rows, draw, shows_times = figure
    drawn = draw(rows(device_kind="host"))
    said = texts(drawn)
    assert "times as fast" not in said
    assert "fastest at" not in said
    if shows_times:
        assert "not GPU times" in said
        assert any("emulated" in axes.get_ylabel() + axes.get_xlabel() for axes in drawn.axes)


def test_gains_are_never_of_emulated_times():
    table = edge_bf.rates(EDGES(device_kind="host"), TOWN)
    for draw in (edge_bf.speedup, edge_bf.gains):
        assert edge_bf.NO_GPU_TIME in texts(draw(table))
        assert edge_bf.NOTHING_PROVEN in texts(draw(edge_bf.rates(EDGES(status="error"), TOWN)))
