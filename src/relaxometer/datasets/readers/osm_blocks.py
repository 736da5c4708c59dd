"""The blocks of an OpenStreetMap extract: whether its end is missing, and what DuckDB does not read.

References
----------
OpenStreetMap Wiki, "PBF Format", https://wiki.openstreetmap.org/wiki/PBF_Format
"""

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.readers.contraction import Floats, Ints, Nodes
from relaxometer.datasets.readers.text import packed

MAX_HEADER, MAX_BLOB = 1 << 16, 1 << 25
"""Largest sizes in bytes that the format allows."""

REQUIRED, OPTIONAL = 4, 5
"""Fields of a header that hold features."""

GROUP, GRANULARITY = 2, 17
"""Fields of a block that hold a group, and the unit of coordinates in nanodegrees, by default 100."""

PLAIN_NODES, WAYS, RELATIONS = 1, 3, 4
"""Fields of a group that hold nodes one by one, ways, and relations."""

REFS, LATITUDES, LONGITUDES = 8, 9, 10
"""Fields of a way: ids and coordinates of its nodes, each as the difference from the one before."""

OFFSETS = (19, 20)
"""Fields of a block that move all of its latitudes and longitudes."""

LOCATIONS = b"LocationsOnWays"
"""Feature of an extract whose ways hold the coordinates of their nodes."""

FEATURES = (b"OsmSchema-V0.6", b"DenseNodes", LOCATIONS)
"""Features of an extract that are supported; a header that requires others is refused."""

_OPENING = b"\x0a\x09OSMHeader"
"""Bytes that follow the first four of a file, which hold the length of its first header."""


class UnreadableError(Exception):
    """A valid block that DuckDB would refuse or misread; the command of osmium converts the extract."""

    def __init__(self, what: str, command: str = "cat") -> None:
        super().__init__(
            f"{what}, which DuckDB does not read; convert it with: osmium {command} in.osm.pbf -o out.osm.pbf"
        )


def ends_with_relations(path: Path) -> bool:
    """Walk through the blocks of an extract, and return whether the last one holds relations.

    All common programs write nodes, then ways, then relations. So if the last block holds relations, no way
    is missing. If it does not, the extract has no relations, or its end is missing.

    UserError if the file is not an extract, or ends within a block, or a block is larger than the format
    allows, or has what DuckDB does not read rightly: nodes that are not dense, coordinates with an offset,
    another compression than zlib's, old versions of the map, or a second header.
    """
    last_group = b""
    with _blocks(path) as blocks:
        for number, (kind, blob) in enumerate(blocks):
            if kind == b"OSMHeader":
                if number:
                    raise UnreadableError("a second header, as of files put together", "merge other.osm.pbf")
                _check_features(blob)
            elif kind == b"OSMData":
                last_group = _last_group(blob)
        return RELATIONS in _fields(last_group)


def locations_on_ways(path: Path, wanted: Ints) -> Nodes:
    """Return the nodes `wanted`, ascending ids, with the coordinates that ways of an extract hold, or NaN.

    Programs that write coordinates into ways may leave out the nodes themselves. UserError if the file is
    damaged.
    """
    nodes = Nodes(wanted, np.full(len(wanted), np.nan), np.full(len(wanted), np.nan))
    has_locations = False
    with _blocks(path) as blocks:
        for kind, blob in blocks:
            if kind == b"OSMHeader":
                has_locations = LOCATIONS in _features(blob, OPTIONAL) + _features(blob, REQUIRED)
            elif has_locations and kind == b"OSMData":
                ids, lat, lon = _locations(unpacked(blob))
                places, known = nodes.find(ids)
                known &= (np.abs(lat) <= 90) & (np.abs(lon) <= 180)  # a missing node has an invalid place
                nodes.lat[places[known]], nodes.lon[places[known]] = lat[known], lon[known]
    return nodes


