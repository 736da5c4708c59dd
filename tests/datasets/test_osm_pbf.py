"""OpenStreetMap extracts in PBF and XML: known counts of real files, and one line for each failure."""

import bz2
import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

from built import built, built_from, refusal, weighted_arcs
from flow_facts import arcs_of
from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.formats.maps import OsmParameters
from relaxometer.datasets.readers.contraction import EARTH_RADIUS_M, Nodes, Ways, inside_polygon
from relaxometer.datasets.readers.osm_blocks import ends_with_relations
from relaxometer.datasets.readers.osm_pbf import Extract, _database_with_spatial, road_graph, with_railways
from relaxometer.datasets.readers.osm_xml import read_elements
from relaxometer.datasets.readers.text import UNKNOWN
from relaxometer.datasets.registry import load_registry
from relaxometer.graphs.graph import content_hash
from sample_osm import (
    HEADER,
    LOCATED,
    _data,
    _field,
    _groups,
    _message,
    _varint,
    _way,
    _zigzag,
    block,
    blocks_of,
    write_extract,
    xml_of,
)

OWN = Path(__file__).parents[2] / "resources/datasets.yaml"
HUNDRED_M = 100 / (EARTH_RADIUS_M * np.pi / 180)
"""In degrees on the equator."""


def build(file, **parameters):
    return built("osm-pbf", file, **parameters)


@pytest.mark.parametrize(("classes", "junctions"), [("all", 38_795), ("drive", 18_856), ("arterial", 3_277)])
def test_a_real_extract_has_known_junctions(road_file, classes, junctions):
    graph = build(road_file("malta.osm.pbf"), classes=classes)
    assert graph.metadata["junctions"] == junctions
    assert graph.metadata["directed"] is False
    assert graph.component_labels()[0] == 1
    assert graph.weights.min() >= 1
    assert not np.any(graph.tails == graph.targets)


@pytest.mark.parametrize("name", ["osm-porto-car", "osm-monaco"])
def test_own_entries_match_their_counts(road_file, name):
    dataset = load_registry(OWN, {})[name]
    graph = build_graph(name, dataset, files=[road_file(dataset.file_name)])
    assert (graph.n_vertices, graph.n_arcs) == (dataset.vertices, dataset.arcs)


def test_the_polygon_of_kanto_is_that_of_the_five_prefectures():
    polygon = load_registry(OWN, {})["kanto"].parameters.polygon
    inside = {"Tokyo": (139.77, 35.68), "Okutama": (139.10, 35.81), "Odawara": (139.16, 35.26)}
    inside |= {"Chichibu": (139.09, 35.99), "Honjo": (139.19, 36.24), "Choshi": (140.83, 35.73)}
    inside |= {"Tateyama": (139.87, 34.99), "Mito": (140.47, 36.37), "Daigo": (140.36, 36.77)}
    outside = {"Utsunomiya": (139.88, 36.56), "Maebashi": (139.06, 36.39), "Kofu": (138.57, 35.66)}
    lon, lat = np.array([*inside.values(), *outside.values()]).T
    assert inside_polygon(lon, lat, polygon).tolist() == [True] * len(inside) + [False] * len(outside)


def test_an_extract_by_hand(tmp_path):
    graph = build(write_extract(tmp_path / "small.osm.pbf"))
    assert arcs_of(graph) == [(0, 1), (1, 0), (1, 2), (1, 3), (2, 1), (3, 1)]
    assert graph.lon.tolist() == [0, 0.001, 0.003, 0.001]
    assert graph.metadata["junctions"] == 6, "the road far away has two"
    step = round(0.001 * 100 / HUNDRED_M * 750)
    assert graph.weights[:3].tolist() == pytest.approx([step, step, 2 * step], abs=1)


def test_weights_are_walking_times_and_a_clip_keeps_what_is_inside(road_file):
    file = road_file("monaco.osm.pbf")
    whole, fast = build(file), build(file, metres_per_minute=160)
    np.testing.assert_allclose(whole.weights, 2.0 * fast.weights, atol=1)
    south, west, north, east = 43.73, 7.41, 43.74, 7.43
    box = build(file, box={"south": south, "west": west, "north": north, "east": east})
    polygon = build(file, polygon=[[west, south], [east, south], [east, north], [west, north]])
    assert 0 < box.n_vertices < whole.n_vertices
    assert polygon.n_vertices == box.n_vertices
    assert (box.lat.min() >= south, box.lat.max() <= north) == (True, True)


