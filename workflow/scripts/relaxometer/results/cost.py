"""What searches cost besides time, from the gathered samples; docs/cost.md."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.samples import CLASSES, EMULATED, source_times

COSTS = [
    *(*KEY, "class", "rival", "device", "median_ms", "energy_j", "spread_j", "idle_w", "watts"),
    *("peak_bytes", "nvml_peak_bytes", "leaked_bytes", "least_bytes", "copy_share", "throttled"),
]
"""Columns of :func:`costs`."""

ARC_BYTES = {"sssp": 8}
"""Bytes of an arc that a search reads: target and weight; elsewhere the target only."""

VERTEX_BYTES = 16
"""Bytes of a reached vertex: its offset read, two columns of the answer written."""


def least_bytes(problem: str, reached: pd.Series, reached_arcs: pd.Series) -> pd.Series:
    """Return the bytes that must move if a search reads each reached arc and vertex of the arrays once."""
    return reached * VERTEX_BYTES + reached_arcs * ARC_BYTES.get(problem, 4)


def costs(timings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run in real time whose energy or memory was measured.

    Returns
    -------
    DataFrame
        Columns `COSTS`. ``energy_j`` is the mean of the rounds, less the idle power, and ``spread_j`` the
        difference of the largest and the smallest; ``watts`` is the mean power during repeated searches,
        ``idle_w`` that of the idle device; ``copy_share`` is the rate of `least_bytes` in the median time
        over that of a copy.
    """
    if "peak_bytes" not in timings:
        return pd.DataFrame(columns=COSTS)
    real = timings[timings["class"] != CLASSES[EMULATED]]
    times = source_times(real).groupby(KEY, sort=False)["time_ms"].median().to_dict()
    rows = []
    for key, of_run in real[real["status"].isin(PROVEN)].groupby(KEY, sort=False):
        rounds, first = of_run.drop_duplicates("round"), of_run.iloc[0]
        if rounds[["energy_j", "peak_bytes"]].isna().all(axis=None) or key not in times:
            continue
        moved = least_bytes(str(key[0]), of_run["reached"], of_run["reached_arcs"]).median()
        rate = rounds["copy_gb_s"].median() if "copy_gb_s" in rounds else np.nan
        energies = rounds["energy_j"].dropna()
        held = of_run["throttled"].dropna()
        rows.append(
            {
                **dict(zip(KEY, key, strict=True)),
                **{name: first[name] for name in ("class", "rival", "device")},
                "median_ms": times[key],
                "energy_j": energies.mean(),
                "spread_j": np.ptp(energies) if len(energies) > 1 else np.nan,
                "idle_w": rounds["idle_w"].mean(),
                "watts": _watts(rounds),
                **{name: rounds[name].max() for name in ("peak_bytes", "nvml_peak_bytes", "leaked_bytes")},
                "least_bytes": moved,
                "copy_share": moved / times[key] / 1e6 / rate,
                "throttled": int((held != "").sum()) if len(held) else np.nan,
            }
        )
    return pd.DataFrame(rows, columns=COSTS)


def _watts(rounds: pd.DataFrame) -> float:
    """Return the mean power of repeated searches, whose gross and net energies differ by the idle power."""
    idle_j = rounds["gross_j"] - rounds["energy_j"]
    seconds = idle_j / rounds["idle_w"]
    return float((rounds["gross_j"] / seconds).mean())
