"""Reader of the shortest-path format of the 9th DIMACS Implementation Challenge (``.gr``)."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from relaxometer.datasets.build import identify
from relaxometer.datasets.registry import Dataset
from relaxometer.errors import UserError
from relaxometer.graph import MAX_WEIGHT, Graph

Arcs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
_BLANK = b" \t\r"


def build(name: str, dataset: Dataset, files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of a ``.gr`` file; see :data:`relaxometer.datasets.build.Reader`."""
    (file,) = files
    identity = identify(file, dataset)
    n_vertices, sources, targets, weights = read_gr(file)
    metadata = {**identity, "arcs_in_file": len(sources)}
    return Graph.from_arcs(name, n_vertices, sources, targets, weights, metadata=metadata)


def read_gr(path: Path) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Read the arcs of a ``.gr``, ``.gr.gz`` or ``.gr.xz`` file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    n_vertices : int
    sources, targets, weights : ndarray of shape (n_arcs,), int64
        As in the file, in its order, but with vertices counted from 0.

    Raises
    ------
    UserError
        If the file is damaged, or a line of it is no arc of the announced graph; names the line.

    References
    ----------
    9th DIMACS Implementation Challenge, "File formats",
    https://www.diag.uniroma1.it/challenge9/format.shtml
    """
    data = _read_bytes(path)
    header = _read_header(path, data)
    # The fast reader does not say what it stumbled over. The slow one does, and it also reads what is merely
    # unusual: comments among the arcs, several spaces in a row.
    arcs = _read_arcs_fast(data, header) or _read_arcs_slowly(path, data, header)
    if len(arcs[0]) != header.n_arcs:
        raise UserError(
            f"{path}:{header.line}: {header.text!r} announces {header.n_arcs} arcs, but {len(arcs[0])} "
            "follow; the file is incomplete or its header is wrong"
        )
    sources, targets, weights = arcs
    return header.n_vertices, sources - 1, targets - 1, weights


@dataclass(frozen=True)
class _Header:
    """The problem line and where the arcs begin."""

    text: str
    line: int
    n_vertices: int
    n_arcs: int
    arcs_at: int
    lines_before_arcs: int


def _read_bytes(path: Path) -> bytes:
    try:
        return _DECOMPRESS.get(path.suffix, bytes)(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise UserError(
            f"{path}: not readable to its end ({error}); it is incomplete or damaged: delete it and fetch it "
            "again"
        ) from None


def _read_header(path: Path, data: bytes) -> _Header:
    """Read up to the first line that is neither comment nor problem line."""
    problem: tuple[str, int, int, int] | None = None
    last = 0
    for number, start, text in _lines(data):
        last = number
        if text.startswith("p"):
            if problem:
                _refuse(path, number, text, "the file already has a problem line")
            problem = (text, number, *_parse_problem(path, number, text))
        elif text and not text.startswith("c"):
            if problem is None:
                _refuse(path, number, text, "expected a line 'p sp <vertices> <arcs>' before the first arc")
            return _Header(*problem, start, number - 1)
    if problem is None:
        raise UserError(f"{path}: no problem line; expected a line 'p sp <vertices> <arcs>'")
    return _Header(*problem, len(data), last)


def _parse_problem(path: Path, number: int, text: str) -> tuple[int, int]:
    fields = text.split()
    if len(fields) != 4 or fields[:2] != ["p", "sp"] or not (fields[2] + fields[3]).isdecimal():
        _refuse(path, number, text, "expected 'p sp <vertices> <arcs>'")
    n_vertices = int(fields[2])
    if n_vertices >= 2**32:
        _refuse(path, number, text, f"at most {2**32 - 1} vertices are possible")
    return n_vertices, int(fields[3])


def _read_arcs_fast(data: bytes, header: _Header) -> Arcs | None:
    """Read lines of exactly the form ``a u v w``; None if there is any other line or value."""
    if data.find(b"x", header.arcs_at) >= 0 or data.find(b"X", header.arcs_at) >= 0:
        return None  # Arrow would take 0x10 for a number
    body = pa.py_buffer(memoryview(data)[header.arcs_at :])
    types = {"kind": pa.string(), "source": pa.int64(), "target": pa.int64(), "weight": pa.int64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(body),
            csv.ReadOptions(column_names=list(types)),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None
    if not pc.all(pc.equal(table["kind"], "a")).as_py():
        return None
    sources, targets, weights = (table[name].to_numpy() for name in list(types)[1:])
    in_range = (
        _within(sources, 1, header.n_vertices)
        and _within(targets, 1, header.n_vertices)
        and _within(weights, 0, MAX_WEIGHT)
    )
    return (sources, targets, weights) if in_range else None


def _within(values: npt.NDArray[np.int64], low: int, high: int) -> bool:
    return not len(values) or (int(values.min()) >= low and int(values.max()) <= high)


def _read_arcs_slowly(path: Path, data: bytes, header: _Header) -> Arcs:
    """Read line by line and refuse the first line that is no arc."""
    arcs: list[tuple[int, int, int]] = []
    for index, _, text in _lines(data, header.arcs_at):
        if text and not text.startswith("c"):
            arcs.append(_parse_arc(path, header.lines_before_arcs + index, text, header.n_vertices))
    table = np.array(arcs, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _parse_arc(path: Path, number: int, text: str, n_vertices: int) -> tuple[int, int, int]:
    fields = text.split()
    if fields[0] != "a":
        _refuse(path, number, text, "expected an arc 'a <source> <target> <weight>' or a comment 'c ...'")
    if len(fields) != 4:
        _refuse(path, number, text, f"{len(fields)} fields; expected 'a <source> <target> <weight>'")
    limits = (("source", 1, n_vertices), ("target", 1, n_vertices), ("weight", 0, MAX_WEIGHT))
    values = []
    for field, (what, low, high) in zip(fields[1:], limits, strict=True):
        digits = field.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and low <= int(field) <= high):
            _refuse(path, number, text, f"{what} {field} is no integer from {low} to {high}")
        values.append(int(field))
    return values[0], values[1], values[2]


def _lines(data: bytes, start: int = 0) -> Iterator[tuple[int, int, str]]:
    """Yield the number (from 1), the offset and the text of every line from `start` on."""
    number = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        number += 1
        yield number, start, data[start:end].strip(_BLANK).decode("utf-8", errors="replace")
        start = end + 1


def _refuse(path: Path, number: int, text: str, reason: str) -> NoReturn:
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    raise UserError(f"{path}:{number}: {shown!r}: {reason}")
