"""New weights on the same map: the time until the first tree, and of further ones, after traffic has changed.

A solver with a method ``customize(weights)`` takes the new weights; any other is prepared anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.environment import cpu_model
from relaxometer.device import Device, stopwatch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.measure.sources import sources_table
from relaxometer.measure.study import OUTCOME, WHERE, Row, completed, outcome, study_table
from relaxometer.problems import sssp
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import load_solver, refuse_weights

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
        *OUTCOME,
        *WHERE,
    ]
)
"""One row per variant and round: how it took the new weights (`WAYS`), the number of arcs slowed, the time to
take the weights, the time of the first search, the median of the others, and the number of searches and of
proven answers."""

CUSTOMIZED, PREPARED = WAYS = ("customized", "prepared anew")


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
) -> pa.Table:
    """Change the weights of a graph in rounds, search after each change, and prove every answer.

    All variants see the same weights and search from the same sources. New weights are where a variant
    searches, on the device or in the host's memory, before the clock starts.

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

    Returns
    -------
    Table of the schema `TABLE`
    """
    keys = [{"variant": name, "round": number} for name in variants for number in range(rounds)]
    sources = np.resize(sources_table(graph, searches, seed)["source"].to_numpy(), searches)

    def rows() -> Iterator[Row]:
        for name in variants:
            rng = np.random.default_rng(seed)
            changes = (slowed(graph, share, factor, rng) for _ in range(rounds))
            module = load_solver("sssp", name)
            on_cpu = module.Solver.runs_on == "cpu"
            where = {"device_kind": "cpu", "device": cpu_model()} if on_cpu else {}
            found = _rounds(module, graph, changes, sources.tolist(), device)
            for row in completed(found, rounds):
                yield row | where

    return study_table("traffic", graph, device, TABLE, keys, rows())


def slowed(graph: Graph, share: float, factor: float, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return the weights of a graph with a share of its arcs slowed by factors up to `factor`."""
    factors = np.where(rng.random(graph.n_arcs) < share, rng.uniform(1, factor, graph.n_arcs), 1)
    lengths, weights = graph.lengths, graph.weights * factors
    if lengths.dtype.kind != "f":
        weights = np.rint(weights)
    return np.clip(weights, lengths.smallest, lengths.largest).astype(lengths.dtype)


def _rounds(
    module: Any, graph: Graph, changes: Iterator[npt.NDArray[Any]], sources: list[int], device: Device
) -> Iterator[Row]:
    """Let a variant search after each change; yield one row per change."""
    refuse_weights(sssp.PROBLEM, module.Solver, graph)
    parameters = module.Parameters.model_validate({})
    on_cpu = module.Solver.runs_on == "cpu"
    # Kernels are compiled at their first call, Numba's also for whether an array may be written.
    first = replace(graph, weights=graph.weights.copy())
    solver = module.Solver(ResidentGraph.upload(device, first), parameters)
    solver.solve(sources[0])
    way = CUSTOMIZED if hasattr(solver, "customize") else PREPARED
    for weights in changes:
        changed = ResidentGraph.upload(device, replace(graph, weights=weights))
        device.synchronize()
        with stopwatch() as update:
            if way == CUSTOMIZED:
                solver.customize(weights if on_cpu else changed.weights)
            else:
                solver = module.Solver(changed, parameters)
            device.synchronize()
        times_ms, reasons = _search(solver, changed, sources, on_cpu)
        yield {
            "way": way,
            "slowed": int((weights != graph.weights).sum()),
            "update_ms": update.ms,
            "first_ms": times_ms[0],
            "tree_ms": float(np.median(times_ms[1:] or times_ms)),
            "searches": len(sources),
            "proven": reasons.count(""),
            **outcome(next(filter(None, reasons), "")),
        }


def _search(
    solver: Any, changed: ResidentGraph, sources: list[int], on_cpu: bool
) -> tuple[list[float], list[str]]:
    """Search from every source; return the times, and why each answer is refused, empty if it is proven."""
    device, certifier = changed.device, SsspCertifier(changed)
    times_ms, reasons = [], []
    for source in sources:
        with stopwatch() if on_cpu else device.timer() as timer:
            answer = solver.solve(source)
        # A program on the CPU answers in the host's memory.
        columns = (device.asarray(column) for column in (answer.distance, answer.predecessor))
        certificate = certifier.check(source, *columns)
        outcome = certificate.outcome(overflowed=answer.overflowed, too_long=changed.lengths.too_long)
        if outcome[0] == "error":
            raise OverflowError(outcome[1])
        times_ms.append(timer.ms)
        reasons.append("" if certificate.holds else f"source {source}: {certificate.reason}")
    return times_ms, reasons
