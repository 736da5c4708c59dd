"""New weights on the same map: the time until the first tree, and of further ones, after traffic has changed.

A solver with a method ``customize(weights)`` takes the new weights; any other is prepared anew. A rival takes
them as ``docs/rivals.md`` describes.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import Failed, UserError
from relaxometer.device import Device, DeviceOutOfMemory, stopwatch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.measure.entrant import threads_of
from relaxometer.measure.measurement import answer_status
from relaxometer.measure.sources import sources_table
from relaxometer.measure.study import OUTCOME, WHERE, Row, completed, outcome, study_table
from relaxometer.measure.traffic_rival import CUSTOMIZED, rival_in_traffic
from relaxometer.plan.models import RivalRun
from relaxometer.problems import sssp
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import Skipped, load_solver, refuse_weights
from relaxometer.rivals.definition import find_rivals

TABLE = pa.schema(
    [
        ("graph", pa.string()),
        ("variant", pa.string()),
        ("round", pa.int32()),
        ("way", pa.string()),
        ("slowed", pa.int64()),
        ("update_ms", pa.float64()),
        ("first_ms", pa.float64()),
        ("tree_ms", pa.float64()),
        ("searches", pa.int32()),
        ("proven", pa.int32()),
        ("class", pa.string()),
        ("threads", pa.int32()),
        ("facts", pa.string()),
        *OUTCOME,
        *WHERE,
    ]
)
"""One row per variant or rival and round: how it took the new weights (`WAYS`), the number of arcs slowed,
the time to take the weights, the time of the first search, the median of the others, the number of searches
and of proven answers. Only rivals have a class of machine, threads, and facts, which the adapter reports."""

PREPARED = "prepared anew"
WAYS = CUSTOMIZED, PREPARED


class TrafficContestant(Protocol):
    """A variant or rival that searches a graph whose weights change.

    Attributes
    ----------
    is_rival : bool
    """

    is_rival: bool

    def take(self, changed: ResidentGraph) -> Row:
        """Take the weights of a changed graph; return the columns ``way``, ``update_ms`` and any facts."""

    def search(self, source: int) -> tuple[float, Sequence[Any], bool]:
        """Search the changed graph; return the milliseconds, distances and predecessors, and any overflow."""


Opener = Callable[[], AbstractContextManager[TrafficContestant]]
"""Prepares a contestant with the weights of the graph before any change, and ends it with the block."""


def measure_traffic(
    graph: Graph,
    device: Device,
    *,
    variants: Sequence[str],
    rounds: int,
    searches: int,
    share: float,
    factor: float,
    seed: int,
    rivals: Sequence[Mapping[str, Any]] = (),
    rival_folders: Sequence[str] = (),
) -> pa.Table:
    """Change the weights of a graph in rounds, search after each change, and prove every answer.

    All variants and rivals see the same weights and search from the same sources. New weights are where a
    variant searches, on the device or in the host's memory, before the clock starts.

    Parameters
    ----------
    graph : Graph
    device : Device
    variants : sequence of str
        Solvers of `sssp`, with their default parameters.
    rounds : int
        Changes of the weights, each drawn from those of the graph.
    searches : int
        Searches per round.
    share : float
        Share of the arcs that are slowed.
    factor : float
        An arc is slowed by a factor drawn between 1 and this one.
    seed : int
        Draws weights, and sources as for single searches; these repeat if the graph has too few.
    rivals : sequence of mapping
        The content of a `RivalRun` each; those of other graphs are left out.
    rival_folders : sequence of str
        Folders with rivals beyond those that ship.

    Returns
    -------
    Table of the schema `TABLE`
    """
    runs = [run for run in map(RivalRun.model_validate, rivals) if run.graph == graph.name]
    names = [*variants, *(run.variant for run in runs)]
    keys = [{"variant": name, "round": number} for name in names for number in range(rounds)]
    sources = np.resize(sources_table(graph, searches, seed)["source"].to_numpy(), searches).tolist()

    def contestants() -> Iterator[tuple[Row, Opener]]:
        for name in variants:
            module = load_solver("sssp", name)
            where = _ON_CPU | {"device": cpu_model()} if module.Solver.runs_on == "cpu" else {}
            yield where, partial(_prepared, module, graph, sources[0], device)
        known = find_rivals(rival_folders) if runs else {}
        for run in runs:
            where = _place_of(run, device)
            yield where, partial(rival_in_traffic, run, known[run.solver], graph, sources[0])

    def rows() -> Iterator[Row]:
        for where, opener in contestants():
            rng = np.random.default_rng(seed)
            changes = (slowed(graph, share, factor, rng) for _ in range(rounds))
            for row in completed(_rounds(opener, graph, changes, sources, device), rounds):
                yield row | where

    return study_table("traffic", graph, device, TABLE, keys, rows())


_ON_CPU = {"device_kind": "cpu"}


def _place_of(run: RivalRun, device: Device) -> Row:
    """Return the columns that say where a rival runs."""
    where: Row = {"class": run.kind, "threads": threads_of(run)}
    if run.kind != "gpu":
        return where | _ON_CPU | {"device": cpu_model()}
    return where | ({} if device.kind == "cuda" else {"device_kind": "cuda", "device": "a GPU"})


def slowed(graph: Graph, share: float, factor: float, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return the weights of a graph with a share of its arcs slowed by factors up to `factor`."""
    factors = np.where(rng.random(graph.n_arcs) < share, rng.uniform(1, factor, graph.n_arcs), 1)
    lengths = graph.lengths
    with np.errstate(over="ignore"):
        weights = graph.weights * factors
    if not lengths.is_float:
        weights = np.rint(weights)
    return np.clip(weights, lengths.smallest, lengths.largest).astype(lengths.dtype)


