"""What stands in the figures and the table of dominators, read back from what was drawn."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.report.figures import waits
from relaxometer.report.papers import dominators
from relaxometer.results.claims import Claim
from relaxometer.results.evidence import Evidence, NotMeasured
from relaxometer.results.quantities import step_time
from synthetic_runs import phases, searches, texts

GRAPHS = [{"name": "small", "vertices": 30}, {"name": "large", "vertices": 10_000}]


def rows(variant, graph, time_ms, device_kind="cuda", repetitions=8):
    options = {"graph": graph, "device_kind": device_kind, "repetitions": repetitions}
    return searches(variant, [time_ms], **options).assign(problem="dominators")


MEASURED = pd.concat(
    [
        rows("iterative-tree", "small", 0.05),
        rows("iterative-tree", "large", 0.2),
        rows("semi-nca", "small", 0.01, "cpu"),
        rows("semi-nca", "large", 3.0, "cpu"),
        rows("dijkstra-cpu", "large", 0.001, "cpu").assign(problem="sssp"),
    ]
)


def measured_points(line):
    """The points of a line without its gaps."""
    points = zip(line.get_xdata(), line.get_ydata(), strict=True)
    return [(float(x), float(y)) for x, y in points if np.isfinite(y)]


def test_lines_are_medians_over_size_and_the_crossing_is_marked():
    figure = dominators.over_size(MEASURED, GRAPHS)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert measured_points(lines["iterative-tree"]) == [(30, 0.05), (10_000, 0.2)]
    assert measured_points(lines["semi-nca"]) == [(30, 0.01), (10_000, 3.0)]
    assert np.isnan(lines["semi-nca"].get_ydata()).any(), "no line crosses sizes that were not run"
    assert "dijkstra-cpu" not in lines
    assert "from 10,000 vertices on the fastest kernel beats" in texts(figure)
    assert "at 30 it does not" in texts(figure)
    slow = pd.concat([MEASURED, rows("lengauer-tarjan", "large", 0.1, "cpu")])
    assert dominators.crossing(dominators.median_times(slow, {"small": 30, "large": 10_000})) is None
    assert "on the largest graph a CPU is faster" in texts(dominators.over_size(slow, GRAPHS))


def test_times_from_host_to_host_are_compared_with_their_like():
    moved = rows("batch-warp-host-to-host", "cfg", 0.4).assign(parameter_host_to_host=True)
    program = rows("semi-nca", "cfg", 4.0, "cpu").assign(prepare_ms=8.0)
    timings = pd.concat([rows("batch-warp", "cfg", 0.5), moved, program])
    figure = dominators.throughput(timings, [{"name": "cfg", "graphs": 10_000}])
    said = texts(figure)
    assert "Resident: cfg, batch-warp is 8 times as fast as semi-nca (1 core)" in said
    assert "Host to host: cfg, batch-warp-host-to-host is 30 times as fast as semi-nca (1 core)" in said
    notes = [text.get_text() for text in figure.axes[0].texts]
    assert notes == ["2.5 million", "20 million", "25 million, host to host"]


def test_where_a_gpu_loses_comes_first_and_auto_is_no_kernel_that_wins():
    emulated = rows("multiword", "small", 0.001, "host").assign(graph="tiny")
    table = dominators.winners_table(pd.concat([MEASURED, emulated])).set_index("Graph")
    assert list(table.index) == ["small", "large", "tiny"]
    assert table["Faster"].tolist() == ["CPU", "GPU", ""]
    names = table.loc["large", ["Fastest kernel", "Fastest CPU program"]].tolist()
    assert names == ["iterative-tree", "semi-nca (1 core)"]
    assert float(table.loc["large", "CPU / GPU"]) == pytest.approx(15)
    # It counts as one and may have chosen a CPU core.
    timings = pd.concat([MEASURED, rows("auto", "small", 0.01)])
    assert dominators.winners(timings)["kernel"].tolist() == ["iterative-tree"] * 2
    assert dominators.crossing(dominators.median_times(timings, {"small": 30, "large": 10_000})) == 10_000


def test_nobody_is_called_faster_without_a_test():
    like = [rows("a", "cfg", 1.00), rows("b", "cfg", 1.01, "cpu")]
    table = dominators.winners_table(pd.concat(like))
    assert table["Faster"].tolist() == ["no difference shown"]
    few = [rows("a", "cfg", 1.0, repetitions=3), rows("b", "cfg", 9.0, "cpu", repetitions=3)]
    table = dominators.winners_table(pd.concat(few))
    assert table["Faster"].tolist() == ["not compared: fewer than 6 samples"]
    assert table["CPU / GPU"].tolist() == ["9"]
    figure = dominators.throughput(pd.concat(like), [{"name": "cfg", "graphs": 5}])
    assert "1.01 times as fast as b (1 core) (no difference shown)" in texts(figure)


def steps(device_kind="cuda"):
    table = phases("persistent-warp", [5, 5, 5, 5], graph="flow-source", sources=1, device_kind=device_kind)
    return table.assign(mode=["prepare", "initialize", "persistent", "total"], time_ms=[0.2, 0.01, 0.02, 0.3])


def test_the_table_of_steps_stands_beside_the_sources():
    table = dominators.steps_table(steps())
    assert table["Paper [ms]"].tolist() == ["0.849", "0.047", "0.031", "1.097"]
    assert table["NVIDIA X [ms]"].tolist() == ["0.200", "0.010", "0.020", "0.300"]


def claim(**keys):
    common = {"id": "x", "source": "dominators", "where": "", "text": "", "graph": "flow-source"}
    return Claim(**common, **keys)


def test_the_claim_of_a_step():
    one = claim(quantity="step_time", key="prepare", of="persistent-warp", claimed=0.849)
    evidence = Evidence(pd.DataFrame(), pd.DataFrame(), {}, steps=steps())
    assert step_time(one, evidence).value == pytest.approx(0.2)
    with pytest.raises(NotMeasured, match="emulated time"):
        step_time(one, Evidence(pd.DataFrame(), pd.DataFrame(), {}, steps=steps("host")))
    with pytest.raises(NotMeasured, match="no steps"):
        step_time(one, Evidence(pd.DataFrame(), pd.DataFrame(), {}))


def line(variant, graph, time_ms, device_kind="cuda", **columns):
    """Rows of a variant with times to upload, prepare and download."""
    moved = {"upload_ms": 1.0, "download_ms": 0.5, "parameter_host_to_host": False} | columns
    return rows(variant, graph, time_ms, device_kind).assign(prepare_ms=2.0).assign(**moved)


CHOICES = pd.concat(
    [
        line("auto", "small", 0.02, parameter_chosen="semi-nca", parameter_because="30 vertices"),
        line("iterative-tree", "small", 0.04),
        line("semi-nca", "small", 0.01, "cpu"),
        line("auto", "large", 2.3, parameter_host_to_host=True, parameter_chosen="semi-nca").assign(
            variant="auto-host-to-host", parameter_because="x"
        ),
        line("iterative-tree", "large", 0.1),
        line("semi-nca", "large", 3.0, "cpu"),
        line("batch-warp", "large", 2.0, parameter_host_to_host=True),
        line("lengauer-tarjan", "large", 0.1, "cpu").assign(rival=True),
    ]
)


BEST_MS = {"batch-warp": 3.6, "iterative-tree": 2.0}
"""The best time on the large graph without a variant: with preparation, and moved as well."""


def test_auto_is_compared_by_what_its_user_waits_for():
    table = waits.regrets(CHOICES).set_index("question")
    assert table["best"].to_dict() == {"resident": "semi-nca", "host to host": "batch-warp"}
    assert table["regret"].tolist() == [pytest.approx(1), pytest.approx(0.15)]
    assert waits.in_short(table) == "auto is within 10% of the best variant in 0 of 2 choices"
    table = waits.regret_table(CHOICES)
    assert table["Best timed"].tolist() == ["at once", "at once", ""]
    assert table["Regret"].tolist() == ["100%", "15%", ""]
    assert table["Chosen"].tolist() == ["semi-nca", "semi-nca", ""]
    nothing = waits.regret_table(CHOICES[CHOICES["kernel"] != "auto"])
    assert nothing.values.tolist() == [["No graph has real times of both auto and another variant"]]


def test_upload_preparation_and_download_count_where_a_search_lacks_them():
    """A sum of parts does not count as a measured best."""
    without = {left_out: waits.regrets(CHOICES[CHOICES["variant"] != left_out]) for left_out in BEST_MS}
    large = {name: table.set_index("graph").loc["large", "best_ms"] for name, table in without.items()}
    assert large == pytest.approx(BEST_MS)
    assert without["batch-warp"]["in_parts"].tolist() == [False, True]
    text = "auto is within 10% of the best variant in 0 of 1 choices; compared with a sum of parts: 1 more"
    assert waits.in_short(without["batch-warp"]) == text


def changed(change, arcs, times, full_ms=2.0, *, kept=1.0, status="ok"):
    table = pd.DataFrame({"time_ms": times, "repetition": range(len(times))})
    table = table.assign(graph="map", reason="", device_kind="cuda", device="NVIDIA X")
    return table.assign(change=change, arcs=arcs, full_ms=full_ms, kept=kept, status=status)


UPDATED = pd.concat(
    [
        changed("removed", 1, [3.0, 4.0, 5.0], kept=0.25),
        changed("removed", 100, [8.0]),
        changed("added", 1, [0.5], full_ms=6.0),
        changed("added", 100, [1.0], full_ms=6.0),
    ]
)


def test_updates_are_medians_beside_full_solves_and_a_failed_change_has_no_times():
    figure = dominators.over_arcs(UPDATED)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(lines["arcs removed"].get_xdata()) == [1, 100]
    assert list(lines["arcs removed"].get_ydata()) == [4.0, 8.0]
    assert list(lines["full solve, removed"].get_ydata()) == [2.0, 2.0]
    assert list(lines["full solve, added"].get_ydata()) == [6.0, 6.0]
    assert "removed: 0.25 to 0.5 times as fast as a full solve; added: 6 to 12 times" in texts(figure)
    first = dominators.updates_table(UPDATED).iloc[0]
    names = ["Graph", "Change", "Arcs", "Status", "Kept", "Clock"]
    assert first[names].tolist() == ["map", "removed", "1", "ok", "25%", "GPU"]
    assert first[["Median [ms]", "Full solve [ms]", "Times as fast"]].tolist() == ["4", "2", "0.5"]
    failures = [changed("added", 1, [0.1], status=status) for status in ("oom", "invalid")]
    table = dominators.update_medians(pd.concat([failures[0], UPDATED, failures[1]]))
    failed = table.query("change == 'added' and arcs == 1").iloc[0]
    assert failed["status"] == "invalid", "the worst, not the first"
    assert pd.isna(failed["time_ms"])
    wrong = UPDATED.assign(status="oom")
    assert "No update was proven correct and finished." in texts(dominators.over_arcs(wrong))
