"""The survey's figures and tables, and the table of work, read back from what was drawn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relaxometer.report.papers import survey
from relaxometer.results.claims import compare_claims, load_claims
from relaxometer.results.evidence import Evidence
from synthetic_runs import searches, spread, texts

CLAIMS = Path(__file__).parents[2] / "resources/claims/survey.yaml"


FACTORS = (0.5, 0.995, 0.998, 0.999, 1, 1.001, 1.002, 1.005, 3)


def trials(times_us, *, device_kind="cuda", values=10**7):
    """Rows of ExtractMin: nine trials for each method, the middle one as given."""
    rows = []
    for method, time_us in times_us.items():
        name, _, threads = method.partition("-")
        kind = "cpu" if name in ("loop", "heap") else device_kind
        row = {"method": name, "threads": int(threads) if threads else None, "values": values}
        row |= {"device_kind": kind, "device": {"cpu": "CPU X", "cuda": "NVIDIA X", "host": "emulated"}[kind]}
        rows += [row | {"time_ms": time_us * factor / 1e3} for factor in FACTORS]
    return pd.DataFrame(rows)


SOURCE = {
    **{"reduction-128": 8033.73, "reduction-256": 4839.28, "reduction-512": 4075.55},
    **{"reduction-1024": 6475.09, "cub": 1105.1, "loop": 6710, "heap": 0.1311},
}
"""The source's own last column."""

SMALLER = {
    values: dict(
        zip((*(f"reduction-{threads}" for threads in (128, 256, 512, 1024)), "cub"), times, strict=True)
    )
    for values, times in {
        1: (40.82, 48.56, 42.64, 43.81, 324.8),
        10: (35.92, 57.37, 47.32, 43.76, 65.97),
        100: (39.63, 43.96, 41.2, 45.52, 73.04),
        1000: (43.12, 43.05, 41.55, 49.77, 513.12),
        10**4: (59.4, 50.49, 45.97, 46.74, 453.91),
        10**5: (145.4, 112.43, 92.04, 108.75, 450.91),
        10**6: (1033.26, 556.43, 470.487, 734.59, 498.5),
    }.items()
}
SMALLER[10**6] |= {"loop": 630, "heap": 0.124}
"""Its columns before, without the zeros for loops and heaps."""


def test_the_finding_holds_the_best_size_against_the_source():
    shown = texts(survey.extract_min(trials(SOURCE)))
    assert "512 threads per block are best (in the paper: 512)" in shown
    assert "1.65 times as fast as the loop (in the paper: 1.65)" in shown
    assert "CUB 6.07 times" in shown
    without_cub = {method: time for method, time in SOURCE.items() if method != "cub"}
    figure = survey.extract_min(trials(without_cub, device_kind="host"))
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert labels == ["loop (CPU)", "heap (CPU)"]
    assert "whose times are not shown" in texts(figure)
    table = survey.extract_min_table(trials(SOURCE, device_kind="host")).set_index("Method")
    assert table["Clock"]["reduction, 512 threads"] == "emulated"
    assert table["10,000,000 values [µs]"]["heap (CPU)"] == "0.131"


def queues(order, mean, **options):
    table = searches(f"bfq-{order}", spread(mean), kernel="bellman-ford-queue", **options)
    relaxed = {"fifo": 4000, "slf": 2000, "lll": 1500, "slf-lll": 1200}[order]
    return table.assign(parameter_order=order, relaxed_arcs=relaxed)


def dots(axes):
    """The heights of the dots of a panel."""
    return [float(container.lines[0].get_ydata()[0]) for container in axes.containers]


