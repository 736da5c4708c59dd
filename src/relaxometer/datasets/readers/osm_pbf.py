"""Reader of OpenStreetMap extracts (``.osm.pbf``) through DuckDB's spatial extension."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.spatial import cKDTree

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.maps import OsmParameters
from relaxometer.datasets.readers import contraction, osm_tags
from relaxometer.datasets.readers.osm_blocks import ends_with_relations, locations_on_ways
from relaxometer.datasets.readers.osm_turns import Arcs, Restriction, expand, forbidden_turns, restriction_of
from relaxometer.datasets.readers.text import note_on_completeness
from relaxometer.datasets.registry import DataFile, Dataset
from relaxometer.graphs.graph import Graph

if TYPE_CHECKING:
    import duckdb

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

SEPARATOR = "\x1f"
"""Stands between the values of tags, which are one text in a table of ways."""

_INSTALL = "install it with: pip install duckdb duckdb-extensions duckdb-extension-spatial"


def build(name: str, dataset: Dataset[OsmParameters], file: Path) -> Graph:
    """Make the graph of an extract; see :data:`relaxometer.datasets.build.Reader`.

    Vertices are the junctions of the largest component, in the order of their OpenStreetMap ids. Weights are
    travel times in milliseconds, or in seconds as floats. With turn restrictions, a junction may have several
    vertices, of one id.
    """
    completeness = check_completeness(file, dataset)
    graph = graph_of(name, file, dataset.parameters)
    graph.metadata.update(completeness)
    return graph


def graph_of(name: str, path: Path, parameters: OsmParameters, elements: pa.Table | None = None) -> Graph:
    """Make the graph of the elements of a file; by default, those of an extract in PBF."""
    extract = read_extract(path, parameters, elements)
    graph = road_graph(name, extract, parameters)
    if parameters.railways:
        graph = with_railways(graph, extract, parameters).largest_component()
    return graph


def check_completeness(path: Path, entry: DataFile) -> dict[str, str]:
    """Refuse an extract whose end is missing; return what the metadata say about its completeness.

    An extract with relations has all of its ways. In one without, ways may be missing: then their nodes
    belong to no way, which is rare otherwise. The checksum in an entry vouches for any extract.
    """
    if ends_with_relations(path) or entry.sha256:
        return {}
    with _reading(path) as database:
        loose, total = database.execute(_LOOSE).fetchall()[0]
    if not total or loose > MAX_LOOSE * total:
        raise UserError(
            f"{path}: its end seems to be missing: it has no relations, and {loose} of {total} nodes belong "
            "to no way; delete it and fetch it again, or if it is meant so, give its sha256 in the entry"
        )
    return note_on_completeness(path, entry)


@dataclass(frozen=True, eq=False)
class Extract:
    """The ways and nodes of a file that make the graph.

    `nodes` are those of the ways, inside box and polygon, and `ids` those of the ways. `speeds`, shape
    (n_ways, 2), are in km/h in the order of the nodes and against it; 0 where the way is closed. `durations`
    are seconds from end to end, or 0; they precede speeds. A railway may be a road as well, such as a street
    with a tram. `stops` are the ids of the nodes where trains stop.
    """

    nodes: contraction.Nodes
    ways: contraction.Ways
    ids: contraction.Ints
    speeds: contraction.Floats
    durations: contraction.Floats
    is_railway: contraction.Flags
    stops: contraction.Ints
    restrictions: list[Restriction]

    @property
    def is_road(self) -> contraction.Flags:
        """The ways that are open in a direction, shape (n_ways,), bool."""
        return (self.speeds[:, 0] > 0) | (self.speeds[:, 1] > 0)


def read_extract(path: Path, parameters: OsmParameters, elements: pa.Table | None = None) -> Extract:
    """Read the ways and nodes that `parameters` select, of a PBF extract or of `elements` that were read.

    UserError if the file is not an extract or damaged, too many nodes are missing, or DuckDB or its extension
    is.
    """
    profile = profile_of(parameters)
    keys = _way_keys(profile, parameters)
    node_keys = ["barrier", "highway", *profile.names, "access"] if parameters.profile else []
    chosen = {
        "keys": keys,
        "highways": [*profile.speeds, *profile.allowed],
        "routes": ["ferry"] if parameters.ferries else [],
        "railways": list(RAILWAYS) if parameters.railways else [],
    }
    with _reading(path, elements) as database:
        database.execute(_WAYS, chosen)
        ways = database.execute(_WAYS_ONCE).to_arrow_table()
        again = database.execute("SELECT count(*) - count(DISTINCT id) FROM ways").fetchall()[0][0]
        speeds = _by_tags(
            ways, keys, lambda tags: (*osm_tags.speeds_of(tags, profile), osm_tags.duration_s(tags))
        )
        is_taken = speeds[:, :2].any(axis=1) | ways["is_railway"].to_numpy()
        ways, speeds = ways.filter(is_taken), speeds[is_taken]
        database.register("taken", ways)
        chosen = {"keys": node_keys, "stops": list(STOPS)}
        nodes = database.execute(_NODES, chosen).to_arrow_table()
        has_turns = parameters.profile and parameters.turns != "none"
        relations = database.execute(_RESTRICTIONS).to_arrow_table() if has_turns else None
    if again:
        print(f"{path}: {again} of its ways repeat another one's id; each is taken once", file=sys.stderr)
    refs = ways["refs"].combine_chunks()
    places = _placed(path, refs.flatten().to_numpy(), nodes, has_blocks=elements is None)
    kept = _inside(places, parameters)
    if parameters.profile:
        is_closed = _by_tags(nodes, node_keys, lambda tags: osm_tags.is_barrier(tags, profile))
        kept &= ~np.isin(places.ids, nodes["id"].to_numpy()[is_closed])
    found = (restriction_of(relation, profile) for relation in (relations.to_pylist() if relations else []))
    return Extract(
        places.marked(kept),
        contraction.Ways(refs.offsets.to_numpy().astype(np.int64), refs.flatten().to_numpy()),
        ways["id"].to_numpy(),
        speeds[:, :2],
        speeds[:, 2],
        ways["is_railway"].to_numpy(),
        nodes["id"].to_numpy()[nodes["is_stop"].to_numpy()],
        [restriction for restriction in found if restriction],
    )


def profile_of(parameters: OsmParameters) -> osm_tags.Profile:
    """Return the profile that `parameters` name, or one with the same speed on all roads of the classes."""
    profiles = osm_tags.read_profiles().profiles
    if parameters.profile:
        return profiles[parameters.profile]
    car = profiles["car"]
    return osm_tags.Profile(
        names=car.names,
        closed=[] if parameters.classes == "all" else car.closed,
        speeds=dict.fromkeys(HIGHWAYS[parameters.classes], parameters.metres_per_minute * 0.06),
        is_vehicle=True,
        one_way=car.one_way if parameters.oneway == "respect" else {},
    )


def _way_keys(profile: osm_tags.Profile, parameters: OsmParameters) -> list[str]:
    """Return the keys of ways to read: none that is about directions if these are ignored."""
    if parameters.profile or parameters.oneway == "respect":
        return profile.way_keys
    return [key for key in profile.way_keys if ":" not in key and key != "oneway"]


def _by_tags(table: pa.Table, keys: list[str], value: Callable[[osm_tags.Tags], Any]) -> npt.NDArray[Any]:
    """Return the value of a function for the tags of each row; it is called once for equal ones."""
    texts = table["tags"].combine_chunks().dictionary_encode()
    rows = [dict(zip(keys, text.split(SEPARATOR), strict=True)) for text in texts.dictionary.to_pylist()]
    found = [value({key: text for key, text in row.items() if text}) for row in rows]
    return np.array([*found, value({})])[texts.indices.to_numpy()]


def _placed(path: Path, refs: contraction.Ints, nodes: pa.Table, *, has_blocks: bool) -> contraction.Nodes:
    """Return the nodes of ways with the coordinates of `nodes`, or else those in the ways themselves.

    UserError if more than `MAX_MISSING` of the references lead to no node.
    """
    ids, uses = np.unique(refs, return_counts=True)
    unplaced = contraction.Nodes(ids, *(np.full(len(ids), np.nan) for _ in range(2)))
    places = locations_on_ways(path, ids) if has_blocks else unplaced
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


_VALUES = "list_transform($keys::VARCHAR[], lambda key: coalesce(replace(tags[key], chr(31), ''), ''))"
_TAGS = f"array_to_string({_VALUES}, chr(31)) AS tags"

_WAYS = f"""
CREATE TEMP TABLE ways AS
SELECT id, refs, coalesce(list_contains($railways, tags['railway']), false) AS is_railway, {_TAGS}
FROM elements
WHERE kind = 'way' AND len(refs) > 1
    AND (is_railway OR list_contains($highways, tags['highway']) OR list_contains($routes, tags['route']))
