"""A small hand-made OpenStreetMap extract in PBF.

https://wiki.openstreetmap.org/wiki/PBF_Format: blocks of Protocol Buffers messages, each after its length.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import quoteattr

Tags = Mapping[str, str]
Ways = Mapping[int, tuple[list[int], Tags]]
Relation = tuple[list[tuple[str, str, int]], Tags]
"""Members as role, type and id."""

NODES: dict[int, tuple[float, float]] = {
    1: (0.000, 0.0),
    2: (0.001, 0.0),
    3: (0.002, 0.0),
    4: (0.003, 0.0),
    5: (0.001, 0.001),
    6: (0.500, 0.0),
    7: (0.501, 0.0),
}
"""Longitude and latitude by id."""

WAYS: dict[int, tuple[list[int], Tags]] = {
    10: ([1, 2, 3, 4], {"highway": "residential"}),
    11: ([5, 2], {"highway": "footway"}),
    12: ([6, 7], {"highway": "primary", "name": "elsewhere"}),
    13: ([4, 6], {"waterway": "river"}),
}
"""Nodes and tags by id: a street, a path that joins it at 2, a road far away, and a river."""


def write_extract(
    path: Path,
    nodes: Mapping[int, tuple[float, float]] = NODES,
    ways: Ways = WAYS,
    dropped: Iterable[int] = (),
    *,
    located: bool = False,
    relations: Iterable[Relation] = (),
    node_tags: Mapping[int, Tags] | None = None,
) -> Path:
    """Write nodes, except those dropped, and ways as an extract of one block of data, then relations.

    If `located`, the ways hold the coordinates of their nodes.
    """
    nodes_alone, _ = _groups({key: place for key, place in nodes.items() if key not in dropped}, ways)
    ways_alone = _groups(nodes, ways, located=located)[1]
    blocks = block(b"OSMHeader", HEADER + LOCATED * located)
    if node_tags:
        nodes_alone, texts = _tagged(nodes, node_tags)
        blocks += block(b"OSMData", _message(_field(1, texts), _field(2, nodes_alone)))
        nodes_alone = b""
    blocks += block(b"OSMData", _data(ways, nodes_alone, ways_alone))
    for key, relation in enumerate(relations, start=1):
        blocks += block(b"OSMData", _relation(key, *relation))
    path.write_bytes(blocks)
    return path


def _tagged(nodes: Mapping[int, tuple[float, float]], tags: Mapping[int, Tags]) -> tuple[bytes, bytes]:
    """Return a group of nodes with tags, and its table of texts."""
    texts = ["", *(text for some in tags.values() for pair in some.items() for text in pair)]
    numbers = [[texts.index(text) for pair in tags.get(key, {}).items() for text in pair] for key in nodes]
    packed = b"".join(_varint(number) for some in numbers for number in (*some, 0))
    return _field(2, _nodes(nodes) + _field(10, packed)), _message(
        *(_field(1, text.encode()) for text in texts)
    )


def _relation(key: int, members: list[tuple[str, str, int]], tags: Tags) -> bytes:
    """Return the content of a block with one relation."""
    texts = ["", *tags, *tags.values(), *(role for role, _, _ in members)]
    packed = [
        (2, [texts.index(text) for text in tags]),
        (3, [texts.index(text) for text in tags.values()]),
        (8, [texts.index(role) for role, _, _ in members]),
        (10, [("node", "way", "relation").index(kind) for _, kind, _ in members]),
    ]
    fields = [_field(1, key), *(_field(field, b"".join(map(_varint, some))) for field, some in packed)]
    fields.append(_field(9, _steps([ref for _, _, ref in members])))
    table = _message(*(_field(1, text.encode()) for text in texts))
    return _message(_field(1, table), _field(2, _field(4, _message(*fields))))


def blocks_of(
    nodes: Mapping[int, tuple[float, float]],
    ways: Ways,
    *,
    ways_per_block: int,
    relations: bool = True,
    located: bool = False,
) -> list[bytes]:
    """Return the blocks of an extract: a header, all nodes, several blocks of ways, and a relation.

    If `located`, the ways hold the coordinates of their nodes.
    """
    header = HEADER + LOCATED * located
    blocks = [block(b"OSMHeader", header), block(b"OSMData", _data({}, _groups(nodes, {})[0]))]
    for keys in batched(ways, ways_per_block):
        some = {key: ways[key] for key in keys}
        blocks.append(block(b"OSMData", _data(some, _groups(nodes, some, located=located)[1])))
    if relations:
        blocks.append(block(b"OSMData", _data({}, _field(4, _field(1, 1)))))
    return blocks


def batched(keys: Iterable[int], size: int) -> list[list[int]]:
    listed = list(keys)
    return [listed[start : start + size] for start in range(0, len(listed), size)]


HEADER = b"\x22\x0eOsmSchema-V0.6\x22\x0aDenseNodes"
LOCATED = b"\x2a\x0fLocationsOnWays"


def _groups(
    nodes: Mapping[int, tuple[float, float]], ways: Ways, *, located: bool = False
) -> tuple[bytes, bytes]:
    strings = _strings(ways)
    places = nodes if located else {}
    written = (_field(3, _way(key, refs, tags, strings, places)) for key, (refs, tags) in ways.items())
    return _field(2, _nodes(nodes)), _message(*written)


def _data(ways: Ways, *groups: bytes) -> bytes:
    table = _message(*(_field(1, text.encode()) for text in _strings(ways)))
    return _message(_field(1, table), *(_field(2, group) for group in groups))


def _strings(ways: Ways) -> list[str]:
    return ["", *sorted({text for _, tags in ways.values() for pair in tags.items() for text in pair})]


def block(kind: bytes, content: bytes) -> bytes:
    """Return a block of a kind, compressed."""
    packed = zlib.compress(content)
    blob = _message(_field(2, len(content)), _field(3, packed))
    header = _message(_field(1, kind), _field(3, len(blob)))
    return struct.pack(">I", len(header)) + header + blob


def _nodes(nodes: Mapping[int, tuple[float, float]]) -> bytes:
    """Return all nodes as columns; coordinates are in 100 nanodegrees unless the block says otherwise."""
    return _message(_field(1, _steps(list(nodes))), *_places(8, nodes.values()))


def _places(number: int, places: Iterable[tuple[float, float]]) -> list[bytes]:
    """Return latitudes and longitudes as fields, the first of which has a number."""
    lon, lat = ([round(degrees * 1e7) for degrees in column] for column in zip(*places, strict=True))
    return [_field(number, _steps(lat)), _field(number + 1, _steps(lon))]


def _way(
    key: int, refs: list[int], tags: Tags, strings: list[str], places: Mapping[int, tuple[float, float]]
) -> bytes:
    return _message(
        _field(1, key),
        _field(2, b"".join(_varint(strings.index(text)) for text in tags)),
        _field(3, b"".join(_varint(strings.index(text)) for text in tags.values())),
        _field(8, _steps(refs)),
        *(_places(9, [places[ref] for ref in refs]) if places else []),
    )


def _steps(values: list[int]) -> bytes:
    """Return numbers as differences from their predecessors."""
    steps = (after - before for before, after in pairwise([0, *values]))
    return b"".join(_varint(_zigzag(step)) for step in steps)


def _message(*fields: bytes) -> bytes:
    return b"".join(fields)


def _field(number: int, value: int | bytes) -> bytes:
    """Return a number, or bytes preceded by their length, with the field's key."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _zigzag(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def _varint(value: int) -> bytes:
    octets = []
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    return bytes([*octets, value])


def xml_of(
    nodes: Mapping[int, tuple[float, float]] = NODES, ways: Ways = WAYS, *, located: bool = False
) -> str:
    """Return nodes, ways and a relation as XML; if `located`, ways hold the coordinates of their nodes."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6">', "<bounds/>"]
    lines += [f'<node id="{key}" lat="{lat}" lon="{lon}"/>' for key, (lon, lat) in nodes.items()]
    for key, (refs, tags) in ways.items():
        lines.append(f'<way id="{key}">')
        for ref in refs:
            place = f' lat="{NODES[ref][1]}" lon="{NODES[ref][0]}"' if located else ""
            lines.append(f'<nd ref="{ref}"{place}/>')
        lines += [f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in tags.items()]
        lines.append("</way>")
    lines.append(
        '<relation id="1"><member type="way" ref="10" role="from"/><tag k="type" v="restriction"/></relation>'
    )
    return "\n".join([*lines, "</osm>"])
