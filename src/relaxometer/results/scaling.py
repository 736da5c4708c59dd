"""The table of runs over several ranks: rates, shares of the time, efficiency of a series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.core.failures import failure_of
from relaxometer.core.files import read_frame, read_json
from relaxometer.distributed import model
from relaxometer.plan.models import DistributedRun
from relaxometer.results.gather import worst
from relaxometer.results.processes import ASSUMED
from relaxometer.results.rows import FAILURES
from relaxometer.results.statistics import median_of

PARTS = ("computing_ms", "communication_ms", "sent_bytes", "plain_bytes")
"""Columns of an instrumented search; see :class:`relaxometer.distributed.hybrid_2d.Level`."""

COLUMNS = [
    *("problem", "graph", "variant", "series", "weak", "engine", "ranks", "scheme", "transport"),
    *("device_kind", "device", "vertices", "arcs", "status", "reason", "model_gteps", "sources"),
    *("repetitions", "median_ms", "median_gteps", "gteps_low", "gteps_high", *PARTS),
    *("certified", "efficiency"),
]


def scaling_table(runs: Sequence[DistributedRun], folder: Path) -> pd.DataFrame:
    """Return one line per run, in their order; `folder` holds a folder of results for each.

    Of the columns `COLUMNS`, ``variant`` is the run's name, and ``weak`` says whether the graph grows with
    the ranks. ``median_ms``, ``median_gteps`` with ``gteps_low`` and ``gteps_high`` (95%), and `PARTS` over
    the instrumented searches are medians over sources, NaN where a run failed. ``certified`` is the share of
    answers proven correct; ``efficiency`` the rate per rank over that of the run of the series with the
    fewest ranks that has one; ``model_gteps`` the prediction of :mod:`relaxometer.distributed.model` for an
    H200, NaN for runs that it does not cover.
    """
    reasons = {run.name: failure_of(folder / run.name / "run.json") for run in runs}
    lost = [_lost_line(run, reasons[run.name]) for run in runs if reasons[run.name]]
    missing = pd.DataFrame(lost, columns=COLUMNS)
    lines = [_line(run, folder / run.name) for run in runs if not reasons[run.name]]
    if not lines:
        return missing
    table = pd.DataFrame(lines, columns=COLUMNS)
    table["weak"] = table.groupby("series")["vertices"].transform("nunique") > 1
    per_rank = table["median_gteps"] / table["ranks"]
    # A run that failed has no rate to compare with.
    fewest = table[per_rank.notna()].groupby("series")["ranks"].idxmin()
    table = table.assign(efficiency=per_rank / table["series"].map(fewest).map(per_rank))
    return pd.concat([table, missing.dropna(axis="columns", how="all")], ignore_index=True)


def rank_searches(runs: Iterable[DistributedRun], folder: Path) -> pd.DataFrame:
    """Return every proven search over several ranks, for claims about series of runs.

    The columns are ``series, ranks, device_kind, device, source, time_ms`` and :data:`PARTS`.
    """
    columns = ["series", "ranks", "device_kind", "device", "source", "time_ms", *PARTS]
    tables = []
    for run in runs:
        if failure_of(folder / run.name / "run.json"):
            continue
        context = read_json(folder / run.name / "run.json")
        rows = read_frame(folder / run.name / "times.parquet")
        origin = {key: context[key] for key in ("device_kind", "device")}
        tables.append(rows[rows["status"] == "ok"].assign(series=run.series, ranks=run.ranks, **origin))
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def _line(run: DistributedRun, folder: Path) -> dict[str, Any]:
    context = read_json(folder / "run.json")
    rows = read_frame(folder / "times.parquet")
    status = worst(rows["status"])
    good = rows[rows["status"] == "ok"]
    line = {
        **_identity(run),
        "graph": context["graph"]["name"],
        "transport": context["parameters"]["transport"],
        "device_kind": context["device_kind"],
        "device": context["device"],
        "vertices": context["graph"]["vertices"],
        "arcs": context["graph"]["arcs"],
        "status": status,
        "reason": rows.loc[rows["status"] == status, "reason"].iloc[0],
        "model_gteps": _predicted(run, context),
        "sources": good["source"].nunique(),
        "repetitions": rows["repetition"].nunique(),
    }
    measured = ("median_ms", "median_gteps", "gteps_low", "gteps_high", *PARTS)
    if status in FAILURES:
        return {**line, **dict.fromkeys(measured, np.nan), "certified": len(good) / len(rows)}
    of_source = good.groupby("source")[["time_ms", "teps", *PARTS]].median()
    rate = median_of(of_source["teps"] / 1e9, ASSUMED)
    values = (
        of_source["time_ms"].median(),
        rate.value,
        *rate.interval(),
        *(of_source[part].median() for part in PARTS),
    )
    return {**line, **dict(zip(measured, values, strict=True)), "certified": len(good) / len(rows)}


def _identity(run: DistributedRun) -> dict[str, Any]:
    named = {key: getattr(run, key) for key in ("problem", "series", "engine", "ranks", "scheme")}
    return {**named, "variant": run.name}


def _lost_line(run: DistributedRun, reason: str) -> dict[str, Any]:
    graph = run.graph or f"Graph500, scale {run.scale}"
    outcome = {"status": "error", "reason": reason, "certified": 0.0}
    return {**_identity(run), "graph": graph, "weak": False, **outcome}


def _predicted(run: DistributedRun, context: dict[str, Any]) -> float:
    """Return the model's rate in 10^9 edges per second, NaN for runs that it does not cover."""
    parameters = context["parameters"]
    plain = parameters.get("parents", "dense") == "dense" and not parameters.get("cpu_share")
    if run.problem != "bfs" or run.scale is None or "H200" not in context["device"] or not plain:
        return float("nan")
    cost = model.search_cost(
        model.H200,
        run.scale,
        run.scheme,
        run.ranks,
        compressed=parameters.get("messages") == "compressed",
        peers=run.engine == "hybrid-peers",
    )
    return model.edges_per_second(run.scale, cost) / 1e9
