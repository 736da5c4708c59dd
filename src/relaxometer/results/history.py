"""The median times of every variant over the commits of several runs of the workflow."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.results.query_sets import by_set
from relaxometer.results.recorded import Recorded
from relaxometer.results.rows import KEY
from relaxometer.results.samples import run_estimate, source_times

HISTORY = [*KEY, "content", "class", "rival", "device", "commit", "date", "median_ms", "low_ms", "high_ms"]

DIGITS = 10
"""Hexadecimal digits of a hash in the column ``content``."""


def history(runs: Sequence[Recorded]) -> pd.DataFrame:
    """Return one row per run of a variant, in the order of the dates; columns `HISTORY`.

    ``content`` begins with the hash of the graph, as far as known; that of the query sets follows, if
    searches answer any. A run of query sets has a row per name of them. UserError without runs.
    """
    if not runs:
        raise UserError("no bundle to read; make one with make bundle")
    lines = []
    for one in sorted(runs, key=lambda run: (run.date, run.name)):
        timings = one.timings.assign(content=_contents(one))
        timings = by_set(timings)
        contents = dict(iter(timings.groupby(KEY)["content"].first().items()))
        for key, rows in source_times(timings).groupby(KEY, sort=False):
            low, high = run_estimate(rows).interval()
            first = rows.iloc[0]
            median = float(rows["time_ms"].median())  # as in the summary
            times = {"median_ms": median, "low_ms": low, "high_ms": high}
            place = {name: first[name] for name in ("class", "rival", "device")}
            place |= {"content": contents[key], "commit": one.commit, "date": one.date}
            lines.append({**dict(zip(KEY, key, strict=True)), **place, **times})
    return pd.DataFrame(lines, columns=HISTORY)


def _contents(one: Recorded) -> pd.Series:
    known = {name: sha256[:DIGITS] for name, sha256 in one.graphs.items()}
    graphs = one.timings["graph"].map(lambda name: known.get(name, ""))
    if "queries_hash" not in one.timings or one.timings["queries_hash"].isna().all():
        return graphs
    run = [one.timings[column] for column in (*KEY, "queries")]
    return graphs + one.timings["queries_hash"].groupby(run).transform(_digest_of_sets).fillna("")


def _digest_of_sets(hashes: pd.Series) -> str:
    return "-" + hashlib.sha256(" ".join(sorted(set(hashes))).encode()).hexdigest()[:DIGITS]


def over_commits(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row per variant, content of a graph and device, with its median time in a column per commit.

    A commit that was measured several times has a column each, named after its date, too.
    """
    named = lines.assign(column=lines["commit"] + " " + lines["date"].str[:19])
    order = list(dict.fromkeys(named["column"]))
    line = [*KEY, "content", "class", "device"]
    table = named.pivot_table("median_ms", line, "column", aggfunc="median", sort=False)
    return table[order].reset_index().rename_axis(columns=None)
