"""The timed jobs: one function each, called by the workflow's scripts and by ``relaxometer.cli.all_runs``.

Each writes its results and returns the statuses of their rows. A further round of a run has its results below
those of the first (:meth:`relaxometer.plan.models.Run.folder`), and is not measured if the first has failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError
from relaxometer.core.files import read_table, write_json, write_table
from relaxometer.device import Device
from relaxometer.device.rates import copy_rate
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.measure.all_pairs import measure_all_pairs
from relaxometer.measure.extract_min import time_all
from relaxometer.measure.measurement import Measurement, not_measured, write_measurement
from relaxometer.measure.rival import measure_rival
from relaxometer.measure.throughput import measure_throughput
from relaxometer.measure.traffic import measure_traffic
from relaxometer.measure.updates import measure_updates
from relaxometer.measure.variant import measure
from relaxometer.plan.models import Config, RivalRun, Run
from relaxometer.rivals.definition import Rival
from relaxometer.rivals.exchange import export
from relaxometer.rivals.installation import installation, read_installation

Statuses = set[str]

PROVEN = {"ok", "disputed"}
"""Statuses of a first round that is worth another."""


def run_variant(
    run: Run,
    graph: Graph | Batch,
    drawn: npt.NDArray[np.int64] | None,
    device: str,
    folder: Path,
    number: int = 1,
) -> Statuses:
    """Run a variant on a graph or a batch, prove its answers, and write all samples.

    Parameters
    ----------
    run : Run
    graph : Graph or Batch
    drawn : ndarray of shape (n_sources,), int64, or None
        The sources drawn for the graph, of which the run takes the first ``run.timing.sources``. None where
        searches have no source.
    device : {"auto", "cuda", "host"}
    folder : Path
        Where the results go.
    number : int
        The round that this is, from 1.
    """
    if left_out := _left_out(run, folder, number):
        return _written(left_out, run, folder)
    return _written(measure(run, graph, _sources(run, drawn), device, number), run, folder)


def run_rival(
    run: RivalRun,
    rival: Rival,
    installed: str | None,
    graph: Graph | Batch,
    drawn: npt.NDArray[np.int64] | None,
    device: str,
    folder: Path,
    number: int = 1,
) -> Statuses:
    """Run a rival as :func:`run_variant` runs a variant.

    Parameters
    ----------
    run : RivalRun
    rival : Rival
    installed : str or None
        The file that says whether it is absent; None if ``run.command`` starts it. How to start it is asked
        here, since another machine may have written the file.
    graph, drawn, device, folder, number
        As there.
    """
    if left_out := _left_out(run, folder, number):
        return _written(left_out, run, folder)
    if number > 1:
        run = _as_tuned(run, folder)
    exchange = export(graph, Path("results/exchange", graph.name), rival.definition.formats)
    found = read_installation(Path(installed)) if installed else None
    start = found if isinstance(found, str) else installation(rival, run.command)
    what = run, rival, start, graph, exchange, _sources(run, drawn), device, number
    return _written(measure_rival(*what), run, folder)


def _sources(run: Run, drawn: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    """Return the sources of a run: a single 0 where searches have none."""
    if drawn is None:
        return np.zeros(1, dtype=np.int64)
    count = run.timing.sources
    return drawn[:count] if isinstance(count, int) else drawn


def _left_out(run: Run, folder: Path, number: int) -> Measurement | None:
    """Return an empty further round if it is not to be measured; UserError if there is no first one.

    It is not if the first has failed, or was emulated and the configuration does not ask for rounds.
    """
    if number == 1:
        return None
    context = _first_context(folder)
    statuses = set(read_table(_first(folder) / "runs.parquet")["status"].to_pylist())
    kind, name = context["device_kind"], context["device"]
    if failed := statuses - PROVEN:
        return not_measured(run, kind, name, number, f"the first round: {', '.join(sorted(failed))}")
    if number > run.timing.processes(emulated=kind == "host"):
        return not_measured(run, kind, name, number, "times of the emulated device mean nothing")
    return None


def _as_tuned(run: RivalRun, folder: Path) -> RivalRun:
    """Return a rival's run with the parameters that its first round was tuned to."""
    chosen = _first_context(folder).get("parameters", {})
    tuned = {name: chosen[name] for name in run.tune if name in chosen}
    return run.model_copy(update={"parameters": {**run.parameters, **tuned}, "tune": {}})


