"""Japan's railways: a hand-made graph of stations, searches along the track, and broken archives."""

import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import csgraph_from_dense, dijkstra

from built import built, refusal, weights_by_ends
from relaxometer.datasets.readers.ksj_n02 import read_railways, station_graph
from sample_railways import EAST, FORK, MIDDLE, NORTH, WEST, feature, railway_layers, write_railways

GROUPS = ["003001", "003002", "003003", "003004", "003100"]
WEST_, MIDDLE_, EAST_, NORTH_, SOUTH_ = range(5)
MS_PER_M = 1000 / (35 / 3.6)


def build(path, **parameters):
    return built("ksj-n02", path, **parameters)


def metres(places):
    """Length of a list of places by the spherical law of cosines."""
    total = 0.0
    for (x_1, y_1), (x_2, y_2) in pairwise(np.radians(places).tolist()):
        cosine = np.sin(y_1) * np.sin(y_2) + np.cos(y_1) * np.cos(y_2) * np.cos(x_2 - x_1)
        total += 6_371_000 * np.arccos(min(cosine, 1))
    return total


@pytest.fixture
def archive(tmp_path):
    return write_railways(tmp_path / "N02-24_GML.zip")


def test_stations_are_linked_along_the_track_and_what_leads_elsewhere_is_left_out(archive):
    graph = build(archive)
    links = {(WEST_, MIDDLE_), (MIDDLE_, EAST_), (MIDDLE_, NORTH_), (EAST_, NORTH_), (MIDDLE_, SOUTH_)}
    assert set(weights_by_ends(graph)) == links | {(other, one) for one, other in links}
    # The shorter of two tracks, from the middle of one platform to that of the other.
    west_middle = metres(WEST) / 2 + metres([WEST[1], [139.710, 35.6999], MIDDLE[0]]) + metres(MIDDLE) / 2
    assert weights_by_ends(graph)[WEST_, MIDDLE_] == pytest.approx(west_middle * MS_PER_M, abs=15)
    east_north = metres(EAST) / 2 + metres([EAST[0], FORK, NORTH[0]]) + metres(NORTH) / 2
    assert weights_by_ends(graph)[EAST_, NORTH_] == pytest.approx(east_north * MS_PER_M, abs=15)
    assert graph.metadata["directed"] is False
    graph = build(archive)
    facts = {key: graph.metadata[key] for key in ("sections_in_file", "stations_in_file", "station_groups")}
    assert facts == {"sections_in_file": 15, "stations_in_file": 8, "station_groups": 7}
    assert graph.metadata["file"] == "N02-24_GML.zip"
    assert graph.lon[[WEST_, EAST_]] == pytest.approx([139.701, 139.741])
    assert graph.lat[NORTH_] == pytest.approx(35.711)
    assert graph.lat[MIDDLE_] == pytest.approx((3 * 35.700 + 35.7005 + 35.7008) / 5)
    assert read_railways(archive).groups == [*GROUPS, "010001", "010002"]
    assert graph.n_vertices == 5, "railways that lead elsewhere are left out"
    np.testing.assert_allclose(graph.weights, 2.0 * build(archive, km_per_hour=70).weights, atol=1)


def test_codes_of_stations_serve_where_there_are_no_groups(tmp_path):
    layers = railway_layers()
    for station in layers["Station"]:
        del station["properties"]["N02_005g"]
    graph = build(write_railways(tmp_path / "N02.zip", layers))
    assert graph.n_vertices == 4, "the subway's station is another one now"
    layers["Station"][0]["properties"]["N02_005g"] = ""
    assert build(write_railways(tmp_path / "N02.zip", layers)).n_vertices == 4


def test_lines_of_several_parts_and_with_heights(tmp_path):
    layers = railway_layers()
    pieces = [[[139.702, 35.700, 5], [139.710, 35.6999, 5]], [[139.710, 35.6999, 5], [139.718, 35.700, 6]]]
    layers["RailroadSection"][2]["geometry"] = {"type": "MultiLineString", "coordinates": pieces}
    expected = weights_by_ends(build(write_railways(tmp_path / "whole.zip")))
    assert weights_by_ends(build(write_railways(tmp_path / "N02.zip", layers))) == expected


LINE = {"N02_003": "本線", "N02_004": "試験鉄道"}