def small_extract(stops=(4,)):
    """Make a street 1-2-3 of 200 m, crossed at 2 by a track 4-2-5 with a stop at 4, which lies next to 1."""
    ids = np.arange(1, 6, dtype=np.int64)
    nodes = Nodes(ids, np.array([0, 1, 2, 0, 2]) * HUNDRED_M, np.array([0, 0, 0, 0.4, -1]) * HUNDRED_M)
    ways = Ways(np.array([0, 3, 6]), np.array([1, 2, 3, 4, 2, 5]))
    speeds = np.array([[4.8, 4.8], [0, 0]])
    is_track = np.array([False, True])
    return Extract(nodes, ways, np.array([10, 11]), speeds, np.zeros(2), is_track, np.array(stops), [])


def test_tracks_are_reached_through_stops_only():
    extract = small_extract()
    roads = road_graph("small", extract, OsmParameters())
    assert (roads.n_vertices, roads.weights.tolist()) == (2, [150_000, 150_000])
    joined = with_railways(roads, extract, OsmParameters(railways=True, rail_km_per_hour=36))
    ends = weighted_arcs(joined)
    assert ends[0] == (0, 1, 150_000)
    assert ends[1] == (0, 2, 30_000), "40 m on foot between the stop and the street's end"
    rail_ms = round(100 * (np.hypot(1, 0.4) + np.hypot(1, 1)) * 100)
    assert ends[4] == (2, 3, pytest.approx(rail_ms, abs=2))
    assert joined.n_arcs == 6
    extract = small_extract(stops=(3, 4))
    roads = road_graph("small", extract, OsmParameters())
    assert with_railways(roads, extract, OsmParameters(railways=True)).metadata["walks"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html><title>404</title>", "not an OpenStreetMap PBF extract: it begins with a web page"),
        (b"something else", r"it begins with b'somethin'...; fetch it again"),
        (b"PK\x03\x04 something else", "it is a zip archive; unpack it and name the file inside"),
        (b'<?xml version="1.0"?>\n<osm version="0.6">', "it is OpenStreetMap's XML; give `format: osm-xml`"),
        (b"", "not an OpenStreetMap PBF extract: it is empty"),
    ],
)
def test_a_file_that_is_not_an_extract_is_one_line(tmp_path, content, message):
    path = tmp_path / "bad.osm.pbf"
    path.write_bytes(content)
    assert message in refusal(build, path)


