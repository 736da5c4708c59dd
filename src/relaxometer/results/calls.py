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
COLD = ["cold_ci95_low_ms", "cold_ci95_high_ms"]

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


def part_intervals(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the 95% intervals of each run's preparation and cold time from its calls: `PREPARED`, `COLD`."""
    found = [_intervals(timings, *of) for of in (("call_prepare_ms", PREPARED), ("call_cold_ms", COLD))]
    return pd.concat(found, axis=1)


def _intervals(timings: pd.DataFrame, column: str, names: list[str]) -> pd.DataFrame:
    if column not in timings:  # published before each was kept
        return _table({}, names)
    good = timings[timings["status"].isin(PROVEN) & (timings[column] > 0)]
    return _table({key: run_estimate(of_run).interval() for key, of_run in _runs(good, column)}, names)


def preparations(timings: pd.DataFrame) -> pd.DataFrame:
    """Return for each gathered search the ``prepare_ms`` and ``cold_ms`` of its run, medians over all rounds.

    That is the median over the sources of those of calls; for runs without calls, both stay. Rounds of an
    earlier clone tell only the medians of their cold times.
    """

    def over(part: str, column: str) -> pd.Series:
        medians = timings.groupby([*KEY, part], sort=False)[column].median()
        return medians.groupby(level=KEY, sort=False).median()

    colds = over("round", "cold_ms")
    if "call_cold_ms" in timings:
        colds = over("source", "call_cold_ms").fillna(colds)
    of_runs = pd.DataFrame({"prepare_ms": over("source", "call_prepare_ms"), "cold_ms": colds})
    found = timings[KEY].join(of_runs, on=KEY)[["prepare_ms", "cold_ms"]]
    return found.where(found["prepare_ms"].notna(), timings[["prepare_ms", "cold_ms"]])


def _runs(good: pd.DataFrame, column: str) -> Any:
    """Return the times of each run by source, those of `column` in place of the searches."""
    made = good[good[column].notna()].drop(columns=PROCESS, errors="ignore")
    times = source_times(made.assign(time_ms=made[column])) if len(made) else made
    return times.groupby(KEY, sort=False)


def _table(rows: Mapping[Any, tuple[float, ...]], columns: list[str]) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples(list(rows), names=KEY)
    return pd.DataFrame(list(rows.values()), index=index, columns=columns, dtype=float)
