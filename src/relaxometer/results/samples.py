"""Selections and medians of the gathered samples, for figures and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.problems.problem import load_problem
from relaxometer.results.processes import PROCESS, part_of, with_processes
from relaxometer.results.rows import FAILURES, KEY, PROVEN
from relaxometer.results.statistics import FEWEST, SIGNIFICANCE, Estimate, Part, holm, log_median

IDENTITY = [*KEY, "kernel", "device_kind", "device", "class", "rival"]
"""Columns that identify a run in every gathered table."""

EMULATED = "host"
"""Device kind of the emulated GPU; its times say nothing about a real one."""

CLASSES = {"cuda": "gpu", EMULATED: "emulated", "cpu": "cpu"}
"""Class of each device kind, for summaries that were made before they had the column."""

PHASE_SYNCHRONOUS = ("conventional", "selection", "adaptive")
"""Kernels of Suzuki et al. In a given phase they all update the same vertices."""


def failed_variants(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the keys of the variants with a wrong answer or an error, one row each."""
    return timings.loc[timings["status"].isin(FAILURES), KEY].drop_duplicates()


def proven(rows: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the `rows` whose variant never failed on that graph; `timings` holds all searches."""
    failed = pd.MultiIndex.from_frame(failed_variants(timings))
    return rows[~pd.MultiIndex.from_frame(rows[KEY]).isin(failed)]


def proven_phases(phases: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the :func:`proven` phases of the phase-synchronous variants."""
    return proven(phases[phases["kernel"].isin(PHASE_SYNCHRONOUS)], timings)


def with_class(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a summary with the columns ``class`` and ``rival``, which old ones lack.

    The class of a line that was never run is an empty string.
    """
    missing = pd.Series(np.nan, index=lines.index, dtype=object)
    known = lines.get("class", missing).astype(object).fillna(lines["device_kind"].map(CLASSES))
    rival = lines.get("rival", missing).eq(True)
    return lines.assign(**{"class": known.fillna(""), "rival": rival})


def is_emulated(rows: pd.DataFrame) -> pd.Series:
    """Return whether each row's time is of the emulated device; a rival on a GPU never is."""
    return rows["class"] == CLASSES[EMULATED]


def on_one_clock(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in real time or, if there are none, those of the emulated device."""
    emulated = rows["device_kind"] == EMULATED
    return rows if emulated.all() else rows[~emulated]


REPEATED = ["repeats", "repeats_variance"]
"""Where all searches of a run are the same: the number of repetitions, and the variance of their median."""


def source_times(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the median time over repetitions, then over rounds, one row per run and source.

    Unfinished and unproven searches and failed variants are left out; of a rival whose clock is disputed,
    times are ours. The columns :data:`relaxometer.results.processes.PROCESS` and `REPEATED` serve
    :func:`run_estimate` and :func:`ratio_estimate`; `REPEATED` is 0 where searches have sources.
    """
    timings = with_processes(timings)
    finished = proven(timings, timings)
    finished = finished[finished["status"].isin(PROVEN)]
    # Rounds may have run on nodes with other devices; a run is one sample for all that.
    devices = finished.groupby(KEY, sort=False)["device"]
    if (devices.nunique() > 1).any():
        both = devices.agg(lambda names: " and ".join(dict.fromkeys(names)))
        finished = finished.drop(columns="device").join(both, on=KEY)
    run = [*IDENTITY, *PROCESS]
    rounds = finished.groupby([*run, "source", "round"], sort=False)["time_ms"].median()
    times = rounds.groupby(level=[*run, "source"], sort=False).median().reset_index()
    found = [
        (*rows[KEY].iloc[0], len(rows), log_median(np.log(rows["time_ms"]))[1].variance)
        for _, rows in finished.groupby(KEY, sort=False)
        if _is_one_search(rows)
    ]
    repeated = pd.DataFrame(found, columns=[*KEY, *REPEATED]).astype(dict.fromkeys(REPEATED, float))
    return times.merge(repeated, on=KEY, how="left").fillna(dict.fromkeys(REPEATED, 0.0))


def _is_one_search(rows: pd.DataFrame) -> bool:
    """Return whether a run has one search only, and cannot have more.

    So it is with a batch, and with a flow graph that is solved from its entry. A run of shortest paths from
    one source only is a sample of one, and so is one of a problem that is not known here, since its folder
    was not added.
    """
    if rows["source"].nunique() > 1:
        return False
    try:
        problem = load_problem(rows["problem"].iloc[0])
    except UserError:
        return False
    return problem.takes_batches or not problem.has_source


def paired(candidate: pd.DataFrame, baseline: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return the :func:`source_times` of two variants on a graph over their common sources, in one order."""
    columns = ["source", "time_ms"]
    both = candidate[columns].merge(baseline[columns], on="source", suffixes=("_candidate", "_baseline"))
    return both["time_ms_candidate"], both["time_ms_baseline"]


@dataclass(frozen=True)
class Sample:
    """The logarithms of a run's times, one per source in ascending order, for comparisons.

    `process` is what processes have in the variance. `repeats` is the number of repetitions if they are the
    sample, else 0, and `repeated` the variance of the median over them.
    """

    sources: npt.NDArray[np.int64]
    logs: npt.NDArray[np.float64]
    process: Part
    repeats: int
    repeated: Part

    @property
    def median(self) -> Estimate:
        """The median over sources or, where all searches are the same, over repetitions."""
        if self.repeats:
            return Estimate(float(np.median(self.logs)), (self.repeated, self.process), self.repeats)
        log, part = log_median(self.logs)
        return Estimate(log, (part, self.process), len(self.logs))

    def over(self, other: Sample) -> Estimate:
        """Return the quotient of this run's time and another's; see :func:`ratio_estimate`."""
        shared = np.intersect1d(self.sources, other.sources, assume_unique=True, return_indices=True)
        if not len(shared[0]):
            return Estimate(float("nan"), (), 0)
        if self.repeats and other.repeats:
            return self.median.over(other.median)
        log, part = log_median(self.logs[shared[1]] - other.logs[shared[2]])
        return Estimate(log, (part, self.process, other.process), len(shared[0]))


def sample_of(rows: pd.DataFrame, column: str = "time_ms") -> Sample:
    """Return the sample of a run from its rows of :func:`source_times`, or of another positive `column`."""
    repeats, variance = rows[REPEATED].iloc[0]
    order = np.argsort(rows["source"].to_numpy())
    return Sample(
        rows["source"].to_numpy(dtype=np.int64)[order],
        np.log(rows[column].to_numpy(dtype=np.float64))[order],
        part_of(rows),
        int(repeats),
        Part(float(variance), max(repeats - 1.0, 1.0)),
    )


def run_estimate(rows: pd.DataFrame, column: str = "time_ms") -> Estimate:
    """Return the median of a run; see :func:`sample_of` and :attr:`Sample.median`."""
    return sample_of(rows, column).median


def ratio_estimate(candidate: pd.DataFrame, baseline: pd.DataFrame) -> Estimate:
    """Return the time of the baseline over that of the candidate: above 1, the candidate is faster.

    The median over common sources of the quotients of the two times from one source; where all searches are
    the same, the quotient of the medians over repetitions. Both are as in :func:`paired`.
    """
    return sample_of(baseline).over(sample_of(candidate))


@dataclass(frozen=True)
class Comparison:
    """One run compared with another of the same race by :func:`ratio_estimate`.

    `p_value` is corrected for the number of comparisons that were made together.
    """

    ratio: Estimate
    p_value: float

    @property
    def side(self) -> int:
        """1 if the candidate is shown to be faster, -1 if it is shown to be slower, 0 if neither is shown."""
        return int(np.sign(self.ratio.log)) if self.p_value < SIGNIFICANCE else 0


def compared(pairs: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> list[Comparison]:
    """Compare pairs of runs of one race, candidate first, corrected for their number; see :func:`paired`."""
    samples = {id(rows): sample_of(rows) for pair in pairs for rows in pair}
    ratios = [samples[id(baseline)].over(samples[id(candidate)]) for candidate, baseline in pairs]
    return [Comparison(*one) for one in zip(ratios, holm([one.p_value() for one in ratios]), strict=True)]


def in_words_compared(pairs: Sequence[tuple[str, pd.DataFrame, str, pd.DataFrame]]) -> list[str]:
    """Return a clause on each pair of runs, given with their names; see :func:`compared`."""
    found = compared([(candidate, baseline) for _, candidate, _, baseline in pairs])
    return [_in_words(name, one, other) for (name, _, other, _), one in zip(pairs, found, strict=True)]


def best_in_words(points: Mapping[float, pd.DataFrame]) -> str:
    """Say at which value of a parameter the median is lowest, and from which others no difference is shown.

    By value, `points` has rows of :func:`source_times` over the same sources. All pairs count as comparisons.
    """
    best = min(points, key=lambda value: points[value]["time_ms"].median())
    others = [value for value in points if value != best]
    pairs = [(best, value) for value in others] + list(combinations(others, 2))
    found = compared([(points[one], points[other]) for one, other in pairs])[: len(others)]
    said = f"lowest median at {best:,g}"
    if any(one.ratio.n < FEWEST for one in found):
        return f"{said}, not compared below {FEWEST} common sources"
    alike = [f"{value:,g}" for value, one in zip(others, found, strict=True) if one.side <= 0]
    if alike:
        return f"{said}, no difference shown from {', '.join(alike)}"
    return f"{said}, shown to be faster than at all other values" if others else said


def _in_words(name: str, found: Comparison, other: str) -> str:
    if found.ratio.n < FEWEST:
        return f"{name} and {other}: not compared below {FEWEST} common sources"
    if found.side == 0:
        return f"{name} and {other}: no difference shown"
    if found.side > 0:
        return f"{name} is {_factor(found.ratio.value)} times as fast as {other}"
    return f"{name} takes {_factor(1 / found.ratio.value)} times as long as {other}"


def _factor(value: float) -> str:
    """Format a factor above 1 with three digits or more."""
    return f"{value:,.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def updated_counts(phases: pd.DataFrame) -> pd.DataFrame:
    """Return the updated vertices of every phase and source of one graph, by the variant with most sources.

    In :func:`proven_phases`, the counts are the same for every variant.
    """
    sources = phases.groupby("variant", sort=False)["source"].nunique()
    widest = phases[phases["variant"] == sources.idxmax()] if len(phases) else phases
    return widest[["source", "phase", "updated"]]


def share_at_or_under(values: npt.ArrayLike, limits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the share of `values` at or below each of `limits`."""
    ordered = np.sort(np.asarray(values))
    return np.searchsorted(ordered, np.asarray(limits), side="right") / max(len(ordered), 1)


def gaining_band(sweep: pd.DataFrame, conventional: pd.DataFrame) -> tuple[float, float] | None:
    """Return the band of thresholds, in microseconds, in which the sweep beats the conventional variant.

    It is the longest run of neighbouring thresholds that are each shown to be faster; None if none is. The
    sweep has rows of :func:`source_times` with the column ``to_all_us``.
    """
    bands: list[list[float]] = [[]]
    points = dict(iter(sweep.groupby("to_all_us")))
    found = compared([(rows, conventional) for rows in points.values()])
    for threshold, one in zip(points, found, strict=True):
        if one.side > 0:
            bands[-1].append(float(threshold))  # type: ignore[arg-type]
        elif bands[-1]:
            bands.append([])
    longest = max(bands, key=len)
    return (longest[0], longest[-1]) if longest else None


def median_extract_min(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the median time of an ExtractMin over trials of :data:`relaxometer.studies.extract_min.TABLE`.

    The columns are ``method`` (``reduction-256`` for 256 threads), ``values``, ``device_kind``, ``device``
    and ``time_us``.
    """
    named = extract_min_method(trials)
    keys = ["method", "values", "device_kind", "device"]
    medians = named.groupby(keys, sort=False)["time_ms"].median().reset_index()
    return medians.assign(time_us=medians.pop("time_ms") * 1e3)


def extract_min_method(trials: pd.DataFrame) -> pd.DataFrame:
    """Return trials of an ExtractMin with the threads of a reduction in the name of its ``method``."""
    threads = trials["threads"].astype("Int64").astype("string")
    return trials.assign(method=trials["method"].where(threads.isna(), trials["method"] + "-" + threads))


def in_words(rows: pd.DataFrame, column: str) -> str:
    """Return the distinct values of a column, for a sentence."""
    return " and ".join(map(str, rows[column].unique()))