def _first(folder: Path) -> Path:
    """Return the folder of the first round, given that of a further one."""
    return folder.parents[1]


def _first_context(folder: Path) -> dict[str, Any]:
    try:
        context: dict[str, Any] = json.loads((_first(folder) / "context.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{_first(folder)}: no results of the first round ({error})") from None
    return context


def _written(result: Measurement, run: Run, folder: Path) -> Statuses:
    write_measurement(result, run.problem, folder)
    return {row["status"] for row in result.runs} or {"not measured"}


@dataclass(frozen=True)
class Study:
    """A measurement other than the run of a variant.

    Parameters
    ----------
    path : str
        File of the result, with ``{graph}`` if the study is made once per graph.
    measure : callable
        ``measure(graph, device, **parameters)`` returns a Table, a dict for a JSON file, or a tuple of
        Tables. `graph` is None where the study needs none.
    graphs : callable
        Returns the graphs that a configuration names for the study.
    parameters : callable
        Returns the study's parameters in a configuration, as plain data.
    papers : frozenset of str
        A study without graphs is made if the report redraws one of these papers.
    further : tuple of str
        Names of the files in the same folder that hold the second table and those that follow.
    """

    path: str
    measure: Callable[..., pa.Table | dict[str, Any] | tuple[pa.Table, ...]]
    graphs: Callable[[Config], list[str]] = lambda config: []
    parameters: Callable[[Config], dict[str, Any]] = lambda config: {"seed": config.seed}
    papers: frozenset[str] = frozenset()
    further: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        """All files of the result, that with the statuses first."""
        return [self.path, *(str(Path(self.path).with_name(name)) for name in self.further)]


def _section(name: str) -> Callable[[Config], dict[str, Any]]:
    """Return a function that reads a study's section and the seed of a configuration."""
    return lambda config: {**getattr(config, name).model_dump(exclude={"graphs"}), "seed": config.seed}


STUDIES = {
    "throughput": Study(
        "results/throughput/{graph}.parquet",
        measure_throughput,
        lambda config: config.throughput.graphs,
        _section("throughput"),
    ),
    "bfs_throughput": Study(
        "results/bfs_throughput/{graph}.parquet",
        measure_throughput,
        lambda config: config.bfs_throughput.graphs,
        _section("bfs_throughput"),
    ),
    "traffic": Study(
        "results/traffic/{graph}.parquet",
        measure_traffic,
        lambda config: config.traffic.graphs,
        _section("traffic"),
    ),
    "all_pairs": Study(
        "results/all_pairs/{graph}/passes.parquet",
        measure_all_pairs,
        lambda config: config.all_pairs.graphs,
        _section("all_pairs"),
        further=("sources.parquet", "components.parquet", "distances.parquet"),
    ),
    "updates": Study(
        "results/updates/{graph}.parquet",
        measure_updates,
        lambda config: config.updates.graphs,
        _section("updates"),
    ),
    "extract_min": Study(
        "results/extract_min.parquet",
        lambda graph, device, seed: time_all(device, seed=seed),
        papers=frozenset({"survey"}),
    ),
    "copy_rate": Study(
        "results/device_rates.json",
        lambda graph, device: copy_rate(device),
        parameters=lambda config: {},
        papers=frozenset({"survey", "edge-bf"}),
    ),
}
"""The studies by name."""


def run_study(
    name: str, parameters: Mapping[str, Any], graph: Graph | None, device: Device, path: Path
) -> Statuses:
    """Make a study and write its result to `path`, and its further tables beside it."""
    result = STUDIES[name].measure(graph, device, **parameters)
    if isinstance(result, dict):
        write_json(result, path)
        return {"ok"}
    if isinstance(result, tuple):
        result, *further = result
        for file, table in zip(STUDIES[name].further, further, strict=True):
            write_table(table, path.with_name(file))
    write_table(result, path)
    return set(result["status"].to_pylist()) if "status" in result.column_names else {"ok"}
