"""Reader of Japan's railways (National Land Numerical Information, N02) from their zip archive of GeoJSON.

The archive holds two layers. Sections are pieces of track, each of one line of one operator. Stations are the
pieces along platforms: they repeat points of the sections and carry the code of the station's group, which is
all stations of one name within 300 m. Tracks are followed within a line; as for passengers, lines are changed
only at stations.
"""

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.maps import RailwayParameters
from relaxometer.datasets.parameters import WeightType
from relaxometer.datasets.readers.contraction import (
    Floats,
    Ints,
    Network,
    Nodes,
    Ways,
    contract,
    travel_times,
    unit_of_times,
)
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph, offsets_of

LINE = ("N02_003", "N02_004")
"""Name of the line and its operator; the name is not unique by itself."""

GROUP = ("N02_005g", "N02_005c")
"""Code of a station's group, or else of the station."""

PRECISION = 1e-5
"""Resolution of the coordinates in degrees, about 1 m."""

DISTANCES = 1 << 24
"""Distances in memory at a time."""

MAX_LAYER = 1 << 28
"""Largest size of an unpacked layer in bytes, ten times that of the largest edition."""

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    MemoryError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What a damaged archive raises; a name that is not UTF-8 is a ValueError."""


def build(name: str, dataset: Dataset[RailwayParameters], file: Path) -> Graph:
    """Make the graph of stations; see :data:`relaxometer.datasets.build.Reader`.

    Vertices are groups of stations, in the order of their codes. Edges lead to the next groups along a line;
    weights are travel times in milliseconds, or in seconds as floats. The largest component is the graph.
    """
    p = dataset.parameters
    graph = station_graph(name, read_railways(file), p.km_per_hour / 3.6, p.weights.type)
    if not graph.n_arcs:
        raise UserError(f"{file}: no track leads from one station to another")
    return graph.largest_component()


@dataclass(frozen=True, eq=False)
class Railways:
    """The tracks and stations of a file.

    A point on two lines counts twice. `tracks` are `n_sections` sections, then platforms. `groups` are the
    codes of the station groups, ascending; `stations` has the position of each platform's group.
    """

    points: Nodes
    tracks: Ways
    n_sections: int
    groups: list[str]
    stations: Ints

    @property
    def platform_points(self) -> tuple[Ints, Ints]:
        """The points of all platforms, concatenated, and the number of points per platform."""
        offsets = self.tracks.offsets[self.n_sections :]
        return self.tracks.refs[offsets[0] :], np.diff(offsets)


def read_railways(path: Path) -> Railways:
    """Read sections and stations.

    UserError if the file is not an archive, damaged or incomplete; names the feature at fault.
    """
    shapes: list[Floats] = []
    lines: list[tuple[str, ...]] = []
    codes: list[str] = []
    n_sections = 0
    for where, properties, parts in _features(path, "_RailroadSection.geojson"):
        shapes += parts
        lines += [_line(where, properties)] * len(parts)
    n_sections = len(shapes)
    for where, properties, parts in _features(path, "_Station.geojson"):
        shapes += parts
        lines += [_line(where, properties)] * len(parts)
        codes += [_group(where, properties)] * len(parts)
    groups = sorted(set(codes))
    number = {code: index for index, code in enumerate(groups)}
    stations = np.array([number[code] for code in codes], dtype=np.int64)
    return Railways(*_points(shapes, lines), n_sections, groups, stations)


Feature = tuple[str, dict[str, Any], list[Floats]]
"""Place in the file, for messages; properties; lists of longitudes and latitudes."""


def _read_layer(path: Path, ending: str) -> tuple[str, bytes]:
    """Return the name, for messages, and the content of the first file in UTF-8 whose name ends so."""
    try:
        with zipfile.ZipFile(path) as archive:
            layers = [member for member in archive.infolist() if member.filename.endswith(ending)]
            # Some editions also hold each layer in Shift JIS.
            layers.sort(key=lambda member: "utf" not in member.filename.lower())
            if not layers:
                raise UserError(f"{path}: contains no file *{ending}; take the archive with GeoJSON")
            name = quoted(layers[0].filename)
            if layers[0].file_size > MAX_LAYER:
                raise UserError(f"{path}: {name}: unpacks to more than {MAX_LAYER} bytes")
            return name, archive.read(layers[0])
    except _DAMAGE as error:
        raise UserError(
            f"{path}: cannot be read as a zip archive ({quoted(error)}); delete it and fetch it again"
        ) from None


def _features(path: Path, ending: str) -> Iterator[Feature]:
    """Yield the features of the layer whose file name ends with `ending`."""
    member, content = _read_layer(path, ending)
    try:
        layer = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{path}: {member}: not valid JSON in UTF-8 ({error})") from None
    features = layer.get("features") if isinstance(layer, dict) else None
    if not isinstance(features, list):
        raise UserError(f"{path}: {member}: not GeoJSON: it has no list 'features'")
    for index, feature in enumerate(features):
        where = f"{path}: {member}: features[{index}]"
        feature = feature if isinstance(feature, dict) else {}
        properties = feature.get("properties")
        if not isinstance(properties, dict):
            raise UserError(f"{where}: no properties")
        yield where, properties, _parts(where, feature.get("geometry"))


def _parts(where: str, geometry: Any) -> list[Floats]:
    """Return the points of every part of a geometry, shape (n_points, 2) each."""
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in ("LineString", "MultiLineString"):
        raise UserError(f"{where}: its geometry is {quoted(kind)}; expected a LineString")
    coordinates = geometry.get("coordinates")
    try:
        lists = [coordinates] if kind == "LineString" else list(coordinates)
        parts = [np.array(points, dtype=np.float64) for points in lists]
    except (TypeError, ValueError, OverflowError):
        parts = []
    if not parts or not all(map(_is_line, parts)):
        raise UserError(f"{where}: its coordinates are not a list of two or more [longitude, latitude]")
    return [part[:, :2] for part in parts]


def _is_line(points: Floats) -> bool:
    """Return whether `points` are at least two places on the globe, with or without heights."""
    if points.ndim != 2 or len(points) < 2 or points.shape[1] < 2:
        return False
    return bool(np.all(np.abs(points[:, :2]) <= (180, 90)))


def _line(where: str, properties: dict[str, Any]) -> tuple[str, ...]:
    missing = [key for key in LINE if key not in properties]
    if missing:
        raise UserError(f"{where}: no property {missing[0]}; a line is identified by {' and '.join(LINE)}")
    return tuple(str(properties[key]) for key in LINE)


def _group(where: str, properties: dict[str, Any]) -> str:
    code = next((properties[key] for key in GROUP if properties.get(key)), None)
    if code is None:
        raise UserError(
            f"{where}: neither property {' nor '.join(GROUP)}, which identify the station's group"
        )
    return str(code)


def _points(shapes: list[Floats], lines: list[tuple[str, ...]]) -> tuple[Nodes, Ways]:
    """Return the points, numbered line by line, and the tracks through them."""
    lengths = [len(shape) for shape in shapes]
    number = {line: index for index, line in enumerate(dict.fromkeys(lines))}
    places = np.rint(np.concatenate([np.empty((0, 2)), *shapes]) / PRECISION).astype(np.int64)
    keys = np.column_stack([np.repeat([number[line] for line in lines], lengths).astype(np.int64), places])
    points, refs = np.unique(keys, axis=0, return_inverse=True)
    lon, lat = points[:, 1] * PRECISION, points[:, 2] * PRECISION
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Nodes(np.arange(len(points)), lon, lat), Ways(offsets, refs.ravel().astype(np.int64))


def station_graph(
    name: str, railways: Railways, metres_per_second: float, weight_type: WeightType = "uint32"
) -> Graph:
    """Return the station groups, joined where a track leads from one to another without passing a third.

    Distances are measured between the middles of platforms. Groups that no track leads to are included.
    """
    network = contract(railways.tracks, railways.points)
    one, other, metres = _links(network, _platforms(railways, network), len(railways.groups))
    lon, lat = _middles(railways)
    return Graph.from_arcs(
        name,
        len(railways.groups),
        one,
        other,
        travel_times(metres, metres_per_second, weight_type),
        lon=lon,
        lat=lat,
        weight_type=weight_type,
        metadata={
            **unit_of_times(weight_type),
            "sections_in_file": railways.n_sections,
            "stations_in_file": len(railways.stations),
            "station_groups": len(railways.groups),
        },
    )


@dataclass(frozen=True, eq=False)
class _Platforms:
    """The stations that each junction of the tracks belongs to: more than one where platforms meet.

    Junction ``j`` has the entries ``first[j]`` to ``first[j + 1] - 1`` of the others, at least one. `place`
    is the station group; junctions away from platforms get numbers above those of all groups. `half_m` is
    half the length of the junction's platform, or zero.
    """

    first: Ints
    place: Ints
    half_m: Floats

    def pairs(self, one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the entries of two lists of junctions in all combinations, and the position in the lists."""
        counts = np.diff(self.first)
        choices = counts[one] * counts[other]
        edge = np.repeat(np.arange(len(one)), choices)
        choice = np.arange(len(edge)) - np.repeat(np.cumsum(choices) - choices, choices)
        of_one, of_other = np.divmod(choice, counts[other][edge])
        return self.first[one][edge] + of_one, self.first[other][edge] + of_other, edge


