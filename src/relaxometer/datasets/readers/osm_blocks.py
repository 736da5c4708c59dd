"""The blocks of an OpenStreetMap extract, which show whether its end is missing and DuckDB reads it rightly.

References
----------
OpenStreetMap Wiki, "PBF Format", https://wiki.openstreetmap.org/wiki/PBF_Format
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.readers.text import packed

MAX_HEADER, MAX_BLOB = 1 << 16, 1 << 25
"""Largest sizes in bytes that the format allows."""

PLAIN_NODES, RELATIONS = 1, 4
"""Fields of a group that hold nodes one by one, and relations."""

OFFSETS = (19, 20)
"""Fields of a block that move all of its latitudes and longitudes."""

FEATURES = (b"OsmSchema-V0.6", b"DenseNodes")
"""Features of an extract that are supported; a header that requires others is refused."""

_OPENING = b"\x0a\x09OSMHeader"
"""Bytes that follow the first four of a file, which hold the length of its first header."""


class UnreadableError(Exception):
    """A valid block that DuckDB would refuse or misread.

    Parameters
    ----------
    what : str
        Follows "has".
    command : str, default="cat"
        The command of osmium that converts the extract.
    """

    def __init__(self, what: str, command: str = "cat") -> None:
        super().__init__(
            f"{what}, which DuckDB does not read; convert it with: osmium {command} in.osm.pbf -o out.osm.pbf"
        )


def ends_with_relations(path: Path) -> bool:
    """Walk through the blocks of an extract, and return whether the last one holds relations.

    All common programs write nodes, then ways, then relations. So if the last block holds relations, no way
    is missing. If it does not, the extract has no relations, or its end is missing.

    Raises
    ------
    UserError
        If the file is not an extract, or ends within a block, or a block is larger than the format allows, or
        has what DuckDB does not read rightly: nodes that are not dense, coordinates with an offset, another
        compression than zlib's, or old versions of the map.
    """
    _check_opening(path)
    last_group = b""
    where = 0
    try:
        with path.open("rb") as file:
            while length := file.read(4):
                header = _fields(_exactly(file, int.from_bytes(length), MAX_HEADER))
                blob = _exactly(file, header.get(3), MAX_BLOB)
                if header.get(1) == b"OSMHeader":
                    _check_features(blob)
                elif header.get(1) == b"OSMData":
                    last_group = _last_group(blob)
                where = file.tell()
        return RELATIONS in _fields(last_group)
    except UnreadableError as error:
        raise UserError(f"{path}: block at byte {where} has {error}") from None
    except (OSError, ValueError, zlib.error) as error:
        raise UserError(
            f"{path}: cannot be read to the end (block at byte {where}: {quoted(error)}); it is incomplete "
            "or damaged: delete it and fetch it again"
        ) from None


def _check_features(blob: bytes) -> None:
    """Refuse the header of an extract that requires more than `FEATURES`, or less.

    DuckDB would double the ids of nodes that are not dense, and takes all versions of a history at once.
    """
    raw = _fields(blob).get(1)
    content = raw if isinstance(raw, bytes) else unpacked(blob)
    features = [value for field, value in _pairs(content) if field == 4]
    if b"DenseNodes" not in features:
        raise UnreadableError("no 'DenseNodes' among the required features, so its nodes are plain ones")
    if b"HistoricalInformation" in features:
        raise UnreadableError("all versions of the map ('HistoricalInformation')", "time-filter")
    unknown = next((feature for feature in features if feature not in FEATURES), None)
    if unknown is not None:
        name = unknown.decode(errors="replace") if isinstance(unknown, bytes) else unknown
        raise UnreadableError(f"{quoted(name)} among the required features")


def _last_group(blob: bytes) -> bytes:
    """Return the last group of a block; refuse what DuckDB would read wrongly."""
    group = b""
    for field, value in _pairs(unpacked(blob)):
        if field in OFFSETS and value:
            raise UnreadableError("coordinates with an offset")
        if field == 2 and isinstance(value, bytes):
            group = value
            # A group holds one kind of items, so its first field tells.
            if group and _varint(group, 0)[0] >> 3 == PLAIN_NODES:
                raise UnreadableError("plain nodes instead of dense ones")
    return group


def _check_opening(path: Path) -> None:
    """Refuse files that are not extracts."""
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as error:
        raise UserError(f"{path}: not readable ({error.strerror})") from None
    if start[4 : 4 + len(_OPENING)] == _OPENING:
        return
    if b"<osm" in start:
        why = "it is OpenStreetMap's XML; osmium cat in.osm -o out.osm.pbf converts it"
    elif kind := packed(start):
        why = f"it is {kind.partition(',')[0]}; unpack it and name the file inside"
    else:
        shown = "a web page" if start.lstrip().startswith(b"<") else f"{start[:8]!r}..."
        why = f"it begins with {shown}; fetch it again" if start else "it is empty; fetch it again"
    raise UserError(f"{path}: not an OpenStreetMap PBF extract: {why}")


def _exactly(file: Any, size: int | bytes | None, most: int) -> bytes:
    """Return the next `size` bytes of a file, which must have them and may not be more than `most`."""
    if not isinstance(size, int) or size > most:
        raise ValueError(f"its size is {size!r}, expected at most {most}")
    content: bytes = file.read(size)
    if len(content) < size:
        raise ValueError("the file ends within it")
    return content


def unpacked(blob: bytes) -> bytes:
    """Return the content of a block, which must be compressed by zlib."""
    packed = _fields(blob).get(3)
    if not isinstance(packed, bytes):
        raise UnreadableError("no compression, or another than zlib's")
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(packed, MAX_BLOB)
    if not unpacking.eof:
        raise ValueError(f"it unpacks to more than {MAX_BLOB} bytes")
    return content


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Return the fields of a message in Protocol Buffers' format; of repeated ones, the last."""
    return dict(_pairs(message))


def _pairs(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a message in Protocol Buffers' format."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 2:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError("a field is damaged")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits per byte, and the place after it."""
    value = 0
    for shift, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, at + shift + 1
    raise ValueError("a number is damaged")
