"""Searches per second where many sources are searched at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from relaxometer.core.progress import Progress
from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.measure.sources import sources_table
from relaxometer.problems.records import OVERFLOW
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.near_far import many_sources
from relaxometer.problems.variants import Skipped

TABLE = pa.schema(
    [
        ("graph", pa.string()),
        ("searches", pa.int32()),
        ("repetition", pa.int32()),
        ("time_ms", pa.float64()),
        ("proven", pa.int32()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("device_kind", pa.string()),
        ("device", pa.string()),
    ]
)
"""A row for each launch: how many searches it made, the time of all, and how many answers were proven."""


def measure_throughput(
    graph: Graph, counts: Sequence[int], *, repetitions: int, seed: int, device: Device
) -> pa.Table:
    """Time `many-sources` on so many sources at once, and prove every answer.

    Parameters
    ----------
    graph : Graph
    counts : sequence of int
        Numbers of searches in a launch.
    repetitions : int
        Launches of each number, after one that is not timed.
    seed : int
        Of the sources, which are drawn as those of single searches are. A graph with fewer gives
        some several times.
    device : Device

    Returns
    -------
    Table of the schema `TABLE`
    """
    launches = [(count, repetition) for count in counts for repetition in range(repetitions)]
    progress = Progress(f"throughput {graph.name}: launches", len(launches))
    results: list[dict[str, Any]] = []
    failure = {}
    try:
        study = _Study(graph, max(counts), seed, device)
        for count, repetition in launches:
            results.append(study.launch(count, warm=repetition > 0))
            progress.step()
    except Skipped as error:
        failure = {"status": "skipped", "reason": str(error)}
    except DeviceOutOfMemory as error:
        failure = {"status": "oom", "reason": str(error)}
    except OverflowError:
        failure = {"status": "error", "reason": OVERFLOW}
    results += [failure] * (len(launches) - len(results))
    identity = {"graph": graph.name, "device_kind": device.kind, "device": device.name}
    rows = [
        identity | {"searches": count, "repetition": repetition} | result
        for (count, repetition), result in zip(launches, results, strict=True)
    ]
    return pa.Table.from_pylist(rows, TABLE)


class _Study:
    """`many-sources` set up on one graph, with sources for its largest launch."""

    def __init__(self, graph: Graph, most: int, seed: int, device: Device) -> None:
        resident = ResidentGraph.upload(device, graph)
        self._device = device
        parameters = many_sources.Parameters.model_validate({"sources": most})
        self._solver = many_sources.Solver(resident, parameters)
        self._certifier = SsspCertifier(resident)
        self._sources = np.resize(sources_table(graph, most, seed)["source"].to_numpy(), most)

    def launch(self, count: int, *, warm: bool) -> dict[str, Any]:
        """Search from so many sources at once; return time, answers proven and status."""
        sources = self._sources[:count]
        if not warm:
            self._solver.solve_many(sources)
        with self._device.timer() as timer:
            distance, predecessor = self._solver.solve_many(sources)
        wrong = []
        for row, source in enumerate(sources.tolist()):
            certificate = self._certifier.check(source, distance[row], predecessor[row])
            if not certificate.holds:
                wrong.append(f"source {source}: {certificate.reason}")
        return {
            "time_ms": timer.ms,
            "proven": count - len(wrong),
            "status": "invalid" if wrong else "ok",
            "reason": wrong[0] if wrong else "",
        }