def _locations(block: bytes) -> tuple[Ints, Floats, Floats]:
    """Return ids, latitudes and longitudes of the nodes of those ways in a block that have coordinates."""
    groups = [value for field, value in _pairs(block) if field == GROUP and isinstance(value, bytes)]
    members = [pair for group in groups for pair in _pairs(group)]
    ways = [_fields(value) for field, value in members if field == WAYS and isinstance(value, bytes)]
    columns = (
        [way.get(field) for way in ways if LATITUDES in way] for field in (REFS, LATITUDES, LONGITUDES)
    )
    ids, lat, lon = map(_running_sums, columns)
    if not len(ids) == len(lat) == len(lon):
        raise ValueError("its ways have different numbers of nodes and coordinates")
    unit, nano = int(_fields(block).get(GRANULARITY, 100)), np.float64(1e-9)
    return ids, nano * (unit * lat), nano * (unit * lon)  # rounded as DuckDB does


def _running_sums(fields: list[int | bytes | None]) -> Ints:
    """Return the running sums of each of several columns of signed numbers, one after the other."""
    columns = [field if isinstance(field, bytes) else b"" for field in fields]
    octets = np.frombuffer(b"".join(columns), np.uint8)
    is_last = octets < 128
    starts = np.flatnonzero(np.concatenate([[True], is_last[:-1]])[: len(octets)])
    if not len(octets):
        return np.empty(0, np.int64)
    shifts = 7 * (np.arange(len(octets)) - np.repeat(starts, np.diff(starts, append=len(octets))))
    if not is_last[-1] or shifts.max() > 63:
        raise ValueError("a number is damaged")
    raw = np.bitwise_or.reduceat((octets & 127).astype(np.uint64) << shifts.astype(np.uint64), starts)
    sums = np.cumsum((raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64))
    # Each column starts anew: subtract what the earlier ones add up to.
    first = np.searchsorted(starts, np.cumsum([0, *map(len, columns)])[:-1])
    before = np.concatenate([[0], sums])[first]
    return sums - np.repeat(before, np.diff(first, append=len(sums)))


@contextlib.contextmanager
def _blocks(path: Path) -> Iterator[Iterator[tuple[Any, bytes]]]:
    """Yield kind and content of each block of an extract; errors of the body become those of the file."""
    _check_opening(path)
    where = 0

    def blocks() -> Iterator[tuple[Any, bytes]]:
        nonlocal where
        with path.open("rb") as file:
            while length := file.read(4):
                header = _fields(_exactly(file, int.from_bytes(length), MAX_HEADER))
                yield header.get(1), _exactly(file, header.get(3), MAX_BLOB)
                where = file.tell()

    try:
        yield blocks()
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
    features = _features(blob, REQUIRED)
    if b"DenseNodes" not in features:
        raise UnreadableError("no 'DenseNodes' among the required features, so its nodes are plain ones")
    if b"HistoricalInformation" in features:
        raise UnreadableError("all versions of the map ('HistoricalInformation')", "time-filter")
    unknown = next((feature for feature in features if feature not in FEATURES), None)
    if unknown is not None:
        name = unknown.decode(errors="replace") if isinstance(unknown, bytes) else unknown
        raise UnreadableError(f"{quoted(name)} among the required features")


def _features(blob: bytes, kind: int) -> list[int | bytes]:
    """Return the features that a header requires or names as optional."""
    raw = _fields(blob).get(1)
    content = raw if isinstance(raw, bytes) else unpacked(blob)
    return [value for field, value in _pairs(content) if field == kind]


def _last_group(blob: bytes) -> bytes:
    """Return the last group of a block; refuse what DuckDB would read wrongly."""
    group = b""
    for field, value in _pairs(unpacked(blob)):
        if field in OFFSETS and value:
            raise UnreadableError("coordinates with an offset")
        if field == GROUP and isinstance(value, bytes):
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
        why = "it is OpenStreetMap's XML; give `format: osm-xml`"
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
