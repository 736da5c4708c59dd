"""How figures and tables name variants, rivals, what they run on, and numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

CLASSES = {"gpu": "GPU", "emulated": "emulated", "cpu-1": "1 core", "cpu-all": "all cores", "cpu": "CPU"}
"""Name of each class; the last is that of old results, which do not say how many cores."""

ACRONYMS = ("sssp", "bfs")
"""Problems whose names are written in capitals."""

MAX_VERSION = 20
"""Characters of a version in a name."""


LARGE = 6
"""Powers of ten from here on are written as such."""

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

MIN_SPAN = 10.0
"""A logarithmic axis of times spans at least this factor, so that noise does not look like a difference."""


def label(problem: str) -> str:
    """Return the name of a problem in figures and tables, and of its chapter in the report."""
    return problem.upper() if problem in ACRONYMS else problem


def short_names(rows: pd.DataFrame) -> pd.Series:
    """Return the name of each row's variant or rival, for tables with a column of classes."""
    return rows["variant"] + np.where(rows["rival"], " (rival)", "")


def full_names(rows: pd.DataFrame) -> pd.Series:
    """Return names such as "dijkstra-cpu (1 core)" and "scipy 1.17.1 (rival, 1 core)".

    Parameters
    ----------
    rows : DataFrame
        With the columns ``variant``, ``class``, ``rival`` and, if known, ``version``.
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
