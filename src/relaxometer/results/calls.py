"""What a caller waits for: the time from arrays in host memory to the answer there, and its preparation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from relaxometer.results.processes import PROCESS
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.samples import run_estimate, source_times

CALLS = ["call_ms", "call_ci95_low_ms", "call_ci95_high_ms", "calls"]
PREPARED = ["prepare_ci95_low_ms", "prepare_ci95_high_ms"]

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
        for key, of_run in _runs(good, "call_ms"):
            found = run_estimate(of_run)
            rows[key] = (of_run["time_ms"].median(), *found.interval(), found.n)
        for key, searches in good[good["rival"].eq(True)].groupby(KEY, sort=False):
            parts = searches.reindex(columns=ADDED_UP).sum(axis=1, skipna=False)
            rows.setdefault(key, (parts.median(), float("nan"), float("nan"), 0))
    return _table(rows, CALLS)


def preparation_intervals(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the 95% interval of each run's preparation, the columns `PREPARED`, from those of its calls."""
    if "call_prepare_ms" not in timings:  # published before each was kept
        return _table({}, PREPARED)
    good = timings[timings["status"].isin(PROVEN) & (timings["call_prepare_ms"] > 0)]
    found = {key: run_estimate(of_run).interval() for key, of_run in _runs(good, "call_prepare_ms")}
    return _table(found, PREPARED)


def preparations(timings: pd.DataFrame) -> pd.DataFrame:
    """Return for each gathered search the ``prepare_ms`` and ``cold_ms`` of its run, medians over all rounds.

    That is the median over the sources of the preparations of calls; for runs without calls, both stay.
    """
    sources = timings.groupby([*KEY, "source"], sort=False)["call_prepare_ms"].median()
    rounds = timings.groupby([*KEY, "round"], sort=False)["cold_ms"].first()
    of_runs = [one.groupby(level=KEY, sort=False).median() for one in (sources, rounds)]
    found = timings[KEY].join(pd.concat(of_runs, axis=1), on=KEY)
    found = found.rename(columns={"call_prepare_ms": "prepare_ms"})[["prepare_ms", "cold_ms"]]
    return found.where(found["prepare_ms"].notna(), timings[["prepare_ms", "cold_ms"]])


def _runs(good: pd.DataFrame, column: str) -> Any:
    """Return the times of each run by source, those of `column` in place of the searches."""
    made = good[good[column].notna()].drop(columns=PROCESS, errors="ignore")
    times = source_times(made.assign(time_ms=made[column])) if len(made) else made
    return times.groupby(KEY, sort=False)


def _table(rows: Mapping[Any, tuple[float, ...]], columns: list[str]) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples(list(rows), names=KEY)
    return pd.DataFrame(list(rows.values()), index=index, columns=columns, dtype=float)
