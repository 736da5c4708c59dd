"""Tables of numbers in text files: a fast reader, and a slow one that names the line at fault."""

import bz2
import gzip
import io
import lzma
import math
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.registry import DataFile


class _Zstandard(io.RawIOBase):
    """The content of a file that Zstandard compressed, by Arrow's codec."""

    def __init__(self, path: Path) -> None:
        self._stream = pa.CompressedInputStream(str(path), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def _matrix_within(path: Path) -> Iterator[IO[bytes]]:
    """Open the file NAME/NAME.mtx of an archive, as those of SuiteSparse have it."""
    try:
        archive = tarfile.open(path, "r:gz")  # noqa: SIM115
    except tarfile.ReadError:
        with gzip.open(path) as content:
            content.read(1)  # damage has a message of its own
        name = f"{path.name.removesuffix('.tar.gz')}.gz"
        raise UserError(f"{path}: not a tar archive, as its name says; rename it to {name}") from None
    with archive:
        for member in archive:
            inside = PurePosixPath(member.name)
            if member.isfile() and inside.name == f"{inside.parent.name}.mtx":
                stream = archive.extractfile(member)
                assert stream is not None, "it is a file"
                with stream:
                    yield stream
                return
    raise UserError(f"{path}: an archive without a file NAME/NAME.mtx; unpack it and name the file inside")


_OPEN: dict[str, Callable[..., Any]] = {
    **{".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open},
    ".zst": lambda path, mode: io.BufferedReader(_Zstandard(path), BLOCK),
}
_BLANK = b" \t\r\n"
_INTEGER = re.compile(r"(-?)0*([0-9]{1,30})")
_COUNT = "([0-9]{1,18})"
_MINUS_ZERO = re.compile(rb"-0+(?![0-9.])")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

_PLAIN = re.compile(r"[\w.+-]{1,30}", re.ASCII)
"""Fields that no message needs to quote."""

_SEPARATORS = {",": "commas", ";": "semicolons", "|": "vertical bars"}
"""Characters that separate the fields of other formats, with their names."""

_COMPRESSED = {
    **{".gz": (b"\x1f\x8b", "gzip"), ".xz": (b"\xfd7zXZ\x00", "xz"), ".bz2": (b"BZh", "bzip2")},
    ".zst": (b"\x28\xb5\x2f\xfd", "Zstandard"),
}
"""Magic bytes and program by the end of a name."""

_PACKED = {(0, b"PK\x03\x04"): "a zip archive", (257, b"ustar"): "a tar archive"} | {
    (0, magic): f"compressed by {program}, which its name does not say by {end} at the end"
    for end, (magic, program) in _COMPRESSED.items()
}
"""Offset and magic bytes of formats that are not text."""

_MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, which programs on Windows write."""

BEGINNING = 1 << 16
"""Bytes that show whether a file is text, how its lines end, and what it says of itself."""

_OLD_END = re.compile(rb"\r[ \t\r]*+[^ \t\r]")
"""A carriage return between two lines, if no line feed is near."""

BLOCK = 1 << 20
"""Bytes of text in memory at a time."""

NO_VALUES = np.empty(0)

PIECE = 1 << 20
"""Values that are worked on at a time."""

MAX_LINE = 1 << 20
"""Longest line in bytes."""

FREE_VERTICES, VERTICES_PER_ITEM = 1 << 20, 16
"""A header may announce this many vertices, and this many more per arc, edge or entry of the file."""

UNKNOWN = "unknown: the file's format does not show its end, and its entry has no sha256"


@dataclass(frozen=True)
class Column:
    """The allowed values of one field of a line: integers, or also decimals if `real`, between two bounds.

    `below` is advice for a value below `low`, `whole` for decimals with a fraction, which are then refused,
    and `word` for a field that is not a number.
    """

    name: str
    low: float
    high: float
    real: bool = False
    below: str = ""
    whole: str = ""
    word: str = ""

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
        elif digits := _INTEGER.fullmatch(field):
            value = int(digits[1] + digits[2])
            if field[0] == "-" and self.low >= 0:  # -0 as well
                value = min(value, -1)
        if not self.low <= value <= self.high:
            kind = "a number" if self.real else "an integer"
            shown = field if _PLAIN.fullmatch(field) else quoted(field)
            bounds = f"{self.low} to {self.high}"
            advice = self._advice(value, field)
            refuse(path, number, text, f"{self.name} {shown} is not {kind} from {bounds}{advice}")
        if self.whole and value != round(value):
            refuse(path, number, text, f"{self.name} {field[:30]} has a fraction; {self.whole}")
        return value

    def _advice(self, value: float, field: str) -> str:
        """Return the end of a message about a field that is out of bounds, or no number: its value is NaN."""
        if self.below and value < self.low:
            return f"; {self.below}"
        is_word = self.word and not _REAL.fullmatch(field)
        return separator_advice(field[-1:]) or (f"; {self.word}" if is_word else "")


@dataclass(frozen=True)
class LineFormat:
    """The format of all lines of a table, each of which describes an `item`, for messages: "an arc".

    `keyword` is the first field of every line, before the columns; `comments` begin lines to skip.
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
        """Read all lines from an offset in the decompressed text to the end: an array for each column.

        UserError if a line has another format or a value is out of bounds; names the line.
        """
        columns = [Growing(column.dtype) for column in self.columns]
        for values in self.blocks(path, start, lines_before):
            for column, more in zip(columns, values, strict=True):
                column.append(more)
        return [column.values for column in columns]

    def blocks(self, path: Path, start: int, lines_before: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Yield what :meth:`read` returns in blocks of lines."""
        with opened(path, start) as stream:
            for number, block in whole_lines(path, stream, lines_before + 1):
                values = self.read_fast(block)
                yield self.read_slowly(path, number, block) if values is None else values

    def read_fast(self, block: bytes) -> list[npt.NDArray[Any]] | None:
        """Read whole lines; None if any line or value does not fit."""
        delimiter = "\t" if b"\t" in block[: block.find(b"\n")] else " "
        values = self._read_csv(block, delimiter)
        return self._read_csv(self._tidied(block), " ") if values is None else values

    def _tidied(self, block: bytes) -> bytes:
        """Return lines without comments, with one space between fields and none around them."""
        block = re.sub(rb"[ \t]+", b" ", block.strip(_BLANK)).replace(b"\r\n", b"\n")
        block = block.replace(b" \n", b"\n").replace(b"\n ", b"\n")
        beginnings = b"|".join(re.escape(comment.encode()) for comment in self.comments)
        return re.sub(rb"(?m)^(?:(?:%b)[^\n]*\n?)++" % beginnings, b"", block) if beginnings else block

    def _read_csv(self, block: bytes, delimiter: str) -> list[npt.NDArray[Any]] | None:
        """Read lines with one `delimiter` between fields; None if any line or value does not fit."""
        if not block.strip(_BLANK):
            return [np.empty(0, column.dtype) for column in self.columns]
        # Arrow reads 0x10 and -0 as numbers, and takes a lone carriage return for the end of a line.
        if b"-0" in block and _MINUS_ZERO.search(block):
            return None
        if b"x" in block or b"X" in block or block.count(b"\r") != block.count(b"\r\n"):
            return None
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
        fitting = all(within(array, column) for array, column in zip(values, self.columns, strict=True))
        return values if fitting else None

    def read_slowly(self, path: Path, number: int, block: bytes) -> list[npt.NDArray[Any]]:
        """Read whole lines, the first of which is line `number`; refuse the first that does not fit."""
        rows = [self._parse(path, line.number, line.text) for line in _lines(block, number, self.comments)]
        table = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        return [
            np.array(values, dtype=column.dtype) for values, column in zip(table, self.columns, strict=True)
        ]

    def _parse(self, path: Path, number: int, text: str) -> list[int | float]:
        fields = fields_of(text)
        if self.keyword and fields[0] != self.keyword:
            comment = f" or a comment '{self.comments[0]} ...'" if self.comments else ""
            refuse(path, number, text, f"expected {self.item} {self.shape!r}{comment}")
        values = fields[1:] if self.keyword else fields
        if len(values) != len(self.columns):
            found = f"{len(fields)} field{'s' * (len(fields) != 1)}"
            refuse(path, number, text, f"{found}; expected {self.shape!r}{separator_advice(text)}")
        return [
            column.parse(path, number, text, field)
            for column, field in zip(self.columns, values, strict=True)
        ]


class Growing:
    """An array that takes more values at its end.

    Resizing moves pages; joining a list of blocks would take twice the memory.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.values = np.empty(0, dtype)

    def append(self, more: npt.NDArray[Any]) -> None:
        """Append values; arrays that were taken before are no longer valid."""
        size = len(self.values)
        self.values.resize(size + len(more), refcheck=False)
        self.values[size:] = more


def pieces(values: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield an array in pieces, so that what is computed of them takes little memory."""
    yield from (values[start : start + PIECE] for start in range(0, len(values), PIECE))


def has_fractions(values: npt.NDArray[Any]) -> bool:
    """Return whether a value is not an integer."""
    return any(np.any(piece != np.rint(piece)) for piece in pieces(values))


def within(values: npt.NDArray[Any], column: Column) -> bool:
    """Return whether all values fit a column; NaN does not."""
    if not len(values):
        return True
    bounded = values.min() >= column.low and values.max() <= column.high
    return bool(bounded) and not (column.whole and has_fractions(values))


@contextmanager
def opened(path: Path, start: int = 0) -> Iterator[IO[bytes]]:
    """Open a file at an offset in its content, decompressed if its name ends in a key of `_OPEN`.

    Of a ``.tar.gz``, the matrix inside is opened. UserError if the file is missing, or found to be damaged
    while it is read.
    """
    try:
        is_archive = path.name.endswith(".tar.gz")
        with _matrix_within(path) if is_archive else _OPEN.get(path.suffix, open)(path, "rb") as stream:
            while start and (content := stream.read(min(start, BLOCK))):
                start -= len(content)
            yield stream
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except MemoryError:
        raise UserError(f"{path}: needs more memory than there is") from None
    except (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, OSError) as error:
        _refuse_misnamed(path)
        raise UserError(
            f"{path}: cannot be read to the end ({error}); it is incomplete or damaged: delete it and fetch "
            "it again"
        ) from None


def _refuse_misnamed(path: Path) -> None:
    """Refuse a file that is not compressed as its name says, as browsers save what they have unpacked."""
    magic, program = _COMPRESSED.get(path.suffix, (b"", ""))
    with suppress(OSError), path.open("rb") as file:
        start = file.read(8)
        if start.startswith(magic):
            return
        right = next((end for end, (other, _) in _COMPRESSED.items() if start.startswith(other)), "")
        is_page = start.lstrip().startswith(b"<")
        raise UserError(
            f"{path}: not compressed by {program}, as its name says: it begins with "
            + ("a web page; fetch it again" if is_page else f"{start!r}; rename it to {path.stem}{right}")
        )


def note_on_completeness(file: Path, entry: DataFile) -> dict[str, str]:
    """Return what the metadata say about a file whose format does not show whether its end is missing.

    Nothing if the entry has a checksum, or if a compressed file shows its end.
    """
    return {} if entry.sha256 or file.suffix in _OPEN else {"completeness": UNKNOWN}


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; see :func:`opened`."""
    with opened(path) as stream:
        return stream.read()


def whole_lines(
    path: Path, stream: IO[bytes], number: int = 1, longest: int = MAX_LINE
) -> Iterator[tuple[int, bytes]]:
    """Yield the rest of a stream in blocks of whole lines, each with the number of its first line.

    UserError if a line is longer than `longest` bytes, so that memory stays bounded.
    """
    rest = b""
    while chunk := stream.read(BLOCK):
        if number == 1 and not rest and chunk.startswith(_MARK):
            chunk = b" " * len(_MARK) + chunk[len(_MARK) :]
        end = chunk.rfind(b"\n") + 1
        if end:
            block = rest + chunk[:end]
            yield number, block
            number += block.count(b"\n")
            rest = b""
        rest += chunk[end:]
        if len(rest) > longest:
            refuse(path, number, _text(rest[:100]), f"more than {longest} bytes in one line")
    if rest:
        yield number, rest


class Line(NamedTuple):
    """A line that is neither blank nor a comment: its number, the offsets of its ends, and its text."""

    number: int
    start: int
    end: int
    text: str


def lines(path: Path, comments: tuple[str, ...]) -> Iterator[Line]:
    """Yield the lines of a file, without blank lines and those that begin with one of `comments`.

    UserError if the file is missing or damaged, an archive, or text in UTF-16 or with carriage returns only.
    """
    start = 0
    _refuse_other_kinds(path)
    with opened(path) as stream:
        for number, block in whole_lines(path, stream):
            for line in _lines(block, number, comments):
                yield line._replace(start=line.start + start, end=line.end + start)
            start += len(block)


def _refuse_other_kinds(path: Path) -> None:
    """Refuse a file that is an archive, compressed, or text of another kind."""
    with opened(path) as stream:
        beginning = stream.read(BEGINNING)
    if kind := packed(beginning):
        raise UserError(f"{path}: it is {kind}; unpack it and name the file inside")
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{path}: it is text in UTF-16; save it as UTF-8")
    if b"\n" not in beginning and _OLD_END.search(beginning):
        raise UserError(
            f"{path}: its lines end in carriage returns (CR), as on old Macs; convert them to line feeds"
        )


def packed(beginning: bytes) -> str | None:
    """Return the kind of archive or compressed file that has this `beginning`, or None."""
    known = (kind for (offset, magic), kind in _PACKED.items() if beginning.startswith(magic, offset))
    return next(known, None)


def _lines(block: bytes, number: int, comments: tuple[str, ...]) -> Iterator[Line]:
    """Yield the lines of a block, the first of which is line `number`; see :func:`lines`."""
    # A regular expression skips millions of blank lines and comments in no time.
    if not block.strip(_BLANK):
        return
    skipped = b"|".join([rb"\r*$", *(re.escape(comment.encode()) for comment in comments)])
    end = 0
    for match in re.finditer(rb"(?m)^[ \t\r]*+(?!%b)[^\n]+" % skipped, block):
        number += block.count(b"\n", end, match.start())
        end = match.end()
        yield Line(number, match.start(), min(end + 1, len(block)), _text(match[0]))


def _text(line: bytes) -> str:
    return line.strip(_BLANK).decode("utf-8", errors="replace")


def fields_of(text: str) -> list[str]:
    """Return the fields of a line, separated by spaces and tabs."""
    return re.split("[ \t]+", text)


def separator_advice(text: str) -> str:
    """Return the end of a message about a text that contains a separator of other formats, else nothing."""
    wrong = next((name for sign, name in _SEPARATORS.items() if sign in text), None)
    return f"; fields are separated by spaces or tabs, not {wrong}" if wrong else ""


@dataclass(frozen=True)
class Header:
    """The line that announces a table by counts; the table's offset, and the number of lines before it."""

    text: str
    line: int
    numbers: tuple[int, ...]
    start: int
    lines_before: int

    def check_count(self, path: Path, found: int, items: str) -> None:
        """Refuse a table whose length differs from the header's last number."""
        if found != self.numbers[-1]:
            cause = "is incomplete" if found < self.numbers[-1] else "has too many"
            raise UserError(
                f"{path}:{self.line}: {quoted(self.text)} announces {self.numbers[-1]} {items}, but {found} "
                f"follow; the file {cause} or its header is wrong"
            )
        where = f"{path}:{self.line}: {quoted(self.text)}"
        check_vertices(where, self.numbers[0], found, items)


def check_vertices(where: str, n_vertices: int, n_items: int, items: str) -> None:
    """Refuse a graph of far more vertices than its file describes.

    Memory grows with the number of vertices, so a header of a few bytes could ask for all there is.
    """
    most = FREE_VERTICES + VERTICES_PER_ITEM * n_items
    if n_vertices > most:
        raise UserError(
            f"{where}: {n_vertices} vertices, but a file of {n_items} {items} may announce {most} at most"
        )


def refuse_negative_loops(
    path: Path, tails: npt.NDArray[Any], heads: npt.NDArray[Any], weights: npt.NDArray[Any]
) -> None:
    """Refuse self-loops of negative weight, which would be dropped although they are negative cycles."""
    loops = np.flatnonzero((tails == heads) & (weights < 0))
    if len(loops):
        raise UserError(
            f"{path}: arc {loops[0] + 1} of the file leads from a vertex to itself and has weight "
            f"{weights[loops[0]]}: a negative cycle, so no path is shortest; remove it"
        )


def read_problem_line(path: Path, expected: str, item: str) -> Header:
    """Read the problem line of a DIMACS format, and the comments around it.

    Words of `expected` in angle brackets are integers: ``p sp <vertices> <arcs>``. UserError, which names the
    `item` of a line of the table, if the line is missing before the table, or occurs twice.
    """
    problem: Header | None = None
    for line in lines(path, ("c",)):
        if not line.text.startswith("p"):
            if problem is None:
                refuse(path, line.number, line.text, f"expected a line {expected!r} before the first {item}")
            return replace(problem, start=line.start, lines_before=line.number - 1)
        if problem:
            refuse(path, line.number, line.text, "the file already has a problem line")
        numbers = _parse_problem(path, line.number, line.text, expected)
        problem = Header(line.text, line.number, numbers, line.end, line.number)
    if problem is None:
        raise UserError(f"{path}: no problem line; expected a line {expected!r}")
    return problem


def _parse_problem(path: Path, number: int, text: str, expected: str) -> tuple[int, ...]:
    form = re.sub("<[a-z]+>", _COUNT, expected).replace(" ", "[ \t]+")
    found = re.fullmatch(form, text)
    if not found:
        refuse(path, number, text, f"expected {expected!r}")
    numbers = tuple(map(int, found.groups()))
    if numbers[0] >= 2**32:
        refuse(path, number, text, f"at most {2**32 - 1} vertices are possible")
    return numbers


def refuse(path: Path, number: int, text: str, reason: str) -> NoReturn:
    """Raise a UserError that shows a line of a file and the reason."""
    raise UserError(f"{path}:{number}: {quoted(text)}: {reason}")
