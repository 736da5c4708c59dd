"""The searches of a finished run and what is known of its machine, from a folder of results or a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.files import MAKE_AGAIN, RESTORE, read_json, reading
from relaxometer.problems.records import RUNS
from relaxometer.results import bundle_file
from relaxometer.results.bundle_file import BundleFile
from relaxometer.results.contexts import CLOCKS, Flat
from relaxometer.results.gather import SEVERITY
from relaxometer.results.processes import PROCESS
from relaxometer.results.published import SAMPLES, as_gathered, read_samples, read_timings
from relaxometer.results.query_sets import renumbered
from relaxometer.results.rows import KEY, PROVEN

TIMINGS, CONTEXT, RATES = "timings.parquet", "context.json", "device_rates.json"
"""Files of a results folder; a bundle and a published suite have them too, and `SAMPLES` for the first."""

NAMES = [*KEY, "kernel", "device"]
"""Columns of names, which are printed."""

OPTIONAL_NAMES = ["parameter_version", "queries", "queries_hash", "answer"]
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

_Content = TypeVar("_Content")

RUN = "run"
"""Key of a run's name in a merged context: ``problem/graph/variant``."""


@dataclass(frozen=True)
class Recorded:
    """What one run of the workflow measured; `name` is that of the folder or file.

    `timings` are the gathered searches. `contexts` has one for each round of a run, flat
    (:func:`relaxometer.results.contexts.flatten`), its name under ``run``. `graphs` has the SHA-256 of the
    contents of each graph, and `copy_gb_s` the rate of copies in device memory by device, as far as known.
    `weight_types` has the type of the weights by graph, from a results folder; bundles and published suites
    do not name it.
    """

    name: str
    timings: pd.DataFrame
    contexts: list[Flat] = field(default_factory=list)
    graphs: Mapping[str, str] = field(default_factory=dict)
    copy_gb_s: Mapping[str, float] = field(default_factory=dict)
    weight_types: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def date(self) -> str:
        """When the last round ended, in UTC; empty if unknown."""
        return max((str(one.get("date", "")) for one in self.contexts), default="")

    @cached_property
    def commit(self) -> str:
        """The commits that were measured, joined by " and "."""
        found = dict.fromkeys(str(one["commit"]) for one in self.contexts if one.get("commit"))
        return " and ".join(found) or "unknown"

    def devices(self) -> dict[str, str]:
        """Return the devices of each class of runs, joined by " and "."""
        known = self.timings.drop_duplicates(["class", "device"]).groupby("class", sort=False)["device"]
        return {str(name): " and ".join(sorted(map(str, devices))) for name, devices in known}

    def of_run(self, *key: str) -> list[Flat]:
        """Return the contexts of the rounds of a run, given its problem, graph and variant."""
        return self._by_run.get("/".join(key), [])

    @cached_property
    def _by_run(self) -> dict[str, list[Flat]]:
        found: dict[str, list[Flat]] = {}
        for one in self.contexts:
            found.setdefault(str(one.get(RUN)), []).append(one)
        return found


def read_recorded(path: Path) -> Recorded:
    """Read the searches of a results folder, of the folder that holds it, of a published suite or a bundle.

    UserError without searches, or if a file is damaged.
    """
    if path.is_file():
        return recorded_in(bundle_file.read(path))
    for folder in (path, path / "results"):
        if (folder / TIMINGS).is_file() or (folder / SAMPLES).is_file():
            return _from_folder(path.name or str(path), folder)
    what = "neither a bundle nor" if path.exists() else "does not exist; expected a bundle or"
    raise UserError(
        f"{path}: {what} a folder with {TIMINGS} or {SAMPLES}; make one with make run or make bundle"
    )


def paired(runs: Sequence[Recorded]) -> list[Recorded]:
    """Return runs in which two searches on a graph have the same source only if they ask the same."""
    tables = renumbered(one.timings for one in runs)
    return [replace(one, timings=table) for one, table in zip(runs, tables, strict=True)]


def searches_file(path: Path) -> Path:
    """Return the file that changes when the searches of a place do: the bundle, or a folder's table."""
    places = [path / file for path in (path, path / "results") for file in (TIMINGS, SAMPLES)]
    return next((file for file in places if file.is_file()), path)


def expanded(merged: Mapping[str, Any]) -> list[Flat]:
    """Return the flat context of each round of a run from a ``context.json`` that holds them merged."""
    common, runs = merged.get("common", {}), merged.get("runs", [])
    if not isinstance(runs, list) or not all(isinstance(one, Mapping) for one in (common, *runs)):
        raise ValueError("expected keys and values in common, and a list of them in runs")
    contexts = [{**common, **one} for one in runs]
    for context in contexts:
        _check_context(context)
    return contexts


