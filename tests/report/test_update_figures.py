"""What stands in the figure and the table of updates of dominators, read back from what was drawn."""

import pandas as pd
import pytest

from relaxometer.report.papers import dominators as updates
from synthetic_runs import texts


def rows(change, arcs, times, full_ms=2.0, *, kept=1.0, device_kind="cuda", status="ok"):
    table = pd.DataFrame({"time_ms": times, "repetition": range(len(times))})
    return table.assign(
        graph="map",
        change=change,
        arcs=arcs,
        full_ms=full_ms,
        kept=kept,
        status=status,
        reason="",
        device_kind=device_kind,
        device="NVIDIA X",
    )


MEASURED = pd.concat(
    [
        rows("removed", 1, [3.0, 4.0, 5.0], kept=0.25),
        rows("removed", 100, [8.0]),
        rows("added", 1, [0.5], full_ms=6.0),
        rows("added", 100, [1.0], full_ms=6.0),
    ]
)


def test_lines_are_medians_beside_full_solves():
    figure = updates.over_arcs(MEASURED)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(lines["arcs removed"].get_xdata()) == [1, 100]
    assert list(lines["arcs removed"].get_ydata()) == [4.0, 8.0]
    assert list(lines["full solve, removed"].get_ydata()) == [2.0, 2.0]
    assert list(lines["full solve, added"].get_ydata()) == [6.0, 6.0]
    assert "removed: 0.25 to 0.5 times as fast as a full solve; added: 6 to 12 times" in texts(figure)


def test_each_graph_has_a_panel():
    figure = updates.over_arcs(pd.concat([MEASURED, MEASURED.assign(graph="flow")]))
    assert [axes.get_title(loc="right") for axes in figure.axes] == ["map", "flow"]


def test_a_change_that_failed_once_has_no_times():
    table = pd.concat([MEASURED, rows("added", 1, [0.1], status="invalid")])
    failed = updates.update_medians(table).query("change == 'added' and arcs == 1").iloc[0]
    assert failed["status"] == "invalid"
    assert pd.isna(failed["time_ms"])
    worse = pd.concat([rows("added", 1, [0.1], status="oom"), table])
    failed = updates.update_medians(worse).query("change == 'added' and arcs == 1").iloc[0]
    assert failed["status"] == "invalid", "the worst, not the first"
    wrong = MEASURED.assign(status="oom")
    assert "No update was proven correct and finished." in texts(updates.over_arcs(wrong))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("Median [ms]", "4"),
        ("Full solve [ms]", "2"),
        ("Times as fast", "0.5"),
        ("Kept", "25%"),
        ("Clock", "GPU"),
    ],
)
def test_the_table_in_words(column, value):
    first = updates.updates_table(MEASURED).iloc[0]
    assert (first["Graph"], first["Change"], first["Arcs"], first["Status"]) == ("map", "removed", "1", "ok")
    assert first[column].rstrip("0").rstrip(".") == value


def test_emulated_times_are_no_gpu_times():
    shown = texts(updates.over_arcs(MEASURED.assign(device_kind="host")))
    assert "not GPU times" in shown
    assert "emulated" in shown
