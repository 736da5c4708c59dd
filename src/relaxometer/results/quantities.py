"""Quantities that papers claim about phases, sizes and ranks, as functions of tables.

:mod:`relaxometer.results.claims` names them in claims and says of which runs they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from relaxometer.results.processes import ASSUMED
from relaxometer.results.samples import share_at_or_under
from relaxometer.results.statistics import (
    CONFIDENCE,
    FEWEST,
    SIGNIFICANCE,
    Estimate,
    Part,
    holm,
    log_median,
)


def share_below_peak(counts: pd.DataFrame, share: float) -> float:
    """Return the share of all phases that update at most `share` of what the largest phase updates.

    Parameters
    ----------
    counts : DataFrame
        Rows of :func:`relaxometer.results.samples.updated_counts`.
    share : float
    """
    return float(share_at_or_under(counts["updated"], share * counts["updated"].max()))


def share_of_late_phases(counts: pd.DataFrame, limit: float) -> float:
    """Return the share of the phases in second halves of searches that update at most `limit` vertices."""
    last = counts.groupby("source")["phase"].transform("max")
    late = counts[counts["phase"] > last / 2]
    return float(share_at_or_under(late["updated"], limit))


def small_phase_times(phases: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Return the time that each search spends in phases that update at most `limit` vertices, in ms.

    Parameters
    ----------
    phases : DataFrame
        Rows of :func:`relaxometer.results.samples.proven_phases` of one graph.
    limit : float

    Returns
    -------
    DataFrame
        A row per source and a column per variant, over the phases that all variants have from that source.
    """
    small = phases[phases["updated"] <= limit]
    times = small.groupby(["source", "phase", "variant"])["time_ms"].mean().unstack("variant").dropna()
    return times.groupby("source").sum()


def step_times(steps: pd.DataFrame, modes: Sequence[str]) -> pd.DataFrame:
    """Return the mean time of each of the steps `modes` from each source, a column per step, in ms."""
    means = steps[steps["mode"].isin(modes)].groupby(["source", "mode"])["time_ms"].mean()
    return means.unstack("mode").reindex(columns=list(modes)).dropna()


def quotients_over_ranks(ranks: pd.DataFrame, of: str, over: str, column: str) -> list[Estimate]:
    """Return the quotient of two series for each number of ranks from which both have a common source.

    It is the median over common sources of the time of `over` over that of `of`; each run is one process.

    Parameters
    ----------
    ranks : DataFrame
        Rows of :func:`relaxometer.results.scaling.rank_searches`.
    of, over : str
        Names of the series.
    column : str
        The time to compare.
    """
    keys = ["ranks", "source"]
    ours, theirs = (
        np.log(ranks[ranks["series"] == series].groupby(keys)[column].median()) for series in (of, over)
    )
    quotients = (theirs - ours).dropna().groupby("ranks")
    return [Estimate(*_with_processes(logs), len(logs)) for _, logs in quotients]


def _with_processes(logs: pd.Series) -> tuple[float, tuple[Part, ...]]:
    log, part = log_median(logs)
    return log, (part, ASSUMED, ASSUMED)


def extreme(estimates: Sequence[Estimate], *, least: bool) -> tuple[float, tuple[float, float]]:
    """Return the least or the largest of some quantities, and its interval.

    The interval holds the extreme if the intervals of all quantities hold theirs, so each of them leaves out
    its share of the 5% only. It is NaN if any of the quantities rests on too few samples.
    """
    choose = min if least else max
    each = 1 - (1 - CONFIDENCE) / len(estimates)
    low, high = zip(*(one.interval(each) for one in estimates), strict=True)
    if np.isnan([*low, *high]).any():
        return choose(one.value for one in estimates), (float("nan"), float("nan"))
    return choose(one.value for one in estimates), (choose(low), choose(high))


def range_of_best(best: float, others: Mapping[float, Estimate]) -> tuple[float, float]:
    """Return the range of the points that are not shown to be worse than the best one.

    Parameters
    ----------
    best : float
        The best point: a number of threads, a threshold or a size.
    others : mapping of float to Estimate
        How many times as long every other point takes, corrected here for their number.

    Returns
    -------
    tuple of (low, high)
        Points; NaN if any of the comparisons rests on too few samples.
    """
    if any(one.n < FEWEST for one in others.values()):
        return float("nan"), float("nan")
    p_values = holm([one.p_value() for one in others.values()])
    alike = [
        point
        for (point, one), p_value in zip(others.items(), p_values, strict=True)
        if p_value >= SIGNIFICANCE or one.log <= 0
    ]
    return min([best, *alike]), max([best, *alike])


def growth(times: Mapping[int, Estimate]) -> tuple[float, tuple[float, float]]:
    """Return the exponent with which a time grows from the fewest ranks above one to the most.

    One rank sends nothing, so it does not count. 1 is linear growth, 0 none.

    Parameters
    ----------
    times : mapping of int to Estimate
        Times by the number of ranks; at least two of more than one rank.

    Returns
    -------
    tuple of (exponent, (low, high))
        The interval is NaN below `FEWEST` samples.

    Raises
    ------
    ValueError
        If fewer than two numbers of ranks are above one.
    """
    several = sorted(ranks for ranks in times if ranks > 1)
    if len(several) < 2:
        raise ValueError("fewer than two numbers of ranks above one")
    grown = times[several[-1]].over(times[several[0]])
    doubled = np.log(several[-1] / several[0])
    low, high = (float(np.log(end) / doubled) for end in grown.interval())
    return float(grown.log / doubled), (low, high)
