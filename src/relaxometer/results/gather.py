"""Gathers the samples of all runs into tidy tables and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.core.files import read_table
from relaxometer.problems.records import PHASES, RUNS
from relaxometer.problems.variants import uses_one_core
from relaxometer.results.calls import CALLS, COLD, PREPARED, call_times, part_intervals, preparations
from relaxometer.results.contexts import CLOCKS, read_contexts
from relaxometer.results.graph500_result import rate_statistics, traversed_edges
from relaxometer.results.processes import with_processes
from relaxometer.results.query_sets import by_set
from relaxometer.results.rows import FAILURES, KEY, PROVEN
from relaxometer.results.samples import run_estimate, source_times

SUMMARY = [
    *(*KEY, "device_kind", "device", "status", "reason", "sources", "repetitions"),
    *("median_ms", "ci95_low_ms", "ci95_high_ms", "mteps", "mteps_harmonic", "phases", "certified"),
    *("prepare_ms", "cold_ms", "class", "rival", "version"),
    *CALLS,
    *PREPARED,
    *COLD,
    *("energy_j", "idle_w", "peak_bytes", "throttled"),
    *("slowed", "answer"),
]
"""Columns of ``summary.csv``.

``prepare_ms`` and ``cold_ms`` are those of all rows of a run; ``energy_j`` and ``idle_w`` are means over
rounds, ``peak_bytes`` is the maximum, and ``throttled`` the number of searches with clocks held back.
``mteps`` is the median over sources of million traversed edges per second, ``mteps_harmonic`` their harmonic
mean, Graph500's statistic; :func:`relaxometer.results.graph500_result.traversed_edges` says what counts.
:func:`relaxometer.results.calls.call_times` describes ``call_ms`` and the three columns after it. Then
follow the 95% intervals of ``prepare_ms`` and ``cold_ms``. ``slowed`` is how many times as long fixed work
took during a run as at best during its race, on the same clock. ``answer`` is what a search found, such as
"tree".
"""

COSTS = {"energy_j": "mean", "idle_w": "mean", "peak_bytes": "max"}
"""How the costs of the rounds of a run become one."""

SEVERITY = ["ok", "disputed", "unproven", "absent", "skipped", "timeout", "oom", "error", "invalid"]
"""Statuses from best to worst; a variant has the worst of its rows."""

UNTIMED = FAILURES | {"unproven"}
"""Statuses without a time in the summary."""


def gather(folders: list[Path], file: str) -> pa.Table:
    """Concatenate one file of all rounds of many runs, with columns that identify each run.

    Each folder holds `file` and the ``context.json`` of a round; those of a run follow each other.

    The columns ``problem``, ``graph``, ``variant``, ``kernel``, ``device_kind``, ``device``, ``class``
    (``gpu``, ``emulated``, ``cpu-1`` or ``cpu-all``), ``rival`` (whether it is one), ``round`` (1 in files
    without it), ``reference_ms`` (the longer time of fixed work ahead of and after the round, if it was
    timed) and a ``parameter_...`` column for each parameter of any variant, null in the others, come before
    those of the file. A parameter whose values have no type in common is text in all. Without runs, there are
    the first three columns only.
    """
    if not folders:
        columns = [(key, pa.string()) for key in KEY]
        columns += list(PHASES) if file == "phases.parquet" else []
        return pa.schema(columns).empty_table()
    contexts = read_contexts(folder / "context.json" for folder in folders)
    types = _parameter_types(contexts)
    tables = [
        _identified(read_table(folder / file), context, types)
        for folder, context in zip(folders, contexts, strict=True)
    ]
    return pa.concat_tables(tables, promote_options="permissive")


def gather_searches(folders: list[Path], unmade: pa.Table) -> pa.Table:
    """Return the searches of all rounds, and the rows of :func:`unmade_runs`."""
    found = pa.concat_tables([gather(folders, "runs.parquet"), unmade], promote_options="permissive")
    # Rounds of an earlier clone lack the column.
    if len(found) and "call_prepare_ms" in found.column_names:
        columns = [*KEY, "source", "round", "prepare_ms", "cold_ms", "call_prepare_ms", "call_cold_ms"]
        columns = [name for name in columns if name in found.column_names]
        for name, values in preparations(found.select(columns).to_pandas()).items():
            place = found.column_names.index(str(name))
            found = found.set_column(place, str(name), pa.array(values, pa.float64(), from_pandas=True))
    return found


def unmade_runs(reasons: Mapping[tuple[str, str, str], str], rivals: Mapping[str, str]) -> pa.Table:
    """Return a row of status ``error`` for each run that could not be made.

    `reasons` say why, by problem, graph and variant; `rivals` has the class of each rival by its name in the
    configuration.
    """
    names = [(name, pa.string()) for name in (*KEY, "kernel", "device_kind", "device", "class")]
    schema = pa.schema([*names, ("rival", pa.bool_()), *RUNS])
    search = {"source": 0, "repetition": 0, "round": 1, "status": "error"}
    rows = [
        {**dict(zip(KEY, key, strict=True)), **search, "reason": reason, "class": rivals.get(key[-1])}
        for key, reason in reasons.items()
    ]
    return pa.Table.from_pylist([row | {"rival": row["variant"] in rivals} for row in rows], schema)


def _parameter_types(contexts: Sequence[Mapping[str, Any]]) -> dict[str, pa.DataType | None]:
    """Return the type of each parameter's column; None if its values need text."""
    values: dict[str, list[Any]] = {}
    for context in contexts:
        for name, value in context.get("parameters", {}).items():
            values.setdefault(name, []).append(value)
    return {name: _common_type(found) for name, found in values.items()}


