"""Roads of OpenStreetMap for a vehicle: speeds, access, directions, ferries, barriers, turns."""

import itertools
import random
from collections import defaultdict

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from built import built, refusal
from relaxometer.core.validation import validated
from relaxometer.datasets.formats.maps import OsmParameters
from relaxometer.datasets.readers.contraction import EARTH_RADIUS_M
from relaxometer.datasets.readers.osm_tags import duration_s, limit_kmh, read_profiles, speeds_of
from relaxometer.datasets.readers.osm_turns import Arcs, expand
from relaxometer.library.graph import Graph
from sample_osm import write_extract

PROFILES = read_profiles().profiles
HUNDRED_M = 100 / (EARTH_RADIUS_M * np.pi / 180)
"""In degrees on the equator."""


def build(file, **parameters):
    return built("osm-pbf", file, **parameters)


@pytest.mark.parametrize(
    ("text", "kmh"),
    [
        *(("50 km/h", 50), ("30mph", 48.28032), ("10 knots", 18.52), ("ro:trunk", 100), ("FR:rural", 80)),
        *(("DE:zone:30", 30), ("AT:zone30", 30), ("GB:nsl_single", 96), ("walk", 5), ("none", 140)),
        *(("80; 50", 50), ("signals", None), (400 * "9", None), ("", None)),
    ],
)
def test_speed_limits(text, kmh):
    assert limit_kmh(text) == pytest.approx(kmh)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("1:30", 5400), ("00:05:00", 300), ("45", 2700), ("PT1H30M", 5400), ("PT35M", 2100)),
        *(("soon", 0), (400 * "9", 0)),
    ],
)
def test_durations_of_ferries(text, seconds):
    assert duration_s({"route": "ferry", "duration": text}) == seconds
    assert duration_s({"highway": "track", "duration": text}) == 0


@pytest.mark.parametrize(
    ("vehicle", "tags", "expected"),
    [
        ("car", {}, (65, 65)),
        ("car", {"highway": "footway"}, (0, 0)),
        ("car", {"maxspeed": "50"}, (40, 40)),
        ("car", {"maxspeed": "50", "maxspeed:backward": "30 mph"}, (40, 38.624256)),
        ("car", {"maxspeed": "signals", "maxspeed:type": "RO:urban"}, (40, 40)),
        ("car", {"maxspeed": "none", "highway": "motorway"}, (112, 0)),
        ("car", {"oneway": "yes"}, (65, 0)),
        ("car", {"oneway": "-1"}, (0, 65)),
        ("car", {"oneway": "reversible"}, (0, 0)),
        ("car", {"oneway": "alternating"}, (65, 65)),
        ("car", {"junction": "roundabout"}, (65, 0)),
        ("car", {"junction": "roundabout", "oneway": "no"}, (65, 65)),
        ("car", {"oneway": "yes", "oneway:motor_vehicle": "no"}, (65, 65)),
        ("car", {"oneway": "yes", "oneway:bicycle": "no"}, (65, 0)),
        ("car", {"access": "private", "motorcar": "yes"}, (65, 65)),
        ("car", {"motor_vehicle": "no"}, (0, 0)),
        ("car", {"motor_vehicle:backward": "no"}, (65, 0)),
        ("car", {"area": "yes"}, (0, 0)),
        ("bike", {"oneway": "yes", "oneway:bicycle": "no"}, (15, 15)),
        ("bike", {"oneway": "yes", "cycleway:left": "opposite_lane"}, (15, 15)),
        ("bike", {"vehicle": "no", "bicycle": "yes"}, (15, 15)),
        ("bike", {"highway": "footway"}, (4, 4)),
        ("bike", {"highway": "footway", "bicycle": "designated"}, (15, 15)),
        ("bike", {"highway": "footway", "bicycle:forward": "yes"}, (15, 4)),
        ("bike", {"highway": "trunk"}, (0, 0)),
        ("bike", {"highway": "trunk", "bicycle": "yes"}, (15, 15)),
        ("bike", {"highway": "trunk", "bicycle": "yes", "motorroad": "yes"}, (0, 0)),
        ("bike", {"highway": "trunk", "cycleway:right": "lane"}, (15, 15)),
        ("bike", {"highway": "steps", "bicycle": "yes"}, (2, 2)),
        ("bike", {"maxspeed": "10"}, (10, 10)),
        ("bike", {"bicycle": "dismount"}, (4, 4)),
        ("foot", {"motorroad": "yes"}, (0, 0)),
        ("foot", {"highway": "platform"}, (5, 5)),
        ("foot", {"oneway": "yes", "highway": "steps"}, (5, 5)),
        ("foot", {"oneway:foot": "yes"}, (5, 0)),
        ("foot", {"foot": "use_sidepath"}, (0, 0)),
    ],
)
def test_speeds_by_vehicle(vehicle, tags, expected):
    assert speeds_of({"highway": "primary", **tags}, PROFILES[vehicle]) == pytest.approx(expected)


