"""Verdicts on claims of suites that were published without their searches.

Their ``claims.csv`` has measured values, and their tables have medians with 95% intervals. From these follows
an interval of most values, and a verdict by the rule of :mod:`relaxometer.results.claims`. docs/statistics.md
says what is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.core.files import read_published, write_csv
from relaxometer.results.claims import (
    COLUMNS,
    UNDECIDED,
    Claim,
    Measured,
    load_claims,
    number_text,
    verdict,
)
from relaxometer.results.processes import ASSUMED
from relaxometer.results.published import SAMPLES
from relaxometer.results.quantities import range_of_best
from relaxometer.results.statistics import CONFIDENCE, FEWEST, Estimate, Part

NOT_KEPT = f"{UNDECIDED}: samples were not kept"

NOT_MEASURED = "not measured: "

EXACT = (
    *("graph_property", "mean_phases", "peak_updated"),
    *("share_of_phases", "share_below_peak", "threshold_band"),
)
"""Quantities without an interval. A band of thresholds came from tests that told more apart than today's."""


class NotKept(Exception):  # noqa: N818 - an outcome, not an error
    """The published tables do not say how uncertain a value is."""


def estimate(median: float, low: float, high: float, of: int, n: int) -> Estimate:
    """Return a median as published for a run of one process.

    Parameters
    ----------
    median, low, high : float
        The median and its 95% interval over sources.
    of : int
        Sources of the median.
    n : int
        Sources of the value that it serves, which may be fewer.

    Raises
    ------
    NotKept
        If there is no interval, or one without width.
    """
    from scipy.stats import norm

    if not low < high:
        raise NotKept
    error = np.log(high / low) / 2 / norm.isf((1 - CONFIDENCE) / 2)
    part = Part(float(error**2) * max(of / n, 1.0), max(n - 1.0, 1.0))
    return Estimate(float(np.log(median)), (part, ASSUMED), n)


@dataclass(frozen=True)
class Published:
    """The tables of a suite in ``docs/results``."""

    folder: Path

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The medians of ``summary.csv`` that rest on a finished run."""
        return read_published(self.folder / "summary.csv").dropna(subset="median_ms")

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """The runs of ``distributed.csv``."""
        return read_published(self.folder / "distributed.csv")

    def run(self, graph: str, variant: str) -> pd.Series:
        """Return the line of a run."""
        rows = self.summary[(self.summary["graph"] == graph) & (self.summary["variant"] == variant)]
        if len(rows) != 1:
            raise NotKept
        return rows.iloc[0]

    def sources(self, graph: str, *variants: str) -> list[int]:
        """Return the numbers of sources of some runs."""
        return [int(self.run(graph, variant)["sources"]) for variant in variants]


def time_of(line: pd.Series, n: int | None = None) -> Estimate:
    """Return the time of a line of a summary, as :func:`estimate`."""
    of = int(line["sources"])
    return estimate(line["median_ms"], line["ci95_low_ms"], line["ci95_high_ms"], of, n or of)


def _around(value: float, spread: Estimate) -> Measured:
    """Return a value with the relative interval of `spread`."""
    return Measured(value, interval=Estimate(float(np.log(value)), spread.parts, spread.n).interval())


def _of_one_run(claim: Claim, value: float, tables: Published) -> Measured:
    return _around(value, time_of(tables.run(claim.graph, claim.of)))


def _of_two_runs(claim: Claim, value: float, tables: Published) -> Measured:
    """Add the variances of both runs, as if independent; a missing value is the quotient of medians."""
    n = min(tables.sources(claim.graph, claim.of, claim.over))
    ours, theirs = (time_of(tables.run(claim.graph, name), n) for name in (claim.of, claim.over))
    quotient = theirs.over(ours)
    return _around(float(number_text(quotient.value)) if np.isnan(value) else value, quotient)


def _best_threshold(claim: Claim, value: float, tables: Published) -> Measured:
    prefix = f"{claim.of}-threshold-"
    lines = tables.summary[tables.summary["graph"] == claim.graph]
    lines = lines[lines["variant"].str.startswith(prefix)]
    times = {float(name.removeprefix(prefix)): name for name in lines["variant"]}
    found = {point: time_of(tables.run(claim.graph, name)) for point, name in times.items()}
    return _best(value, found)


def _best_rate_vertices(claim: Claim, value: float, tables: Published) -> Measured:
    """Compare times per arc, with the arcs and vertices of the suite's table of graphs."""
    graphs = read_published(tables.folder / f"tables/{claim.source}/graphs.csv").set_index("Graph")
    found = {}
    for graph, one in graphs.iterrows():
        time = time_of(tables.run(str(graph), claim.of))
        found[float(one["Vertices"])] = Estimate(
            time.log - float(np.log(one["Arcs here"])), time.parts, time.n
        )
    return _best(value, found)


def _best(best: float, times: Mapping[float, Estimate]) -> Measured:
    reference = times.get(best)
    if reference is None:
        raise NotKept
    others = {point: time.over(reference) for point, time in times.items() if point != best}
    return Measured(best, interval=range_of_best(best, others))