def _platforms(railways: Railways, network: Network) -> _Platforms:
    """Assign the junctions of the tracks to stations."""
    n_groups, n_platforms = len(railways.groups), len(railways.stations)
    n_junctions = len(network.junctions.ids)
    platform = network.ways - railways.n_sections
    on_platform = platform >= 0
    along = np.bincount(platform[on_platform], network.metres[on_platform], minlength=n_platforms)
    points, lengths = railways.platform_points
    junctions, found = network.junctions.find(points)
    groups, halves = np.repeat(railways.stations, lengths)[found], np.repeat(along / 2, lengths)[found]
    # If several platforms of a group share a junction, the last one counts.
    keys = (junctions[found] * max(n_groups, 1) + groups)[::-1]
    known, last = np.unique(keys, return_index=True)
    junction = known // max(n_groups, 1)
    away = np.setdiff1d(np.arange(n_junctions), junction)
    all_junctions = np.concatenate([junction, away])
    order = np.argsort(all_junctions, kind="stable")
    return _Platforms(
        offsets_of(np.bincount(all_junctions, minlength=n_junctions)),
        np.concatenate([groups[::-1][last], n_groups + away])[order],
        np.concatenate([halves[::-1][last], np.zeros(len(away))])[order],
    )


def _links(network: Network, platforms: _Platforms, n_groups: int) -> tuple[Ints, Ints, Floats]:
    """Return pairs of groups joined by a track that passes no third, and the shortest track in metres."""
    n = n_groups + len(network.junctions.ids)
    one, other, edge = platforms.pairs(network.one, network.other)
    # Track along a platform belongs to its station and links no others.
    inside = np.unique(edge[platforms.place[one] == platforms.place[other]])
    outside = ~np.isin(edge, inside)
    one, other, metres = one[outside], other[outside], network.metres[edge[outside]]
    # Where platforms meet, no track lies between the stations.
    meeting = np.flatnonzero(np.diff(platforms.first) > 1)
    here, there, _ = platforms.pairs(meeting, meeting)
    one, other = np.concatenate([one, here]), np.concatenate([other, there])
    metres = np.concatenate([metres, np.zeros(len(here))]) + platforms.half_m[one] + platforms.half_m[other]
    places = platforms.place[one], platforms.place[other]
    tails, heads = np.concatenate(places), np.concatenate(places[::-1])
    # A search that enters a station ends there: the arcs out of a station start at a copy of it.
    tails = np.where(tails < n_groups, tails + n, tails)
    millimetres = np.rint(np.concatenate([metres, metres]) * 1000).astype(np.int64)
    tracks = Graph.from_arcs("tracks", n + n_groups, tails, heads, millimetres).to_scipy()
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    searches = max(DISTANCES // max(n + n_groups, 1), 1)
    for start in range(0, n_groups, searches):
        stations = np.arange(start, min(start + searches, n_groups))
        reached = sp.csgraph.dijkstra(tracks, indices=n + stations)[:, :n_groups]
        rows, heads = np.nonzero(np.isfinite(reached))
        found.append((stations[rows], heads, reached[rows, heads] / 1000))
    one, other, metres = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return one, other, metres


def _middles(railways: Railways) -> tuple[Floats, Floats]:
    """Return the mean position of the platform points of each group."""
    points, lengths = railways.platform_points
    groups = np.repeat(railways.stations, lengths)
    counts = np.bincount(groups, minlength=len(railways.groups))
    lon, lat = (
        np.bincount(groups, degrees[points], minlength=len(counts)) / counts
        for degrees in (railways.points.lon, railways.points.lat)
    )
    return lon, lat
