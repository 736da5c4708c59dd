"""Reader of OpenStreetMap extracts (``.osm.pbf``) through DuckDB's spatial extension."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.maps import OsmParameters
from relaxometer.datasets.readers.contraction import (
    EARTH_RADIUS_M,
    Flags,
    Floats,
    Ints,
    Network,
    Nodes,
    Ways,
    contract,
    inside_polygon,
    travel_times,
    unit_of_times,
)
from relaxometer.datasets.readers.osm_blocks import ends_with_relations, locations_on_ways
from relaxometer.datasets.readers.text import note_on_completeness
from relaxometer.datasets.registry import DataFile, Dataset
from relaxometer.graphs.graph import Graph

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_MAIN = ("motorway", "trunk", "primary", "secondary", "tertiary")
ARTERIAL = (*_MAIN, *(f"{kind}_link" for kind in _MAIN))
DRIVE = (*ARTERIAL, "unclassified", "residential", "living_street", "road")
ALL = (*DRIVE, "service", "pedestrian", "track", "footway", "path", "steps", "cycleway", "bridleway")
HIGHWAYS = {"arterial": ARTERIAL, "drive": DRIVE, "all": ALL}
"""Values of the key ``highway`` by set of classes."""

RAILWAYS = ("rail", "subway", "light_rail", "tram")
STOPS = ("station", "halt", "stop", "tram_stop")
"""Values of the key ``railway`` of ways, and of nodes on them."""

LONGEST_LINK_M = 500.0
"""Longest walk between a stop and a junction; stops without a nearer junction stay unlinked."""

MAX_LOOSE = 0.001
"""Largest fraction of the nodes that may belong to no way and have no tags; maps have some 0.00003."""

MAX_MISSING = 0.1
"""Largest fraction of the references from ways that may lead to no node; none do if ways were kept whole."""

CLOSED = ("no", "private", "agricultural", "forestry", "emergency", "military", "psv", "bus")
"""Values of the keys of access that close a way to cars; those for residents or customers only are open."""

BOTH, NEITHER = 0, 2
"""Directions of a two-way road, and of one that changes its direction by the hour."""

_INSTALL = "install it with: pip install duckdb duckdb-extensions duckdb-extension-spatial"


def build(name: str, dataset: Dataset[OsmParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of an extract; see :data:`relaxometer.datasets.build.Reader`.

    Vertices are the junctions of the largest component, in the order of their OpenStreetMap ids. Weights are
    travel times in milliseconds, or in seconds as floats.
    """
    (file,) = files
    parameters = dataset.parameters
    completeness = check_completeness(file, dataset)
    extract = read_extract(file, parameters)
    graph = road_graph(name, extract, parameters)
    if parameters.railways:
        graph = with_railways(graph, extract, parameters).largest_component()
    graph.metadata.update(completeness)
    return graph


def check_completeness(path: Path, entry: DataFile) -> dict[str, str]:
    """Refuse an extract whose end is missing; return what the metadata say about its completeness.

    An extract with relations has all of its ways. In one without, ways may be missing: then their nodes
    belong to no way, which is rare otherwise. The checksum in an entry vouches for any extract.

    Raises
    ------
    UserError
        If the file is not an extract, or its end is missing.
    """
    if ends_with_relations(path) or entry.sha256:
        return {}
    with _reading(path) as database:
        loose, total = database.execute(_LOOSE.format(file=_literal(path))).fetchall()[0]
    if not total or loose > MAX_LOOSE * total:
        raise UserError(
            f"{path}: its end seems to be missing: it has no relations, and {loose} of {total} nodes belong "
            "to no way; delete it and fetch it again, or if it is meant so, give its sha256 in the entry"
        )
    return note_on_completeness(path, entry)


@dataclass(frozen=True, eq=False)
class Extract:
    """The ways and nodes of a file that make the graph.

    Parameters
    ----------
    nodes : Nodes
        Nodes of the ways, inside box and polygon.
    ways : Ways
    is_road, is_railway : ndarray of shape (n_ways,), bool
        A way may be both, such as a street with a tram.
    direction : ndarray of shape (n_ways,), int64
        1 for roads that lead in the order of their nodes only, -1 in reverse order only, `BOTH` or `NEITHER`.
    stops : ndarray of shape (n_stops,), int64
        Ids of the nodes where trains stop.
    """

    nodes: Nodes
    ways: Ways
    is_road: Flags
    is_railway: Flags
    direction: Ints
    stops: Ints


