"""Quantities that papers claim about phases, sizes and ranks, as functions of tables.

:mod:`relaxometer.results.claims` names them in claims and says of which runs they are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from relaxometer.results.samples import share_at_or_under


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


def small_phase_times(phases: pd.DataFrame, limit: float) -> pd.Series:
    """Return each variant's mean time of the phases that update at most `limit` vertices, in ms."""
    return phases[phases["updated"] <= limit].groupby("variant")["time_ms"].mean()


def common_medians(ranks: pd.DataFrame, of: str, over: str, column: str) -> pd.DataFrame:
    """Return the medians of two series over ranks from the sources that they share.

    Parameters
    ----------
    ranks : DataFrame
        Rows of :func:`relaxometer.results.scaling.rank_searches`.
    of, over : str
        Names of the series.
    column : str
        The time to take the median of.

    Returns
    -------
    DataFrame
        Columns ``of`` and ``over``, a row for each number of ranks from which both have a common source.
    """
    keys = ["ranks", "source"]
    sides = [
        ranks[ranks["series"] == series].groupby(keys)[column].median().rename(side)
        for series, side in ((of, "of"), (over, "over"))
    ]
    return pd.concat(sides, axis=1, join="inner").groupby("ranks").median()


def growth(medians: pd.Series) -> float:
    """Return the exponent with which a time grows from the fewest ranks above one to the most.

    One rank sends nothing, so it does not count. 1 is linear growth, 0 none.

    Parameters
    ----------
    medians : Series
        Times by the number of ranks; at least two of more than one rank.
    """
    several = medians[medians.index > 1].sort_index()
    if len(several) < 2:
        raise ValueError("fewer than two numbers of ranks above one")
    times, ranks = several.to_numpy(dtype=np.float64), several.index.to_numpy(dtype=np.float64)
    return float(np.log(times[-1] / times[0]) / np.log(ranks[-1] / ranks[0]))
