"""Reads the answers that rivals write, as the columns of a problem."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import Failed, quoted
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.problems.problem import Problem

TYPES = {"u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8", "f32": "<f4", "f64": "<f8"}
"""Types of a column by the ending of its file."""

NONE = 2**32 - 1  # stands in all columns for "not reached" and "none"
EXACT = {"<f4": 2**24, "<f8": 2**53}  # a float of this size may be the next integer, rounded


def read_answer(folder: Path, rows: Mapping[str, range]) -> tuple[dict[str, npt.NDArray[np.uint32]], bool]:
    """Read the columns that a rival gave, each in files ``{column}.{type}`` of as many values as `rows` says.

    Columns, uint32, have `NONE` where the rival has infinity, a negative number or the largest one of its
    type; integers may also be `NONE` themselves. Returned is also whether some value of the first column is
    finite but does not fit 32 bits; it is read as `NONE`, and so is the predecessor there. Failed if a file
    is missing, has another size, or holds a value that is not an integer. A float that may be rounded makes
    the status ``skipped``.
    """
    columns: dict[str, npt.NDArray[np.uint32]] = {}
    wide = []
    for name, fitting in rows.items():
        columns[name], is_wide = _read_column(folder, name, fitting)
        wide.append(is_wide)
    overflowed = bool(wide) and bool(wide[0].any())
    if overflowed and "predecessor" in columns:
        columns["predecessor"][wide[0]] = NONE
    return columns, overflowed


def typed_answer(
    problem: Problem, graph: Graph | Batch, columns: dict[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that a rival gave, in the problem's types; Failed if a value does not fit."""
    types = problem.columns_on(graph)
    answer = {name: columns[name].astype(dtype) for name, dtype in types.items() if name in columns}
    for name, values in answer.items():
        changed = values != columns[name]
        if changed.any():
            vertex = int(changed.argmax())
            reason = f"{name} is {columns[name][vertex]} at vertex {vertex}, too large for {values.dtype}"
            raise Failed("invalid", reason)
    return answer


def _read_column(
    folder: Path, name: str, rows: range
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
    try:
        found = sorted(path for path in folder.iterdir() if path.stem == name)
        if len(found) != 1 or found[0].suffix[1:] not in TYPES:
            there = ", ".join(quoted(path.name) for path in found[:3]) or "none"
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            expected = f"{name}.{{{','.join(TYPES)}}}"
            raise Failed("invalid", f"expected one answer file {expected}, found: {there}{more}")
        dtype = TYPES[found[0].suffix[1:]]
        values = np.frombuffer(_bytes_of(found[0], rows, np.dtype(dtype).itemsize), dtype)
    except OSError as error:
        raise Failed("invalid", f"its answer cannot be read: {error.strerror}") from None
    return _converted(values, name, dtype)


def _bytes_of(path: Path, rows: range, itemsize: int) -> bytes:
    """Return the content of a regular file of an expected size, whatever its writer does meanwhile."""
    if path.is_symlink() or not path.is_file():
        raise Failed("invalid", f"{path.name} is not a regular file")
    first, last = rows.start * itemsize, (rows.stop - 1) * itemsize
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        fits = stat.S_ISREG(facts.st_mode) and facts.st_size in range(first, last + 1, itemsize)
        content = file.read(facts.st_size) if fits else b""
    if not fits or len(content) != facts.st_size:
        expected = f"{last:,}" if first == last else f"{first:,} to {last:,}, by {itemsize}"
        raise Failed("invalid", f"{path.name} has {facts.st_size:,} bytes, expected {expected}")
    return content


def _converted(
    values: npt.NDArray[Any], name: str, dtype: str
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
    """Return a column as uint32, and which values are too large for it."""
    if values.dtype.kind == "f":
        if np.isnan(values).any():
            raise Failed("invalid", f"{name} is NaN at vertex {int(np.isnan(values).argmax())}")
        none = np.isinf(values) | (values < 0) | (values == np.finfo(values.dtype).max)
        broken = ~none & (values != np.floor(values))
        if broken.any():
            raise Failed("invalid", f"{name} is {values[broken.argmax()]} at vertex {int(broken.argmax())}")
        if bool((values[~none] >= EXACT[dtype]).any()):
            kind = f"float{8 * values.itemsize}"
            raise Failed("skipped", f"{name} reaches {EXACT[dtype]:,}, from where {kind} rounds integers")
    else:
        none = (values < 0) | (values == np.iinfo(values.dtype).max) | (values == NONE)
    wide = ~none & (values >= NONE)
    column = np.where(none | wide, 0, values).astype(np.uint32)
    column[none | wide] = NONE
    return column, wide
