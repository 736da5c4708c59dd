"""Reads, merges and summarises the contexts of runs: device, software and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from relaxometer.core.files import read_json, reading

Flat = dict[str, Any]

CLOCKS = {"cuda": "gpu", "host": "gpu", "cpu": "cpu"}
"""By device kind, whose speed the times of a run depend on."""

SECTIONS = ("parameters", "before", "reference_ms", "cost")


def read_contexts(files: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Return the contents of each run's ``context.json``."""
    return [read_run_context(Path(file)) for file in files]


def read_run_context(file: Path) -> dict[str, Any]:
    """Return the content of a run's ``context.json``; UserError if ``run`` or a section has no keys."""
    context = read_json(file)
    with reading(file, "the context of a run"):
        for key in ("run", *(key for key in SECTIONS if key in context)):
            if not isinstance(context.get(key), dict):
                raise ValueError(f"{key} has no keys and values")
    return context


def merge_contexts(contexts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Separate the entries that all runs share from those that differ; nested keys are joined by dots.

    The result has under ``common`` the entries that are the same in every run and under ``runs``, for each
    round of a run, its ``problem/graph/variant`` as ``run`` and the other entries. Rounds that were not
    measured are left out, and so are entries under ``after`` that equal those under ``before``.
    """
    measured = [context for context in contexts if "not_measured" not in context]
    flat = [_without_unchanged(flatten(context)) for context in measured]
    names = ["/".join(str(one.pop(f"run.{key}")) for key in ("problem", "graph", "variant")) for one in flat]
    first = flat[0] if flat else {}
    common = {key: value for key, value in first.items() if all(other.get(key) == value for other in flat)}
    runs = [
        {"run": name} | {key: value for key, value in one.items() if key not in common}
        for name, one in zip(names, flat, strict=True)
    ]
    return {"common": common, "runs": runs}


def flatten(nested: Mapping[str, Any], prefix: str = "") -> Flat:
    """Return nested mappings as one, their keys joined by dots."""
    flat: Flat = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _without_unchanged(flat: Flat) -> Flat:
    unchanged = {
        key
        for key, value in flat.items()
        if key.startswith("after.") and flat.get(key.replace("after.", "before.", 1)) == value
    }
    return {key: value for key, value in flat.items() if key not in unchanged}


def machine_lines(contexts: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the lines of the report's landing page: device, software, commit, dates, and a changed speed."""
    before = ("driver", "cuda_driver_api", "cuda_runtime", "cupy", "compiler")
    drift, dates = largest_drift(contexts), [context["date"] for context in contexts]
    lines = {
        "Device": [context["device"] for context in contexts],
        **{key.replace("_", " "): [one.get("before", {}).get(key) for one in contexts] for key in before},
        "Machine": [context["machine"] for context in contexts],
        "Commit": [context["commit"] for context in contexts],
        "Measured": [" to ".join(dict.fromkeys((min(dates), max(dates))))] if contexts else [],
        "Speed": [f"changed by up to {drift:.0%} in a race"] if drift > MAX_DRIFT else [],
    }
    joined = {
        what: "; ".join(dict.fromkeys(str(one) for one in values if one)) for what, values in lines.items()
    }
    return pd.DataFrame([(what, value) for what, value in joined.items() if value], columns=["what", "value"])


DRIFT = ["problem", "graph", "clock", "processes", "fastest_ms", "slowest_ms", "drift"]

MAX_DRIFT = 0.05
"""Drift of a race above which the verdict warns."""


def drift_lines(contexts: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return how much the machine's speed changed during each race, as the columns `DRIFT`.

    A row per problem, graph and clock (``gpu`` or ``cpu``) has the number of processes, the shortest and
    longest time of the fixed work that is timed ahead of and after each of them (`race/reference.py`), and by
    what share the longest exceeds the shortest. Emulated variants have no reference.
    """
    rows = [
        (context["run"]["problem"], context["run"]["graph"], CLOCKS[context["device_kind"]], times)
        for context in contexts
        if (times := [ms for ms in context.get("reference_ms", {}).values() if ms])
    ]
    races = pd.DataFrame(rows, columns=["problem", "graph", "clock", "times"])
    lines = []
    for key, of_race in races.groupby(["problem", "graph", "clock"], sort=False):
        times = [ms for both in of_race["times"] for ms in both]
        lines.append((*key, len(of_race), min(times), max(times), max(times) / min(times) - 1))
    return pd.DataFrame(lines, columns=DRIFT)


def drift_warnings(contexts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each race during which the machine's speed changed by more than `MAX_DRIFT`."""
    lines = drift_lines(contexts)
    return [
        f"warning: {row.problem} on {row.graph}: the {row.clock} drifted by {row.drift:.0%} during the race: "
        f"fixed work took {row.fastest_ms:.3g} to {row.slowest_ms:.3g} ms"
        for row in lines[lines["drift"] > MAX_DRIFT].itertuples()
    ]


def largest_drift(contexts: Iterable[Mapping[str, Any]]) -> float:
    """Return the largest share by which the machine's speed changed during a race; 0 if none was watched."""
    drifts = drift_lines(contexts)["drift"]
    return float(drifts.max()) if len(drifts) else 0.0


def cost_warnings(contexts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each run that leaks device memory, and for each whose clocks were held back."""
    lines = []
    for context in contexts:
        cost, run = context.get("cost", {}), context.get("run", {})
        where = f"warning: {run.get('problem')} {run.get('variant')} on {run.get('graph')}"
        if leaked := cost.get("leaked_bytes"):
            lines.append(f"{where} leaks {leaked:,} bytes of device memory in each search")
        if held := cost.get("throttled"):
            lines.append(f"{where}: clocks were throttled during repeated searches: {held}")
    return list(dict.fromkeys(lines))


def data_lines(graphs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per graph, given each ``graph.json``: what it is, whose data it is, and its licence."""
    keys = {"Graph": "name", "Content": "description", "Data": "attribution", "Terms": "license"}
    return pd.DataFrame({head: [graph.get(key, "") for graph in graphs] for head, key in keys.items()})
