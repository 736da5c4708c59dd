"""Gathers the samples of all runs into tidy tables, a summary and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.core.errors import UserError
from relaxometer.results.contexts import read_contexts
from relaxometer.results.statistics import bootstrap_median

KEY = ["problem", "graph", "variant"]

SEVERITY = ["ok", "skipped", "timeout", "oom", "error", "invalid"]
"""Statuses from best to worst; a variant has the worst of its rows."""

FAILURES = {"error", "invalid"}
"""Statuses that fail the whole workflow at its end."""


def gather(folders: list[Path], file: str) -> pa.Table:
    """Concatenate one file of many runs, with columns that identify each run.

    Parameters
    ----------
    folders : list of Path
        Each holds `file` and the ``context.json`` of its run.
    file : str

    Returns
    -------
    Table
        The file's columns after ``problem``, ``graph``, ``variant``, ``kernel``, ``device_kind``, ``device``
        and a ``parameter_...`` column for each parameter of any variant, null in the others. A parameter
        that is a string in some variants is one in all.
    """
    contexts = read_contexts(folder / "context.json" for folder in folders)
    parameters = (item for context in contexts for item in context.get("parameters", {}).items())
    worded = {name for name, value in parameters if isinstance(value, str)}
    tables = [
        _identified(pq.read_table(folder / file), context, worded)
        for folder, context in zip(folders, contexts, strict=True)
    ]
    return pa.concat_tables(tables, promote_options="permissive")


def _identified(table: pa.Table, context: dict[str, Any], worded: set[str]) -> pa.Table:
    """Put the columns that identify a run before its own."""
    run = context["run"]
    if "solver" not in run:
        folder = "/".join(run[key] for key in KEY)
        raise UserError(f"results/runs/{folder}: made by an older version; delete it and run again")
    identity = {key: run[key] for key in KEY} | {"kernel": run["solver"]}
    identity |= {key: context[key] for key in ("device_kind", "device")}
    for name, value in context.get("parameters", {}).items():
        identity[f"parameter_{name}"] = str(value) if name in worded else value
    columns = {name: pa.array([value] * len(table)) for name, value in identity.items()}
    return pa.table({**columns, **{name: table[name] for name in table.column_names}})


def summarise(timings: pa.Table) -> pd.DataFrame:
    """Return one line per (problem, graph, variant), in the order of the runs.

    Parameters
    ----------
    timings : Table
        As :func:`gather` makes it from ``runs.parquet``.

    Returns
    -------
    DataFrame
        Columns ``problem, graph, variant, device_kind, device, status, reason, sources, repetitions,
        median_ms, ci95_low_ms, ci95_high_ms, mteps, phases, certified``. Times are of the rows that are ok;
        ``certified`` is the share of all rows whose answer was proven right.
    """
    frame = timings.to_pandas()
    lines = [
        _summary_line(dict(zip(KEY, key, strict=True)), rows) for key, rows in frame.groupby(KEY, sort=False)
    ]
    return pd.DataFrame(lines)


def _summary_line(key: dict[str, Any], rows: pd.DataFrame) -> dict[str, Any]:
    worst = max(rows["status"], key=SEVERITY.index)
    reasons = rows.loc[rows["status"] == worst, "reason"]
    good = rows[rows["status"] == "ok"]
    line = {
        **key,
        "device_kind": rows["device_kind"].iloc[0],
        "device": rows["device"].iloc[0],
        "status": worst,
        "reason": reasons.iloc[0],
        "sources": good["source"].nunique(),
        "repetitions": rows["repetition"].nunique(),
    }
    if worst in FAILURES or good.empty:
        times = dict.fromkeys(("median_ms", "ci95_low_ms", "ci95_high_ms", "mteps", "phases"), np.nan)
    else:
        median, low, high = bootstrap_median(good.groupby("source")["time_ms"].median())
        times = {
            "median_ms": median,
            "ci95_low_ms": low,
            "ci95_high_ms": high,
            "mteps": float((good["reached_arcs"] / good["time_ms"]).median() / 1e3),
            "phases": good["phases"].median(),
        }
    return {**line, **times, "certified": len(good) / len(rows)}


def verdict(summary: Path, throughput: Sequence[Path] = ()) -> str:
    """Return a sentence saying that every answer was proven right.

    Parameters
    ----------
    summary : Path
        ``summary.csv``.
    throughput : sequence of Path
        Tables of :data:`relaxometer.measure.throughput.TABLE`.

    Raises
    ------
    UserError
        If one was not, naming the variants, graphs and reasons.
    """
    table = pd.read_csv(summary, keep_default_na=False)
    failed = [
        f"{row.problem} {row.variant} on {row.graph}: {row.status} ({row.reason})"
        for row in table[table["status"].isin(FAILURES)].itertuples()
    ]
    for launches in map(pd.read_parquet, throughput):
        for row in launches[launches["status"].isin(FAILURES)].itertuples():
            failed.append(f"{row.searches} searches at once on {row.graph}: {row.status} ({row.reason})")
    if failed:
        raise UserError("; ".join(failed))
    return f"{len(table)} variants measured, every answer proven right\n"
