"""Reader of Japan's railways (National Land Numerical Information, N02) from their zip archive of GeoJSON.

The archive holds two layers. Sections are pieces of track, each of one line of one operator. Stations are the
pieces along platforms: drawn over the sections, point by point, with the code of the group that a station
belongs to, which are stations of one name within 300 m. So tracks are followed within a line, and lines are
changed at stations alone, as passengers do.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import identify
from relaxometer.datasets.formats.ksj_n02 import RailwayParameters
from relaxometer.datasets.readers.contraction import (
    Floats,
    Ints,
    Network,
    Nodes,
    Ways,
    contract,
    milliseconds,
)
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

LINE = ("N02_003", "N02_004")
"""Name of the line and its operator; the name alone is not unique."""

GROUP = ("N02_005g", "N02_005c")
"""Code of a station's group, or else its own."""

PRECISION = 1e-5
"""Degrees that coordinates are rounded to, as the files give them; some 1 m."""

SEARCHES = 512
"""Stations whose neighbours are searched for at a time, for the sake of memory."""


def build(name: str, dataset: Dataset[RailwayParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of stations and of what joins them; see :data:`relaxometer.datasets.build.Reader`.

    Vertices are groups of stations, in the order of their codes; edges lead to the next ones along a line,
    and their weights are travel times in milliseconds. The largest component is the graph.
    """
    (file,) = files
    identity = identify(file, dataset)
    parameters = dataset.parameters
    graph = station_graph(name, read_railways(file), parameters.km_per_hour / 3.6)
    if not graph.n_arcs:
        raise UserError(f"{file}: no track leads from one station to another")
    graph = graph.largest_component()
    graph.metadata.update(identity)
    return graph


@dataclass(frozen=True, eq=False)
class Railways:
    """What is wanted of a file.

    Parameters
    ----------
    points : Nodes
        Those of the tracks; a point of two lines is two.
    tracks : Ways
        Sections, then platforms.
    n_sections : int
        How many of the ways are sections.
    groups : list of str
        Codes of the groups of stations, ascending.
    stations : ndarray of shape (n_platforms,), int64
        Position of every platform's group.
    """

    points: Nodes
    tracks: Ways
    n_sections: int
    groups: list[str]
    stations: Ints

    @property
    def platform_points(self) -> tuple[Ints, Ints]:
        """Every platform's points one after the other, and how many each has."""
        offsets = self.tracks.offsets[self.n_sections :]
        return self.tracks.refs[offsets[0] :], np.diff(offsets)


def read_railways(path: Path) -> Railways:
    """Read sections and stations.

    Raises
    ------
    UserError
        If the file is no archive or damaged, or lacks what is read of it; names the feature at fault.
    """
    shapes: list[Floats] = []
    lines: list[tuple[str, ...]] = []
    codes: list[str] = []
    n_sections = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for where, properties, parts in _features(path, archive, "_RailroadSection.geojson"):
                shapes += parts
                lines += [_line(where, properties)] * len(parts)
            n_sections = len(shapes)
            for where, properties, parts in _features(path, archive, "_Station.geojson"):
                shapes += parts
                lines += [_line(where, properties)] * len(parts)
                codes += [_group(where, properties)] * len(parts)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise UserError(
            f"{path}: not readable as a zip archive ({error}); delete it and fetch it again"
        ) from None
    groups, stations = np.unique(np.array(codes, dtype=np.str_), return_inverse=True)
    return Railways(*_points(shapes, lines), n_sections, groups.tolist(), stations.astype(np.int64))


Feature = tuple[str, dict[str, Any], list[Floats]]
"""Where it is, for messages; its properties; its lists of longitudes and latitudes."""


def _features(path: Path, archive: zipfile.ZipFile, ending: str) -> Iterator[Feature]:
    """Yield the features of the layer whose file has a name that ends so."""
    named = [member for member in archive.namelist() if member.endswith(ending)]
    # Some editions hold each layer twice, the other one in Shift JIS.
    member = next((member for member in named if "utf" in member.lower()), named[0] if named else None)
    if member is None:
        raise UserError(f"{path}: no file *{ending} in it; take the archive that holds GeoJSON")
    try:
        layer = json.loads(archive.read(member).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: {member}: no valid JSON in UTF-8 ({error})") from None
    features = layer.get("features") if isinstance(layer, dict) else None
    if not isinstance(features, list):
        raise UserError(f"{path}: {member}: no GeoJSON: it has no list 'features'")
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
        raise UserError(f"{where}: its geometry is {kind}; expected a LineString")
    coordinates = geometry.get("coordinates")
    try:
        lists = [coordinates] if kind == "LineString" else list(coordinates)
        parts = [np.array(points, dtype=np.float64) for points in lists]
    except (TypeError, ValueError):
        parts = []
    if not parts or not all(map(_is_line, parts)):
        raise UserError(f"{where}: its coordinates are no list of two or more [longitude, latitude]")
    return [part[:, :2] for part in parts]


def _is_line(points: Floats) -> bool:
    """Tell whether this is a list of places on the globe, which may have heights."""
    if points.ndim != 2 or len(points) < 2 or points.shape[1] < 2:
        return False
    return bool(np.all(np.abs(points[:, :2]) <= (180, 90)))


def _line(where: str, properties: dict[str, Any]) -> tuple[str, ...]:
    missing = [key for key in LINE if key not in properties]
    if missing:
        raise UserError(f"{where}: no property {missing[0]}; a line is told by {' and '.join(LINE)}")
    return tuple(str(properties[key]) for key in LINE)


def _group(where: str, properties: dict[str, Any]) -> str:
    code = next((properties[key] for key in GROUP if properties.get(key)), None)
    if code is None:
        raise UserError(f"{where}: neither property {' nor '.join(GROUP)}, which say what stations are one")
    return str(code)


def _points(shapes: list[Floats], lines: list[tuple[str, ...]]) -> tuple[Nodes, Ways]:
    """Give every point of every line an id, and name the tracks by these."""
    lengths = [len(shape) for shape in shapes]
    number = {line: index for index, line in enumerate(dict.fromkeys(lines))}
    places = np.rint(np.concatenate([np.empty((0, 2)), *shapes]) / PRECISION).astype(np.int64)
    keys = np.column_stack([np.repeat([number[line] for line in lines], lengths).astype(np.int64), places])
    points, refs = np.unique(keys, axis=0, return_inverse=True)
    lon, lat = points[:, 1] * PRECISION, points[:, 2] * PRECISION
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Nodes(np.arange(len(points)), lon, lat), Ways(offsets, refs.ravel().astype(np.int64))


def station_graph(name: str, railways: Railways, metres_per_second: float) -> Graph:
    """Return the groups of stations, joined where a track leads from one to another past no third.

    Parameters
    ----------
    name : str
    railways : Railways
    metres_per_second : float

    Returns
    -------
    Graph
        Distances are those between the middles of platforms. Groups that no track leads to are in it, too.
    """
    network = contract(railways.tracks, railways.points)
    place, half_m = _platforms(railways, network)
    one, other, metres = _links(network, place, half_m, len(railways.groups))
    lon, lat = _middles(railways)
    return Graph.from_arcs(
        name,
        len(railways.groups),
        one,
        other,
        milliseconds(metres, metres_per_second),
        lon=lon,
        lat=lat,
        metadata={
            "sections_in_file": railways.n_sections,
            "stations_in_file": len(railways.stations),
            "station_groups": len(railways.groups),
        },
    )


def _platforms(railways: Railways, network: Network) -> tuple[Ints, Floats]:
    """Tell where the junctions of the tracks are.

    Returns
    -------
    place : ndarray of shape (n_junctions,), int64
        The group of stations; for junctions at no platform, numbers of their own above those.
    half_m : ndarray of shape (n_junctions,), float64
        Half the length of the junction's platform, or zero.
    """
    n_groups, n_platforms = len(railways.groups), len(railways.stations)
    place = n_groups + np.arange(len(network.junctions.ids))
    half_m = np.zeros(len(place))
    platform = network.ways - railways.n_sections
    on_platform = platform >= 0
    along = np.bincount(platform[on_platform], network.metres[on_platform], minlength=n_platforms)
    points, lengths = railways.platform_points
    junctions, found = network.junctions.find(points)
    place[junctions[found]] = np.repeat(railways.stations, lengths)[found]
    half_m[junctions[found]] = np.repeat(along / 2, lengths)[found]
    return place, half_m


def _links(network: Network, place: Ints, half_m: Floats, n_groups: int) -> tuple[Ints, Ints, Floats]:
    """Return pairs of groups between which a track passes no third, and the metres of the shortest one."""
    n = n_groups + len(place)
    ends = place[network.one], place[network.other]
    metres = network.metres + half_m[network.one] + half_m[network.other]
    tails, heads = np.concatenate(ends), np.concatenate(ends[::-1])
    # A search that enters a station ends there: what leads out of it begins at a copy of it.
    tails = np.where(tails < n_groups, tails + n, tails)
    millimetres = np.rint(np.concatenate([metres, metres]) * 1000).astype(np.int64)
    tracks = Graph.from_arcs("tracks", n + n_groups, tails, heads, millimetres).to_scipy()
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for start in range(0, n_groups, SEARCHES):
        stations = np.arange(start, min(start + SEARCHES, n_groups))
        reached = sp.csgraph.dijkstra(tracks, indices=n + stations)[:, :n_groups]
        rows, heads = np.nonzero(np.isfinite(reached))
        found.append((stations[rows], heads, reached[rows, heads] / 1000))
    one, other, metres = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return one, other, metres


def _middles(railways: Railways) -> tuple[Floats, Floats]:
    """Return for each group the mean place of the points of its platforms."""
    points, lengths = railways.platform_points
    groups = np.repeat(railways.stations, lengths)
    counts = np.bincount(groups, minlength=len(railways.groups))
    lon, lat = (
        np.bincount(groups, degrees[points], minlength=len(counts)) / counts
        for degrees in (railways.points.lon, railways.points.lat)
    )
    return lon, lat
