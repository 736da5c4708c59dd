"""Races: the variants and rivals on one graph in real time, and who wins."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.results import samples
from relaxometer.results.calls import call_times
from relaxometer.results.processes import with_processes
from relaxometer.results.query_sets import by_set
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.statistics import FEWEST

RACE = ["problem", "graph"]

OURS, RIVAL, NEITHER, TOO_FEW = "ours", "rival", "neither", "too few"
WINNER = {1: OURS, -1: RIVAL, 0: NEITHER, None: TOO_FEW}
"""By :func:`faster_of`, ours being the first."""

SIDES = {False: OURS, True: RIVAL}

OF_A_SIDE = ("", "_class", "_version", "_answer", "_ms", "_prepare_ms", "_cold_ms", "_call_ms")
WINNERS = [
    *RACE,
    *(f"{side}{column}" for side in SIDES.values() for column in OF_A_SIDE),
    *("sources", "ratio", "ratio_low", "ratio_high", "winner"),
]

RANKED = [*KEY, "rank", "median_ms", "low_ms", "high_ms", "sources"]


def finishers(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the :func:`source_times` of the runs in real time that proved an answer for every search.

    Other runs win nothing: their times are of the searches that they could finish. Query sets of different
    names are separate races (:func:`relaxometer.results.query_sets.by_set`).
    """
    timings = with_processes(timings)
    keys = [timings[column] for column in KEY]
    finished = timings["status"].isin(PROVEN).groupby(keys).transform("all")
    return samples.source_times(by_set(timings[finished & ~samples.is_emulated(timings)]))


