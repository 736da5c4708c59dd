"""Tables of numbers in text files: a fast reader, and a slow one that names the line at fault."""

from __future__ import annotations

import gzip
import lzma
import math
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from relaxometer.core.errors import UserError

_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_BLANK = b" \t\r\n"
_INTEGER = re.compile(r"-?[0-9]{1,30}")
_COUNT = re.compile(r"[0-9]{1,18}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

BLOCK = 1 << 20
"""Bytes of text in memory at a time."""


@dataclass(frozen=True)
class Column:
    """The allowed values of one field of a line.

    Parameters
    ----------
    name : str
        Used in messages.
    low, high : int or float
        Bounds, inclusive.
    real : bool, default=False
        True if fractions are allowed.
    """

    name: str
    low: float
    high: float
    real: bool = False

    @property
    def dtype(self) -> npt.DTypeLike:
        """Float64 for fractions, otherwise uint32 if it holds all allowed values, otherwise int64."""
        if self.real:
            return np.float64
        return np.uint32 if self.low >= 0 and self.high < 2**32 else np.int64

    def parse(self, path: Path, number: int, text: str, field: str) -> int | float:
        """Return the number in `field`, or refuse line `number` with its `text`."""
        value: int | float = math.nan
        if self.real and _REAL.fullmatch(field):
            value = float(field)
        elif _INTEGER.fullmatch(field):
            value = int(field)
        if not self.low <= value <= self.high:
            kind = "a number" if self.real else "an integer"
            refuse(path, number, text, f"{self.name} {field} is not {kind} from {self.low} to {self.high}")
        return value


@dataclass(frozen=True)
class LineFormat:
    """The format of all lines of a table.

    Parameters
    ----------
    item : str
        The item that a line describes, for messages: "an arc".
    columns : tuple of Column
    keyword : str, optional
        First field of every line, before the columns.
    comments : tuple of str
        Beginnings of lines to skip.
    """

    item: str
    columns: tuple[Column, ...]
    keyword: str | None = None
    comments: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        """The format in words: ``a <tail> <head> <weight>``."""
        fields = [f"<{column.name}>" for column in self.columns]
        return " ".join([self.keyword, *fields] if self.keyword else fields)

    def read(self, path: Path, start: int, lines_before: int) -> list[npt.NDArray[Any]]:
        """Read all lines from an offset to the end.

        Parameters
        ----------
        path : Path
        start : int
            Offset of the table's first line, in the decompressed text.
        lines_before : int
            Number of lines before it.

        Returns
        -------
        list of ndarray of shape (n_lines,)
            One per column, of the column's dtype.

        Raises
        ------
        UserError
            If a line has another format or a value is out of bounds; names the line.
        """
        # The fast reader does not report the line at fault. The slow one does, and it also accepts unusual
        # lines: comments inside the table, several spaces in a row.
        with opened(path, start) as stream:
            columns = self.read_fast(stream)
        if columns is None:
            with opened(path, start) as stream:
                columns = self.read_slowly(path, stream, lines_before)
        return columns

    def read_fast(self, stream: IO[bytes]) -> list[npt.NDArray[Any]] | None:
        """Read lines with single spaces or tabs between fields; None if any line or value differs."""
        columns = [np.empty(0, column.dtype) for column in self.columns]
        delimiter = ""
        for block in _whole_lines(stream):
            delimiter = delimiter or ("\t" if b"\t" in block[: block.find(b"\n")] else " ")
            values = self._read_block(block, delimiter)
            if values is None:
                return None
            for column, more in zip(columns, values, strict=True):
                # Resizing moves pages; joining a list of blocks would take twice the memory.
                column.resize(len(column) + len(more), refcheck=False)
                column[len(column) - len(more) :] = more
        return columns

    def _read_block(self, block: bytes, delimiter: str) -> list[npt.NDArray[Any]] | None:
        """Read the lines of one block; None if any line or value differs."""
        if b"x" in block or b"X" in block:
            return None  # Arrow reads 0x10 as a number
        types = {column.name: pa.float64() if column.real else pa.int64() for column in self.columns}
        if self.keyword:
            types = {"keyword": pa.string(), **types}
        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                csv.ReadOptions(column_names=list(types)),
                csv.ParseOptions(delimiter=delimiter, quote_char=False),
                csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
                pa.system_memory_pool(),  # the default pool retains more memory
            )
        except pa.ArrowInvalid:
            return None
        if self.keyword and not pc.all(pc.equal(table["keyword"], self.keyword)).as_py():
            return None
        values = [table[column.name].to_numpy() for column in self.columns]
        fitting = all(_within(array, column) for array, column in zip(values, self.columns, strict=True))
        return values if fitting else None

    def read_slowly(self, path: Path, stream: IO[bytes], lines_before: int) -> list[npt.NDArray[Any]]:
        """Read line by line and refuse the first line that does not fit; see :meth:`read`."""
        rows = [
            self._parse(path, lines_before + index, text)
            for index, _, text in lines(stream)
            if text and not text.startswith(self.comments)
        ]
        table = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        return [
            np.array(values, dtype=column.dtype) for values, column in zip(table, self.columns, strict=True)
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
    """Return whether all values fit a column; NaN does not."""
    return not len(values) or bool(values.min() >= column.low and values.max() <= column.high)


@contextmanager
def opened(path: Path, start: int = 0) -> Iterator[IO[bytes]]:
    """Open a file at an offset in its content; files named ``.gz`` or ``.xz`` are decompressed.

    Raises
    ------
    UserError
        If the file is missing, or found to be damaged while it is read.
    """
    try:
        with _OPEN.get(path.suffix, open)(path, "rb") as stream:
            stream.seek(start)
            yield stream
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise UserError(
            f"{path}: cannot be read to the end ({error}); it is incomplete or damaged: delete it and fetch "
            "it again"
        ) from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; see :func:`opened`."""
    with opened(path) as stream:
        return stream.read()


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a stream in blocks of whole lines."""
    rest = b""
    while chunk := stream.read(BLOCK):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
            rest = b""
        rest += chunk[end:]
    if rest:
        yield rest


def lines(stream: IO[bytes]) -> Iterator[tuple[int, int, str]]:
    """Yield number (from 1), offset of the end, and text of every remaining line of a stream."""
    end = 0
    for number, line in enumerate(stream, start=1):
        end += len(line)
        yield number, end, line.strip(_BLANK).decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Header:
    """The line that announces a table, and the start of the table.

    Parameters
    ----------
    text : str
    line : int
    numbers : tuple of int
        The announced counts.
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
        """Refuse a table whose length differs from the header's last number."""
        if found != self.numbers[-1]:
            raise UserError(
                f"{path}:{self.line}: {self.text!r} announces {self.numbers[-1]} {items}, but {found} "
                "follow; the file is incomplete or its header is wrong"
            )


def read_problem_line(path: Path, expected: str, item: str) -> Header:
    """Read the problem line of a DIMACS format, and the comments around it.

    Parameters
    ----------
    path : Path
    expected : str
        Format of the line: ``p sp <vertices> <arcs>``; words in angle brackets are integers.
    item : str
        The item that a line of the table describes, for messages.

    Raises
    ------
    UserError
        If the line is missing before the table, or occurs twice.
    """
    problem: tuple[str, int, tuple[int, ...]] | None = None
    number = start = 0
    with opened(path) as stream:
        for number, end, text in lines(stream):
            if text.startswith("p"):
                if problem:
                    refuse(path, number, text, "the file already has a problem line")
                problem = (text, number, _parse_problem(path, number, text, expected))
            elif text and not text.startswith("c"):
                if problem is None:
                    refuse(path, number, text, f"expected a line {expected!r} before the first {item}")
                return Header(*problem, start, number - 1)
            start = end
    if problem is None:
        raise UserError(f"{path}: no problem line; expected a line {expected!r}")
    return Header(*problem, start, number)


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
    """Raise a UserError that shows a line of a file and the reason."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    raise UserError(f"{path}:{number}: {shown!r}: {reason}")