CROSS = {1: (0, 0), 2: (1, 0), 3: (2, 0), 4: (1, 1), 5: (1, -1)}
"""West, middle, east, north and south, 100 m from the middle."""
NODES = {key: (x * HUNDRED_M, y * HUNDRED_M) for key, (x, y) in CROSS.items()}
WEST, EAST, NORTH, SOUTH = 11, 12, 13, 14
WAYS = {
    way: (refs, {"highway": "primary", "maxspeed": "45"})
    for way, refs in ((WEST, [1, 2]), (EAST, [2, 3]), (NORTH, [4, 2]), (SOUTH, [2, 5]))
}
"""Each takes 10 s."""


def write(folder, ways=WAYS, relations=(), nodes=NODES, node_tags=None):
    """Write an extract that ends with a relation, so that it is known to be complete."""
    relations = [*relations, ([], {})]
    return write_extract(folder / "x.osm.pbf", nodes, ways, relations=relations, node_tags=node_tags)


def turn(start, via, end, kind="way", **tags):
    members = [("from", "way", start), ("via", kind, via), ("to", "way", end)]
    return members, {"type": "restriction", **{key.replace("_", ":", 1): text for key, text in tags.items()}}


def seconds(graph, start):
    """Return the seconds to every node from the first vertex of a node."""
    ids = graph.ids.to_pylist()
    found = dijkstra(graph.to_scipy(), indices=ids.index(start)) / 1000
    return {node: min(found[at] for at, other in enumerate(ids) if other == node) for node in set(ids)}


@pytest.mark.parametrize(
    ("tags", "closed"),
    [
        ({"restriction": "no_left_turn"}, {4}),
        ({"restriction": "only_straight_on"}, {3, 5}),
        ({"restriction_motorcar": "no_left_turn"}, {4}),
        ({"restriction_hgv": "no_left_turn"}, set()),
        ({"restriction": "no_left_turn", "except": "psv; motorcar"}, set()),
        ({"restriction": "no_left_turn", "except": "bicycle"}, {4}),
        ({"restriction": "give_way"}, set()),
    ],
)
def test_turn_restrictions(tmp_path, tags, closed):
    path = write(tmp_path, relations=[turn(WEST, 2, NORTH, "node", **tags)])
    graph = build(path, profile="car")
    # To a forbidden end, a car turns back at another one first.
    expected = {1: 0, 2: 10, 3: 20, 4: 20, 5: 20} | dict.fromkeys(closed, 40)
    assert seconds(graph, 1) == pytest.approx(expected, abs=0.01)
    assert seconds(graph, 2) == pytest.approx({1: 10, 2: 0, 3: 10, 4: 10, 5: 10}, abs=0.01), "starts anywhere"
    assert graph.n_vertices == 5 + bool(closed)
    assert seconds(build(path, profile="car", turns="none"), 1)[4] == pytest.approx(20, abs=0.01)
    on_foot = build(path, profile="foot")
    assert on_foot.n_vertices == 5