def _ranks_speedup(claim: Claim, value: float, tables: Published) -> Measured:
    """Take the widest interval of all numbers of ranks, since the value does not say of which it is."""
    lines = tables.ranks.set_index(["series", "ranks"])
    ours, theirs = lines.loc[claim.of], lines.loc[claim.over]
    shared = [ranks for ranks in ours.index if ranks in theirs.index]
    measured = []
    for ranks in shared:
        n = int(min(ours["sources"][ranks], theirs["sources"][ranks]))
        rates = [_rate_of(side.loc[ranks], n) for side in (ours, theirs)]
        spread = rates[0].over(rates[1])
        each = 1 - (1 - CONFIDENCE) / len(shared)
        interval = Estimate(float(np.log(value)), spread.parts, n).interval(each)
        measured.append(Measured(value, interval=interval))
    return max(measured, key=lambda one: one.ends[1] / one.ends[0])


def _rate_of(line: pd.Series, n: int) -> Estimate:
    return estimate(line["median_gteps"], line["gteps_low"], line["gteps_high"], int(line["sources"]), n)


def _computing_over_ranks(claim: Claim, value: float, tables: Published) -> Measured:
    """Return a value without an interval if a series has too few keys for one; no table has it."""
    series = tables.ranks[tables.ranks["series"].isin([claim.of, claim.over])]
    if series["sources"].min() >= FEWEST:
        raise NotKept
    return Measured(value, interval=(float("nan"), float("nan")))


BY_TABLES: dict[str, Callable[[Claim, float, Published], Measured]] = {
    **dict.fromkeys(("mean_time", "mean_rate"), _of_one_run),
    **dict.fromkeys(("speedup", "speedup_over_cpu"), _of_two_runs),
    "best_threshold": _best_threshold,
    "best_rate_vertices": _best_rate_vertices,
    "ranks_speedup": _ranks_speedup,
    "ranks_computing_ratio": _computing_over_ranks,
}
"""How the interval of a quantity follows from published tables. Of all others the samples would be needed."""


def judged(claim: Claim, value: float, tables: Published) -> tuple[Measured | None, str]:
    """Return a published value with its interval, if one follows, and the verdict.

    Parameters
    ----------
    claim : Claim
    value : float
        As published; NaN if only its verdict was.
    tables : Published
    """
    if claim.quantity in EXACT:
        measured = Measured(value)
        return measured, verdict(claim, measured)
    try:
        if claim.quantity not in BY_TABLES:
            raise NotKept
        measured = BY_TABLES[claim.quantity](claim, value, tables)
    except NotKept:
        return None, NOT_KEPT
    return measured, verdict(claim, measured)


def rejudged(lines: pd.DataFrame, claims: Iterable[Claim], tables: Published) -> pd.DataFrame:
    """Judge published claims anew; what was not measured stays as it is.

    Parameters
    ----------
    lines : DataFrame of str
        The suite's ``claims.csv``.
    claims : iterable of Claim
        All claims of its papers.
    tables : Published

    Returns
    -------
    DataFrame of str
        Columns :data:`relaxometer.results.claims.COLUMNS`.
    """
    by_id = {claim.id: claim for claim in claims}
    rows: list[dict[str, Any]] = []
    for line in lines.to_dict("records"):
        row = dict.fromkeys(COLUMNS, "") | {str(column): value for column, value in line.items()}
        if not row["verdict"].startswith(NOT_MEASURED):
            claim = by_id[row["id"]]
            if row["graph"] not in ("", claim.graph):
                # The value of another graph says nothing of this one.
                row |= {"graph": claim.graph, "measured": ""}
            row |= _columns(claim, float(row["measured"] or "nan"), tables)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _columns(claim: Claim, value: float, tables: Published) -> dict[str, str]:
    measured, found = judged(claim, value, tables)
    if measured is None:
        return {"low": "", "high": "", "verdict": found}
    numbers = dict(zip(("low", "high"), measured.ends, strict=True))
    if np.isnan(value):
        numbers["measured"] = measured.value
        numbers["ratio"] = measured.value / claim.claimed if claim.claimed else float("nan")
    return {**{column: number_text(number) for column, number in numbers.items()}, "verdict": found}


def rejudge(folder: Path, claims: Path) -> bool:
    """Judge the claims of a suite anew, unless its searches are there; return whether it changed them.

    Parameters
    ----------
    folder : Path
        ``docs/results/SUITE``.
    claims : Path
        The folder of the claims of all papers.
    """
    file = folder / "claims.csv"
    if not file.is_file() or (folder / SAMPLES).is_file():
        return False
    lines = read_published(file, dtype=str, keep_default_na=False)
    known = [one for paper in lines["source"].unique() for one in load_claims(claims / f"{paper}.yaml")]
    found = rejudged(lines, known, Published(folder))
    if found.astype(str).equals(lines):
        return False
    write_csv(found, file)
    return True
