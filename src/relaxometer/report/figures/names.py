"""How figures and tables name variants, rivals, what they run on, and numbers."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd

from relaxometer.results.samples import EMULATED

CLASSES = {"gpu": "GPU", "emulated": "emulated", "cpu-1": "1 core", "cpu-all": "all cores", "cpu": "CPU"}
"""Name of each class; the last is that of old results, which do not say how many cores."""

CLOCKS = {"cuda": "GPU", "cpu": "CPU", EMULATED: "emulated"}  # name of the clock of each device kind
ACRONYMS = ("sssp", "bfs")  # problems whose names are written in capitals
MAX_VERSION = 20  # characters of a version in a name

LARGE = 6  # powers of ten from here on are written as such
ADDED_UP = " (added up)"
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

LEAST_PREPARATION_MS = 0.1
"""Less than this counts as no preparation: a call that returns at once also takes some microseconds."""

MIN_SPAN = 10.0
"""A logarithmic axis of times spans at least this factor, so that noise does not look like a difference."""


def label(problem: str) -> str:
    """Return the name of a problem in figures and tables, and of its chapter in the report."""
    return problem.upper() if problem in ACRONYMS else problem


def short_names(rows: pd.DataFrame) -> pd.Series:
    """Return the name of each row's variant or rival, for tables with a column of classes."""
    return rows["variant"] + np.where(rows["rival"], " (rival)", "")


def with_names(rows: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the column ``name``, the full names with the versions that the searches tell."""
    versions = timings.get("parameter_version", pd.Series(dtype=object)).groupby(timings["variant"]).first()
    return rows.assign(name=full_names(rows.assign(version=rows["variant"].map(versions))))


def full_names(rows: pd.DataFrame) -> pd.Series:
    """Return names such as "dijkstra-cpu (1 core)" and "scipy 1.17.1 (rival, 1 core)".

    The column ``version`` may be missing.
    """
    versions = rows["version"] if "version" in rows else pd.Series("", index=rows.index)
    columns = rows["variant"], rows["class"], rows["rival"], versions
    names = [_full_name(*row) for row in zip(*columns, strict=True)]
    return pd.Series(names, index=rows.index, dtype=object)


def _full_name(variant: str, kind: str, rival: bool, version: object) -> str:
    machine = CLASSES.get(kind, "")
    if rival:
        known = shown_version(version)
        number = known if len(known) <= MAX_VERSION else f"{known[: MAX_VERSION - 1]}…"
        return f"{variant} {number}".rstrip() + f" ({', '.join(filter(None, ('rival', machine)))})"
    return f"{variant} ({machine})" if kind.startswith("cpu") else variant


def shown_version(version: object) -> str:
    """Return a version as text; nothing if it is not known."""
    return "" if pd.isna(version) or version == "unknown" else str(version)  # type: ignore[call-overload]


def plain(value: float, _: float | None = None) -> str:
    """Format a tick as a plain number; powers of ten from a million on as such."""
    if value <= 0 or not np.isfinite(value):
        return "0" if value == 0 else ""
    power = int(np.floor(np.log10(value) + 1e-9))
    if power >= LARGE:
        factor = f"{value / 10.0**power:.3g}"
        return ("" if factor == "1" else f"{factor}·") + "10" + str(power).translate(SUPERSCRIPT)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.{max(3, 3 - power)}f}".rstrip("0").rstrip(".")


def wide(low: float, high: float) -> tuple[float, float]:
    """Return the range of a logarithmic axis, widened about its middle to at least `MIN_SPAN`."""
    half = math.sqrt(max(high / low, MIN_SPAN))
    middle = math.sqrt(low * high)
    return middle / half, middle * half


def rounded(value: float) -> str:
    """Format a number with three digits, as an integer from 1,000, or as nothing if it is missing."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}" if np.isfinite(value) else ""


def intervals(lows: pd.Series, highs: pd.Series) -> list[str]:
    """Return "low to high" for each interval, and nothing where it is unknown or has no width."""
    ends = zip(lows, highs, strict=True)
    return [f"{rounded(low)} to {rounded(high)}" if low < high else "" for low, high in ends]


def percent(share: float) -> str:
    """Format the proven share of searches; below 1 it is at most 99%, and empty if it is missing."""
    return f"{share if share >= 1 else min(share, 0.99):.0%}" if np.isfinite(share) else ""


def prepared(value: float) -> str:
    """Format a preparation in milliseconds, or nothing if it is missing."""
    return f"<{LEAST_PREPARATION_MS:g}" if value < LEAST_PREPARATION_MS else rounded(value)


def shown_device(name: object) -> str:
    """Return the name of a device without its maker's; nothing if a run has none."""
    return "" if pd.isna(name) else re.sub(r"^NVIDIA |\((?:R|TM)\)", "", str(name))  # type: ignore[call-overload]


def whole(value: float) -> str:
    """Format a count, or nothing if it is missing."""
    return f"{value:,.0f}" if np.isfinite(value) else ""


def shown_calls(lines: pd.DataFrame) -> pd.Series:
    """Return the time of a call of each line as text: empty where it is unknown, marked where it is a sum."""
    if "call_ms" not in lines:  # published before it was measured
        return pd.Series("", lines.index)
    calls = zip(lines["call_ms"], lines["calls"], strict=True)
    return pd.Series([rounded(ms) + ADDED_UP * (n == 0) for ms, n in calls], lines.index, dtype=object)


def by_graph(table: pd.DataFrame, *columns: str, ascending: bool = True) -> pd.DataFrame:
    """Return rows sorted by columns within each graph, the graphs as they are."""
    placed = table.assign(place=pd.factorize(table["graph"])[0])
    return placed.sort_values(["place", *columns], ascending=[True, *[ascending] * len(columns)])
