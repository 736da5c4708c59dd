"""Reads the answers that rivals write, as the columns of a problem."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import quoted

TYPES = {"u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8", "f32": "<f4", "f64": "<f8"}
"""Types of a column by the ending of its file."""

NONE = 2**32 - 1
"""Stands in all columns for "not reached" and "none"."""

EXACT = {"<f4": 2**24, "<f8": 2**53}
"""Floats count every integer up to this one."""


class Unfit(Exception):  # noqa: N818 - a status
    """An answer that cannot be taken: the status of its row, and why."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def clear(folder: Path) -> None:
    """Delete what lies in a folder of answers, so that no old one can be taken for a new one."""
    for path in folder.iterdir():
        path.unlink()


def read_answer(
    folder: Path, given: Iterable[str], n_vertices: int
) -> tuple[dict[str, npt.NDArray[np.uint32]], bool]:
    """Read the columns that a rival gave, each in a file ``{column}.{type}`` of one value per vertex.

    Parameters
    ----------
    folder : Path
    given : iterable of str
        Columns that it promised.
    n_vertices : int

    Returns
    -------
    columns : dict of str to ndarray of shape (n_vertices,), uint32
        `NONE` where the rival has infinity, a negative number or the largest one of its type.
    overflowed : bool
        Whether some value is finite but does not fit 32 bits; it is read as `NONE`.

    Raises
    ------
    Unfit
        If a file is missing, has another size, or holds what is no such value. A float32 that may be rounded
        makes the status ``skipped``.
    """
    columns, overflowed = {}, False
    for name in given:
        columns[name], wide = _read_column(folder, name, n_vertices)
        overflowed |= wide
    return columns, overflowed


def _read_column(folder: Path, name: str, n_vertices: int) -> tuple[npt.NDArray[np.uint32], bool]:
    found = sorted(path for path in folder.iterdir() if path.stem == name)
    if len(found) != 1 or found[0].suffix[1:] not in TYPES:
        there = ", ".join(quoted(path.name) for path in found) or "none"
        raise Unfit("invalid", f"expected one file {name}.f64, .u32, ... of its answer, found: {there}")
    path = found[0]
    dtype = TYPES[path.suffix[1:]]
    expected = n_vertices * np.dtype(dtype).itemsize
    if path.stat().st_size != expected:
        raise Unfit("invalid", f"{path.name} has {path.stat().st_size:,} bytes, expected {expected:,}")
    values = np.fromfile(path, dtype)
    return _converted(values, name, dtype)


def _converted(values: npt.NDArray[Any], name: str, dtype: str) -> tuple[npt.NDArray[np.uint32], bool]:
    """Return a column as uint32, and whether a value is too large for it."""
    if values.dtype.kind == "f":
        if np.isnan(values).any():
            raise Unfit("invalid", f"{name} holds NaN at vertex {int(np.isnan(values).argmax())}")
        none = np.isinf(values) | (values < 0) | (values == np.finfo(values.dtype).max)
        broken = ~none & (values != np.floor(values))
        if broken.any():
            raise Unfit("invalid", f"{name} is {values[broken.argmax()]} at vertex {int(broken.argmax())}")
        if bool((values[~none] > EXACT[dtype]).any()):
            raise Unfit(
                "skipped", f"a {name} above {EXACT[dtype]:,}, up to which float{8 * values.itemsize} is exact"
            )
    else:
        none = (values < 0) | (values == np.iinfo(values.dtype).max) | (values == NONE)
    wide = ~none & (values >= NONE)
    column = np.where(none | wide, 0, values).astype(np.uint32)
    column[none | wide] = NONE
    return column, bool(wide.any())
