"""What searches cost besides time, from the gathered samples; docs/cost.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.graphs.lengths import lengths_for
from relaxometer.results.processes import with_processes
from relaxometer.results.query_sets import pooled
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.samples import CLASSES, EMULATED, source_times

COSTS = [
    *(*KEY, "class", "rival", "device", "median_ms", "rounds", "energy_j", "spread_j", "gross_j"),
    *("repeats_j", "gross_spread_j", "idle_w", "idle_low_w", "idle_high_w", "watts", "peak_bytes"),
    *("kernel_bytes", "driver_bytes", "later_bytes", "leaked_bytes", "least_bytes", "copy_share"),
    "throttled",
]

LATER = ("energy_low_j", "energy_high_j")
"""Columns that published samples without energy lack."""

TARGET_BYTES = 4
"""Bytes of an arc's target, the only part of an arc that searches of most problems read."""

VERTEX_BYTES = 16
"""Bytes of a reached vertex: its offset read, two columns of the answer written."""


def weight_types(descriptions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the type of the weights of each graph that has them, from contents of ``graph.json``.

    Those of versions without types are not named.
    """
    return {str(one["name"]): one["weight_type"] for one in descriptions if "weight_type" in one}


def arc_bytes(problem: str, weight_type: str = "uint32") -> int:
    """Return the bytes of an arc that a search reads: target and, for shortest paths, weight."""
    return lengths_for(weight_type).arc_bytes if problem == "sssp" else TARGET_BYTES


def arcs_bytes(rows: pd.DataFrame, types: Mapping[str, str]) -> pd.Series:
    """Return :func:`arc_bytes` of each row of timings; `types` as :func:`costs` takes them."""
    keys = zip(rows["problem"], rows["graph"], strict=True)
    found = [arc_bytes(problem, types.get(graph, "uint32")) for problem, graph in keys]
    return pd.Series(found, index=rows.index, dtype=np.int64)


def least_bytes(rows: pd.DataFrame, types: Mapping[str, str]) -> pd.Series:
    """Return the bytes that must move if a search reads each reached arc and vertex of the arrays once."""
    return rows["reached"] * VERTEX_BYTES + rows["reached_arcs"] * arcs_bytes(rows, types)


def costs(timings: pd.DataFrame, types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return one row per run in real time whose energy or memory was measured; the columns are `COSTS`.

    `types` has the type of weights by graph; uint32 for graphs that are not named.

    ``rounds`` is the number of processes, ``energy_j`` the mean over them, minus the idle power around each
    repeat, ``gross_j`` the same with it; ``spread_j`` and ``gross_spread_j`` are the largest minus the
    smallest, ``repeats_j`` that of the repeats of a process, where it is largest. ``watts`` is the mean power
    during repeated searches, ``idle_w`` that of the idle device, of which the processes measured
    ``idle_low_w`` to ``idle_high_w``. ``driver_bytes`` is the peak by the driver minus what was in use
    before, ``later_bytes`` that minus ``peak_bytes`` and ``kernel_bytes``. As the latter is the driver's
    count minus the pool, too, this is only what any process adds outside the pool after loading. A run of
    query sets of several names has no ``median_ms``. ``copy_share`` is the rate of `least_bytes` in the
    median time over that of a copy.
    """
    if "peak_bytes" not in timings:
        return pd.DataFrame(columns=COSTS)
    timings = with_processes(timings)
    real = timings[timings["class"] != CLASSES[EMULATED]]
    times = source_times(real).groupby(KEY, sort=False)["time_ms"].median().to_dict()
    rows = []
    for key, of_run in real[real["status"].isin(PROVEN)].groupby(KEY, sort=False):
        rounds, first = of_run.drop_duplicates("round"), of_run.iloc[0]
        is_pooled = bool(pooled(of_run).any())
        if rounds[["energy_j", "peak_bytes"]].isna().all(axis=None) or key not in times:
            continue
        moved = least_bytes(of_run, types or {}).median()
        rate = rounds["copy_gb_s"].median() if "copy_gb_s" in rounds else np.nan
        rounds = rounds.reindex(columns=[*rounds, *(set(LATER) - set(rounds))])
        held = of_run["throttled"].dropna()
        driver = rounds["nvml_peak_bytes"] - rounds["nvml_before_bytes"]
        rows.append(
            {
                **dict(zip(KEY, key, strict=True)),
                **{name: first[name] for name in ("class", "rival", "device")},
                "median_ms": np.nan if is_pooled else times[key],
                "rounds": len(rounds),
                "energy_j": rounds["energy_j"].mean(),
                "spread_j": _range(rounds["energy_j"]),
                "repeats_j": (rounds["energy_high_j"] - rounds["energy_low_j"]).max(),
                "gross_j": rounds["gross_j"].mean(),
                "gross_spread_j": _range(rounds["gross_j"]),
                "idle_w": rounds["idle_w"].mean(),
                "idle_low_w": rounds["idle_w"].min(),
                "idle_high_w": rounds["idle_w"].max(),
                "watts": _watts(rounds),
                **{name: rounds[name].max() for name in ("peak_bytes", "kernel_bytes", "leaked_bytes")},
                "driver_bytes": driver.max(),
                "later_bytes": (driver - rounds["peak_bytes"] - rounds["kernel_bytes"]).max(),
                "least_bytes": moved,
                "copy_share": moved / times[key] / 1e6 / rate,
                "throttled": int((held != "").sum()) if len(held) else np.nan,
            }
        )
    return pd.DataFrame(rows, columns=COSTS)


def _range(values: pd.Series) -> float:
    """Return the largest less the smallest value; NaN of fewer than two."""
    return float(values.max() - values.min()) if values.count() > 1 else np.nan


def _watts(rounds: pd.DataFrame) -> float:
    """Return the mean power of repeated searches, whose gross and net energies differ by the idle power."""
    seconds = (rounds["gross_j"] - rounds["energy_j"]) / rounds["idle_w"]
    return float((rounds["gross_j"] / seconds).mean())


def agreement(rows: pd.DataFrame, share: float) -> list[str]:
    """Return sentences on repeatability, on memory growth after loading, and on leaks, given :func:`costs`.

    `share` is the largest difference of two repeats or processes over their mean, and of ``later_bytes`` over
    ``driver_bytes``.
    """
    lines = []
    for what, value, spread in (
        ("energy between repeats in a process", "energy_j", "repeats_j"),
        ("energy between processes", "energy_j", "spread_j"),
        ("energy with idle power between processes", "gross_j", "gross_spread_j"),
    ):
        several = rows[rows[spread].notna()]
        spreads = several[spread] / several[value].abs()
        line = f"{what}: {_of(spreads <= share)} within {share:.1%}"
        if len(spreads):
            line += f"; worst {spreads.max():.1%}, {_name(several.iloc[int(spreads.argmax())])}"
        lines.append(line)
    later = (pd.to_numeric(rows["later_bytes"]) / pd.to_numeric(rows["driver_bytes"])).dropna()
    lines.append(
        f"memory outside the pool: {_of(later.abs() <= share)} change by at most {share:.1%} once loaded"
    )
    leaking = rows[pd.to_numeric(rows["leaked_bytes"]) > 0]
    lines.append(f"leaks: {', '.join(map(_name, leaking.to_dict('records'))) or 'none'}")
    return lines


def _name(row: Mapping[Any, Any] | pd.Series) -> str:
    return " ".join(str(row[column]) for column in KEY)


def _of(good: pd.Series) -> str:
    return f"{int(good.sum())} of {len(good)} runs"