ROWS = 10
"""A lattice of streets with 10 x 10 crossings, and a bend between two."""
NODES = {1 + i: (i % ROWS / 1000, i // ROWS / 1000) for i in range(ROWS * ROWS)}
NODES |= {1000 + key: (lon + 0.0005, lat + 0.0001) for key, (lon, lat) in NODES.items()}
NODES |= {2000 + key: (lon + 0.0001, lat + 0.0005) for key, (lon, lat) in NODES.items() if key < 1000}
ROWS_OF_STREETS = [range(start, start + ROWS) for start in range(1, ROWS * ROWS, ROWS)]
COLUMNS_OF_STREETS = [range(start, 1 + ROWS * ROWS, ROWS) for start in range(1, 1 + ROWS)]
STREETS = [[at for crossing in row for at in (crossing, 1000 + crossing)] for row in ROWS_OF_STREETS]
STREETS += [[at for crossing in row for at in (crossing, 2000 + crossing)] for row in COLUMNS_OF_STREETS]
WAYS = {key: (refs, {"highway": "residential"}) for key, refs in enumerate(STREETS, start=1)}


@pytest.mark.parametrize("kept", [1, 5, 6, 7])
def test_an_extract_cut_at_the_end_of_a_block_is_refused_unless_no_way_is_missing(tmp_path, kept):
    blocks = blocks_of(NODES, WAYS, ways_per_block=5)
    path = tmp_path / "cut.osm.pbf"
    path.write_bytes(b"".join(blocks[:kept]))
    if kept < len(blocks) - 1:
        assert "cut.osm.pbf: its end seems to be missing: it has no relations" in refusal(build, path)
    else:
        graph = build(path)
        assert graph.n_arcs == 2 * 2 * ROWS * ROWS
        assert graph.metadata.get("completeness") == (None if kept == len(blocks) else UNKNOWN)


def test_only_a_checksum_in_the_entry_vouches_for_an_extract_without_relations(tmp_path, capsys):
    path = write_extract(tmp_path / "small.osm.pbf")
    assert build(path).metadata["completeness"] == UNKNOWN
    assert f"{path}: may be incomplete: " in capsys.readouterr().err
    path = tmp_path / "nodes.osm.pbf"
    path.write_bytes(b"".join(blocks_of(NODES, WAYS, ways_per_block=5)[:-2]))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert "completeness" not in built("osm-pbf", path, entry={"sha256": sha256}).metadata
    assert "completeness" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\0\xff", "the file ends within it"),
        (b"\x7f\xff\xff\xff", "its size is 2147483647, expected at most 65536"),
        (b"\0\0\0\x02\x18", "the file ends within it"),
        (b"\0\0\0\x02\x1a\x01", "a field is damaged"),
        (b"\0\0\0\x02\x18\xff", "a number is damaged"),
        (b"\0\0\0\x06\x18\xff\xff\xff\xff\x7f", "its size is 34359738367, expected at most 33554432"),
        (b"\0\0\0\x00", "its size is None"),
        (block(b"OSMData", bytes(1 + (1 << 25))), "it unpacks to more than 33554432 bytes"),
    ],
    ids=range(8),
)
def test_a_block_that_is_larger_than_the_file_or_the_format_allows_is_one_line(tmp_path, content, message):
    path = write_extract(tmp_path / "small.osm.pbf")
    at = len(path.read_bytes())
    path.write_bytes(path.read_bytes() + content)
    assert f"cannot be read to the end (block at byte {at}: '{message}" in refusal(build, path)


def plain(nodes):
    """Return a group of nodes that are not dense, in units of 100 nanodegrees."""
    written = []
    for key, (lon, lat) in nodes.items():
        numbers = {1: key, 8: round(lat * 1e7), 9: round(lon * 1e7)}
        fields = (_varint(field << 3) + _varint(_zigzag(number)) for field, number in numbers.items())
        written.append(_field(1, _message(*fields)))
    return _message(*written)


def raw_block(kind, content):
    """Return a block of a kind, not compressed."""
    blob = _field(1, content)
    header = _message(_field(1, kind), _field(3, len(blob)))
    return len(header).to_bytes(4) + header + blob


DENSE, OF_WAYS = _groups(NODES, WAYS)
A_RELATION = block(b"OSMData", _data({}, _field(4, _field(1, 1))))
RAW = _data(WAYS, DENSE, OF_WAYS)
PLAIN = block(b"OSMData", _data(WAYS, plain(NODES), OF_WAYS))
CONVERT = "which DuckDB does not read; convert it with: osmium cat in.osm.pbf -o out.osm.pbf"


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (HEADER, PLAIN, "plain nodes"),
        (b"\x22\x0eOsmSchema-V0.6", PLAIN, "no 'DenseNodes' among the required features"),
        (HEADER, block(b"OSMData", RAW + _field(19, 1)), "coordinates with an offset"),
        (HEADER, raw_block(b"OSMData", RAW), "no compression"),
    ],
    ids=["plain nodes", "header without dense nodes", "offset", "not compressed"],
)
def test_what_would_be_read_wrongly_is_refused_with_the_remedy(tmp_path, header, data, message):
    path, first = tmp_path / "odd.osm.pbf", block(b"OSMHeader", header)
    path.write_bytes(first + data + A_RELATION)
    said = refusal(build, path)
    at = 0 if "DenseNodes" in message else len(first)
    assert said.startswith(f"{path}: block at byte {at} has {message}")
    assert said.endswith(CONVERT)


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (b"HistoricalInformation", "osmium time-filter in"),
        (b"Splines", "has 'Splines' among the required features, which"),
    ],
)
def test_a_feature_that_is_unknown_may_be_optional_but_not_required(tmp_path, feature, message):
    path = tmp_path / "odd.osm.pbf"
    data = block(b"OSMData", RAW + _field(19, 0))  # an offset of zero
    path.write_bytes(raw_block(b"OSMHeader", HEADER + _field(5, feature)) + data + A_RELATION)
    assert build(path).n_arcs == 2 * 2 * ROWS * ROWS
    path.write_bytes(block(b"OSMHeader", HEADER + _field(4, feature)) + data + A_RELATION)
    assert message in refusal(build, path)


