"""The frame of a study: one row per measurement; a failure fills in the remaining rows."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from relaxometer.core.errors import Failed
from relaxometer.core.progress import Progress
from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.graphs.graph import Graph
from relaxometer.problems.variants import Skipped

Row = dict[str, Any]


class Place(NamedTuple):
    """Kind and name of a device that another process opens."""

    kind: str
    name: str


Where = Device | Place

OUTCOME = [("status", pa.string()), ("reason", pa.string())]
"""Columns of every study of a graph: a status, as of a run, and the reason if it is not ``ok``."""

WHERE = [("device_kind", pa.string()), ("device", pa.string())]
"""Columns of every study of a graph: the device."""

FAILURES = {Skipped: "skipped", DeviceOutOfMemory: "oom", OverflowError: "error"}
"""The status of what cannot be measured."""


def study_table(
    name: str, graph: Graph, device: Where, schema: pa.Schema, keys: Sequence[Row], results: Iterator[Row]
) -> pa.Table:
    """Collect the results of a study of one graph in a table; `name` is that in progress messages.

    `keys` has the columns after the graph's name, one mapping per row, and `results` the other columns in the
    same order. When it raises `Skipped`, `DeviceOutOfMemory`, `OverflowError` or `Failed`, the remaining rows
    get that status.
    """
    progress = Progress(f"{name} {graph.name}: rows", len(keys))
    rows = []
    for row in completed(results, len(keys)):
        rows.append(row)
        progress.step()
    identity = {"graph": graph.name, "device_kind": device.kind, "device": device.name}
    complete = [identity | key | row for key, row in zip(keys, rows, strict=True)]
    return pa.Table.from_pylist(complete, schema)


def completed(results: Iterator[Row], count: int) -> Iterator[Row]:
    """Yield `count` rows: the results, and once they raise, as many as are missing with that status."""
    status, reason = "", ""
    try:
        for row in results:
            yield row
            count -= 1
    except tuple(FAILURES) as error:
        status = next(status for kind, status in FAILURES.items() if isinstance(error, kind))
        reason = str(error)
    except Failed as error:
        status, reason = error.status, error.reason
    for _ in range(count):
        yield {"status": status, "reason": reason}


def outcome(reason: str) -> Row:
    """Return the columns `OUTCOME` of a proven answer, or of one refused for a reason."""
    return {"status": "invalid" if reason else "ok", "reason": reason}
