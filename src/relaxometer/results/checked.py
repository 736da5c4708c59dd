"""Checks of gathered searches that come from a file, so that the statistics need none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.problems.records import RUNS
from relaxometer.results.contexts import CLOCKS
from relaxometer.results.gather import SEVERITY
from relaxometer.results.processes import PROCESS
from relaxometer.results.rows import KEY, PROVEN

NAMES = [*KEY, "kernel", "device"]
"""Columns of names, which are printed."""

OPTIONAL_NAMES = ["parameter_version", "queries", "queries_hash"]
"""The same, of which a search need not have any."""

ONE_OF: dict[str, list[Any]] = {
    "status": SEVERITY,
    "class": ["gpu", "emulated", "cpu-1", "cpu-all"],
    "device_kind": list(CLOCKS),
    "rival": [False, True],
}
"""The values that columns may have."""

INTEGERS = ["source", "repetition"]

NEEDED = [*NAMES, *ONE_OF, *INTEGERS, "round", "time_ms", "reason"]
"""Columns that no reader can do without."""

NUMBERS = [
    *(one.name for one in RUNS if pa.types.is_floating(one.type) or pa.types.is_integer(one.type)),
    *PROCESS,
]
"""Columns that are numbers where they are known."""


def checked(where: str, timings: pd.DataFrame) -> pd.DataFrame:
    """Return gathered searches whose columns have the types and values that the statistics expect.

    If one has not, UserError names the file `where`, the column and the first wrong value.
    """
    if lacking := [name for name in NEEDED if name not in timings]:
        raise UserError(f"{where} has no column {lacking[0]!r}; expected searches of relaxometer")
    if timings.empty:
        raise UserError(f"{where} has no searches; expected at least one")
    for column, is_good, expected in _rules(timings):
        _refuse_first(where, timings[column], is_good, expected)
    return timings


def check_times(where: str, timings: pd.DataFrame) -> None:
    """Raise UserError if a proven search has no time: one that is finite and above 0."""
    times = timings["time_ms"]
    is_time = (times > 0) & (times < np.inf)
    proven = timings["status"].isin(PROVEN)
    _refuse_first(where, times, is_time | ~proven, "a time above 0 ms of a proven search")


def _rules(timings: pd.DataFrame) -> Iterator[tuple[str, pd.Series, str]]:
    """Yield a column, whether each of its values is good, and what they should be."""
    for column in NAMES:
        yield column, timings[column].map(_is_name), "a name without control characters"
    for column in OPTIONAL_NAMES:
        if column not in timings:
            continue
        good = timings[column].isna() | timings[column].map(_is_name)
        yield column, good, "a name without control characters, or none"
    for column, values in ONE_OF.items():
        yield column, timings[column].isin(values), f"one of {', '.join(map(str, values))}"
    for column in INTEGERS:
        known = timings[column].notna()
        # With values missing, integers are read as floats.
        yield (
            column,
            known & (pd.api.types.is_integer_dtype(timings[column]) or not known.all()),
            "an integer",
        )
    for column in dict.fromkeys(NUMBERS):
        if column in timings and not _holds_numbers(timings[column]):
            yield column, timings[column].isna(), "a number"
    yield "reason", timings["reason"].isna() | timings["reason"].map(_is_text), "a text"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _holds_numbers(values: pd.Series) -> bool:
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return bool(is_number and not pd.api.types.is_complex_dtype(values))


def _refuse_first(where: str, values: pd.Series, is_good: pd.Series, expected: str) -> None:
    """Raise UserError on the first value that is not good."""
    wrong = values[~is_good.astype(bool)]
    if len(wrong):
        first = wrong.iloc[0]
        found = " is missing" if pd.isna(first) else f": {quoted(first)}"
        raise UserError(f"{where}: {values.name}{found}; expected {expected}")
