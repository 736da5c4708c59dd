"""The blocks of an OpenStreetMap extract, which show whether its end is missing.

References
----------
OpenStreetMap Wiki, "PBF Format", https://wiki.openstreetmap.org/wiki/PBF_Format
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from relaxometer.core.errors import UserError, quoted

MAX_HEADER, MAX_BLOB = 1 << 16, 1 << 25
"""Largest sizes in bytes that the format allows."""

RELATIONS = 4
"""Field of a group that holds relations."""

_OPENING = b"\x0a\x09OSMHeader"
"""Bytes that follow the first four of a file, which hold the length of its first header."""


def ends_with_relations(path: Path) -> bool:
    """Walk through the blocks of an extract, and return whether the last one holds relations.

    All common programs write nodes, then ways, then relations. So if the last block holds relations, no way
    is missing. If it does not, the extract has no relations, or its end is missing.

    Raises
    ------
    UserError
        If the file is not an extract, or ends within a block, or a block is larger than the format allows.
    """
    _check_opening(path)
    last = b""
    where = 0
    try:
        with path.open("rb") as file:
            while length := file.read(4):
                header = _fields(_exactly(file, int.from_bytes(length), MAX_HEADER))
                blob = _exactly(file, header.get(3), MAX_BLOB)
                if header.get(1) == b"OSMData":
                    last = blob
                where = file.tell()
        last_group = _fields(unpacked(last)).get(2)
        return isinstance(last_group, bytes) and RELATIONS in _fields(last_group)
    except (OSError, ValueError, zlib.error) as error:
        raise UserError(
            f"{path}: cannot be read to the end (block at byte {where}: {quoted(error)}); it is incomplete "
            "or damaged: delete it and fetch it again"
        ) from None


def _check_opening(path: Path) -> None:
    """Refuse files that are not extracts."""
    try:
        with path.open("rb") as file:
            start = file.read(4 + len(_OPENING))
    except OSError as error:
        raise UserError(f"{path}: not readable ({error.strerror})") from None
    if start[4:] != _OPENING:
        shown = "a web page" if start.lstrip().startswith(b"<") else f"{start[:8]!r}..."
        raise UserError(f"{path}: not an OpenStreetMap PBF extract: it begins with {shown}; fetch it again")


def _exactly(file: Any, size: int | bytes | None, most: int) -> bytes:
    """Return the next `size` bytes of a file, which must have them and may not be more than `most`."""
    if not isinstance(size, int) or size > most:
        raise ValueError(f"its size is {size!r}, expected at most {most}")
    content: bytes = file.read(size)
    if len(content) < size:
        raise ValueError("the file ends within it")
    return content


def unpacked(blob: bytes) -> bytes:
    """Return the content of a block; nothing if it is compressed in another way than by zlib."""
    fields = _fields(blob)
    packed, content = fields.get(3), fields.get(1)
    if isinstance(packed, bytes):
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(packed, MAX_BLOB)
        if not unpacking.eof:
            raise ValueError(f"it unpacks to more than {MAX_BLOB} bytes")
    return content if isinstance(content, bytes) else b""


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Return the fields of a message in Protocol Buffers' format; of repeated ones, the last."""
    fields: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            fields[key >> 3], at = _varint(message, at)
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 2:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError("a field is damaged")
        fields[key >> 3] = message[at : at + size]
        at += size
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits per byte, and the place after it."""
    value = 0
    for shift, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, at + shift + 1
    raise ValueError("a number is damaged")
