"""The median times of every variant over the commits of several runs of the workflow."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.results.recorded import Recorded
from relaxometer.results.rows import KEY
from relaxometer.results.samples import run_estimate, source_times

HISTORY = [*KEY, "class", "rival", "device", "commit", "date", "median_ms", "low_ms", "high_ms"]
"""Columns of :func:`history`."""


def history(runs: Sequence[Recorded]) -> pd.DataFrame:
    """Return one row per run of a variant, in the order of the dates; columns `HISTORY`.

    Raises
    ------
    UserError
        If there are no runs.
    """
    if not runs:
        raise UserError("no bundle to read; make one with make bundle")
    lines = []
    for one in sorted(runs, key=lambda run: (run.date, run.name)):
        for key, rows in source_times(one.timings).groupby(KEY, sort=False):
            low, high = (estimate := run_estimate(rows)).interval()
            first = rows.iloc[0]
            times = {"median_ms": estimate.value, "low_ms": low, "high_ms": high}
            place = {name: first[name] for name in ("class", "rival", "device")}
            place |= {"commit": one.commit, "date": one.date}
            lines.append({**dict(zip(KEY, key, strict=True)), **place, **times})
    return pd.DataFrame(lines, columns=HISTORY)


def over_commits(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row per variant, graph and device, with its median time in a column per commit.

    A commit that was measured several times has a column each, named after its date, too.
    """
    named = lines.assign(column=lines["commit"] + " " + lines["date"].str[:19])
    order = list(dict.fromkeys(named["column"]))
    table = named.pivot_table("median_ms", [*KEY, "class", "device"], "column", aggfunc="median", sort=False)
    return table[order].reset_index().rename_axis(columns=None)