def _rounds(
    opener: Opener, graph: Graph, changes: Iterator[npt.NDArray[Any]], sources: list[int], device: Device
) -> Iterator[Row]:
    """Let a contestant search after each change; yield one row per change."""
    with _naming_its_failure(), opener() as contestant:
        for weights in changes:
            changed = ResidentGraph.upload(device, _own_copy(graph, weights))
            device.synchronize()
            taken = contestant.take(changed)
            certifier = SsspCertifier(ResidentGraph.upload(device, replace(graph, weights=weights)))
            times_ms, reasons = _search(contestant, certifier, changed, sources)
            yield {
                **taken,
                "slowed": int((weights != graph.weights).sum()),
                "first_ms": times_ms[0],
                "tree_ms": float(np.median(times_ms[1:] or times_ms)),
                "searches": len(sources),
                "proven": reasons.count(""),
                **outcome(next(filter(None, reasons), "")),
            }


def _own_copy(graph: Graph, weights: npt.NDArray[Any]) -> Graph:
    """Return a graph that a variant may write to without changing what it is proven against.

    Numba also compiles anew for arrays that cannot be written.
    """
    return replace(graph, offsets=graph.offsets.copy(), targets=graph.targets.copy(), weights=weights.copy())


@contextmanager
def _naming_its_failure() -> Iterator[None]:
    """Turn an exception of a variant into `Failed`, so that the others are still measured."""
    try:
        yield
    except (Skipped, DeviceOutOfMemory, OverflowError, Failed, UserError):
        raise
    except Exception as error:
        traceback.print_exc()
        reason = str(error).partition("\n")[0]
        raise Failed(
            "error", f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        ) from error


def _search(
    contestant: TrafficContestant, certifier: SsspCertifier, changed: ResidentGraph, sources: list[int]
) -> tuple[list[float], list[str]]:
    """Search from every source; return the times, and why each answer is refused, empty if it is proven.

    Raises
    ------
    OverflowError
        If a shortest path is too long, unless an answer before was wrong, which is told instead.
    """
    times_ms: list[float] = []
    reasons: list[str] = []
    for source in sources:
        time_ms, columns, overflowed = contestant.search(source)
        # A program on the CPU answers in the host's memory.
        certificate = certifier.check(source, *map(changed.device.asarray, columns))
        too_long, is_rival = changed.lengths.too_long, contestant.is_rival
        status, reason = answer_status(overflowed, certificate, too_long, is_rival=is_rival)
        if status == "error" and not any(reasons):
            raise OverflowError(reason)
        times_ms.append(time_ms)
        reasons.append(reason and f"source {source}: {reason}")
    return times_ms, reasons


@contextmanager
def _prepared(module: Any, graph: Graph, source: int, device: Device) -> Iterator[TrafficContestant]:
    """Prepare a variant for the graph before any change."""
    refuse_weights(sssp.PROBLEM, module.Solver, graph)
    first = ResidentGraph.upload(device, _own_copy(graph, graph.weights))
    yield _Variant(module, first, source)


class _Variant:
    """A variant with its default parameters; implements `TrafficContestant`."""

    is_rival = False

    def __init__(self, module: Any, graph: ResidentGraph, source: int) -> None:
        self._module, self._graph = module, graph
        self._on_cpu = module.Solver.runs_on == "cpu"
        self._parameters = module.Parameters.model_validate({})
        self._solver = module.Solver(graph, self._parameters)
        self._solver.solve(source)
        self._way = CUSTOMIZED if hasattr(self._solver, "customize") else PREPARED

    def take(self, changed: ResidentGraph) -> Row:
        """Customize the solver, or prepare it anew."""
        self._graph = changed
        with stopwatch() as update:
            if self._way == CUSTOMIZED:
                self._solver.customize(changed.host.weights if self._on_cpu else changed.weights)
            else:
                self._solver = self._module.Solver(changed, self._parameters)
            changed.device.synchronize()
        return {"way": self._way, "update_ms": update.ms}

    def search(self, source: int) -> tuple[float, Sequence[Any], bool]:
        """Time a search."""
        with stopwatch() if self._on_cpu else self._graph.device.timer() as timer:
            answer = self._solver.solve(source)
        return timer.ms, (answer.distance, answer.predecessor), answer.overflowed