def test_real_extracts_end_with_relations(road_file):
    for name in ("monaco", "malta", "porto_portugal", "andorra", "liechtenstein"):
        assert ends_with_relations(road_file(f"{name}.osm.pbf"))


@pytest.fixture
def streets(tmp_path):
    return {"path": tmp_path / "streets.osm.pbf", "nodes": NODES, "ways": WAYS}


@pytest.mark.parametrize("kept", [len(NODES), 7, 1])
def test_locations_on_ways_replace_nodes(streets, kept):
    expected = build(write_extract(**streets))
    located = build(write_extract(**streets, dropped=list(NODES)[kept:], located=True))
    assert content_hash(located) == content_hash(expected)
    np.testing.assert_array_equal([located.lon, located.lat], [expected.lon, expected.lat])


@pytest.mark.parametrize(
    "damage",
    [
        lambda way: way + _field(9, b"\x02"),
        lambda way: way + _field(9, b"\x82"),
        lambda way: way + _field(9, b"\x82" * 12 + b"\x01"),
        lambda way: way + _field(9, 1 << 62),
    ],
    ids=["too few", "cut", "too long", "no column"],
)
def test_damaged_locations_on_ways_are_one_line(tmp_path, damage):
    path = tmp_path / "odd.osm.pbf"
    way = _way(1, [1, 2], {"highway": "road"}, ["", "highway", "road"], NODES)
    data = _message(_field(1, _message(*(_field(1, text) for text in (b"", b"highway", b"road")))))
    data += _field(2, DENSE) + _field(2, _field(3, damage(way)))
    header = block(b"OSMHeader", HEADER + LOCATED)
    path.write_bytes(header + block(b"OSMData", data) + A_RELATION)
    said = refusal(build, path)
    assert f"block at byte {len(header)}: '" in said
    assert "); it is incomplete or damaged" in said


def test_missing_nodes_are_counted_and_too_many_refused(streets, capsys):
    build(write_extract(**streets, dropped=[1]))
    total = sum(len(refs) for refs, _ in WAYS.values())
    told = f"2 of {total} references from its ways lead to nodes that it does not have"
    assert f"streets.osm.pbf: {told}; the ways end there\n" in capsys.readouterr().err
    # More than a tenth of the references.
    said = refusal(build, write_extract(**streets, dropped=[*range(1, 22)]))
    assert "streets.osm.pbf: 42 of 400 references " in said
    assert "; cut it with complete" in said


@pytest.mark.parametrize("twice", [list(WAYS), [1, 2]], ids=["all", "some"])
def test_what_occurs_twice_is_taken_once(streets, capsys, twice):
    path = write_extract(**streets)
    expected = content_hash(build(path))
    capsys.readouterr()
    first = path.read_bytes()
    again = write_extract(**{**streets, "ways": {key: WAYS[key] for key in twice}}).read_bytes()
    path.write_bytes(first + again.removeprefix(block(b"OSMHeader", HEADER)) + A_RELATION)
    assert content_hash(build(path)) == expected
    told = f"{path}: {len(twice)} of its ways repeat another one's id; each is taken once\n"
    assert capsys.readouterr().err == told
    path.write_bytes(first + again + A_RELATION)
    said = refusal(build, path)
    assert f"block at byte {len(first)} has a second header, " in said
    assert "osmium merge" in said


