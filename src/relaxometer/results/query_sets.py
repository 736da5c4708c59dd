"""Searches that answer query sets: which of two runs ask the same, and which times may be pooled."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.problems.problem import load_problem
from relaxometer.results.rows import KEY


def takes_queries(problem: str) -> bool:
    """Return whether a search of a problem answers a query set; False for one that is not installed."""
    try:
        return load_problem(problem).queries is not None
    except UserError:  # a problem of one's own, whose folder was not added
        return False


def by_set(timings: pd.DataFrame) -> pd.DataFrame:
    """Return searches with the query sets of each name as a separate graph, such as ``usa-ny: table``.

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
    """Return whether each search is of a run whose query sets have several names."""
    if "queries" not in timings:
        return pd.Series(False, index=timings.index)
    names = timings["queries"].groupby([timings[column] for column in KEY]).transform("nunique")
    return names > 1


def renumbered(tables: Iterable[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the searches of several runs, with equal sources only where two query sets are equal.

    Sets are equal if name and hash are.
    """
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for table in tables:
        if "queries" in table and (sets := table["queries"].notna()).any():
            sources = table["source"].copy()
            keys = table.loc[sets, ["queries", "queries_hash"]].itertuples(index=False, name=None)
            sources[sets] = [numbers.setdefault(key, len(numbers)) for key in keys]
            table = table.assign(source=sources)
        found.append(table)
    return found
