"""Reader of OpenStreetMap's XML (``.osm``): the elements of the file, as DuckDB gives those of a PBF extract.

References
----------
OpenStreetMap Wiki, "OSM XML", https://wiki.openstreetmap.org/wiki/OSM_XML
"""

from pathlib import Path
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.maps import OsmParameters
from relaxometer.datasets.readers.osm_pbf import graph_of
from relaxometer.datasets.readers.text import BLOCK, opened
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

SCHEMA = pa.schema(
    {
        "kind": pa.string(),
        "id": pa.int64(),
        "tags": pa.map_(pa.string(), pa.string()),
        "refs": pa.list_(pa.int64()),
        "lat": pa.float64(),
        "lon": pa.float64(),
        "ref_roles": pa.list_(pa.string()),
        "ref_types": pa.list_(pa.string()),
    }
)
"""Columns of DuckDB's ``ST_ReadOSM``."""

_AT_A_TIME = 1 << 16
"""Elements in memory as objects of Python."""

_KINDS = ("node", "way", "relation")


def build(name: str, dataset: Dataset[OsmParameters], file: Path) -> Graph:
    """Make the graph of an extract; as :func:`relaxometer.datasets.readers.osm_pbf.build`.

    The end of the root element shows that the file is complete.
    """
    return graph_of(name, file, dataset.parameters, read_elements(file))


def read_elements(path: Path) -> pa.Table:
    """Return the nodes, ways and relations of a file, with the columns of `SCHEMA`.

    Coordinates that ways hold themselves, as Overpass writes them on demand, count as nodes. Elements that
    are marked as deleted or not visible are left out. UserError if the file is not OpenStreetMap's XML, or
    damaged; names the line.
    """
    elements = _Elements()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = elements.begin, elements.end
    try:
        with opened(path) as stream:
            while content := stream.read(BLOCK):
                parser.Parse(content)
            parser.Parse(b"", True)
        return elements.table()
    except (expat.ExpatError, ValueError, LookupError, pa.ArrowException) as error:
        where = f"{path}:{parser.CurrentLineNumber}"
        raise UserError(
            f"{where}: not readable as OpenStreetMap's XML ({quoted(error)}); it is incomplete or damaged: "
            "fetch it again"
        ) from None


class _Elements:
    """Takes what a parser finds."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_taken = False
        self._tags: dict[str, str] = {}
        self._members: list[dict[str, str]] = []
        self._head: dict[str, str] = {}
        self._rows: list[dict[str, Any]] = []
        self._batches: list[pa.RecordBatch] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth == 0 and name != "osm":
            raise ValueError(f"its root is <{name}>, expected <osm>")
        if self._depth == 1 and name in _KINDS:
            self._head, self._tags, self._members = attributes, {}, []
        elif self._depth == 2 and name == "tag":
            self._tags[attributes["k"]] = attributes["v"]
        elif self._depth == 2 and name in ("nd", "member"):
            self._members.append(attributes)
        self._depth += 1

    def end(self, name: str) -> None:
        self._depth -= 1
        head = self._head
        if self._depth != 1 or name not in _KINDS:
            return
        if head.get("action") == "delete" or head.get("visible") == "false":
            return
        row: dict[str, Any] = {
            "kind": name,
            "id": _whole(head["id"]),
            "tags": list(self._tags.items()) or None,
        }
        if name == "node":
            row |= _place(head)
        else:
            row["refs"] = [_whole(member["ref"]) for member in self._members]
        if name == "way":
            located = [member for member in self._members if "lat" in member]
            self._rows += [{"kind": "node", "id": _whole(one["ref"]), **_place(one)} for one in located]
        elif name == "relation":
            row["ref_roles"] = [member.get("role", "") for member in self._members]
            row["ref_types"] = [member["type"] for member in self._members]
        self._rows.append(row)
        if len(self._rows) >= _AT_A_TIME:
            self._flush()

    def _flush(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._rows, SCHEMA))
        self._rows = []

    def table(self) -> pa.Table:
        self._flush()
        return pa.Table.from_batches(self._batches)


def _whole(text: str) -> int:
    """Return an id."""
    value = int(text)
    if str(value) != text or not -(2**63) <= value < 2**63:
        raise ValueError(f"{text!r} is not an id")
    return value


def _place(attributes: dict[str, str]) -> dict[str, float]:
    """Return the coordinates of a node."""
    lat, lon = float(attributes["lat"]), float(attributes["lon"])
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise ValueError(f"latitude {lat} and longitude {lon} are not on the globe")
    return {"lat": lat, "lon": lon}
