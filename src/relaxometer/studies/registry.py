"""The table of studies, which are measurements other than the run of a variant.

The workflow and the jobs of variants read the table, so it imports no study: that would take a second.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaxometer.core.files import write_json, write_table
from relaxometer.core.words import counted
from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import Config

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

Statuses = set[str]


@dataclass(frozen=True)
class Study:
    """A measurement other than the run of a variant.

    `path` is the file of the result, with ``{graph}`` if the study is made once per graph; `further` names
    the files in the same folder that hold the second table and those that follow.

    `measure` is ``module:function``, imported when the study is made. ``function(graph, device,
    **parameters)`` returns a Table, a dict for a JSON file, or a tuple of Tables; without graphs it gets no
    `graph`. Unless it `opens_device`, it gets the kind of the device only, for the processes that it starts.

    `graphs` returns the graphs that a configuration names for the study; one without graphs is made if the
    report redraws one of these `papers`. `parameters` returns the study's parameters in a plan, as plain
    data. `describe` returns a line of text for a row of the first table, as the verdict names it; None if
    rows have no status.
    """

    path: str
    measure: str
    graphs: Callable[[Config], list[str]] = lambda config: []
    parameters: Callable[[Plan], dict[str, Any]] = lambda plan: {"seed": plan.config.seed}
    papers: frozenset[str] = frozenset()
    further: tuple[str, ...] = ()
    opens_device: bool = True
    describe: Callable[[Mapping[Any, Any]], str] | None = None

    @property
    def paths(self) -> list[str]:
        """All files of the result, that with the statuses first."""
        return [self.path, *(str(Path(self.path).with_name(name)) for name in self.further)]


def _launch(row: Mapping[Any, Any]) -> str:
    searches = counted(row["searches"], "search", "searches")
    return f"{searches} at once by {row['variant']} on {row['graph']}"


def _section(name: str) -> Callable[[Plan], dict[str, Any]]:
    """Return a function that reads a study's section and the seed of a plan's configuration."""
    return lambda plan: {
        **getattr(plan.config, name).model_dump(exclude={"graphs"}),
        "seed": plan.config.seed,
    }


def _of_graphs(name: str, measure: str, describe: Callable[[Mapping[Any, Any]], str], **others: Any) -> Study:
    """Return the study of a section, which names its graphs."""
    given: dict[str, Any] = {"path": f"results/{name}/{{graph}}.parquet", "parameters": _section(name)}
    return Study(
        measure=f"relaxometer.studies.{measure}",
        graphs=lambda config: getattr(config, name).graphs,
        describe=describe,
        **given | others,
    )


def _traffic(plan: Plan) -> dict[str, Any]:
    """Return the parameters of the study of new weights; its rivals are runs on all graphs."""
    rivals = [run.model_dump() for run in plan.traffic_rivals]
    given = {"timeout_s": plan.config.timing.timeout_s, "rivals": rivals, "rival_folders": plan.config.rivals}
    return _section("traffic")(plan) | given


STUDIES = {
    "throughput": _of_graphs("throughput", "throughput:measure_throughput", _launch),
    "bfs_throughput": _of_graphs("bfs_throughput", "throughput:measure_throughput", _launch),
    "traffic": _of_graphs(
        "traffic",
        "traffic:measure_traffic",
        "{variant} on {graph} after change {round} of its weights".format_map,
        parameters=_traffic,
        opens_device=False,
    ),
    "all_pairs": _of_graphs(
        "all_pairs",
        "all_pairs:measure_all_pairs",
        lambda row: f"all pairs of {row['graph']}, {'with' if row['proof'] else 'without'} the proof",
        path="results/all_pairs/{graph}/passes.parquet",
        further=("sources.parquet", "components.parquet", "distances.parquet"),
    ),
    "updates": _of_graphs(
        "updates",
        "updates:measure_updates",
        "dominators incremental on {graph}, arcs {change}: {arcs:,}".format_map,
    ),
    "retained": _of_graphs(
        "retained",
        "retained:measure_retained",
        "retained sizes by {variant} on {graph}, repetition {repetition}".format_map,
    ),
    "extract_min": Study(
        "results/extract_min.parquet",
        "relaxometer.studies.extract_min:time_all",
        papers=frozenset({"survey"}),
    ),
    "copy_rate": Study(
        "results/device_rates.json",
        "relaxometer.device.rates:copy_rate",
        parameters=lambda plan: {},
        papers=frozenset({"survey", "edge-bf"}),
    ),
}


def run_study(
    name: str, parameters: Mapping[str, Any], graph: Graph | None, device: str, path: Path
) -> Statuses:
    """Make a study on a kind of device and write its result to `path`, further tables to the same folder."""
    study = STUDIES[name]
    module, _, function = study.measure.partition(":")
    opened = get_device(device) if study.opens_device else device
    given = (graph, opened) if "{graph}" in study.path else (opened,)
    result = getattr(importlib.import_module(module), function)(*given, **parameters)
    if isinstance(result, dict):
        write_json(result, path)
        return {"ok"}
    if isinstance(result, tuple):
        result, *further = result
        for file, table in zip(study.further, further, strict=True):
            write_table(table, path.with_name(file))
    write_table(result, path)
    return set(result["status"].to_pylist()) if "status" in result.column_names else {"ok"}