def _common_type(values: list[Any]) -> pa.DataType | None:
    """Return a type that holds all values, also in a Parquet file; None if there is none."""
    try:
        column = pa.array(values)
        pq.write_table(pa.table([column], ["values"]), pa.BufferOutputStream())
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    return column.type


def _identified(
    table: pa.Table, context: dict[str, Any], types: Mapping[str, pa.DataType | None]
) -> pa.Table:
    run = context["run"]
    identity = {key: run[key] for key in KEY} | {"kernel": run["solver"]}
    identity |= {key: context[key] for key in ("device_kind", "device")}
    if times := [ms for ms in context.get("reference_ms", {}).values() if ms]:
        identity["reference_ms"] = max(times)
    identity |= {"class": run.get("kind") or _class_of(context), "rival": "kind" in run}
    if "round" not in table.column_names:
        identity["round"] = pa.scalar(1, pa.int32())
    for name, value in context.get("parameters", {}).items():
        kind = types[name]
        identity[f"parameter_{name}"] = pa.scalar(str(value)) if kind is None else pa.scalar(value, kind)
    columns = {name: pa.array([value] * len(table)) for name, value in identity.items()}
    return pa.table({**columns, **{name: table[name] for name in table.column_names}})


def _class_of(context: Mapping[str, Any]) -> str:
    if context["device_kind"] != "cpu":
        return {"cuda": "gpu", "host": "emulated"}[context["device_kind"]]
    return "cpu-1" if uses_one_core(context.get("parameters", {})) else "cpu-all"


def summarise(timings: pd.DataFrame, directed: Mapping[str, bool] | None = None) -> pd.DataFrame:
    """Return one line per (problem, graph, variant), in the order of the runs; the columns are `SUMMARY`.

    `timings` are those of :func:`gather_searches`; `directed` says by graph whether it is directed, and
    graphs that are not named are. Times are of the rows that are ok; ``certified`` is the share of all rows
    whose answer was proven correct, 0 for a run that was not made: its status says so. A run of query sets of
    several names has no time: see :func:`with_sets`.
    """
    # The gathered file of no run has no column but the key.
    frame = with_processes(timings) if len(timings) else timings
    lines = [
        _summary_line(rows, (directed or {}).get(rows["graph"].iloc[0], True))
        for _, rows in frame.groupby(KEY, sort=False)
    ]
    found = pd.DataFrame(
        lines, columns=[name for name in SUMMARY if name not in (*CALLS, *PREPARED, *COLD, "slowed")]
    )
    found = found.join(call_times(frame), on=KEY).join(part_intervals(frame), on=KEY)
    found = found.join(_slowed(frame), on=KEY)
    found.loc[found["median_ms"].isna(), [*CALLS, *PREPARED, *COLD]] = np.nan
    return found[SUMMARY]


