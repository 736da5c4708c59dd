"""Preparation of variants and rivals against their searches, and the searches after which it pays."""

from __future__ import annotations

from math import ceil

import pandas as pd

from relaxometer.report.catalogue import Exhibit, runs_on, table_view, without_curves
from relaxometer.report.figures import names
from relaxometer.results.calls import COLD, PREPARED, call_times, part_intervals
from relaxometer.results.rows import KEY
from relaxometer.results.samples import is_emulated, source_times

FIRST = "first from the start"
NEVER = "never"

MIN_GAIN = 0.01
"""Smaller gains, as shares of a search's time, count as none: two runs of one variant differ as much."""


def pays_after(prepare_ms: float, search_ms: float, other_prepare_ms: float, other_search_ms: float) -> str:
    """Return the number of searches after which a variant is no slower than another, preparation included.

    The other is the fastest for a single search. :data:`NEVER` if a search gains less than :data:`MIN_GAIN`.
    """
    gained = other_search_ms - search_ms
    if gained < MIN_GAIN * other_search_ms or gained <= 0:
        return NEVER
    return f"{max(1, ceil((prepare_ms - other_prepare_ms) / gained)):,}"


def payoff_table(timings: pd.DataFrame, problem: str = "sssp") -> pd.DataFrame:
    """Return the times of preparation, a search, both and a call for every variant and rival, as text.

    Rows are ordered by graph and by preparation plus one search, emulated times last. The last two columns
    compare with the variant that is the fastest for a single search, other than `auto`, which runs one of
    them, and with `CPU_BASELINE` if it was run; emulated times are not compared.
    """
    times = source_times(timings[timings["problem"] == problem])
    lines = times.groupby([*KEY, "class", "rival"], sort=False)["time_ms"].median().reset_index()
    lines = lines.join(timings.groupby(KEY)[["kernel", "prepare_ms", "cold_ms"]].first(), on=KEY)
    lines = lines.join(call_times(timings), on=KEY).join(part_intervals(timings), on=KEY)
    lines = lines.assign(
        name=names.short_names(lines),
        emulated=is_emulated(lines),
        call=names.shown_calls(lines),
        interval=names.intervals(*(lines[end] for end in PREPARED)),
        cold_interval=names.intervals(*(lines[end] for end in COLD)),
        first_ms=lines["prepare_ms"] + lines["time_ms"],
    )
    tables = [
        _of_graph(of_graph.sort_values(["emulated", "first_ms"]))
        for _, of_graph in lines.groupby("graph", sort=False)
    ]
    return pd.concat(tables) if tables else pd.DataFrame(columns=list(COLUMNS))


COLUMNS = (
    *("Graph", "Variant", "Class", "Preparation [ms]", "95% interval", "A search [ms]"),
    "Preparation and one search [ms]",
    *("Cold: to the first answer [ms]", "Cold, 95% interval", "A call, from and to host memory [ms]"),
    *("Pays after [searches]", "Pays against CPU Dijkstra after [searches]"),
)

TIMED = ("time", "first", "cold")  # columns of milliseconds after the preparation
CPU_BASELINE = "dijkstra-cpu"  # the program of one core that users have without a GPU


def _pays(line: pd.Series, other: pd.DataFrame) -> str:
    """Return :func:`pays_after` of a row over that of another; nothing without one or for emulated times."""
    if line["emulated"] or other.empty:
        return ""
    one = other.iloc[0]
    return pays_after(line["prepare_ms"], line["time_ms"], one["prepare_ms"], one["time_ms"])


def _of_graph(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one graph, the fastest for a single search first."""
    real = lines[~lines["emulated"]]
    fastest = real[real["kernel"] != "auto"].head(1)
    baseline = real[real["variant"] == CPU_BASELINE].head(1)
    rows = []
    for index, line in lines.iterrows():
        pays = FIRST if index in fastest.index else _pays(line, fastest)
        against_cpu = "" if index in baseline.index else _pays(line, baseline)
        name, kind = line["name"], names.CLASSES[line["class"]]
        shown = names.prepared(line["prepare_ms"]), line["interval"]
        spans = *shown, *(names.rounded(line[f"{span}_ms"]) for span in TIMED), line["cold_interval"]
        rows.append((line["graph"], name, kind, *spans, line["call"], pays, against_cpu))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _exhibit(problem: str, name: str) -> Exhibit:
    said = "its time, and when it pays"
    return Exhibit(
        name,
        lambda inputs: payoff_table(inputs.searches(), problem),
        (table_view(name, names.label(problem), "preparation", said, caption="preparation"),),
        wanted=runs_on(problem),
        params=without_curves,
    )


EXHIBITS = (
    _exhibit("sssp", "preparation"),
    _exhibit("bfs", "bfs-preparation"),
    _exhibit("dominators", "dominators-preparation"),
)
