"""What the variants of shortest paths prepare, and after how many searches it pays."""

from __future__ import annotations

from math import ceil

import pandas as pd

from relaxometer.report.figures.summary import CLOCKS, rounded
from relaxometer.results.gather import KEY
from relaxometer.results.samples import EMULATED, source_times

FIRST = "first from the start"
NEVER = "never"

LEAST_GAIN = 0.01
"""Share of a search's time below which a gain counts as none: two runs of one variant differ by as much."""


def pays_after(prepare_ms: float, search_ms: float, other_prepare_ms: float, other_search_ms: float) -> str:
    """Say after how many searches one variant is done no later than another, preparation included.

    Parameters
    ----------
    prepare_ms, search_ms : float
        Of the variant.
    other_prepare_ms, other_search_ms : float
        Of the one that it is compared with, which is done first if there is one search only.

    Returns
    -------
    str
        A number, or :data:`NEVER` if a search gains less than :data:`LEAST_GAIN`.
    """
    gained = other_search_ms - search_ms
    owed = prepare_ms - other_prepare_ms
    if gained < LEAST_GAIN * other_search_ms or gained <= 0:
        return NEVER
    return f"{max(1, ceil(owed / gained)):,}"


def payoff_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return preparation, search, and both, of every variant of shortest paths on every graph.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.

    Returns
    -------
    DataFrame
        Text, in the order of the graphs and then of the first search. The last column compares with the
        variant that is done first if there is one search only; emulated times are not compared.
    """
    times = source_times(timings[timings["problem"] == "sssp"])
    lines = times.groupby([*KEY, "device_kind"], sort=False)["time_ms"].median().reset_index()
    lines = lines.join(timings.groupby(KEY)["prepare_ms"].first(), on=KEY)
    lines = lines.assign(first_ms=lines["prepare_ms"] + lines["time_ms"])
    tables = [
        _of_graph(of_graph.sort_values("first_ms")) for _, of_graph in lines.groupby("graph", sort=False)
    ]
    return pd.concat(tables) if tables else pd.DataFrame(columns=list(COLUMNS))


COLUMNS = (
    "Graph",
    "Variant",
    "Clock",
    "Preparation [ms]",
    "A search [ms]",
    "Preparation and one search [ms]",
    "Pays after [searches]",
)


def _of_graph(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of one graph, the one that is done first on top."""
    real = lines[lines["device_kind"] != EMULATED]
    rows = []
    for index, line in lines.iterrows():
        if line["device_kind"] == EMULATED:
            pays = ""
        elif index == real.index[0]:
            pays = FIRST
        else:
            first = real.iloc[0]
            pays = pays_after(line["prepare_ms"], line["time_ms"], first["prepare_ms"], first["time_ms"])
        name, clock = line["variant"], CLOCKS[line["device_kind"]]
        spans = [rounded(line[column]) for column in ("prepare_ms", "time_ms", "first_ms")]
        rows.append((line["graph"], name, clock, *spans, pays))
    return pd.DataFrame(rows, columns=list(COLUMNS))
