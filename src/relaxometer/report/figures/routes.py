"""Times of point-to-point queries by query set, and the queries answered per second."""

from __future__ import annotations

import pandas as pd

from relaxometer.core.files import read_frame
from relaxometer.report.catalogue import TIMINGS, Exhibit, Inputs, runs_on, table_view
from relaxometer.report.figures.names import CLASSES, rounded, short_names, whole
from relaxometer.report.targets import graphs_of
from relaxometer.results.rows import KEY
from relaxometer.results.samples import is_emulated, source_times

COLUMNS = (
    *("Graph", "Queries", "Variant", "Class", "Queries per search", "Cutoff", "Answers"),
    *("A search [ms]", "Queries per second"),
)

NO_CUTOFF = 2**32 - 2


def routes_table(timings: pd.DataFrame, sets: pd.DataFrame) -> pd.DataFrame:
    """Return the median time of each variant by graph and key of query sets, as text.

    `sets` has the columns ``graph``, ``source``, ``name``, ``queries``, ``cutoff`` and ``paths``, as in
    ``results/queries``. Graphs and sets are in their order, the fastest first. Emulated searches have no
    rate.
    """
    times = source_times(timings).merge(sets, on=["graph", "source"])
    rows = []
    for (graph, name), of_key in times.groupby(["graph", "name"], sort=False):
        found = {"time_ms": "median", "queries": "median", "cutoff": "first", "paths": "first"}
        lines = of_key.groupby([*KEY, "class", "rival"], sort=False).agg(found)
        lines = lines.reset_index().sort_values("time_ms", kind="stable")
        lines = lines.assign(short=short_names(lines), emulated=is_emulated(lines))
        rows += [(graph, name, *_shown(line)) for _, line in lines.iterrows()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _shown(line: pd.Series) -> tuple[str, ...]:
    rate = "" if line["emulated"] else rounded(line["queries"] / line["time_ms"] * 1e3)
    cutoff = "" if line["cutoff"] == NO_CUTOFF else whole(line["cutoff"])
    answers = "paths" if line["paths"] else "distances"
    counts = whole(line["queries"]), cutoff, answers
    return line["short"], CLASSES[line["class"]], *counts, rounded(line["time_ms"]), rate


def _draw(inputs: Inputs) -> pd.DataFrame:
    columns = ["source", "name", "queries", "cutoff", "paths"]
    sets = [read_frame(file, columns=columns).assign(graph=file.stem) for file in inputs.files("sets")]
    return routes_table(inputs.searches("routes"), pd.concat(sets))


VIEW = table_view(
    *("routes", "routes", "queries", "times and queries per second by set"), caption="runs/routes"
)

EXHIBITS = (
    Exhibit(
        "routes",
        _draw,
        (VIEW,),
        lambda plan, _: {
            "timings": TIMINGS,
            "sets": [f"results/queries/routes/{graph}.parquet" for graph in graphs_of(plan, "routes")],
        },
        wanted=runs_on("routes"),
    ),
)
