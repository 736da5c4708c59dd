"""The figures of single searches, and of which program to use for how many searches on a graph."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.report.figures.looks import look
from relaxometer.report.figures.single import single_times
from relaxometer.report.figures.totals import MAX_SEARCHES, Program, best_from, programs, total_times
from synthetic_runs import query_sets, rival, searches

COUNTS = np.arange(1, 3000)


def program(name, before_ms, search_ms):
    return Program(name, before_ms, search_ms, look(name))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"tiled": (1, 2), "phast": (1000, 0.5)}, [(1, "tiled"), (667, "phast")]),
        # Twice as fast, but never before another that costs less and is faster still.
        ({"boost": (0, 50), "near-far": (90, 25), "tiled": (60, 10)}, [(1, "boost"), (2, "tiled")]),
        # At the number at which both take the same, the first still counts.
        ({"boost": (0, 10), "tiled": (20, 5)}, [(1, "boost"), (5, "tiled")]),
        ({"tiled": (1, 1)}, [(1, "tiled")]),
        ({"tiled": (0, 1), "phast": (2 * MAX_SEARCHES, 0.5)}, [(1, "tiled")]),
    ],
)
def test_a_program_is_named_from_the_number_of_searches_on_for_which_it_takes_least(given, expected):
    every = [program(name, *times) for name, times in given.items()]
    found = best_from(every)
    assert [(count, one.name) for count, one in found] == expected
    totals = {one.name: one.before_ms + COUNTS * one.search_ms for one in every}
    least = np.min(list(totals.values()), axis=0)
    for (first, one), (after, _) in zip(found, [*found[1:], (COUNTS[-1] + 1, None)], strict=True):
        np.testing.assert_array_equal(totals[one.name][first - 1 : after - 1], least[first - 1 : after - 1])


def test_upload_counts_on_the_gpu_and_query_sets_of_each_name_have_a_panel():
    runs = [
        searches("tiled", [2.0, 2.0], upload_ms=5.0, prepare_ms=1.0),
        searches("dijkstra-cpu", [40.0], device_kind="cpu", upload_ms=7.0, prepare_ms=0.5),
        searches("auto", [1.0], upload_ms=5.0, prepare_ms=1.0),
        searches("near-far", [1.0], device_kind="host", upload_ms=5.0, prepare_ms=1.0),
        searches("boost", [50.0], device_kind="cpu", rival=True, upload_ms=np.nan, prepare_ms=3.0),
    ]
    ((key, found),) = programs(pd.concat(runs)).items()
    assert key == ("sssp", "town")
    assert {one.name: one[1:3] for one in found} == {
        "tiled": (6.0, 2.0),
        "dijkstra-cpu": (0.5, 40.0),
        "boost (rival)": (3.0, 50.0),
    }
    routes = query_sets("labels", {"table": [2.0, 4.0], "pairs": [30.0]}, upload_ms=5.0, prepare_ms=1.0)
    moved = searches("batch-warp", [7.0], problem="dominators", upload_ms=5.0, prepare_ms=1.0)
    moved = moved.assign(parameter_host_to_host=True)
    found = programs(pd.concat([routes, moved]))
    assert {key: (one.before_ms, one.search_ms) for key, (one,) in found.items()} == {
        ("routes", "town: table"): (6.0, 3.0),
        ("routes", "town: pairs"): (6.0, 30.0),
        ("dominators", "town"): (0.0, 7.0),
    }


def test_a_first_search_is_a_call_of_variants_and_rivals_alike():
    """A rival builds its own graph, whatever it runs on; one without calls has the sum of its parts."""
    built = {"device_kind": "cpu", "upload_ms": 7.0, "prepare_ms": 0.5}
    runs = [
        searches("tiled", [2.0, 2.0], upload_ms=5.0, prepare_ms=1.0).assign(call_ms=[9.0, 11.0] * 2),
        rival("wasp", [3.0], **built).assign(call_ms=20.0),
        rival("gap", [3.0], **built).assign(clock_ms=4.0),
        searches("cut", [2.0], upload_ms=5.0, prepare_ms=1.0),
    ]
    ((_, found),) = programs(pd.concat(runs)).items()
    totals = {one.name: one.total_ms(1) for one in found}
    assert totals == {"tiled": 10.0, "wasp (rival)": 20.0, "gap (rival)": 11.5, "cut": 8.0}


def test_a_panel_has_a_line_per_program_and_the_finding_names_the_best():
    tiled = searches("tiled", [2.0], upload_ms=5.0, prepare_ms=1.0)
    phast = searches("phast", [0.5], upload_ms=5.0, prepare_ms=999.0)
    slow = searches("near-far", [4.0], upload_ms=5.0, prepare_ms=1.0)
    alone = searches("tiled", [2.0], graph="village", upload_ms=5.0, prepare_ms=1.0)
    figure = total_times(pd.concat([tiled, phast, slow, alone]))
    (panel,) = figure.axes
    heights = {round(float(line.get_ydata()[0]), 6) for line in panel.lines}
    assert heights == {8.0, 1004.5, 10.0}
    assert figure.texts[1].get_text() == "SSSP, town: tiled, from 666 searches on phast."
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["tiled", "phast"]
    figure = total_times(searches("tiled", [2.0], device_kind="host", upload_ms=5.0, prepare_ms=1.0))
    assert figure.texts[1].get_text() == "On no graph have two programs proven searches in real time."


def test_each_process_of_a_program_has_a_box_and_the_fastest_comes_first():
    runs = [
        searches("near-far", [4.0, 5.0], rounds=(1.0, 1.5)),
        searches("tiled", [1.0, 2.0], rounds=(1.0, 1.0)),
        searches("adaptive", [1.0], device_kind="host"),
        searches("tiled", [1.0], graph="city"),
        searches("near-far", [0.1], graph="city", status="invalid"),
        query_sets("labels", {"random": [1.0], "table": [2.0]}, graph="city"),
    ]
    axes = single_times(pd.concat(runs)).axes
    titles = [panel.get_title(loc="left") for panel in axes]
    assert titles == ["SSSP, town", "SSSP, city", "routes, city: random", "routes, city: table"]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["tiled", "near-far"]
    assert [len(panel.patches) for panel in axes] == [4, 1, 1, 1]
    figure = single_times(searches("tiled", [1.0], device_kind="host"))
    assert any("No program" in text.get_text() for text in figure.texts)
