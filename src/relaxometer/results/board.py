"""Merges the bundles of several machines into one ranked table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.results.calls import CALLS
from relaxometer.results.gather import summarise
from relaxometer.results.processes import with_processes
from relaxometer.results.query_sets import by_set
from relaxometer.results.races import RACE, enough, finishers, ranking
from relaxometer.results.recorded import Recorded, paired
from relaxometer.results.rows import PROVEN
from relaxometer.results.samples import CLASSES, EMULATED
from relaxometer.results.statistics import FEWEST

BOARD = [
    *("problem", "graph", "class", "device", "race", "rank", "variant", "rival", "version", "bundle"),
    *("commit", "date", "median_ms", "low_ms", "high_ms", "prepare_ms", "cold_ms", *CALLS, "energy_j"),
    *("peak_bytes", "sources", "status", "reason"),
]

INTERVAL = {"ci95_low_ms": "low_ms", "ci95_high_ms": "high_ms"}
"""Columns of a summary that have another name here."""

TIMES = ["median_ms", "low_ms", "high_ms", "prepare_ms", "cold_ms", *CALLS]
"""Columns that emulated runs do not have."""

MARK = "\n"
"""Separates names that are joined for a race; no name has it."""


def board(runs: Sequence[Recorded]) -> pd.DataFrame:
    """Return one row per run of every bundle, ranked within each problem, graph and class of machine.

    A class of machine is what a program runs on (GPU, one core, all cores) and the device's name. Bundles of
    a class that share sources are ranked together. Where some share none, ``race`` numbers the groups; it is
    missing where there is one race only. Emulated runs and those without a proven answer have no rank. A run
    of query sets has a row per name of them (:func:`relaxometer.results.query_sets.by_set`).

    UserError without `runs`, or if two have one name or hold one run, or a graph of one name has different
    content.
    """
    if not runs:
        raise UserError('no bundle to read; name some: make board BUNDLES="a.zip b.zip"')
    _check(runs)
    tables, summaries = [], []
    for one in paired(runs):
        timings = by_set(with_processes(one.timings))
        races = timings["graph"] + MARK + timings["class"] + MARK + timings["device"]
        tables.append(timings.assign(graph=races, variant=timings["variant"] + MARK + one.name))
        lines = summarise(timings).rename(columns=INTERVAL)
        summaries.append(lines.assign(bundle=one.name, commit=one.commit, date=one.date[:10]))
    found = pd.concat(summaries, ignore_index=True).reindex(columns=BOARD)
    found.loc[found["class"] == CLASSES[EMULATED], TIMES] = np.nan
    timings = pd.concat([table.dropna(axis="columns", how="all") for table in tables], ignore_index=True)
    numbers = _races(timings)
    ranks = _ranks(timings, numbers)
    found["race"] = _race_numbers(found, numbers)
    key = ["problem", "graph", "class", "device", "variant", "bundle"]
    keys = found[key].itertuples(index=False, name=None)
    # With a rank stands the median over the sources that the ranked share.
    shown = [ranks.get(key, {}) for key in keys]
    found["rank"] = pd.array([one.get("rank") for one in shown], dtype="Int64")
    for column in ("median_ms", "low_ms", "high_ms", "sources"):
        found[column] = [one.get(column, old) for one, old in zip(shown, found[column], strict=True)]
    found["order"] = found["median_ms"].where(found["status"].isin(PROVEN), np.inf).fillna(np.inf)
    order = ["problem", "graph", "class", "device", "race", "order", "variant", "bundle"]
    return found.sort_values(order, kind="stable").drop(columns="order").reset_index(drop=True)


def _check(runs: Sequence[Recorded]) -> None:
    names = [one.name for one in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two bundles have the name {twice[0]!r}; rename one")
    contents: dict[str, tuple[str, str]] = {}
    for one in runs:
        for graph, sha256 in one.graphs.items():
            other, known = contents.setdefault(graph, (one.name, sha256))
            if known != sha256:
                raise UserError(
                    f"graph {graph} is not the same in {other} and {one.name}; put them on two boards"
                )
    for first, second in itertools.combinations(runs, 2):
        if first.timings.equals(second.timings):
            raise UserError(f"{first.name} and {second.name} hold the same run; leave one out")


Races = dict[tuple[str, str, str], int]
"""The number of the race of each bundle, from 1, by problem, graph with class and device, and bundle."""


def _races(timings: pd.DataFrame) -> Races:
    times = enough(finishers(timings))
    bundles = times["variant"].str.split(MARK).str[-1]
    found: Races = {}
    for (problem, graph), of_race in times.groupby(RACE, sort=False):
        shared: list[set[int]] = []
        for name, rows in of_race.groupby(bundles, sort=False):
            sources = set.intersection(*map(set, rows.groupby("variant")["source"].agg(list)))
            found[str(problem), str(graph), str(name)] = _joined(shared, sources) + 1
    return found


def _joined(shared: list[set[int]], sources: set[int]) -> int:
    """Return the place of the race that a bundle with these sources joins, and update the shared sources."""
    for place, known in enumerate(shared):
        # A run of repetitions has one source.
        if len(both := known & sources) >= FEWEST or (both and known == sources):
            shared[place] = both
            return place
    shared.append(sources)
    return len(shared) - 1


def _race_numbers(found: pd.DataFrame, races: Races) -> Any:
    graphs = found["graph"] + MARK + found["class"] + MARK + found["device"]
    numbers = [races.get(key) for key in zip(found["problem"], graphs, found["bundle"], strict=True)]
    of_race = pd.Series(pd.array(numbers, dtype="Int64"), index=found.index)
    several = of_race.groupby([found["problem"], graphs]).transform("max") > 1
    return of_race.where(several.fillna(False))


def _ranks(timings: pd.DataFrame, races: Races) -> dict[tuple[str, ...], dict[str, Any]]:
    bundles = timings["variant"].str.split(MARK).str[-1]
    numbers = [
        str(races.get(key, "")) for key in zip(timings["problem"], timings["graph"], bundles, strict=True)
    ]
    found = ranking(timings.assign(graph=timings["graph"] + MARK + numbers))
    ranks: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in found.to_dict("records"):
        graph, kind, device, _ = str(row["graph"]).split(MARK)
        variant, name = str(row["variant"]).split(MARK)
        ranks[str(row["problem"]), graph, kind, device, variant, name] = {
            str(key): value for key, value in row.items()
        }
    return ranks
