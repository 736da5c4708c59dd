"""Reads the Parquet and JSON files of graphs; a damaged or foreign one is an error of one line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.core.errors import UserError, quoted

REBUILD = "delete the folder and build it again"

Columns = Mapping[str, pa.DataType]
"""Types of columns by name."""

_COUNTS = ("graphs", "vertices", "arcs")
"""Keys of a graph's or batch's description that hold counts; the other needed ones hold text."""


@contextmanager
def parquet(path: Path, advice: str = REBUILD) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file.

    UserError, which ends in `advice`, if it is missing, or found to be damaged while it is read.
    """
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
        raise UserError(f"{path}: not readable as Parquet ({quoted(error)}); {advice}") from None


def read_columns(
    path: Path, needed: Columns, description: Path, promised: int, optional: Columns | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Return columns of a Parquet file by name: those `needed`, and those `optional` that it has.

    UserError if the file is missing or damaged, lacks a column, has one of another type or with missing
    values, or other than `promised` rows, the number that the file `description` states. Other columns are
    ignored.
    """
    with parquet(path) as file:
        names = file.schema_arrow.names
        present = {name: kind for name, kind in (optional or {}).items() if name in names}
        columns = check_columns(path, file, {**needed, **present})
        rows = file.metadata.num_rows
        if rows == promised:
            table = file.read(columns)
            rows = table.num_rows  # of a damaged file, less than it announces
        if rows != promised:
            raise UserError(f"{path}: {rows} rows, but {description.name} says {promised}; {REBUILD}")
        return {name: values_of(path, table, name) for name in columns}


def check_columns(path: Path, file: pq.ParquetFile, needed: Columns, advice: str = REBUILD) -> list[str]:
    """Return the names of the `needed` columns; refuse a file that lacks one or has one of another type."""
    schema = file.schema_arrow
    for name, kind in needed.items():
        if schema.names.count(name) != 1:
            raise UserError(f"{path}: no column {name!r}; {advice}")
        if schema.field(name).type != kind:
            found = quoted(schema.field(name).type)
            raise UserError(f"{path}: column {name!r} is of type {found}, expected {kind}; {advice}")
    return list(needed)


def values_of(path: Path, table: pa.Table, name: str, advice: str = REBUILD) -> npt.NDArray[Any]:
    """Return a column of a table that was read from `path`; refuse one with missing values."""
    column = table.column(name)
    if column.null_count:
        raise UserError(f"{path}: column {name!r} lacks values; {advice}")
    values: npt.NDArray[Any] = column.to_numpy()
    return values


def read_metadata(path: Path, needed: Sequence[str]) -> dict[str, Any]:
    """Return the content of a JSON file that must have the keys `needed`.

    UserError if it is missing or damaged, or lacks a key or has another kind of value there.
    """
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{path}: not readable as JSON ({error}); {REBUILD}") from None
    if not isinstance(metadata, dict):
        raise UserError(f"{path}: expected keys and values, found {quoted(metadata)}; {REBUILD}")
    for key in needed:
        if key not in metadata:
            raise UserError(f"{path}: no key {key!r}; {REBUILD}")
        value = metadata[key]
        if not (_is_count(value) if key in _COUNTS else isinstance(value, str)):
            expected = "a count" if key in _COUNTS else "text"
            raise UserError(f"{path}: {key} is {quoted(value)}, expected {expected}; {REBUILD}")
    if not isinstance(parameters := metadata.get("parameters", {}), dict):
        raise UserError(f"{path}: parameters is {quoted(parameters)}, expected keys and values; {REBUILD}")
    keys = metadata.get("search_keys", [])
    if not isinstance(keys, list) or not all(_is_count(key) and key < metadata["vertices"] for key in keys):
        raise UserError(f"{path}: search_keys is not a list of vertices; {REBUILD}")
    return metadata


def read_description(path: Path) -> dict[str, Any]:
    """Return the content of a ``graph.json``; raises as :func:`read_metadata`."""
    return read_metadata(path, ("name", "vertices", "arcs"))


def with_texts(metadata: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with the texts of a dataset's entry in place of its own, without empty ones."""
    return {key: value for key, value in {**metadata, **texts}.items() if value or key not in texts}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def read_sources(path: Path, n_vertices: int) -> npt.NDArray[np.int64]:
    """Read the sources that were drawn on a graph of `n_vertices`; shape (n_sources,).

    UserError if the file is missing or damaged, or holds something else than sources of this graph.
    """
    advice = "delete the file, and it is drawn again"
    with parquet(path, advice) as file:
        check_columns(path, file, {"source": pa.int64()}, advice)
        sources: npt.NDArray[np.int64] = values_of(path, file.read(["source"]), "source", advice)
    wrong = np.flatnonzero((sources < 0) | (sources >= n_vertices))
    if len(wrong):
        raise UserError(
            f"{path}: source {sources[wrong[0]]} is out of range; expected 0 to {n_vertices - 1}; {advice}"
        )
    return sources