def common(times: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of :func:`finishers` of the sources that all runs of a race share."""
    runs = times.groupby([*RACE, "source"])["variant"].transform("nunique")
    return times[runs == times.groupby(RACE)["variant"].transform("nunique")]


def common_medians(times: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run with its median time over :func:`common` sources."""
    return common(times).groupby(samples.IDENTITY, sort=False)["time_ms"].median().reset_index()


def relative_times(timings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per finisher with ``ratio``, its median time relative to the best of its race."""
    medians = common_medians(finishers(timings))
    best = medians.groupby(RACE)["time_ms"].transform("min")
    return medians.assign(ratio=medians["time_ms"] / best)


def enough(times: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the runs with `FEWEST` samples: sources or, where there are none, repetitions."""
    sources = times.groupby(KEY)["source"].transform("nunique")
    return times[np.maximum(sources, times["repeats"]) >= FEWEST]


def ranking(timings: pd.DataFrame) -> pd.DataFrame:
    """Rank the finishers of each race by their medians over the sources that all of the ranked share.

    In the order of medians, a run opens a new rank if it is shown to be slower than the first run of the rank
    before; otherwise it shares that rank. Its number is one more than the runs above the rank. So ranks never
    contradict the medians. All pairs of runs of a race count as comparisons.

    Without a rank are runs with fewer than `FEWEST` samples, all runs of a race whose common sources are
    fewer, and a run without anything to compare it with.

    The columns are `RANKED`, in the order of ranks: the median with its interval, and the number of sources.
    """
    times = enough(finishers(timings))
    rows = [row for _, of_race in times.groupby(RACE, sort=False) for row in _ranked(of_race)]
    return pd.DataFrame(rows, columns=RANKED)


def _ranked(times: pd.DataFrame) -> list[dict[str, Any]]:
    runs = {str(name): rows for name, rows in common(times).groupby("variant", sort=False)}
    medians = {name: rows["time_ms"].median() for name, rows in runs.items()}
    order = sorted(runs, key=lambda name: medians[name])
    pairs = list(combinations(order, 2))
    found = samples.compared([(runs[faster], runs[slower]) for faster, slower in pairs])
    if not found or min(one.ratio.n for one in found) < FEWEST:
        return []
    shown = {pair for pair, one in zip(pairs, found, strict=True) if one.side > 0}
    ranked: list[dict[str, Any]] = []
    leader, rank = order[0], 1
    for place, name in enumerate(order, start=1):
        if (leader, name) in shown:
            leader, rank = name, place
        estimate = samples.run_estimate(runs[name])
        low, high = estimate.interval()
        key = {column: runs[name][column].iloc[0] for column in KEY}
        shown_ms = {"median_ms": medians[name], "low_ms": low, "high_ms": high}
        ranked.append({**key, "rank": rank, **shown_ms, "sources": len(runs[name])})
    return ranked


def winners(timings: pd.DataFrame) -> pd.DataFrame:
    """Compare the best variant with the best rival of each race in which somebody finished.

    The best of a side has the least median time over the sources that all finishers share, of those with
    `FEWEST` samples if there are any. The two are then compared over all sources that both have.

    The columns are `WINNERS`: of each side the name, class, version, and the times of a search, of
    preparation, cold and of a call, missing if nobody of that side finished; ``ratio``, the median over
    sources of the rival's time over ours, with its 95% interval; and ``winner``: "ours", "rival", "neither"
    where no difference is shown, "too few" where they have too few samples for a verdict, or missing if one
    side is.
    """
    timings = with_processes(timings)
    divided = by_set(timings)
    runs = divided.drop_duplicates(KEY).set_index(KEY).drop(columns="call_ms", errors="ignore")
    runs = runs.join(call_times(divided))
    times = finishers(timings)
    rows = [_race(of_race, runs) for _, of_race in times.groupby(RACE, sort=False)]
    return pd.DataFrame(rows, columns=WINNERS)


def _race(times: pd.DataFrame, runs: pd.DataFrame) -> dict[str, Any]:
    best = _best_of_sides(times)
    sides = {side: times[times["variant"] == one["variant"]] for side, one in best.items()}
    row: dict[str, Any] = {column: times[column].iloc[0] for column in RACE}
    if len(sides) == 2:
        shared = sides[OURS].merge(sides[RIVAL]["source"], on="source")["source"]
        sides = {side: rows[rows["source"].isin(shared)] for side, rows in sides.items()}
        found, faster = faster_of(sides[OURS], sides[RIVAL], times)
        low, high = found.ratio.interval()
        row |= {"sources": found.ratio.n, "ratio": found.ratio.value, "winner": WINNER[faster]}
        row |= {"ratio_low": low, "ratio_high": high}
    for side, one in best.items():
        run = runs.loc[tuple(one[column] for column in KEY)]
        row |= {
            side: one["variant"],
            f"{side}_class": one["class"],
            f"{side}_version": run.get("parameter_version"),
            f"{side}_answer": run.get("answer"),
            f"{side}_ms": float(sides[side]["time_ms"].median()),
            f"{side}_prepare_ms": float(run.get("prepare_ms", np.nan)),
            f"{side}_cold_ms": float(run.get("cold_ms", np.nan)),
            f"{side}_call_ms": float(run["call_ms"]),
        }
    return row


def _best_of_sides(times: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    ample = enough(times)
    full = times["rival"].isin(ample["rival"].unique())
    candidates = pd.concat([ample, times[~full]])  # a side without enough samples takes part as it is
    medians = common_medians(candidates).sort_values("time_ms", kind="stable")
    return {SIDES[bool(one["rival"])]: one for one in medians.drop_duplicates("rival").to_dict("records")}


def faster_of(
    first: pd.DataFrame, second: pd.DataFrame, times: pd.DataFrame
) -> tuple[samples.Comparison, int | None]:
    """Compare two finishers of a race as two of all the pairs in it; `times` are those of the whole race.

    Returned are the comparison, with the second's time over the first's, and 1 if the first is shown to be
    faster, -1 if the second is, 0 if no difference is shown or the medians over the same sources point in the
    other direction, None if they have too few samples for a verdict.
    """
    runs = [rows for _, rows in enough(times).groupby("variant", sort=False)]
    both = {rows["variant"].iloc[0] for rows in (first, second)}
    others = [pair for pair in combinations(runs, 2) if {rows["variant"].iloc[0] for rows in pair} != both]
    found = samples.compared([(first, second), *others])[0]
    if found.ratio.n < FEWEST:
        return found, None
    shown = np.sign(second["time_ms"].median() - first["time_ms"].median())
    return found, int(found.side) if found.side == shown else 0
