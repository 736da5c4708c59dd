"""Tables of numbers in text files: a fast reader for the usual, a slow one that names the line at fault."""

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
    """What one field of a line may hold.

    Parameters
    ----------
    name : str
        For messages.
    low, high : int or float
        Bounds, both allowed.
    real : bool, default=False
        Whether a fraction is allowed.
    """

    name: str
    low: float
    high: float
    real: bool = False

    @property
    def dtype(self) -> npt.DTypeLike:
        """Float64 for fractions; otherwise the smaller of uint32 and int64 that holds all values allowed."""
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

    def read(self, path: Path, start: int, lines_before: int) -> list[npt.NDArray[Any]]:
        """Read all lines from an offset on.

        Parameters
        ----------
        path : Path
        start : int
            Offset of the first line of the table, in the text if that is compressed.
        lines_before : int
            Number of lines before it.

        Returns
        -------
        list of ndarray of shape (n_lines,)
            A column each, of its dtype.

        Raises
        ------
        UserError
            If a line has another form or a value is out of bounds; names the line.
        """
        # The fast reader does not say what it stumbled over. The slow one does, and it also reads what is
        # merely unusual: comments among the lines, several spaces in a row.
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
                # The system moves pages instead of copying; pieces to be joined would take twice the memory.
                column.resize(len(column) + len(more), refcheck=False)
                column[len(column) - len(more) :] = more
        return columns

    def _read_block(self, block: bytes, delimiter: str) -> list[npt.NDArray[Any]] | None:
        """Read some of the lines."""
        if b"x" in block or b"X" in block:
            return None  # Arrow would take 0x10 for a number
        types = {column.name: pa.float64() if column.real else pa.int64() for column in self.columns}
        if self.keyword:
            types = {"keyword": pa.string(), **types}
        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                csv.ReadOptions(column_names=list(types)),
                csv.ParseOptions(delimiter=delimiter, quote_char=False),
                csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
                pa.system_memory_pool(),  # the default one keeps more for itself
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
    """Tell whether all values fit a column; NaN does not."""
    return not len(values) or bool(values.min() >= column.low and values.max() <= column.high)


@contextmanager
def opened(path: Path, start: int = 0) -> Iterator[IO[bytes]]:
    """Open a file, decompressed if its name ends in ``.gz`` or ``.xz``, at an offset in its content.

    Raises
    ------
    UserError
        If it is missing, or turns out to be damaged while it is read.
    """
    try:
        with _OPEN.get(path.suffix, open)(path, "rb") as stream:
            stream.seek(start)
            yield stream
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise UserError(
            f"{path}: not readable to its end ({error}); it is incomplete or damaged: delete it and fetch it "
            "again"
        ) from None


def read_bytes(path: Path) -> bytes:
    """Return what a file holds; see :func:`opened`."""
    with opened(path) as stream:
        return stream.read()


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what is left of a stream in blocks that end where a line does."""
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
    """Yield the number (from 1), the offset of the end, and the text of every line left of a stream."""
    end = 0
    for number, line in enumerate(stream, start=1):
        end += len(line)
        yield number, end, line.strip(_BLANK).decode("utf-8", errors="replace")


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


def read_problem_line(path: Path, expected: str, item: str) -> Header:
    """Read the problem line of a DIMACS format, and the comments round it.

    Parameters
    ----------
    path : Path
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
    """Raise a UserError that shows a line of a file and says what is wrong with it."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    raise UserError(f"{path}:{number}: {shown!r}: {reason}")
