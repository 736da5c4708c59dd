"""Tables of numbers in text files: a fast reader for the usual, a slow one that names the line at fault."""

from __future__ import annotations

import gzip
import lzma
import math
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from relaxometer.errors import UserError

_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
_BLANK = b" \t\r"
_INTEGER = re.compile(r"-?[0-9]{1,30}")
_COUNT = re.compile(r"[0-9]{1,18}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Column:
    """What one field of a line may hold.

    Parameters
    ----------
    name : str
        For messages.
    low, high : int or float
        Bounds, both allowed.
    real : bool, default=False
        Whether a fraction is allowed; the column is float64 then, int64 otherwise.
    """

    name: str
    low: float
    high: float
    real: bool = False

    def parse(self, path: Path, number: int, text: str, field: str) -> int | float:
        """Return the number in `field`, or refuse line `number` with its `text`."""
        value: int | float = math.nan
        if self.real and _REAL.fullmatch(field):
            value = float(field)
        elif _INTEGER.fullmatch(field):
            value = int(field)
        if not self.low <= value <= self.high:
            kind = "number" if self.real else "integer"
            refuse(path, number, text, f"{self.name} {field} is no {kind} from {self.low} to {self.high}")
        return value


@dataclass(frozen=True)
class LineFormat:
    """The form that all lines of a table have.

    Parameters
    ----------
    item : str
        What a line describes, for messages: "an arc".
    columns : tuple of Column
    keyword : str, optional
        The first field of every line, before the columns.
    comments : tuple of str
        What lines begin with that are passed over.
    """

    item: str
    columns: tuple[Column, ...]
    keyword: str | None = None
    comments: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        """The form as one would write it down: ``a <source> <target> <weight>``."""
        fields = [f"<{column.name}>" for column in self.columns]
        return " ".join([self.keyword, *fields] if self.keyword else fields)

    def read(self, path: Path, data: bytes, start: int, lines_before: int) -> list[npt.NDArray[Any]]:
        """Read all lines from an offset on.

        Parameters
        ----------
        path : Path
            For messages.
        data : bytes
        start : int
            Offset of the first line of the table.
        lines_before : int
            Number of lines before it.

        Returns
        -------
        list of ndarray of shape (n_lines,), int64 or float64
            A column each.

        Raises
        ------
        UserError
            If a line has another form or a value is out of bounds; names the line.
        """
        # The fast reader does not say what it stumbled over. The slow one does, and it also reads what is
        # merely unusual: comments among the lines, several spaces in a row.
        columns = self.read_fast(data, start)
        return self.read_slowly(path, data, start, lines_before) if columns is None else columns

    def read_fast(self, data: bytes, start: int) -> list[npt.NDArray[Any]] | None:
        """Read lines with single spaces or tabs between fields; None if any line or value differs."""
        if data.find(b"x", start) >= 0 or data.find(b"X", start) >= 0:
            return None  # Arrow would take 0x10 for a number
        types = {column.name: pa.float64() if column.real else pa.int64() for column in self.columns}
        if self.keyword:
            types = {"keyword": pa.string(), **types}
        first_line = data[start : data.find(b"\n", start)]
        try:
            table = csv.read_csv(
                pa.BufferReader(pa.py_buffer(memoryview(data)[start:])),
                csv.ReadOptions(column_names=list(types)),
                csv.ParseOptions(delimiter="\t" if b"\t" in first_line else " ", quote_char=False),
                csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            return None
        if self.keyword and not pc.all(pc.equal(table["keyword"], self.keyword)).as_py():
            return None
        values = [table[column.name].to_numpy() for column in self.columns]
        fitting = all(_within(array, column) for array, column in zip(values, self.columns, strict=True))
        return values if fitting else None

    def read_slowly(self, path: Path, data: bytes, start: int, lines_before: int) -> list[npt.NDArray[Any]]:
        """Read line by line and refuse the first line that does not fit; see :meth:`read`."""
        rows = [
            self._parse(path, lines_before + index, text)
            for index, _, text in lines(data, start)
            if text and not text.startswith(self.comments)
        ]
        table = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        return [
            np.array(values, dtype=np.float64 if column.real else np.int64)
            for values, column in zip(table, self.columns, strict=True)
        ]

    def _parse(self, path: Path, number: int, text: str) -> list[int | float]:
        fields = text.split()
        if self.keyword and fields[0] != self.keyword:
            comment = f" or a comment '{self.comments[0]} ...'" if self.comments else ""
            refuse(path, number, text, f"expected {self.item} {self.shape!r}{comment}")
        values = fields[1:] if self.keyword else fields
        if len(values) != len(self.columns):
            refuse(path, number, text, f"{len(fields)} fields; expected {self.shape!r}")
        return [
            column.parse(path, number, text, field)
            for column, field in zip(self.columns, values, strict=True)
        ]


def _within(values: npt.NDArray[Any], column: Column) -> bool:
    """Tell whether all values fit a column; NaN does not."""
    return not len(values) or bool(values.min() >= column.low and values.max() <= column.high)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, decompressed if its name ends in ``.gz`` or ``.xz``.

    Raises
    ------
    UserError
        If it is missing or damaged.
    """
    try:
        return _DECOMPRESS.get(path.suffix, bytes)(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise UserError(
            f"{path}: not readable to its end ({error}); it is incomplete or damaged: delete it and fetch it "
            "again"
        ) from None


def lines(data: bytes, start: int = 0) -> Iterator[tuple[int, int, str]]:
    """Yield the number (from 1), the offset and the text of every line from `start` on."""
    number = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        number += 1
        yield number, start, data[start:end].strip(_BLANK).decode("utf-8", errors="replace")
        start = end + 1


@dataclass(frozen=True)
class Header:
    """The line that announces a table, and where the table begins.

    Parameters
    ----------
    text : str
    line : int
    numbers : tuple of int
        What it announces.
    start : int
        Offset of the first line of the table.
    lines_before : int
        Number of lines before it.
    """

    text: str
    line: int
    numbers: tuple[int, ...]
    start: int
    lines_before: int

    def check_count(self, path: Path, found: int, items: str) -> None:
        """Refuse a table of another length than the header announces with its last number."""
        if found != self.numbers[-1]:
            raise UserError(
                f"{path}:{self.line}: {self.text!r} announces {self.numbers[-1]} {items}, but {found} "
                "follow; the file is incomplete or its header is wrong"
            )


def read_problem_line(path: Path, data: bytes, expected: str, item: str) -> Header:
    """Read the problem line of a DIMACS format, and the comments round it.

    Parameters
    ----------
    path : Path
        For messages.
    data : bytes
    expected : str
        The line's form: ``p sp <vertices> <arcs>``; the words in angle brackets stand for integers.
    item : str
        What the table's lines describe, for messages.

    Raises
    ------
    UserError
        If there is no such line before the first that is no comment, or a second one.
    """
    problem: tuple[str, int, tuple[int, ...]] | None = None
    last = 0
    for number, start, text in lines(data):
        last = number
        if text.startswith("p"):
            if problem:
                refuse(path, number, text, "the file already has a problem line")
            problem = (text, number, _parse_problem(path, number, text, expected))
        elif text and not text.startswith("c"):
            if problem is None:
                refuse(path, number, text, f"expected a line {expected!r} before the first {item}")
            return Header(*problem, start, number - 1)
    if problem is None:
        raise UserError(f"{path}: no problem line; expected a line {expected!r}")
    return Header(*problem, len(data), last)


def _parse_problem(path: Path, number: int, text: str, expected: str) -> tuple[int, ...]:
    fields, forms = text.split(), expected.split()
    if len(fields) != len(forms):
        refuse(path, number, text, f"expected {expected!r}")
    numbers = []
    for field, form in zip(fields, forms, strict=True):
        is_number = form.startswith("<")
        if not (_COUNT.fullmatch(field) if is_number else field == form):
            refuse(path, number, text, f"expected {expected!r}")
        numbers += [int(field)] if is_number else []
    if numbers[0] >= 2**32:
        refuse(path, number, text, f"at most {2**32 - 1} vertices are possible")
    return tuple(numbers)


def refuse(path: Path, number: int, text: str, reason: str) -> NoReturn:
    """Raise a UserError that shows a line of a file and says what is wrong with it."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    raise UserError(f"{path}:{number}: {shown!r}: {reason}")
