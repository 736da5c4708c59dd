"""The table of point-to-point queries, read back as drawn."""

import pandas as pd

from relaxometer.report.figures.routes import COLUMNS, NO_CUTOFF, routes_table
from synthetic_runs import searches

SETS = pd.DataFrame(
    {
        "graph": "town",
        "source": [0, 1, 2, 3, 4],
        "name": ["random", "near", "random", "near", "random"],
        "queries": [4096, 500, 4096, 500, 4096],
        "cutoff": [NO_CUTOFF, 9000, NO_CUTOFF, 9000, NO_CUTOFF],
        "paths": [False, True, False, True, False],
    }
)


def table(*tables):
    return routes_table(pd.concat([one.assign(problem="routes") for one in tables]), SETS)


def test_times_are_medians_over_the_sets_of_a_key_and_rates_are_queries_over_them():
    fast = searches("hierarchy", [2.0, 0.5, 4.0, 0.5, 3.0])
    slow = searches("dijkstra-cpu", [4096.0, 100.0, 4096.0, 100.0, 4096.0], device_kind="cpu", kind="cpu-all")
    rows = table(slow, fast)
    assert rows.columns.tolist() == list(COLUMNS)
    assert rows.to_numpy().tolist() == [
        ["town", "random", "hierarchy", "GPU", "4,096", "", "distances", "3", "1,365,333"],
        ["town", "random", "dijkstra-cpu", "all cores", "4,096", "", "distances", "4,096", "1,000"],
        ["town", "near", "hierarchy", "GPU", "500", "9,000", "paths", "0.5", "1,000,000"],
        ["town", "near", "dijkstra-cpu", "all cores", "500", "9,000", "paths", "100", "5,000"],
    ]


def test_emulated_searches_have_no_rate_and_unproven_ones_no_row():
    emulated = searches("hierarchy", [2.0] * 5, device_kind="host")
    wrong = searches("trees", [1.0] * 5, status="invalid")
    rows = table(emulated, wrong)
    assert rows["Variant"].tolist() == ["hierarchy"] * 2
    assert rows["Queries per second"].tolist() == ["", ""]