def _check_context(context: Flat) -> None:
    if str(context.get(RUN)).count("/") != 2:
        raise ValueError(f"{RUN} is {quoted(context.get(RUN))}; expected problem/graph/variant")
    if context.get("device_kind") not in CLOCKS:
        raise ValueError(
            f"device_kind is {quoted(context.get('device_kind'))}; expected one of {', '.join(CLOCKS)}"
        )
    for key, value in context.items():
        is_time = isinstance(value, int | float | None) and not isinstance(value, bool)
        if key.startswith("reference_ms.") and not is_time:
            raise ValueError(f"{key} is {quoted(value)}; expected a time or null")


def _from_folder(name: str, folder: Path) -> Recorded:
    gathered = folder / TIMINGS
    read = read_timings(gathered) if gathered.is_file() else read_samples(folder / SAMPLES)
    timings = read.to_pandas()
    if timings.empty:
        raise UserError(f"{folder}: no run has searches")
    timings = _checked(str(gathered if gathered.is_file() else folder / SAMPLES), timings)
    places = ("batches/{}/batch.json", "graphs/{}/graph.json")
    files = [(graph, folder / place.format(graph)) for place in places for graph in timings["graph"].unique()]
    found = {graph: read_json(file) for graph, file in files if file.is_file()}
    graphs, types = (
        {graph: facts[key] for graph, facts in found.items() if facts.get(key)}
        for key in ("content_sha256", "weight_type")
    )
    advice = MAKE_AGAIN if gathered.is_file() else RESTORE
    contexts, rates = read_context(folder, advice)
    return Recorded(name, timings, contexts, graphs, rates, types)


def read_context(folder: Path, advice: str = MAKE_AGAIN) -> tuple[list[Flat], dict[str, float]]:
    """Return the contexts and the rate of copies of a folder, as far as they are there.

    UserError, which ends in `advice`, if a file is damaged.
    """
    contexts = _parsed(folder / CONTEXT, expanded, advice) or []
    return contexts, _parsed(folder / RATES, _rates, advice) or {}


def _parsed(file: Path, parse: Callable[[Mapping[str, Any]], _Content], advice: str) -> _Content | None:
    if not file.is_file():
        return None
    with reading(file, "JSON", advice=advice):
        return parse(read_json(file, advice=advice))


def recorded_in(found: BundleFile) -> Recorded:
    """Return what a bundle recorded; UserError if its samples, context or rate of copies are damaged."""
    path = found.path
    timings = as_gathered(found.table(SAMPLES)).to_pandas()
    graphs = {name: graph.content_sha256 for name, graph in found.manifest.graphs.items()}
    with reading(path / CONTEXT, "JSON", advice=found.advice):
        contexts = expanded(found.json(CONTEXT))
    with reading(path / RATES, "JSON", advice=found.advice):
        rates = _rates(found.json(RATES)) if RATES in found.members else {}
    return Recorded(path.stem, _checked(f"{path}: {SAMPLES}", timings), contexts, graphs, rates)


def _rates(found: Mapping[str, Any]) -> dict[str, float]:
    device, rate = found.get("device"), found.get("copy_gb_s")
    if not isinstance(device, str) or not isinstance(rate, int | float):
        raise ValueError("expected the keys device and copy_gb_s, a rate")
    return {device: float(rate)}


def _checked(where: str, timings: pd.DataFrame) -> pd.DataFrame:
    """Return gathered searches whose columns have the types and values that the statistics expect.

    If one has not, UserError names the file `where`, the column and the first wrong value.
    """
    if lacking := [name for name in NEEDED if name not in timings]:
        raise UserError(f"{where} has no column {lacking[0]!r}; expected searches of relaxometer")
    if timings.empty:
        raise UserError(f"{where} has no searches; expected at least one")
    for column, is_good, expected in _rules(timings):
        wrong = timings.loc[~is_good.astype(bool), column]
        if len(wrong):
            found = " is missing" if pd.isna(wrong.iloc[0]) else f": {quoted(wrong.iloc[0])}"
            raise UserError(f"{where}: {column}{found}; expected {expected}")
    return timings


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
    is_text = timings["reason"].map(lambda reason: isinstance(reason, str))
    yield "reason", timings["reason"].isna() | is_text, "a text"
    times = timings["time_ms"]
    is_time = (times > 0) & (times < np.inf) | ~timings["status"].isin(PROVEN)
    yield "time_ms", is_time, "a time above 0 ms of a proven search"


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _holds_numbers(values: pd.Series) -> bool:
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return bool(is_number and not pd.api.types.is_complex_dtype(values))