def _slowed(timings: pd.DataFrame) -> pd.Series:
    """Return ``slowed`` of each run whose fixed work was timed, by the key."""
    if "reference_ms" not in timings:  # gathered before it was kept
        return pd.Series(dtype=float, name="slowed", index=pd.MultiIndex.from_arrays([[]] * 3, names=KEY))
    known = timings[timings["reference_ms"] > 0]
    of_race = known.groupby(["problem", "graph", known["device_kind"].map(CLOCKS)])["reference_ms"]
    factors = known["reference_ms"] / of_race.transform("min")
    return factors.groupby([known[key] for key in KEY], sort=False).max().rename("slowed")


def with_sets(lines: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a summary with one line per name of query sets for each run that answers them.

    `timings` are the searches of at least these runs.
    """
    if "queries" not in timings:
        return lines
    asked = timings[timings["queries"].notna()]
    asked = asked[pd.MultiIndex.from_frame(asked[KEY]).isin(pd.MultiIndex.from_frame(lines[KEY]))]
    if asked.empty:
        return lines
    others = ~pd.MultiIndex.from_frame(lines[KEY]).isin(pd.MultiIndex.from_frame(asked[KEY]))
    return pd.concat([lines[others], summarise(by_set(asked))], ignore_index=True)


def worst(statuses: Iterable[str]) -> str:
    """Return the worst of some statuses."""
    return max(statuses, key=SEVERITY.index)


def _summary_line(rows: pd.DataFrame, directed: bool) -> dict[str, Any]:
    status, first = worst(rows["status"]), rows.iloc[0]
    reasons = rows.loc[rows["status"] == status, "reason"]
    good = rows[rows["status"].isin(PROVEN)]
    several_sets = "queries" in rows and rows["queries"].nunique() > 1
    timed = status not in UNTIMED and len(good) > 0 and not several_sets
    return {
        **{key: first[key] for key in [*KEY, "device_kind", "device"]},
        "status": status,
        "reason": reasons.iloc[0],
        "sources": good["source"].nunique(),
        "repetitions": rows["repetition"].nunique(),
        **(_times(good, directed) if timed else {}),
        "certified": len(good) / len(rows) if status != "unproven" else 0.0,
        **{key: first.get(key) for key in ("prepare_ms", "cold_ms", "class", "rival")},
        "version": first.get("parameter_version"),
        "answer": first.get("answer") if not several_sets else None,
        **_costs(rows),
    }


def _costs(rows: pd.DataFrame) -> dict[str, Any]:
    rounds = rows.drop_duplicates("round")
    found: dict[str, Any] = {name: rounds[name].agg(how) for name, how in COSTS.items() if name in rounds}
    known = rows.get("throttled", pd.Series(dtype=str)).dropna()
    return found | {"throttled": int(known.ne("").sum()) if len(known) else np.nan}


def _times(good: pd.DataFrame, directed: bool) -> dict[str, float]:
    times = source_times(good)
    median = run_estimate(times)
    low, high = median.interval()
    edges = traversed_edges(good, directed=directed).groupby(good["source"]).first()
    rates = (edges[edges > 0] / times.set_index("source")["time_ms"] / 1e3).dropna()
    statistics = rate_statistics(rates.to_numpy(dtype=np.float64)) if len(rates) else {}
    return {
        "median_ms": float(times["time_ms"].median()),
        "ci95_low_ms": low,
        "ci95_high_ms": high,
        "mteps": statistics.get("median", np.nan),
        "mteps_harmonic": statistics.get("harmonic_mean", np.nan),
        "phases": good["phases"].median(),
    }
