"""The figure of the samples behind the medians."""

import pandas as pd

from relaxometer.report.figures.single import single_times
from synthetic_runs import query_sets, searches


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


def test_without_a_search_in_real_time_it_says_so():
    figure = single_times(searches("tiled", [1.0], device_kind="host"))
    assert any("No program" in text.get_text() for text in figure.texts)
