"""Searches per second when one launch searches from many sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from relaxometer.device import Device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.measure.sources import sources_table
from relaxometer.measure.study import OUTCOME, WHERE, Row, outcome, study_table
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.near_far import many_sources

TABLE = pa.schema(
    [
        ("graph", pa.string()),
        ("searches", pa.int32()),
        ("repetition", pa.int32()),
        ("time_ms", pa.float64()),
        ("proven", pa.int32()),
        *OUTCOME,
        *WHERE,
    ]
)
"""One row per launch: its number of searches, their total time, and the number of proven answers."""


def measure_throughput(
    graph: Graph, device: Device, *, searches: Sequence[int], repetitions: int, seed: int
) -> pa.Table:
    """Time launches of `many-sources` and prove every answer.

    Parameters
    ----------
    graph : Graph
    device : Device
    searches : sequence of int
        Numbers of searches per launch.
    repetitions : int
        Timed launches of each number, after an untimed one.
    seed : int
        Draws the sources, as for single searches; they repeat if the graph has too few.

    Returns
    -------
    Table of the schema `TABLE`
    """
    keys = [{"searches": count, "repetition": number} for count in searches for number in range(repetitions)]
    launches = _launches(graph, keys, seed, device)
    return study_table("throughput", graph, device, TABLE, keys, launches)


def _launches(graph: Graph, keys: Sequence[dict[str, int]], seed: int, device: Device) -> Iterator[Row]:
    """Launch once per key; yield time, answers proven and status."""
    most = max(key["searches"] for key in keys)
    resident = ResidentGraph.upload(device, graph)
    solver = many_sources.Solver(resident, many_sources.Parameters.model_validate({"sources": most}))
    certifier = SsspCertifier(resident)
    drawn = np.resize(sources_table(graph, most, seed)["source"].to_numpy(), most)
    for key in keys:
        sources = drawn[: key["searches"]]
        if key["repetition"] == 0:
            solver.solve_many(sources)
        with device.timer() as timer:
            distance, predecessor = solver.solve_many(sources)
        wrong = []
        for row, source in enumerate(sources.tolist()):
            certificate = certifier.check(source, distance[row], predecessor[row])
            if not certificate.holds:
                wrong.append(f"source {source}: {certificate.reason}")
        yield {"time_ms": timer.ms, "proven": len(sources) - len(wrong), **outcome(wrong[0] if wrong else "")}
