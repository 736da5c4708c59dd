"""The searches of a published suite: ``samples.parquet``, from which its summary and ranks can be recomputed.

It has one row per search, as ``results/timings.parquet``, without what no statistic reads, and with the
spread between processes as it was estimated then, so that a later estimator changes no published interval. A
suite over several ranks has ``rank-samples.parquet`` too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from relaxometer.core.errors import UserError
from relaxometer.core.files import RESTORE, read_frame, read_table, reading, write_table
from relaxometer.results.processes import PROCESS, with_processes
from relaxometer.results.rows import KEY

if TYPE_CHECKING:
    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

SAMPLES, RANK_SAMPLES, BUNDLE = "samples.parquet", "rank-samples.parquet", "bundle.zip"

COLUMNS = [
    *(*KEY, "kernel", "class", "rival", "version", "device_kind", "device", "round", "source", "repetition"),
    *("time_ms", "clock_ms", "status", "reason", "prepare_ms", "cold_ms", "call_ms"),
    *("call_prepare_ms", "call_cold_ms", "reference_ms"),
    *("upload_ms", "download_ms"),
    *("reached", "reached_arcs", "phases", "queries", "queries_hash", "answer", "peak_bytes", "leaked_bytes"),
    *("energy_j", "energy_low_j", "energy_high_j", "gross_j", "idle_w", "nvml_peak_bytes"),
    *("nvml_before_bytes", "kernel_bytes", "copy_gb_s", "throttled"),
    *PROCESS,
]
"""Columns of ``samples.parquet``, as far as the searches have them."""

NEEDED = [
    *(*KEY, "class", "device_kind", "device", "round", "source", "repetition", "time_ms", "status", "reason")
]
"""Columns without which searches have no statistics."""

RENAMED = {"parameter_version": "version"}
"""Columns of the gathered searches that have another name here."""


def samples_of(timings: pa.Table) -> pa.Table:
    """Return the published columns of gathered searches (:func:`relaxometer.results.gather.gather`)."""
    named = timings.rename_columns([RENAMED.get(name, name) for name in timings.column_names])
    if len(timings) and not set(PROCESS) <= set(named.column_names):
        spread = with_processes(timings.to_pandas())
        for name in PROCESS:
            named = named.append_column(name, pa.array(spread[name]))
    return named.select([name for name in COLUMNS if name in named.column_names])


def read_samples(path: Path) -> pa.Table:
    """Return the searches of a ``samples.parquet``, named as gathered ones; UserError if damaged."""
    with reading(path, "Parquet", advice=RESTORE):
        table = pq.read_table(path)
    _check_columns(path, table, RESTORE)
    return as_gathered(table)


def as_gathered(samples: pa.Table) -> pa.Table:
    """Return published searches with the names of gathered ones."""
    back = {ours: theirs for theirs, ours in RENAMED.items()}
    return samples.rename_columns([back.get(name, name) for name in samples.column_names])


def read_timings(path: Path) -> pa.Table:
    """Return the searches of a ``timings.parquet``; UserError if it is damaged or lacks a column.

    A run that could not be made has a row there, but no search.
    """
    table = read_table(path)
    _check_columns(path, table, "delete it and run again: make run")
    return table.filter(pc.is_valid(table["device_kind"])) if len(table) else table


def _check_columns(path: Path, table: pa.Table, advice: str) -> None:
    needed = NEEDED if len(table) else KEY
    if lacking := [name for name in needed if name not in table.column_names]:
        raise UserError(f"{path}: no column {lacking[0]!r}; {advice}")


def write_samples(results: Path, target: Path) -> list[Path]:
    """Write the samples of a finished run of the workflow to a suite; return the files written."""
    written = [target / SAMPLES]
    write_table(samples_of(read_timings(results / "timings.parquet")), written[0])
    if (results / "distributed.csv").is_file():
        searches = _rank_samples(read_frame(results / "distributed.csv"), results / "runs/distributed")
        if searches:
            written.append(target / RANK_SAMPLES)
            write_table(pa.concat_tables(searches, promote_options="permissive"), written[1])
    return written


def run_of(plan: Plan, key: tuple[str, ...]) -> Run:
    """Return the run of a plan by problem, graph and variant; UserError if the plan has none."""
    if key not in plan.runs:
        raise UserError(
            f"{' '.join(key)}: measured, but not in this configuration; name the one that was run: SUITE= "
            "for a suite, CONFIG= for a file"
        )
    return plan.runs[key[0], key[1], key[2]]


def check_suite(plan: Plan, folder: Path) -> None:
    """Check that a folder has the results of a suite's plan: all of them, and no others.

    The folder has ``summary.csv`` and ``samples.parquet``, and ``distributed.csv`` if ranks were used.
    UserError if a search is of no run of the plan, or a run has neither searches nor a reason in the summary.
    The same holds for runs over several ranks.
    """
    summary = read_frame(folder / "summary.csv", usecols=[*KEY, "reason"], dtype=str)
    measured = _keys(read_table(folder / SAMPLES).select(KEY).to_pandas())
    if summary[KEY].isna().any(axis=None):
        raise UserError("summary.csv: a line without problem, graph or variant; run again: make run")
    for key in sorted(measured | _keys(summary)):
        run_of(plan, key)
    if missing := plan.runs.keys() - measured - _keys(summary[summary["reason"].notna()]):
        raise UserError(
            f"{' '.join(min(missing))}: in the suite, but neither measured nor with a reason in summary.csv; "
            "finish the run first: make run"
        )
    _check_ranks(plan, folder / "distributed.csv")


def _check_ranks(plan: Plan, file: Path) -> None:
    found = set(read_frame(file, dtype={"variant": str})["variant"]) if file.is_file() else set()
    if found != plan.distributed.keys():
        name = min(found ^ plan.distributed.keys())
        where = "not of this suite; delete it and" if name in found else "of this suite, but missing;"
        raise UserError(f"{file.name}: {name}: {where} run again: make run")


def _keys(table: pd.DataFrame) -> set[tuple[str, ...]]:
    return set(table[KEY].itertuples(index=False, name=None))


def _rank_samples(runs: pd.DataFrame, folder: Path) -> list[pa.Table]:
    found = []
    for run in runs.to_dict("records"):
        file = folder / str(run["variant"]) / "times.parquet"
        if file.is_file():
            times = read_table(file)
            identity = {key: run[key] for key in ("problem", "graph", "variant", "series", "ranks")}
            columns = {key: pa.array([value] * len(times)) for key, value in identity.items()}
            found.append(pa.table({**columns, **{name: times[name] for name in times.column_names}}))
    return found
