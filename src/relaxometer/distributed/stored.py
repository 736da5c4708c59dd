"""Blocks of stored graphs: each rank reads its share of the row groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.distributed.build import PIECE, Arcs, build_block
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.partition import Block, Layout
from relaxometer.graphs.files import REBUILD, check_columns, parquet, read_metadata, values_of
from relaxometer.graphs.graph import ARCS, OFFSETS

ARC_COLUMNS = {**ARCS, "weight": pa.uint32()}

BATCH = 1 << 23  # arcs read and sent at a time, which bounds memory


def stored_block(
    ranks: Ranks, scheme: str, folder: Path, *, weighted: bool, batch: int = BATCH, piece: int = PIECE
) -> Block:
    """Read a rank's block of a graph that :func:`relaxometer.graphs.graph.write_graph` wrote.

    `batch` arcs are read and sent at a time, `piece` sorted. UserError if a file is missing or damaged, or
    weights are wanted and they or distances are not of type uint32.
    """
    metadata = read_metadata(folder / "graph.json", ("name", "vertices", "arcs"))
    weight_type = metadata.get("weight_type", "uint32")
    if weighted and weight_type != "uint32":
        raise UserError(
            f"graph {metadata['name']}: weights are of type {quoted(weight_type)}; searches over several "
            "ranks take uint32"
        )
    if weighted and metadata.get("distance_type", "uint32") != "uint32":
        raise UserError(
            f"graph {metadata['name']}: distances are of type {quoted(metadata['distance_type'])}; searches "
            "over several ranks take uint32"
        )
    n_vertices, n_arcs = int(metadata["vertices"]), int(metadata["arcs"])
    layout = Layout(scheme, ranks.size, n_vertices)
    batches = partial(_batches, ranks, folder, n_vertices, n_arcs, weighted, batch)
    return build_block(metadata["name"], ranks, layout, batches, simple=False, metadata=metadata, piece=piece)


def _batches(
    ranks: Ranks, folder: Path, n_vertices: int, n_arcs: int, weighted: bool, batch: int
) -> Iterator[Arcs]:
    """Yield this rank's share of the arcs, in as many batches on every rank."""
    share = -(-n_arcs // ranks.size)
    begin, end = min(ranks.rank * share, n_arcs), min((ranks.rank + 1) * share, n_arcs)
    columns = ["target", "weight"] if weighted else ["target"]
    asarray = ranks.device.asarray
    for start in range(0, max(share, 1), batch):
        first = min(begin + start, end)
        stop = min(first + batch, end)
        arcs = read_slice(folder / "arcs.parquet", columns, first, stop)
        tails = _tails(folder / "vertices.parquet", first, stop)
        ends = np.concatenate([tails, arcs["target"]])
        if len(ends) != 2 * (stop - first) or int(ends.max(initial=0)) >= n_vertices > 0:
            raise UserError(f"{folder}: its files do not have the graph that graph.json describes; {REBUILD}")
        yield Arcs(asarray(tails), asarray(arcs["target"]), asarray(arcs["weight"]) if weighted else None)


def _tails(path: Path, first: int, stop: int) -> np.ndarray:
    """Return the tails of a range of arcs, uint32, reading only the row groups of their offsets."""
    with parquet(path) as file:
        check_columns(path, file, OFFSETS)
        described = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
        least = [_least(path, group.column(0).statistics) for group in described]
        _check_ascending(path, np.array(least))
        tails = np.zeros(stop - first, dtype=np.int64)
        row = 0
        for number, group in enumerate(described):
            is_before = number + 1 < len(least) and least[number + 1] <= first
            if first < stop and least[number] < stop and not is_before:
                offsets = values_of(path, file.read_row_group(number, columns=["offset"]), "offset")
                _check_ascending(path, offsets)
                before = int(np.searchsorted(offsets, first, side="right"))
                inside = offsets[before : np.searchsorted(offsets, stop, side="left")]
                # The tail of an arc is the last vertex whose offset is at or before it.
                if before:
                    tails[0] = row + before - 1
                np.maximum.at(tails, inside - first, row + before + np.arange(len(inside)))
            row += group.num_rows
    return np.maximum.accumulate(tails).astype(np.uint32)


def _check_ascending(path: Path, offsets: np.ndarray) -> None:
    if np.any(offsets[1:] < offsets[:-1]):
        raise UserError(f"{path}: offsets descend; {REBUILD}")


def _least(path: Path, statistics: Any) -> int:
    if statistics is None or not isinstance(statistics.min, int):
        raise UserError(f"{path}: a group of rows does not state its smallest offset; {REBUILD}")
    return statistics.min


def read_slice(path: Path, columns: list[str], first: int, stop: int) -> dict[str, np.ndarray]:
    """Return rows `first` to `stop` - 1 of some columns, reading only the row groups that hold them."""
    if first >= stop:
        return {name: np.empty(0, dtype=np.uint32) for name in columns}
    groups: list[int] = []
    row = offset = 0
    with parquet(path) as file:
        check_columns(path, file, {name: ARC_COLUMNS[name] for name in columns})
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if row < stop and row + rows > first:
                if not groups:
                    offset = row
                groups.append(group)
            row += rows
        table = file.read_row_groups(groups, columns=columns).slice(first - offset, stop - first)
        return {name: values_of(path, table, name) for name in columns}
