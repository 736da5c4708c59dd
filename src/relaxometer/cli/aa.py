"""A/A test of the comparison: ``relaxometer aa SUITE.yaml``, in the workflow's folder.

A suite for it runs one solver under several names, such as ``near-far`` and ``near-far-again: {solver:
near-far}``. This program compares all runs that differ in nothing but their names. The test of the report
should tell none of them apart; a slowdown that is planted in one of the two should be found. Make the runs
first, with ``relaxometer all-runs SUITE.yaml``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.plan.load import load_plan
from relaxometer.plan.models import Run
from relaxometer.plan.plan import Plan
from relaxometer.results.gather import gather
from relaxometer.results.processes import PROCESS, with_processes
from relaxometer.results.rows import KEY
from relaxometer.results.samples import compared, source_times
from relaxometer.results.statistics import FEWEST

SLOWDOWN = 1.05  # factor that is planted in one of two

Pair = tuple[pd.DataFrame, pd.DataFrame]


def namesakes(plan: Plan) -> list[list[Run]]:
    """Return the groups of runs that differ in nothing but the variant's name."""
    groups: dict[str, list[Run]] = {}
    for run in plan.runs.values():
        groups.setdefault(run.model_dump_json(exclude={"variant"}), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def folders_of(run: Run) -> list[Path]:
    """Return the folders with the results of each round of a run."""
    folder = Path(run.folder())
    rounds = sorted(folder.glob("rounds/*"))
    return [one for one in (folder, *rounds) if (one / "runs.parquet").is_file()]


def read_timings(plan: Plan) -> pd.DataFrame:
    """Return the searches of all runs of a plan that have results; UserError if none has."""
    folders = [folder for run in plan.runs.values() for folder in folders_of(run)]
    if not folders:
        raise UserError("results/runs has no run of this configuration; make them with relaxometer all-runs")
    return gather(folders, "runs.parquet").to_pandas()


def pairs_of(plan: Plan, timings: pd.DataFrame) -> Iterator[list[tuple[str, Pair]]]:
    """Yield for each race the pairs of its namesakes that have `FEWEST` samples, with their names."""
    times = source_times(with_processes(timings))
    runs = dict(iter(times.groupby(KEY, sort=False)))
    races: dict[tuple[str, str], list[tuple[str, Pair]]] = {}
    for group in namesakes(plan):
        for one, other in combinations(group, 2):
            keys = [(run.problem, run.graph, run.variant) for run in (one, other)]
            found = [runs[key] for key in keys if key in runs]
            if len(found) == 2 and min(max(len(one), one["repeats"].iloc[0]) for one in found) >= FEWEST:
                name = f"{one.problem} on {one.graph}: {one.variant} and {other.variant}"
                races.setdefault((one.problem, one.graph), []).append((name, (found[0], found[1])))
    yield from races.values()


def told_apart(races: list[list[tuple[str, Pair]]], *, alone: bool) -> list[str]:
    """Return a line for each pair that the test tells apart.

    Each pair is the only comparison or, unless `alone`, one of all of its race, which are corrected for.
    """
    families = [[one] for race in races for one in race] if alone else races
    return [
        f"{name} ({one.ratio.value - 1:+.1%})"
        for family in families
        for (name, _), one in zip(family, compared([pair for _, pair in family]), strict=True)
        if one.side
    ]


def found_slowdowns(races: list[list[tuple[str, Pair]]], factor: float) -> int:
    """Return the number of pairs in which the second run is found slower when its times are multiplied."""
    pairs = [pair for race in races for _, pair in race]
    slowed = [(one, other.assign(time_ms=factor * other["time_ms"])) for one, other in pairs]
    return sum(compared([pair])[0].side > 0 for pair in slowed)


def spreads(timings: pd.DataFrame) -> list[str]:
    """Return a line for each class: the assumed or measured standard deviation of a run between processes."""
    known = with_processes(timings)
    rounds = known.groupby(KEY)["round"].nunique().rename("rounds")
    runs = known.drop_duplicates(KEY).join(rounds, on=KEY)
    single = (runs[PROCESS[0]] * runs["rounds"]) ** 0.5
    return [
        f"{name}: {len(of_class)} runs, {int((of_class['rounds'] > 1).sum())} of them in several processes, "
        f"which differ by {single[of_class.index].median():.1%} (s.d.)"
        for name, of_class in runs.groupby("class")
    ]


def report(plan: Plan) -> str:
    """Return what the test says about runs that do not differ, and about those with a planted slowdown."""
    timings = read_timings(plan)
    races = list(pairs_of(plan, timings))
    pairs = sum(map(len, races))
    if not pairs:
        raise UserError(f"no two runs differ only in their name and have {FEWEST} samples")
    apart, corrected = told_apart(races, alone=True), told_apart(races, alone=False)
    found = found_slowdowns(races, SLOWDOWN)
    lines = [
        f"{pairs} pairs of runs that differ only in their name",
        *(f"  {line}" for line in spreads(timings)),
        f"told apart: {len(apart)} ({len(apart) / pairs:.1%}); corrected for all of a race: {len(corrected)}",
        *(f"  {line}" for line in apart),
        f"slowed down by {SLOWDOWN - 1:.1%}: found in {found} of {pairs} ({found / pairs:.1%})",
    ]
    return "\n".join(lines)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("configfiles", nargs="+", type=Path, help="overlays of config/config.yaml")


def main(given: argparse.Namespace) -> None:
    print(report(load_plan(given.configfiles)))
