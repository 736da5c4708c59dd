"""The jobs that run a variant or a rival, for the scripts and ``relaxometer.cli.all_runs``.

Each writes its results and returns the statuses of their rows. A further round writes below the folder of the
first (:meth:`relaxometer.plan.models.Run.folder`), and is not measured if the first has failed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.core.files import read_json, read_table
from relaxometer.device import stopwatch
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.problems.queries import QuerySets
from relaxometer.problems.variants import uses_one_core
from relaxometer.race.entrant import enter
from relaxometer.race.measurement import Measurement, not_measured, write_measurement
from relaxometer.race.rival import measure_rival
from relaxometer.race.variant import measure
from relaxometer.rivals.definition import Rival
from relaxometer.rivals.installation import read_absence

Statuses = set[str]

SLOWED = 1.25  # measure a round again if fixed work took more than this multiple of its shortest time
AGAIN_BELOW_S = 10.0  # unless the round took longer than this

PROVEN = {"ok", "disputed"}  # statuses of a first round that is worth another


def run_variant(
    run: Run,
    graph: Graph | Batch,
    drawn: npt.NDArray[np.int64] | QuerySets | None,
    device: str,
    folder: Path,
    number: int = 1,
) -> Statuses:
    """Run a variant on a graph or a batch, prove its answers, and write all samples to `folder`.

    `drawn` are the sources drawn for the graph, of which the run takes the first ``run.timing.sources``, or
    the query sets, of which it takes this number per name; None where searches have no source. `number` is
    the round that this is, from 1.
    """
    if left_out := _left_out(run, folder, number):
        return _written(left_out, run, folder)
    queries = drawn if isinstance(drawn, QuerySets) else None
    result = _quieter(
        lambda: measure(run, graph, _sources(run, drawn), device, number, queries), folder, number
    )
    return _written(_of_one_kind(result, run, folder), run, folder)


def run_rival(
    run: RivalRun,
    rival: Rival,
    installed: str | None,
    graph: Graph | Batch,
    drawn: npt.NDArray[np.int64] | QuerySets | None,
    device: str,
    folder: Path,
    number: int = 1,
) -> Statuses:
    """Run a rival as :func:`run_variant` runs a variant.

    `installed` is the file that says whether it is absent; None if ``run.command`` starts it. How to start it
    is asked here, since another machine may have written the file.
    """
    if left_out := _left_out(run, folder, number):
        return _written(left_out, run, folder)
    if number > 1:
        run = _as_tuned(run, folder)
    queries = drawn if isinstance(drawn, QuerySets) else None
    entrant = enter(run, rival, graph, read_absence(Path(installed)) if installed else None, queries)
    result = _quieter(lambda: measure_rival(entrant, _sources(run, drawn), device, number), folder, number)
    return _written(result, run, folder)


def _quieter(measured: Callable[[], Measurement], folder: Path, number: int) -> Measurement:
    """Measure a round; if the machine was slowed meanwhile, once more, and return the quieter of both.

    Fixed work says so, compared with that of the whole race so far. A round that fails counts, and one that
    takes long is not repeated.
    """
    with stopwatch() as spent:
        one = measured()
    least = min([*_fixed_work(one.context), *_fixed_work_of_race(one.context, folder, number)], default=0.0)
    if max(_fixed_work(one.context), default=0.0) <= SLOWED * least or spent.ms > 1e3 * AGAIN_BELOW_S:
        return one
    if _has_failed(one):
        return one
    again = measured()
    return again if _has_failed(again) or _fixed_work(again.context) < _fixed_work(one.context) else one


def _has_failed(result: Measurement) -> bool:
    return any(row.status not in {*PROVEN, "unproven"} for row in result.runs)


def _fixed_work(context: Mapping[str, Any]) -> list[float]:
    """Return the times of fixed work around a round, the longer one first."""
    times = context.get("reference_ms", {}).values()
    return sorted((ms for ms in times if ms), reverse=True)


def _fixed_work_of_race(context: Mapping[str, Any], folder: Path, number: int) -> Iterator[float]:
    """Yield the times of fixed work around the rounds on the same graph that are done, on the same device."""
    race = (folder if number == 1 else _first(folder)).parent
    for file in (*race.glob("*/context.json"), *race.glob("*/rounds/*/context.json")):
        with suppress(UserError):  # it may be just about to be replaced
            other = read_json(file)
            if other.get("device_kind") == context["device_kind"]:
                yield from _fixed_work(other)


def _sources(run: Run, drawn: npt.NDArray[np.int64] | QuerySets | None) -> npt.NDArray[np.int64]:
    """Return the sources of a run, or the numbers of its query sets: a single 0 where searches have none."""
    if drawn is None:
        return np.zeros(1, dtype=np.int64)
    sources = run.timing.sources
    count = sources if isinstance(sources, int) else len(sources)
    return drawn.timed(count) if isinstance(drawn, QuerySets) else drawn[:count]


def _left_out(run: Run, folder: Path, number: int) -> Measurement | None:
    """Return an empty further round if the first makes it pointless, else None; UserError without a first.

    It is pointless if the first failed, or was emulated and the configuration does not ask for rounds.
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


def _of_one_kind(result: Measurement, run: Run, folder: Path) -> Measurement:
    """Return a round; of a further one on another kind of machine than the first, only the failures."""
    if result.round == 1:
        return result
    first = _first_context(folder)
    before, now = (_kind_of_machine(context) for context in (first, result.context))
    if before == now:
        return result
    if failed := [row for row in result.runs if row.status not in PROVEN]:
        return replace(result, runs=failed)
    reason = f"on {now}, but the first round ran on {before}"
    return not_measured(run, first["device_kind"], first["device"], result.round, reason)


def _kind_of_machine(context: Mapping[str, Any]) -> str:
    if context["device_kind"] != "cpu":
        return {"cuda": "a GPU", "host": "an emulated GPU"}[context["device_kind"]]
    return "one core" if uses_one_core(context.get("parameters", {})) else "several cores"


def _as_tuned(run: RivalRun, folder: Path) -> RivalRun:
    """Return a rival's run with the parameters that its first round was tuned to."""
    chosen = _first_context(folder).get("parameters", {})
    tuned = {name: chosen[name] for name in run.tune if name in chosen}
    return run.model_copy(update={"parameters": {**run.parameters, **tuned}, "tune": {}})


def _first(folder: Path) -> Path:
    """Return the folder of the first round, given that of a further one."""
    return folder.parents[1]


def _first_context(folder: Path) -> dict[str, Any]:
    file = _first(folder) / "context.json"
    if not file.is_file():
        raise UserError(f"{file.parent}: no results of the first round")
    return read_json(file)


def _written(result: Measurement, run: Run, folder: Path) -> Statuses:
    write_measurement(result, run.problem, folder)
    return {row.status for row in result.runs} or {"not measured"}