def test_vertices_of_one_junction_keep_its_id_and_place_and_unused_restrictions_are_counted(tmp_path, capsys):
    relations = [turn(WEST, 2, NORTH, "node", restriction="no_left_turn")]
    path = write(tmp_path, relations=relations)
    graph = build(path, profile="car")
    assert graph.ids.to_pylist() == [1, 2, 2, 3, 4, 5]
    assert graph.lon[1] == graph.lon[2] == pytest.approx(HUNDRED_M, abs=1e-7)
    assert graph.metadata["turn_restrictions"] == {"used": 1, "unused": 0}
    assert Graph(graph, nodes=graph.ids.to_pylist()).vertex(2) == 1, "the first, where all turns are free"
    split = {99: ([1, 2, 3], {"highway": "primary"}), NORTH: WAYS[NORTH]}
    relations = [
        turn(99, 2, NORTH, "node", restriction="no_left_turn"),
        turn(NORTH, 2, 77, "node", restriction="only_left_turn"),
    ]
    path = write(tmp_path, split, relations)
    assert build(path, profile="car").metadata["turn_restrictions"] == {"used": 0, "unused": 2}
    assert "small: 2 turn restrictions name no turn between its roads\n" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["no_u_turn", "only_u_turn"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_restriction_by_way_of_a_way(tmp_path, kind, reverse):
    # Two roads from west to east, joined in the middle by a short one of two parts.
    nodes = {1: (0, 0), 2: (1, 0), 3: (2, 0), 4: (0, 1), 5: (1, 1), 6: (2, 1), 7: (1, 0.5), 8: (2, 0.5)}
    nodes = {key: (x * HUNDRED_M, y * HUNDRED_M) for key, (x, y) in nodes.items()}
    link = [5, 7, 2] if reverse else [2, 7, 5]
    refs = {1: [1, 2], 2: [2, 3], 3: [6, 5], 4: [5, 4], 5: link, 6: [7, 8]}
    ways = {way: (refs, {"highway": "primary", "maxspeed": "45"}) for way, refs in refs.items()}
    path = write(tmp_path, ways, [turn(1, 5, 4, restriction=kind)], nodes)
    graph = build(path, profile="car")
    assert graph.metadata["turn_restrictions"] == {"used": 1, "unused": 0}
    found = seconds(graph, 1)
    # The way round turns back in the middle of the short road: the sequence is then another one.
    assert found[4] == pytest.approx(40 if kind == "no_u_turn" else 30, abs=0.01)
    assert found[6] == pytest.approx(30 if kind == "no_u_turn" else 40, abs=0.01)
    assert found[8] == pytest.approx(25, abs=0.01)
    assert seconds(graph, 2)[4] == pytest.approx(20, abs=0.01)


def test_turn_costs(tmp_path):
    path = write(tmp_path, {**WAYS, EAST: ([2, 3], {**WAYS[EAST][1], "oneway": "yes"})})
    graph = build(path, profile="car", turns="costs")
    assert graph.n_vertices == 7, "one for each arc"
    found = seconds(graph, 1)
    # A search begins with the turn back at 1, a dead end.
    back, left = 27.5 - 0.0113, 3.75
    assert found[3] == pytest.approx(back + 20 + 0.0113, abs=0.01)
    assert found[4] == pytest.approx(back + 20 + left, abs=0.01)
    assert np.isinf(dijkstra(graph.to_scipy(), indices=graph.ids.to_pylist().index(3))[0]), "one-way"


def test_ferries_take_their_duration(tmp_path):
    ways = {WEST: WAYS[WEST], EAST: ([2, 3], {"route": "ferry", "duration": "0:05"})}
    path = write(tmp_path, ways)
    assert build(path, profile="car").n_vertices == 2
    assert seconds(build(path, profile="car", ferries=True), 1)[3] == pytest.approx(310, abs=0.01)
    del ways[EAST][1]["duration"]
    path = write(tmp_path, ways)
    assert seconds(build(path, profile="car", ferries=True), 1)[3] == pytest.approx(82, abs=0.01), "5 km/h"


@pytest.mark.parametrize(
    ("tags", "vehicle", "is_open"),
    [
        ({"barrier": "bollard"}, "car", False),
        ({"barrier": "bollard"}, "bike", True),
        ({"barrier": "stile"}, "bike", False),
        ({"barrier": "stile"}, "foot", True),
        ({"barrier": "bollard", "motor_vehicle": "yes"}, "car", True),
        ({"barrier": "bol\x1flard"}, "car", False),
        ({"barrier": "gate"}, "car", True),
        ({"barrier": "gate", "access": "private"}, "car", False),
        ({"highway": "crossing", "bicycle": "no"}, "bike", True),
        ({"highway": "crossing", "barrier": "bollard", "vehicle": "no"}, "car", False),
        ({"highway": "crossing", "foot": "no"}, "foot", False),
    ],
)
def test_barriers(tmp_path, tags, vehicle, is_open):
    ways = {WEST: ([1, 2, 3], {"highway": "primary"}), NORTH: ([4, 1], {"highway": "primary"})}
    path = write(tmp_path, ways, node_tags={2: tags})
    assert build(path, profile=vehicle).n_vertices == 2 + is_open


@pytest.mark.parametrize("seed", range(10))
def test_expansion_agrees_with_a_search_of_arcs(seed):
    """On random roads with random forbidden sequences, against a search whose states are whole histories."""
    rng = random.Random(seed)
    n = 7
    # Searches start at further junctions, with one road each.
    ends = rng.sample(list(itertools.permutations(range(n), 2)), 20) + [(n + node, node) for node in range(n)]
    edges = {pair: number for number, pair in enumerate(sorted({tuple(sorted(pair)) for pair in ends}))}
    tails, heads = np.array(ends).T
    weights = np.array([rng.randint(1, 9) for _ in ends], dtype=float)
    nothing = np.zeros(len(ends))
    numbers = np.array([edges[tuple(sorted(pair))] for pair in ends])
    arcs = Arcs(tails, heads, numbers, weights, nothing, nothing, len(ends))
    following = defaultdict(list)
    for arc, tail in enumerate(tails):
        following[int(tail)].append(arc)
    forbidden = set()
    for _ in range(25):
        sequence = [rng.randrange(20)]
        while len(sequence) < rng.randint(2, 4) and following[int(heads[sequence[-1]])]:
            sequence.append(rng.choice(following[int(heads[sequence[-1]])]))
        forbidden |= {tuple(sequence)} if len(sequence) > 1 else set()
    found = expand(arcs, forbidden, None)
    size = len(found.junctions)
    matrix = np.zeros((size, size))
    for tail, head, cost in zip(found.tails, found.heads, found.seconds, strict=True):
        matrix[tail, head] = min(cost, matrix[tail, head] or np.inf)
    for source in range(n, 2 * n):
        distances = dijkstra(matrix, indices=int(np.flatnonzero(found.junctions == source)[0]))
        mine = [distances[found.junctions == node].min() for node in range(2 * n)]
        assert mine == _by_histories(source, 2 * n, heads, weights, following, forbidden)


def _by_histories(source, n, heads, weights, following, forbidden):
    """Return distances by relaxing all states, each the last three arcs of a path."""
    best = {(): 0.0}
    queue = [()]
    while queue:
        history = queue.pop()
        for arc in following[int(heads[history[-1]]) if history else source]:
            path = (*history, arc)
            if any(path[start:] in forbidden for start in range(len(path))):
                continue
            cost = best[history] + weights[arc]
            if cost < best.get(path[-3:], np.inf):
                best[path[-3:]] = cost
                queue.append(path[-3:])
    distances = [np.inf] * n
    distances[source] = 0.0
    for history, cost in best.items():
        if history:
            node = int(heads[history[-1]])
            distances[node] = min(distances[node], cost)
    return distances


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"profile": "cat"}, "'cat' is invalid: should be one of car, bike, foot; did you mean 'car'?"),
        ({"profil": "car"}, "profil: unknown key (its value is 'car'); did you mean 'profile'?"),
        ({"profile": "car", "turns": "restriction"}, "did you mean 'restrictions'?"),
        ({"profile": "car", "classes": "all"}, "`classes` is not for a profile"),
        ({"turns": "costs"}, "`turns` is for a profile; add `profile: car`"),
    ],
)
def test_a_wrong_parameter_is_one_line(given, message):
    assert message in refusal(validated, OsmParameters, given, "config.yaml")
