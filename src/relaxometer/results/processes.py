"""The spread between processes: how much the times of a run differ from one process to the next.

Each round of a run is a separate process. What differs between processes (where the graph lies in memory,
clocks, temperature, other load) shifts all times of a round together, so no number of sources shows it.
docs/statistics.md describes the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.statistics import Part

PROCESS = ["process_variance", "process_df"]
"""Columns with the :class:`Part` of each run: the variance of its level over all of its rounds."""

ASSUMED_SD = 0.03
"""Standard deviation between processes, as a share of the time, where too few runs were made in two."""

ASSUMED_MS = 0.01
"""Standard deviation between processes of a search on a GPU, in addition, for runs of one process, fitted to
the suite ``auto`` (docs/statistics.md)."""

ASSUMED = Part(ASSUMED_SD**2, float("inf"))
"""The part of a run of one process where nothing is known of the spread."""

LEAST_SD = 0.001
"""No smaller standard deviation is believed, whatever the rounds say."""

FEWEST_RUNS = 12
"""Fewest runs of two rounds from which the spread of a class is estimated."""

PRIOR_DF = 8.0
"""Largest weight of a program's other runs and its class against a run's own rounds.

With larger ones, namesakes that spread much are told apart too often (tests/results/test_processes.py).
"""

CLASS_DF = 2.0
"""Weight of a class against the runs of a program: the programs of a class differ a hundredfold."""

CLIPPED = 3.0
"""A spread counts at most as this many typical ones, so that one disturbed run does not widen all."""

MEDIAN_OF_CHI2 = 0.4549
"""Median of the chi-squared distribution with one degree of freedom."""


def with_processes(timings: pd.DataFrame) -> pd.DataFrame:
    """Return gathered searches with the columns `PROCESS`.

    A table that has the columns keeps them. So call this on the searches of a whole run of the workflow, and
    select afterwards: the spread of a class is estimated over all runs in the table.
    """
    if set(PROCESS) <= set(timings.columns):
        return timings
    parts = _parts(timings)
    found = pd.DataFrame(parts.tolist(), index=parts.index, columns=PROCESS, dtype=float)
    return timings.join(found, on=KEY)


def part_of(rows: pd.DataFrame) -> Part:
    """Return the process part of the run that the rows belong to."""
    variance, df = rows[PROCESS].iloc[0]
    return Part(float(variance), float(df))


def levels(timings: pd.DataFrame) -> pd.Series:
    """Return the logarithm by which each round of a run lies above the run's mean, of runs with two or more.

    The index is problem, graph, variant and round. Only searches with proven answers count, from sources that
    all rounds of the run share.
    """
    proven = timings[timings["status"].isin(PROVEN) & (timings["time_ms"] > 0)]
    times = proven.groupby([*KEY, "source", "round"], sort=False)["time_ms"].median()
    table = np.log(times).unstack("round").dropna(axis="columns", how="all")
    if table.empty:
        return times.droplevel("source")
    rounds = table.notna().groupby(level=KEY, sort=False).transform("any").sum(axis=1)
    table = table[(table.notna().sum(axis=1) == rounds) & (rounds > 1)]
    centred = table.sub(table.mean(axis=1), axis=0)
    return centred.groupby(level=KEY, sort=False).median().stack().dropna()


def typical_variance(variances: npt.ArrayLike) -> float:
    """Return the mean of the runs' variances, no deviation counted beyond `CLIPPED` typical ones."""
    values = np.asarray(variances, dtype=np.float64)
    typical = float(np.median(values)) / MEDIAN_OF_CHI2
    return max(float(np.minimum(values, CLIPPED**2 * typical).mean()), LEAST_SD**2)


def process_part(own: float, rounds: int, of_class: npt.ArrayLike, of_program: Sequence[Part] = ()) -> Part:
    """Return the part of the variance that processes have in the mean level of a run.

    `own` is the variance of the level between the run's own rounds, any number if it has one; `of_class` has
    the same of all runs of the class that have two rounds or more, and `of_program` that of the program's
    other runs in the class, with their degrees of freedom.

    References
    ----------
    Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
    experiments", Statistical Applications in Genetics and Molecular Biology 3, 2004.
    """
    if np.size(of_class) < FEWEST_RUNS:
        return _of_few_runs(own, rounds, of_class)
    prior_df = CLASS_DF + sum(part.df for part in of_program)
    of_others = sum(part.variance * part.df for part in of_program)
    prior = (CLASS_DF * typical_variance(of_class) + of_others) / prior_df
    prior_df = PRIOR_DF * prior_df / (PRIOR_DF + prior_df)
    if rounds < 2:
        return Part(max(prior, LEAST_SD**2), prior_df)
    df = prior_df + rounds - 1
    moderated = (prior_df * prior + (rounds - 1) * own) / df
    return Part(max(moderated, LEAST_SD**2) / rounds, df)


def _of_few_runs(own: float, rounds: int, of_class: npt.ArrayLike) -> Part:
    """Return the part where the class has too few runs to tell: at least `ASSUMED_SD` is assumed."""
    pooled = max(ASSUMED_SD**2, typical_variance(of_class)) if np.size(of_class) else ASSUMED_SD**2
    if rounds < 2:
        return Part(pooled, float("inf"))
    moderated = (PRIOR_DF * pooled + (rounds - 1) * own) / (PRIOR_DF + rounds - 1)
    return Part(max(pooled, moderated) / rounds, float("inf"))


def _parts(timings: pd.DataFrame) -> pd.Series:
    levels_of = levels(timings).groupby(level=KEY, sort=False)
    known: dict[Any, Part] = {one: Part(float(of.var(ddof=1)), len(of) - 1.0) for one, of in levels_of}
    runs = timings.drop_duplicates(KEY)
    keys = pd.MultiIndex.from_frame(runs[KEY])
    names = runs[["class", "problem", "kernel"]].itertuples(index=False, name=None)
    program_of = dict(zip(keys, names, strict=True))
    programs: dict[tuple[str, str, str], dict[Any, Part]] = {one: {} for one in program_of.values()}
    of_class: dict[str, list[float]] = {one[0]: [] for one in programs}
    for run, part in known.items():
        programs[program_of[run]][run] = part
        of_class[program_of[run][0]].append(part.variance)
    medians = timings.groupby(KEY, sort=False)["time_ms"].median()
    found = []
    for run, program in program_of.items():
        own = known.get(run, Part(0.0, 0.0))
        others = [part for other, part in programs[program].items() if other != run]
        part = process_part(own.variance, int(own.df) + 1, of_class[program[0]], others)
        if run not in known and program[0] == "gpu" and not of_class["gpu"] and medians[run] > 0:
            part = Part(part.variance + (ASSUMED_MS / medians[run]) ** 2, part.df)
        found.append(part)
    return pd.Series(found, index=keys, dtype=object)
