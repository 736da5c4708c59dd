"""What a caller waits for: the time from arrays in host memory to the answer there."""

from __future__ import annotations

from typing import Any

import pandas as pd

from relaxometer.results.processes import PROCESS
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.samples import run_estimate, source_times

CALLS = ["call_ms", "call_ci95_low_ms", "call_ci95_high_ms", "calls"]

ADDED_UP = ["upload_ms", "prepare_ms", "clock_ms"]
"""The parts of a call of a rival that makes none: loading, preparation, a search by our clock."""


def call_times(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the columns `CALLS` of each run: median time of a call, its 95% interval, number of samples.

    `timings` are the gathered searches of a whole run of the workflow: the spread between processes is
    estimated over all. The samples are sources or, where all searches are the same, repetitions. The time of
    a rival without calls is the sum of `ADDED_UP`, and its ``calls`` is 0. Runs of which nothing is known
    have no row.
    """
    rows: dict[Any, tuple[float, ...]] = {}
    if "call_ms" in timings:  # else published before it was measured
        good = timings[timings["status"].isin(PROVEN)]
        made = good[good["call_ms"].notna()].drop(columns=PROCESS, errors="ignore")
        times = source_times(made.assign(time_ms=made["call_ms"])) if len(made) else made
        for key, of_run in times.groupby(KEY, sort=False):
            found = run_estimate(of_run)
            rows[key] = (of_run["time_ms"].median(), *found.interval(), found.n)
        for key, searches in good[good["rival"].eq(True)].groupby(KEY, sort=False):
            parts = searches.reindex(columns=ADDED_UP).sum(axis=1, skipna=False)
            rows.setdefault(key, (parts.median(), float("nan"), float("nan"), 0))
    index = pd.MultiIndex.from_tuples(list(rows), names=KEY)
    return pd.DataFrame(list(rows.values()), index=index, columns=CALLS, dtype=float)
