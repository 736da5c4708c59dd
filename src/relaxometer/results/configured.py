"""Compares a configuration with the values that runs, graphs and drawn sources recorded.

Values that were not recorded, as by an earlier version, are taken to be the same; parameters of studies and
of runs over several ranks are not compared. Neither are texts that only pages show, since a change of them
repeats no measurement.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from relaxometer.core.errors import UserError
from relaxometer.core.failures import is_made
from relaxometer.core.validation import Section, shown
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.files import read_metadata
from relaxometer.plan.models import RivalRun, Run
from relaxometer.plan.plan import Plan
from relaxometer.plan.session import of_another
from relaxometer.problems.problem import load_problem
from relaxometer.race.requests import (
    Difference,
    Request,
    difference,
    request_for_queries,
    request_for_sources,
)
from relaxometer.results.contexts import flatten, read_run_context


def check_configured(plan: Plan) -> None:
    """Raise UserError if a run, graph or draw of sources was made with other values than a plan has.

    The message names the first one, and the key.
    """
    for what, (key, found, wanted) in _differences(plan):
        raise UserError(of_another(f"{key} of {what} was {_value(found)}, is now {_value(wanted)}"))


def check_graph(plan: Plan, name: str, advice: str) -> None:
    """Raise UserError, which ends in `advice`, if a graph or batch was built from another dataset entry.

    This includes the graphs that it was extracted from. Graphs that are missing pass.
    """
    for one in _with_bases(plan, [name]):
        for key, found, wanted in _of_graph(one, plan.datasets[one]):
            raise UserError(f"{key} of graph {one} was {_value(found)}, is now {_value(wanted)}; {advice}")


def _value(value: Any) -> str:
    return shown(value) if value is not None else "none"


def _differences(plan: Plan) -> Iterator[tuple[str, Difference]]:
    for run in plan.runs.values():
        what = f"{run.problem} {run.variant} on {run.graph}"
        yield from ((what, one) for one in of_run(run, plan.config.device))
    used = [*plan.graphs, *plan.batches, *(run.graph for run in plan.distributed.values() if run.graph)]
    for name in _with_bases(plan, used):
        yield from ((f"graph {name}", one) for one in _of_graph(name, plan.datasets[name]))
    for file, (what, request) in draws_of(plan).items():
        yield from ((what, one) for one in _of_draw(file, request))


def of_run(run: Run, device: str) -> Iterator[Difference]:
    """Yield the differences between a run and its recorded results."""
    file = Path(run.folder(), "context.json")
    context = read_run_context(file) if is_made(file) else {}
    recorded, wanted = context.get("run", {}), json.loads(json.dumps(run.model_dump()))
    for key in (key for key in wanted if key in recorded):
        found, now = recorded[key], wanted[key]
        if isinstance(getattr(run, key), Section):  # whose keys depend on the version only
            found, now = _common(found, now), _common(now, found)
        yield from _between({key: found}, {key: now})
    kind = context.get("device_kind")
    # `auto` takes the GPU if there is one; CPU programs and rivals do not depend on the device.
    if {device, kind} == {"cuda", "host"} and not isinstance(run, RivalRun):
        yield "device", kind, device


def _of_graph(name: str, dataset: Dataset[Any]) -> Iterator[Difference]:
    file = Path(
        f"results/batches/{name}/batch.json" if dataset.is_batch else f"results/graphs/{name}/graph.json"
    )
    if not is_made(file):
        return
    recorded = read_metadata(file, ())
    if "format" not in recorded:
        return
    for key in ("format", "seed", "extracted_from"):
        yield from _between({key: recorded.get(key)}, {key: getattr(dataset, key)})
    found = flatten(recorded.get("parameters", {}))
    wanted = flatten(dataset.parameters.model_dump(mode="json", exclude_none=True))
    given = flatten(dataset.parameters.model_dump(mode="json", exclude_unset=True))
    # A later version may have added a default.
    wanted = {key: value for key, value in wanted.items() if key in found or key in given}
    yield from _between(found, wanted, "parameters.")
    for key, value in _identity(dataset).items():
        yield from _between({key: recorded.get(key, value)}, {key: value})


def _identity(dataset: Dataset[Any]) -> dict[str, Any]:
    """Return the names and SHA-256s of a dataset's files, its unit and its distances, as far as it says."""
    known: dict[str, Any] = {"weight_unit": dataset.weight_unit, "distance_type": dataset.distances}
    roles = ["file", str(dataset.kind.companion)]
    for role, file in zip(roles, dataset.files, strict=False):
        known[role] = Path(file.path).name if file.path else file.file_name
        known[f"{role}_sha256"] = file.sha256
    return {key: value for key, value in known.items() if value is not None}


def sources_file(graph: str) -> Path:
    """Return the file of a graph's sources."""
    return Path("results/sources", f"{graph}.parquet")


def queries_file(problem: str, graph: str) -> Path:
    """Return the file of a graph's query sets."""
    return Path("results/queries", problem, f"{graph}.parquet")


def draws_of(plan: Plan) -> dict[Path, tuple[str, Request]]:
    """Return the files of sources and query sets of a plan, each with its name and its request."""
    sources = request_for_sources(plan.config.timing.sources, plan.config.seed)
    pairs = [(run.problem, run.graph) for run in plan.runs.values()]
    pairs += [(run.problem, run.graph) for run in plan.distributed.values() if run.graph]
    found = {}
    for problem, graph in dict.fromkeys(pairs):
        kind = load_problem(problem)
        if kind.queries:
            request = request_for_queries(plan.queries[problem], plan.draws, plan.config.seed)
            found[queries_file(problem, graph)] = f"query sets on {graph}", request
        elif kind.has_source:
            found[sources_file(graph)] = f"sources on {graph}", sources
    return found


def _of_draw(file: Path, request: Request) -> Iterator[Difference]:
    if is_made(file) and (one := difference(file, request)):
        key, found, wanted = one
        if key == "queries":  # pairs of name and section
            found, wanted = dict(found or ()), dict(wanted)
        yield from _between({key: found}, {key: wanted})


def _with_bases(plan: Plan, graphs: list[str]) -> list[str]:
    found = [*graphs]
    for name in found:  # which grows
        base = plan.datasets[name].extracted_from
        if base and base not in found:
            found.append(base)
    return list(dict.fromkeys(found))


def _common(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key in other}


def _between(found: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> Iterator[Difference]:
    """Yield the keys whose values differ, those of nested mappings joined by dots."""
    one, other = flatten(found, prefix), flatten(wanted, prefix)
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) != other.get(key):
            yield key, one.get(key), other.get(key)
