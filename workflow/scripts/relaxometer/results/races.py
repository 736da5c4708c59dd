"""Races: the variants and rivals on one graph in real time, and who wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relaxometer.results.gather import KEY, PROVEN
from relaxometer.results.samples import IDENTITY, is_emulated, paired, source_times
from relaxometer.results.statistics import bootstrap_median, is_faster

RACE = ["problem", "graph"]

OURS, RIVAL, NEITHER = "ours", "rival", "neither"

SIDES = {False: OURS, True: RIVAL}
"""The two sides of a race by the column ``rival``."""

OF_A_SIDE = ("", "_class", "_version", "_ms", "_prepare_ms")
WINNERS = [
    *RACE,
    *(f"{side}{column}" for side in SIDES.values() for column in OF_A_SIDE),
    *("sources", "ratio", "ratio_low", "ratio_high", "winner"),
]
"""Columns of :func:`winners`."""


def finishers(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the :func:`source_times` of the runs in real time that proved an answer for every search.

    Other runs win nothing: their times are of the searches that they could finish.
    """
    keys = [timings[column] for column in KEY]
    finished = timings["status"].isin(PROVEN).groupby(keys).transform("all")
    return source_times(timings[finished & ~is_emulated(timings)])


def common_medians(times: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run with its median time over the sources that all runs of its race share.

    Parameters
    ----------
    times : DataFrame
        Rows of :func:`finishers`.
    """
    runs = times.groupby([*RACE, "source"])["variant"].transform("nunique")
    shared = times[runs == times.groupby(RACE)["variant"].transform("nunique")]
    return shared.groupby(IDENTITY, sort=False)["time_ms"].median().reset_index()


def relative_times(timings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per finisher with ``ratio``, its median time relative to the best of its race."""
    medians = common_medians(finishers(timings))
    best = medians.groupby(RACE)["time_ms"].transform("min")
    return medians.assign(ratio=medians["time_ms"] / best)


def winners(timings: pd.DataFrame) -> pd.DataFrame:
    """Compare the best variant with the best rival of each race in which somebody finished.

    The best of a side has the least median time over the sources that all finishers share. The two are then
    compared over all sources that both have.

    Returns
    -------
    DataFrame
        Columns `WINNERS`: of each side the name, class, version, median time and preparation, missing if
        nobody of that side finished; ``ratio``, the median over sources of the rival's time over ours, with
        its 95% bootstrap interval; and ``winner``: "ours", "rival", "neither" where the paired test does not
        tell them apart, or missing if one side is.
    """
    runs = timings.drop_duplicates(KEY).set_index(KEY)
    times = finishers(timings)
    rows = [_race(of_race, runs) for _, of_race in times.groupby(RACE, sort=False)]
    return pd.DataFrame(rows, columns=WINNERS)


def _race(times: pd.DataFrame, runs: pd.DataFrame) -> dict[str, Any]:
    """Return a row of :func:`winners` from the times of all finishers of a race."""
    medians = common_medians(times).sort_values("time_ms", kind="stable")
    best = {
        SIDES[bool(one["rival"])]: one
        for one in medians.drop_duplicates("rival").to_dict("records")  # the fastest of each side
    }
    sides = {side: times[times["variant"] == one["variant"]] for side, one in best.items()}
    row: dict[str, Any] = {column: times[column].iloc[0] for column in RACE}
    if len(sides) == 2:
        ours, theirs = paired(sides[OURS], sides[RIVAL])
        row |= _comparison(ours, theirs)
        shown = {OURS: ours, RIVAL: theirs}
    else:
        shown = {side: of_side["time_ms"] for side, of_side in sides.items()}
    for side, one in best.items():
        run = runs.loc[tuple(one[column] for column in KEY)]
        row |= {
            side: one["variant"],
            f"{side}_class": one["class"],
            f"{side}_version": run.get("parameter_version"),
            f"{side}_ms": float(shown[side].median()),
            f"{side}_prepare_ms": float(run.get("prepare_ms", np.nan)),
        }
    return row


def _comparison(ours: pd.Series, theirs: pd.Series) -> dict[str, Any]:
    """Return the columns that compare two finishers over their common sources.

    Nobody wins where the test and the median of the quotients point in opposite directions.
    """
    ratio, low, high = bootstrap_median(theirs / ours)
    winner = NEITHER
    if ratio > 1 and is_faster(ours, theirs)[0]:
        winner = OURS
    elif ratio < 1 and is_faster(theirs, ours)[0]:
        winner = RIVAL
    interval = {"ratio_low": low, "ratio_high": high} if len(ours) > 1 else {}
    return {"sources": len(ours), "ratio": ratio, "winner": winner, **interval}
