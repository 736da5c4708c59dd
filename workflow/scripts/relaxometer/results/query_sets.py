"""Searches that answer query sets: which of two runs ask the same, and which times may be pooled."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.problems.problem import load_problem


def answer_sets(timings: pd.DataFrame) -> pd.Series:
    """Return whether each search answers a query set: its row says so, or its problem does."""
    named = timings["queries"].notna() if "queries" in timings else False
    return timings["problem"].map(_takes_queries) | named


def _takes_queries(problem: str) -> bool:
    try:
        return load_problem(problem).queries is not None
    except UserError:  # a problem of one's own, whose folder was not added
        return False


def renumbered(tables: Iterable[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the searches of several runs, with equal sources only where two query sets are equal.

    Sets are equal if name and hash are. A set without a hash, of an earlier version, equals none of another
    run.
    """
    numbers: dict[tuple[object, ...], int] = {}
    found = []
    for place, table in enumerate(tables):
        sets = answer_sets(table)
        if sets.any():
            sources = table["source"].copy()
            keys = [_set_key(row, place) for row in table[sets].to_dict("records")]
            sources[sets] = [numbers.setdefault(key, len(numbers)) for key in keys]
            table = table.assign(source=sources)
        found.append(table)
    return found


def _set_key(row: dict, place: int) -> tuple[object, ...]:
    """Return what identifies the query set of a search among all runs."""
    digest = row.get("queries_hash")
    return (place, row["source"]) if pd.isna(digest) else (row["queries"], digest)
