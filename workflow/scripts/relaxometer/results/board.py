"""Merges the bundles of several machines into one ranked table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.results.gather import SEVERITY, UNTIMED
from relaxometer.results.processes import with_processes
from relaxometer.results.query_sets import by_set, pooled
from relaxometer.results.races import ranking
from relaxometer.results.recorded import Recorded, paired
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.samples import CLASSES, EMULATED, run_estimate, source_times

BOARD = [
    *(
        "problem",
        "graph",
        "class",
        "device",
        "rank",
        "variant",
        "rival",
        "version",
        "bundle",
        "commit",
        "date",
    ),
    *("median_ms", "low_ms", "high_ms", "prepare_ms", "cold_ms", "energy_j", "peak_bytes", "sources"),
    *("status", "reason"),
]
"""Columns of :func:`board`."""

MARK = "\n"
"""Separates names that are joined for a race; no name has it."""


def board(runs: Sequence[Recorded]) -> pd.DataFrame:
    """Return one row per run of every bundle, ranked within each problem, graph and class of machine.

    A class of machine is what a program runs on (GPU, one core, all cores) and the device's name. Where all
    bundles of a class share sources they are ranked together, otherwise each by itself. Emulated runs and
    those without a proven answer have no rank. A run of query sets has a row per name of them
    (:func:`relaxometer.results.query_sets.by_set`).

    Parameters
    ----------
    runs : sequence of Recorded
        Of different names.

    Raises
    ------
    UserError
        If there are none, two have one name or hold one run, or a graph of one name has different content.
    """
    if not runs:
        raise UserError('no bundle to read; name some: make board BUNDLES="a.zip b.zip"')
    _check(runs)
    tables, lines = [], []
    for one in paired(runs):
        timings = by_set(with_processes(one.timings))
        races = timings["graph"] + MARK + timings["class"] + MARK + timings["device"]
        tables.append(timings.assign(graph=races, variant=timings["variant"] + MARK + one.name))
        lines += _lines(one, timings)
    found = pd.DataFrame(lines, columns=BOARD)
    ranks = _ranks(
        pd.concat([table.dropna(axis="columns", how="all") for table in tables], ignore_index=True)
    )
    keys = zip(
        found["problem"],
        found["graph"],
        found["class"],
        found["device"],
        found["variant"],
        found["bundle"],
        strict=True,
    )
    # With a rank stands the median over the sources that the ranked share.
    shown = [ranks.get(key, {}) for key in keys]
    found["rank"] = pd.array([one.get("rank") for one in shown], dtype="Int64")
    for column in ("median_ms", "low_ms", "high_ms", "sources"):
        found[column] = [one.get(column, old) for one, old in zip(shown, found[column], strict=True)]
    found["order"] = found["median_ms"].where(found["status"].isin(PROVEN), np.inf).fillna(np.inf)
    order = ["problem", "graph", "class", "device", "order", "variant", "bundle"]
    return found.sort_values(order, kind="stable").drop(columns="order").reset_index(drop=True)


def _check(runs: Sequence[Recorded]) -> None:
    names = [one.name for one in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two bundles are called {twice[0]!r}; rename one")
    contents: dict[str, tuple[str, str]] = {}
    for one in runs:
        for graph, sha256 in one.graphs.items():
            other, known = contents.setdefault(graph, (one.name, sha256))
            if known != sha256:
                raise UserError(
                    f"graph {graph} is not the same in {other} and {one.name}; put them on two boards"
                )
    for first, second in itertools.combinations(runs, 2):
        if first.timings.equals(second.timings):
            raise UserError(f"{first.name} and {second.name} hold the same run; leave one out")


def _lines(one: Recorded, timings: pd.DataFrame) -> list[dict]:
    times = source_times(timings[~pooled(timings)])
    estimates = {key: run_estimate(rows) for key, rows in times.groupby(KEY, sort=False)}
    lines = []
    for key, rows in timings.groupby(KEY, sort=False):
        first, good = rows.iloc[0], rows[rows["status"].isin(PROVEN)]
        worst = max(rows["status"], key=SEVERITY.index)
        line = {
            **dict(zip(KEY, key, strict=True)),
            "bundle": one.name,
            "commit": one.commit,
            "date": one.date[:10],
        }
        line |= {name: first.get(name) for name in ("class", "device", "rival", "prepare_ms", "cold_ms")}
        line |= {name: first.get(name) for name in ("energy_j", "peak_bytes")}
        line |= {"version": first.get("parameter_version"), "status": worst}
        line |= {
            "reason": rows.loc[rows["status"] == worst, "reason"].iloc[0],
            "sources": good["source"].nunique(),
        }
        if worst not in UNTIMED and key in estimates and first["class"] != CLASSES[EMULATED]:
            low, high = estimates[key].interval()
            line |= {"median_ms": estimates[key].value, "low_ms": low, "high_ms": high}
        lines.append(line)
    return lines


def _ranks(timings: pd.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the rows of rankings by problem, graph, class, device, variant and bundle."""
    found = ranking(timings)
    ranked = set(zip(found["problem"], found["graph"], strict=True))
    races = zip(timings["problem"], timings["graph"], strict=True)
    left = timings[[race not in ranked for race in races]]
    tables = [found]
    if len(left):
        # Bundles that share no sources: each is a race of its own.
        bundles = left["variant"].str.split(MARK).str[-1]
        tables.append(ranking(left.assign(graph=left["graph"] + MARK + bundles)))
    ranks: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in (row for table in tables for row in table.to_dict("records")):
        graph, kind, device, *_ = str(row["graph"]).split(MARK)
        variant, name = str(row["variant"]).split(MARK)
        ranks[str(row["problem"]), graph, kind, device, variant, name] = {
            str(key): value for key, value in row.items()
        }
    return ranks