@pytest.mark.parametrize(
    ("tags", "classes", "is_open"),
    [
        ({"access": "private"}, "arterial", False),
        ({"access": "no"}, "all", True),
        ({"vehicle": "agricultural"}, "drive", False),
        ({"access": "yes", "vehicle": "no", "motor_vehicle": "yes"}, "drive", True),
        ({"access": "customers"}, "drive", True),
        ({"foot": "no", "bicycle": "no"}, "drive", True),
    ],
)
def test_the_narrowest_class_of_vehicles_decides_on_access(tmp_path, tags, classes, is_open):
    nodes = {1: (0.0, 0.0), 2: (0.001, 0.0), 3: (0.002, 0.0)}
    ways = {1: ([1, 2], {"highway": "primary"}), 2: ([2, 3], {"highway": "primary", **tags})}
    graph = build(write_extract(tmp_path / "small.osm.pbf", nodes, ways), classes=classes)
    assert graph.n_vertices == 2 + is_open


@pytest.mark.parametrize(
    ("tags", "arcs"),
    [
        ({"oneway": "yes"}, [(0, 1)]),
        ({"oneway": "-1"}, [(1, 0)]),
        ({"oneway": "alternating", "highway": "motorway"}, [(0, 1), (1, 0)]),
        ({"oneway": "reversible", "highway": "motorway"}, None),
        ({"junction": "circular"}, [(0, 1)]),
    ],
)
def test_spellings_of_one_way_roads(tmp_path, tags, arcs):
    nodes = {1: (0.0, 0.0), 2: (0.001, 0.0)}
    path = write_extract(tmp_path / "small.osm.pbf", nodes, {1: ([1, 2], {"highway": "primary", **tags})})
    for oneway, expected in (("respect", arcs), ("ignore", [(0, 1), (1, 0)])):
        options = {"classes": "drive", "oneway": oneway}
        if expected is None:
            said = refusal(build, path, **options)
            assert said.startswith("graph small: the extract has no road of these classes in this area")
        else:
            assert arcs_of(build(path, **options)) == expected


def test_a_missing_file_is_one_line(tmp_path):
    said = refusal(ends_with_relations, tmp_path / "none.osm.pbf")
    assert "none.osm.pbf: not readable (No such file or directory)" in said


def test_xml_gives_the_elements_and_the_graph_of_the_extract(tmp_path):
    expected = built("osm-pbf", write_extract(tmp_path / "small.osm.pbf"))
    assert expected.ids.to_pylist() == [1, 2, 4, 5], "the ids of the junctions"
    deleted = '<node id="8" action="delete"/><way id="14" visible="false"></way></osm>'
    for name, content in (
        ("small.osm", xml_of()),
        ("small.osm.bz2", bz2.compress(xml_of().encode())),
        ("places in ways.osm", xml_of(nodes={}, located=True)),
        ("deleted.osm", xml_of().replace("</osm>", deleted)),
    ):
        assert content_hash(built_from(tmp_path, "osm-xml", content, name)) == content_hash(expected), name
    (tmp_path / "small.osm").write_text(xml_of(), encoding="utf-8")
    *_, way, relation = read_elements(tmp_path / "small.osm").to_pylist()
    assert (way["kind"], way["refs"], way["tags"]) == ("way", [4, 6], [("waterway", "river")])
    assert (relation["refs"], relation["ref_roles"], relation["ref_types"]) == ([10], ["from"], ["way"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (xml_of()[:-20], r"small.osm:\d+: not readable as OpenStreetMap's XML"),
        ("<osmChange></osmChange>", "its root is <osmChange>"),
        (xml_of().replace('lat="0.001"', 'lat="91"'), r"small.osm:8: .*not on the globe"),
        (xml_of().replace('ref="5"', 'ref="x"'), "invalid literal"),
        (xml_of().replace('<node id="5"', "<node"), "'id'"),
        ("", "no element found"),
        (xml_of(nodes={}), "references from its ways lead to nodes that it does not have"),
    ],
)
def test_faults_are_named(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        built_from(tmp_path, "osm-xml", content, "small.osm")


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UserError, match=r"the package duckdb, .* is missing; install it with: pip install"):
        _database_with_spatial()


def test_a_missing_extension_says_what_to_install(monkeypatch, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    settings = {"extension_directory": str(tmp_path), "custom_extension_repository": str(tmp_path)}
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda: connect(config=settings))
    with pytest.raises(UserError, match=r"does not find its extension 'spatial' .* install it with: pip"):
        _database_with_spatial()