def read_extract(path: Path, parameters: OsmParameters) -> Extract:
    """Read the ways and nodes that `parameters` select.

    Raises
    ------
    UserError
        If the file is not an extract or damaged, too many nodes are missing, or DuckDB or its extension is.
    """
    file = _literal(path)
    classes = {
        "highways": list(HIGHWAYS[parameters.classes]),
        "closed": [] if parameters.classes == "all" else list(CLOSED),
        "railways": list(RAILWAYS) if parameters.railways else [],
    }
    with _reading(path) as database:
        database.execute(_WAYS.format(file=file), classes)
        ways = database.execute(_WAYS_ONCE).to_arrow_table()
        again = database.execute("SELECT count(*) - count(DISTINCT id) FROM ways").fetchall()[0][0]
        nodes = database.execute(_NODES.format(file=file), {"stops": list(STOPS)}).to_arrow_table()
    if again:
        print(f"{path}: {again} of its ways repeat another one's id; each is taken once", file=sys.stderr)
    refs = ways["refs"].combine_chunks()
    places = _placed(path, refs.flatten().to_numpy(), nodes)
    return Extract(
        places.marked(_inside(places, parameters)),
        Ways(refs.offsets.to_numpy().astype(np.int64), refs.flatten().to_numpy()),
        ways["is_road"].to_numpy(),
        ways["is_railway"].to_numpy(),
        ways["direction"].to_numpy(),
        nodes["id"].to_numpy()[nodes["is_stop"].to_numpy()],
    )


def _placed(path: Path, refs: Ints, nodes: pa.Table) -> Nodes:
    """Return the nodes of ways with the coordinates of `nodes`, or else those in the ways themselves.

    Raises
    ------
    UserError
        If more than `MAX_MISSING` of the references lead to no node.
    """
    ids, uses = np.unique(refs, return_counts=True)
    places = locations_on_ways(path, ids)
    at, _ = places.find(nodes["id"].to_numpy())
    places.lon[at], places.lat[at] = nodes["lon"].to_numpy(), nodes["lat"].to_numpy()
    is_missing = np.isnan(places.lon)
    if missing := int(uses[is_missing].sum()):
        what = (
            f"{path}: {missing} of {len(refs)} references from its ways lead to nodes that it does not have"
        )
        if missing > MAX_MISSING * len(refs):
            raise UserError(f"{what}; cut it with complete ways: osmium extract --strategy=complete_ways")
        print(f"{what}; the ways end there", file=sys.stderr)
    return places.marked(~is_missing)


_WAYS = """
CREATE TEMP TABLE ways AS
SELECT
    id,
    refs,
    coalesce(list_contains($highways, tags['highway']), false)
        -- The key of the narrowest class of vehicles counts.
        AND NOT coalesce(list_contains($closed, coalesce(
            tags['motorcar'], tags['motor_vehicle'], tags['vehicle'], tags['access']
        )), false) AS is_road,
    coalesce(list_contains($railways, tags['railway']), false) AS is_railway,
    CASE
        WHEN tags['oneway'] IN ('yes', 'true', '1') THEN 1
        WHEN tags['oneway'] IN ('-1', 'reverse') THEN -1
        WHEN tags['oneway'] = 'reversible' THEN 2
        WHEN tags['oneway'] IN ('no', 'false', '0', 'alternating') THEN 0
        WHEN tags['junction'] IN ('roundabout', 'circular') THEN 1
        WHEN tags['highway'] IN ('motorway', 'motorway_link') THEN 1
        ELSE 0
    END::BIGINT AS direction
FROM ST_ReadOSM('{file}')
WHERE kind = 'way' AND (is_road OR is_railway) AND len(refs) > 1
"""

_WAYS_ONCE = "SELECT DISTINCT ON (id) * FROM ways ORDER BY id, len(refs) DESC, refs, is_road DESC, direction"
"""Extracts put together repeat ways; of those with one id, the longest is taken, and always the same."""

_LOOSE = """
SELECT
    count(*) FILTER (tags IS NULL AND id NOT IN (
        SELECT unnest(refs) FROM ST_ReadOSM('{file}') WHERE kind = 'way'
    )),
    count(*)
FROM ST_ReadOSM('{file}')
WHERE kind = 'node'
"""

_NODES = """
SELECT id, lon, lat, coalesce(list_contains($stops, tags['railway']), false) AS is_stop
FROM ST_ReadOSM('{file}')
WHERE kind = 'node' AND id IN (SELECT unnest(refs) FROM ways)
ORDER BY id, lon, lat
"""


def _database_with_spatial() -> duckdb.DuckDBPyConnection:
    """Open an in-memory database that has ``ST_ReadOSM``."""
    try:
        import duckdb
    except ImportError:
        raise UserError(f"the package duckdb, which reads .osm.pbf files, is missing; {_INSTALL}") from None
    database = duckdb.connect()
    for provide in (lambda: None, _import_extension, lambda: database.execute("INSTALL spatial")):
        with contextlib.suppress(duckdb.Error, ImportError, OSError):
            provide()
            database.execute("LOAD spatial")
            return database
    database.close()
    raise UserError(
        f"DuckDB {duckdb.__version__} does not find its extension 'spatial' for .osm.pbf files; {_INSTALL}"
    )