@st.composite
def networks(draw):
    """Draw pieces of track between places of a lattice, and which of the places are stations."""
    n_places = draw(st.integers(2, 8))
    lattice = [[139 + i % 3 / 100, 35 + i // 3 / 100] for i in range(n_places)]
    place = st.integers(0, n_places - 1)
    tracks = draw(st.lists(st.tuples(place, place).filter(lambda ends: ends[0] != ends[1]), min_size=1))
    return lattice, tracks, sorted(draw(st.sets(place, min_size=1)))


def expected_links(lattice, tracks, stations):
    """Search from every station, and no further than the next ones."""
    lengths = np.full((len(lattice), len(lattice)), np.inf)
    for i, j in tracks:
        lengths[i, j] = lengths[j, i] = metres([lattice[i], lattice[j]])
    links = {}
    for number, station in enumerate(stations):
        onwards = lengths.copy()
        onwards[[other for other in stations if other != station]] = np.inf
        found = dijkstra(csgraph_from_dense(onwards, null_value=np.inf), indices=station)[stations]
        reached = np.isfinite(found) & (np.arange(len(stations)) != number)
        links |= {(number, other): found[other] * MS_PER_M for other in np.flatnonzero(reached).tolist()}
    return links


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(networks())
def test_links_are_those_of_a_search_that_ends_at_stations(tmp_path, network):
    lattice, tracks, stations = network
    layers = {
        "RailroadSection": [feature(LINE, [lattice[i], lattice[j]]) for i, j in tracks],
        # Platforms of no length, so that distances are those between the places.
        "Station": [feature({**LINE, "N02_005g": f"{i:06}"}, [lattice[i], lattice[i]]) for i in stations],
    }
    railways = read_railways(write_railways(tmp_path / "N02.zip", layers))
    found = weights_by_ends(station_graph("drawn", railways, 35 / 3.6))
    expected = expected_links(lattice, tracks, stations)
    assert found.keys() == expected.keys()
    assert all(found[ends] == pytest.approx(expected[ends], abs=2) for ends in expected)


def test_stations_whose_platforms_meet_are_next_to_each_other(tmp_path):
    bounds = [139.700, 139.701, 139.703, 139.706]
    platforms = [[[west, 35.7], [east, 35.7]] for west, east in pairwise(bounds)]
    stations = [feature({**LINE, "N02_005g": f"{i:06}"}, platforms[i]) for i in range(3)]
    layers = {
        "RailroadSection": [feature(LINE, places) for places in platforms],
        "Station": [stations[i] for i in (1, 0, 2)],
    }
    found = weights_by_ends(
        station_graph("met", read_railways(write_railways(tmp_path / "N02.zip", layers)), 35 / 3.6)
    )
    assert found.keys() == {(0, 1), (1, 0), (1, 2), (2, 1)}
    for west in (0, 1):
        halves = (metres(platforms[west]) + metres(platforms[west + 1])) / 2
        assert found[west, west + 1] == pytest.approx(halves * MS_PER_M, abs=15)


def refusal_of(path):
    message = refusal(build, path)
    assert message.startswith(str(path))
    return message


def flipped_in_the_middle(content):
    start = content.index(b"UTF-8/N02-24_RailroadSection") + 100
    return content[:start] + bytes(20) + content[start + 20 :]


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"<!DOCTYPE html>", lambda content: content[:-100], flipped_in_the_middle],
    ids=["a web page", "cut", "damaged"],
)
def test_a_damaged_archive_is_one_line(archive, damage):
    archive.write_bytes(damage(archive.read_bytes()))
    assert "cannot be read as a zip archive" in refusal_of(archive)


def test_a_layer_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxometer.datasets.readers.ksj_n02.MAX_LAYER", 1000)
    assert "unpacks to more than 1000 bytes" in refusal_of(write_railways(tmp_path / "N02.zip"))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "contains no file *_RailroadSection.geojson; take the archive with GeoJSON"),
        ({"RailroadSection": "{"}, "N02-24_RailroadSection.geojson': not valid JSON in UTF-8 (Expecting"),
        ({"RailroadSection": "[" * 100_000}, "not valid JSON in UTF-8 ("),
        ({"RailroadSection": '{"features": {}}'}, "not GeoJSON: it has no list 'features'"),
        ({"RailroadSection": '{"features": []}'}, "contains no file *_Station.geojson"),
        (dict.fromkeys(("RailroadSection", "Station"), '{"features": []}'), "no track leads from one"),
    ],
)
def test_an_archive_of_something_else_is_one_line(tmp_path, members, message):
    path = tmp_path / "N02.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for layer, content in members.items():
            archive.writestr(f"UTF-8/N02-24_{layer}.geojson", content)
    assert message in refusal_of(path)


POINTS = "its coordinates are not a list of two or more [longitude, latitude]"


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ([], "text", "features[1]: no properties"),
        (["properties", "N02_003"], ..., "no property N02_003; a line is identified by N02_003 and N02_004"),
        (["geometry", "type"], "MultiLineString", POINTS),
        (["geometry", "coordinates"], ..., POINTS),
        (["geometry", "coordinates"], [[139.7, 35.7], [139.7]], POINTS),
        (["geometry", "coordinates"], [[139.7, 35.7], [139.7, 350.7]], POINTS),
        (["geometry", "type"], "\x1b]0;owned\x07", r"its geometry is '\x1b]0;owned\x07'; expected"),
    ],
)
def test_a_wrong_feature_is_named(tmp_path, keys, value, message):
    layers, layer = railway_layers(), "Station"
    inside, (*parents, last) = layers[layer], [1, *keys]
    for key in parents:
        inside = inside[key]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value
    refused = refusal_of(write_railways(tmp_path / "N02.zip", json.loads(json.dumps(layers))))
    assert f"'UTF-8/N02-24_{layer}.geojson': features[1]: " in refused
    assert message in refused


def test_a_station_without_a_code_is_named(tmp_path):
    layers = railway_layers()
    layers["Station"][3]["properties"] |= {"N02_005g": None, "N02_005c": ""}
    refused = refusal_of(write_railways(tmp_path / "N02.zip", layers))
    assert "features[3]: neither property N02_005g nor N02_005c, which identify" in refused
