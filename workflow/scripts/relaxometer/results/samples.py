"""Selections and medians of the gathered samples, for figures and claims."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.results.gather import FAILURES, KEY, PROVEN
from relaxometer.results.statistics import is_faster

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


def source_times(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the median time over repetitions, one row per run and source.

    Unfinished and unproven searches and failed variants are left out; of a rival whose clock is disputed,
    times are ours.
    """
    finished = proven(timings, timings)
    finished = finished[finished["status"].isin(PROVEN)]
    return finished.groupby([*IDENTITY, "source"], sort=False)["time_ms"].median().reset_index()


def paired(candidate: pd.DataFrame, baseline: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return the times of two variants over their common sources, in the same order.

    Parameters
    ----------
    candidate, baseline : DataFrame
        Rows of :func:`source_times`, each of one variant on one graph.
    """
    columns = ["source", "time_ms"]
    both = candidate[columns].merge(baseline[columns], on="source", suffixes=("_candidate", "_baseline"))
    return both["time_ms_candidate"], both["time_ms_baseline"]


def compare(candidate: pd.DataFrame, baseline: pd.DataFrame) -> str:
    """Compare two variants by a paired test, in words to put between their names; see :func:`paired`."""
    ours, theirs = paired(candidate, baseline)
    if is_faster(ours, theirs)[0]:
        return f"is {theirs.mean() / ours.mean():.2f} times as fast as"
    if is_faster(theirs, ours)[0]:
        return f"takes {ours.mean() / theirs.mean():.2f} times as long as"
    return "is not shown to differ from"


def updated_counts(phases: pd.DataFrame) -> pd.DataFrame:
    """Return the updated vertices of every phase and source of one graph, by its first variant.

    Parameters
    ----------
    phases : DataFrame
        Rows of :func:`proven_phases`; the counts are the same for every variant.
    """
    first = phases[phases["variant"] == phases["variant"].iloc[0]] if len(phases) else phases
    return first[["source", "phase", "updated"]]


def share_at_or_under(values: npt.ArrayLike, limits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the share of `values` at or below each of `limits`."""
    ordered = np.sort(np.asarray(values))
    return np.searchsorted(ordered, np.asarray(limits), side="right") / max(len(ordered), 1)


def gaining_band(sweep: pd.DataFrame, conventional: pd.DataFrame) -> tuple[float, float] | None:
    """Return the band of thresholds in which the sweep beats the conventional variant.

    Parameters
    ----------
    sweep : DataFrame
        Rows of :func:`source_times` with the column ``to_all_us``.
    conventional : DataFrame
        The same of the conventional variant.

    Returns
    -------
    tuple of (low, high) in microseconds, or None
        The longest run of neighbouring thresholds that are each proven faster; None if none is.
    """
    bands: list[list[float]] = [[]]
    for threshold, rows in sweep.groupby("to_all_us"):
        if is_faster(*paired(rows, conventional))[0]:
            bands[-1].append(float(threshold))  # type: ignore[arg-type]
        elif bands[-1]:
            bands.append([])
    longest = max(bands, key=len)
    return (longest[0], longest[-1]) if longest else None


def median_extract_min(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the median time of an ExtractMin over trials.

    Parameters
    ----------
    trials : DataFrame
        As :data:`relaxometer.measure.extract_min.TABLE`.

    Returns
    -------
    DataFrame
        Columns ``method`` (``reduction-256`` for 256 threads), ``values``, ``device_kind``, ``device`` and
        ``time_us``.
    """
    threads = trials["threads"].astype("Int64").astype("string")
    named = trials.assign(method=trials["method"].where(threads.isna(), trials["method"] + "-" + threads))
    keys = ["method", "values", "device_kind", "device"]
    medians = named.groupby(keys, sort=False)["time_ms"].median().reset_index()
    return medians.assign(time_us=medians.pop("time_ms") * 1e3)


def in_words(rows: pd.DataFrame, column: str) -> str:
    """Return the distinct values of a column, for a sentence."""
    return " and ".join(map(str, rows[column].unique()))