def _import_extension() -> None:
    """Give DuckDB the extension from its Python package."""
    from duckdb_extensions import import_extension

    import_extension("spatial")


def _literal(path: Path) -> str:
    """Return a path for a literal in SQL."""
    return str(path).replace("'", "''")


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database that has ``ST_ReadOSM``; its errors are those of the extract at `path`."""
    database = _database_with_spatial()
    import duckdb

    try:
        yield database
    except duckdb.Error as error:
        reason = quoted(str(error).splitlines()[0])
        raise UserError(
            f"{path}: cannot be read to the end ({reason}); it is incomplete or damaged: delete it and fetch "
            "it again"
        ) from None
    finally:
        database.close()


def _inside(nodes: Nodes, parameters: OsmParameters) -> Flags:
    inside = np.ones(len(nodes.ids), dtype=bool)
    if box := parameters.box:
        inside &= (nodes.lat >= box.south) & (nodes.lat <= box.north)
        inside &= (nodes.lon >= box.west) & (nodes.lon <= box.east)
    if parameters.polygon:
        inside &= inside_polygon(nodes.lon, nodes.lat, parameters.polygon)
    return inside


def road_graph(name: str, extract: Extract, parameters: OsmParameters) -> Graph:
    """Return the largest component of the roads of an extract.

    Raises
    ------
    UserError
        If there are no roads.
    """
    network = contract(extract.ways.marked(extract.is_road), extract.nodes)
    if not len(network.one):
        raise UserError(f"graph {name}: the extract has no road of these classes in this area")
    weight_type = parameters.weights.type
    weights = travel_times(network.metres, parameters.metres_per_minute / 60, weight_type)
    forward = backward = np.ones(len(network.one), dtype=bool)
    if parameters.oneway == "respect":
        direction = extract.direction[extract.is_road][network.ways]
        forward, backward = np.isin(direction, (BOTH, 1)), np.isin(direction, (BOTH, -1))
    return Graph.from_arcs(
        name,
        len(network.junctions.ids),
        np.concatenate([network.one[forward], network.other[backward]]),
        np.concatenate([network.other[forward], network.one[backward]]),
        np.concatenate([weights[forward], weights[backward]]),
        lon=network.junctions.lon,
        lat=network.junctions.lat,
        weight_type=weight_type,
        metadata={"junctions": len(network.junctions.ids), **unit_of_times(weight_type)},
    ).largest_component()


def with_railways(roads: Graph, extract: Extract, parameters: OsmParameters) -> Graph:
    """Add the railways of an extract to its roads.

    Tracks and roads share nodes where they cross, but passengers cannot change there. Only walks between the
    stops on tracks and their nearest junctions join them.

    The vertices of `roads`, which have coordinates, come first. The result includes railways that no walk
    leads to.
    """
    assert roads.lon is not None, "road_graph sets it"
    assert roads.lat is not None, "road_graph sets it"
    tracks = contract(extract.ways.marked(extract.is_railway), extract.nodes, extract.stops)
    stops, junctions, walk_m = _walks(roads.lon, roads.lat, tracks, extract.stops)
    weight_type = parameters.weights.type
    ride = travel_times(tracks.metres, parameters.rail_km_per_hour / 3.6, weight_type)
    walk = travel_times(walk_m, parameters.metres_per_minute / 60, weight_type)
    n_roads = roads.n_vertices
    one = np.concatenate([tracks.one + n_roads, stops + n_roads])
    other = np.concatenate([tracks.other + n_roads, junctions])
    weights = np.concatenate([ride, walk])
    return Graph.from_arcs(
        roads.name,
        n_roads + len(tracks.junctions.ids),
        np.concatenate([roads.tails, one, other]),
        np.concatenate([roads.targets, other, one]),
        np.concatenate([roads.weights, weights, weights]),
        lon=np.concatenate([roads.lon, tracks.junctions.lon]),
        lat=np.concatenate([roads.lat, tracks.junctions.lat]),
        weight_type=weight_type,
        metadata={**roads.metadata, "track_junctions": len(tracks.junctions.ids), "walks": len(stops)},
    )


def _walks(lon: Floats, lat: Floats, tracks: Network, stop_ids: Ints) -> tuple[Ints, Ints, Floats]:
    """Return positions of stops among the junctions of `tracks`, their nearest points, and metres."""
    stops, found = tracks.junctions.find(stop_ids)
    stops = stops[found]
    from_stops = _on_sphere(tracks.junctions.lon[stops], tracks.junctions.lat[stops])
    metres, junctions = cKDTree(_on_sphere(lon, lat)).query(from_stops)
    near = metres <= LONGEST_LINK_M
    return stops[near], junctions[near].astype(np.int64), metres[near]


def _on_sphere(lon: Floats, lat: Floats) -> Floats:
    """Return points in space in metres; over a few hundred metres, chords are as long as arcs."""
    x, y = np.radians(lon), np.radians(lat)
    return EARTH_RADIUS_M * np.column_stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
