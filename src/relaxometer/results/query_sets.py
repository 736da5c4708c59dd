"""Searches that answer query sets: which of two runs ask the same, and which times may be pooled."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.problems.problem import load_problem
from relaxometer.results.rows import KEY


def answer_sets(timings: pd.DataFrame) -> pd.Series:
    """Return whether each search answers a query set: its row says so, or its problem does."""
    problems = [name for name in timings["problem"].unique() if takes_queries(name)]
    named = timings["queries"].notna() if "queries" in timings else False
    return timings["problem"].isin(problems) | named


def takes_queries(problem: str) -> bool:
    """Return whether a search of a problem answers a query set; False for one that is not installed."""
    try:
        return load_problem(problem).queries is not None
    except UserError:  # a problem of one's own, whose folder was not added
        return False


def by_set(timings: pd.DataFrame) -> pd.DataFrame:
    """Return searches with the query sets of each name as a graph of their own, such as ``usa-ny: table``.

    Times of sets of different names say nothing together. Searches that are divided already stay so.
    """
    if "queries" not in timings:
        return timings
    names = timings["queries"].fillna("")
    graphs = timings["graph"].where(names == "", timings["graph"] + ": " + names)
    # An empty name says that the graph has it already.
    queries = timings["queries"].where(timings["queries"].isna(), "")
    return timings.assign(graph=graphs, queries=queries)


def pooled(timings: pd.DataFrame) -> pd.Series:
    """Return whether each search is of a run whose query sets may have several names.

    Names are missing in samples of earlier versions.
    """
    if "queries" not in timings:
        return answer_sets(timings)
    names = timings["queries"].groupby([timings[column] for column in KEY]).transform("nunique")
    return (names > 1) | (answer_sets(timings) & timings["queries"].isna())


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


def _set_key(row: dict[Hashable, Any], place: int) -> tuple[object, ...]:
    """Return what identifies the query set of a search among all runs."""
    digest = row.get("queries_hash")
    return (place, row["source"]) if pd.isna(digest) else (row["queries"], digest)