"""

_WAYS_ONCE = "SELECT DISTINCT ON (id) * FROM ways ORDER BY id, len(refs) DESC, refs, tags"
"""Extracts put together repeat ways; of those with one id, the longest is taken, and always the same."""

_LOOSE = """
SELECT
    count(*) FILTER (tags IS NULL AND id NOT IN (
        SELECT unnest(refs) FROM elements WHERE kind = 'way'
    )),
    count(*)
FROM elements
WHERE kind = 'node'
"""

_NODES = f"""
SELECT id, lon, lat, coalesce(list_contains($stops, tags['railway']), false) AS is_stop, {_TAGS}
FROM elements
WHERE kind = 'node' AND id IN (SELECT unnest(refs) FROM taken)
ORDER BY id, lon, lat
"""

_RESTRICTIONS = """
SELECT tags, refs, ref_types::VARCHAR[] AS ref_types, ref_roles
FROM elements
WHERE kind = 'relation' AND tags['type'] = 'restriction'
ORDER BY id
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


@contextlib.contextmanager
def _reading(path: Path, elements: pa.Table | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database that has the table `elements` of an extract; its errors are those of the extract."""
    database = _database_with_spatial()
    import duckdb

    try:
        if elements is None:
            literal = str(path).replace("'", "''")
            database.execute(f"CREATE TEMP VIEW elements AS SELECT * FROM ST_ReadOSM('{literal}')")
        else:
            database.register("elements", elements)
        yield database
    except duckdb.Error as error:
        reason = quoted(str(error).splitlines()[0])
        raise UserError(
            f"{path}: cannot be read to the end ({reason}); it is incomplete or damaged: delete it and fetch "
            "it again"
        ) from None
    finally:
        database.close()


def _inside(nodes: contraction.Nodes, parameters: OsmParameters) -> contraction.Flags:
    inside = np.ones(len(nodes.ids), dtype=bool)
    if box := parameters.box:
        inside &= (nodes.lat >= box.south) & (nodes.lat <= box.north)
        inside &= (nodes.lon >= box.west) & (nodes.lon <= box.east)
    if parameters.polygon:
        inside &= contraction.inside_polygon(nodes.lon, nodes.lat, parameters.polygon)
    return inside


def road_graph(name: str, extract: Extract, parameters: OsmParameters) -> Graph:
    """Return the largest component of the roads of an extract; UserError without roads."""
    network = contraction.contract(extract.ways.marked(extract.is_road), extract.nodes)
    if not len(network.one):
        raise UserError(f"graph {name}: the extract has no road of these classes in this area")
    arcs = _arcs(network, extract)
    metadata: dict[str, Any] = {"junctions": len(network.junctions.ids)}
    junctions = np.arange(len(network.junctions.ids))
    tails, heads, seconds = arcs.tails, arcs.heads, arcs.seconds
    if parameters.profile and parameters.turns != "none":
        ways = extract.ids[extract.is_road][network.ways[arcs.edges]]
        forbidden, n_used = forbidden_turns(arcs, ways, network.junctions.ids, extract.restrictions)
        found = expand(arcs, forbidden, profile_of(parameters) if parameters.turns == "costs" else None)
        junctions, tails, heads, seconds = found.junctions, found.tails, found.heads, found.seconds
        n_unused = len(extract.restrictions) - n_used
        metadata["turn_restrictions"] = {"used": n_used, "unused": n_unused}
        if n_unused:
            print(f"{name}: {n_unused} turn restrictions name no turn between its roads", file=sys.stderr)
    weight_type = parameters.weights.type
    return Graph.from_arcs(
        name,
        len(junctions),
        tails,
        heads,
        contraction.travel_times(seconds, 1, weight_type),
        lon=network.junctions.lon[junctions],
        lat=network.junctions.lat[junctions],
        weight_type=weight_type,
        metadata={**metadata, **contraction.unit_of_times(weight_type)},
        ids=pa.array(network.junctions.ids[junctions]),
    ).largest_component()


def _arcs(network: contraction.Network, extract: Extract) -> Arcs:
    """Return the roads of a network in the directions in which they are open."""
    whole_m = np.bincount(network.ways, network.metres)[network.ways]
    durations = extract.durations[extract.is_road][network.ways]
    speeds = extract.speeds[extract.is_road][network.ways]
    along, against = (np.flatnonzero(column) for column in speeds.T)
    edges = np.concatenate([along, against])
    metres, whole, duration = network.metres[edges], whole_m[edges], durations[edges]
    kmh = np.concatenate([speeds[along, 0], speeds[against, 1]])
    with np.errstate(over="ignore"):  # Graph.from_arcs refuses infinity
        seconds = np.where(duration > 0, duration * metres / np.maximum(whole, 1), metres / (kmh / 3.6))
    nodes, junctions = extract.nodes, network.junctions
    points = np.column_stack([nodes.lon, nodes.lat]), np.column_stack([junctions.lon, junctions.lat])
    at_one = _bearings(points[1][network.one], points[0][network.after])
    at_other = _bearings(points[0][network.before], points[1][network.other])
    return Arcs(
        np.concatenate([network.one[along], network.other[against]]),
        np.concatenate([network.other[along], network.one[against]]),
        edges,
        seconds,
        np.concatenate([at_one[along], at_other[against] + 180]),
        np.concatenate([at_other[along], at_one[against] + 180]),
        len(along),
    )


def _bearings(places: contraction.Floats, others: contraction.Floats) -> contraction.Floats:
    """Return the directions from places to near ones, in degrees from the north to the east."""
    east, north = (others - places).T
    return np.degrees(np.arctan2(east * np.cos(np.radians(places[:, 1])), north))


def with_railways(roads: Graph, extract: Extract, parameters: OsmParameters) -> Graph:
    """Add the railways of an extract to its roads.

    Tracks and roads share nodes where they cross, but passengers cannot change there. Only walks between the
    stops on tracks and their nearest junctions join them.

    The vertices of `roads`, which have coordinates, come first. The result includes railways that no walk
    leads to.
    """
    assert roads.lon is not None, "road_graph sets it"
    assert roads.lat is not None, "road_graph sets it"
    tracks = contraction.contract(extract.ways.marked(extract.is_railway), extract.nodes, extract.stops)
    stops, junctions, walk_m = _walks(roads.lon, roads.lat, tracks, extract.stops)
    weight_type = parameters.weights.type
    ride = contraction.travel_times(tracks.metres, parameters.rail_km_per_hour / 3.6, weight_type)
    walk = contraction.travel_times(walk_m, parameters.metres_per_minute / 60, weight_type)
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
        ids=pa.array(np.concatenate([roads.ids, tracks.junctions.ids])),
        metadata={**roads.metadata, "track_junctions": len(tracks.junctions.ids), "walks": len(stops)},
    )


def _walks(
    lon: contraction.Floats, lat: contraction.Floats, tracks: contraction.Network, stop_ids: contraction.Ints
) -> tuple[contraction.Ints, contraction.Ints, contraction.Floats]:
    """Return positions of stops among the junctions of `tracks`, their nearest points, and metres."""
    stops, found = tracks.junctions.find(stop_ids)
    stops = stops[found]
    from_stops = _on_sphere(tracks.junctions.lon[stops], tracks.junctions.lat[stops])
    metres, junctions = cKDTree(_on_sphere(lon, lat)).query(from_stops)
    near = metres <= LONGEST_LINK_M
    return stops[near], junctions[near].astype(np.int64), metres[near]


def _on_sphere(lon: contraction.Floats, lat: contraction.Floats) -> contraction.Floats:
    """Return points in space in metres; over a few hundred metres, chords are as long as arcs."""
    x, y = np.radians(lon), np.radians(lat)
    return contraction.EARTH_RADIUS_M * np.column_stack(
        [np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)]
    )