def test_dots_are_times_and_work_with_intervals():
    table = pd.concat([queues("slf-lll", 4), queues("fifo", 12), queues("slf", 6)])
    figure = survey.queue_orders(table, "town")
    left, right = figure.axes
    assert [label.get_text() for label in left.get_xticklabels()] == ["fifo", "slf", "slf-lll"]
    medians = [np.median(spread(mean)) for mean in (12, 6, 4)]
    np.testing.assert_allclose(dots(left), medians, rtol=1e-5)
    np.testing.assert_allclose(dots(right), [4, 2, 1.2])
    for container, mean in zip(left.containers, (12, 6, 4), strict=True):
        (bars,) = container.lines[2]
        low, high = bars.get_segments()[0][:, 1]
        assert 0.92 * mean <= low < np.median(spread(mean)) < high <= 1.08 * mean
    shown = texts(figure)
    assert "slf is 2.00 times as fast as fifo (cited in the paper: 15 to 20% faster)" in shown
    assert "slf-lll is 3.00 times as fast as fifo (cited in the paper: 50% faster)" in shown


def buckets(delta, mean, rule="given", phases=10, relaxed=1500, **options):
    table = searches(f"delta-{rule}-{delta}", spread(mean), kernel="delta-stepping", **options)
    parameters = {"parameter_delta": delta, "parameter_delta_rule": rule}
    return table.assign(**parameters, phases=phases, relaxed_arcs=relaxed)


def test_points_are_ordered_by_width():
    given = [buckets(400, 9, phases=20, relaxed=3000), buckets(10, 8, phases=400, relaxed=1000)]
    ruled = [buckets(90, 3, "mean", phases=80), buckets(60, 4, "median", phases=90)]
    figure = survey.widths(pd.concat([*given, *ruled]), "town")
    time_axes, phase_axes, work_axes = figure.axes
    np.testing.assert_array_equal(time_axes.lines[0].get_xdata(), [10, 60, 90, 400])
    np.testing.assert_array_equal(phase_axes.lines[0].get_ydata(), [400, 90, 80, 20])
    np.testing.assert_array_equal(work_axes.lines[0].get_ydata(), [1, 1.5, 1.5, 3])
    shown = texts(figure)
    assert "mean" in shown
    assert "fastest at a width of 90" in shown
    assert "Best rule of the paper: mean, 3 ms" in shown


RATE = {"device_kind": "cuda", "device": "NVIDIA X", "copy_gb_s": 4000.0}


def test_arcs_are_counted_unless_a_variant_knows_its_bytes():
    table = pd.concat(
        [
            searches("queue", [2.0]).assign(relaxed_arcs=10**9),
            searches("spmv", [2.0]).assign(relaxed_arcs=10**9, parameter_bytes_per_phase=3 * 10**9),
            searches("cpu", [2.0], device_kind="cpu").assign(relaxed_arcs=10**9),
        ]
    )
    lines = survey.bandwidth_table(table, RATE).set_index("Variant")
    assert list(lines.index) == ["queue", "spmv"]
    assert lines["GB per search"].tolist() == ["8", "12"]
    assert lines["Billion relaxations/s"].tolist() == ["500", "500"]
    assert lines["GB/s"].tolist() == ["4,000", "6,000"]
    assert lines["Share of copy rate"].tolist() == ["100.0%", "150.0%"]
    doubles = survey.bandwidth_table(table, RATE, {"town": "float64"})
    assert doubles["GB per search"].tolist() == ["12", "12"]


def judged(one, table):
    nothing = searches("none", [1.0]).iloc[:0]
    return compare_claims([one], Evidence(nothing, nothing, {}, extract_min=table)).iloc[0]


def test_the_claims_of_the_file_hold_for_the_sources_own_numbers():
    ours = [one for one in load_claims(CLAIMS) if one.id.startswith("survey-extract-min")]
    ours = [one for one in ours if not one.unmeasured]
    assert len(ours) == 32
    columns = [trials(times, values=values) for values, times in SMALLER.items()]
    table = pd.concat([trials(SOURCE), *columns])
    lines = {one.id: judged(one, table) for one in ours}
    for one in (one for one in ours if one.claimed is not None):
        assert lines[one.id]["measured"] == pytest.approx(one.claimed, rel=one.tolerance)
    undecided = {name for name, line in lines.items() if line["verdict"] != "same"}
    assert {lines[name]["verdict"] for name in undecided} == {"undecided"}
    assert undecided == {f"survey-extract-min-threads-{values}" for values in (1, 100, 1000, 10_000)}
