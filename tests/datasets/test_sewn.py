"""Copies of a map sewn together: connected, with the map's degrees, counts and weights, in little memory."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from built import built, refusal
from relaxometer.datasets.build import build_graph, is_symmetric
from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators import sewn
from relaxometer.datasets.generators.roads import road_like
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph, content_hash


def roads(rows=30, columns=40, coordinates=True):
    graph = road_like(RoadParameters(rows=rows, columns=columns), seed=3)
    if coordinates:
        return graph
    return Graph("hops", graph.offsets, graph.targets, graph.weights, metadata={"directed": False})


def made(base, seed=1, license="", **parameters):
    dataset = Dataset(
        format="sewn", extracted_from="base", license=license, parameters={**parameters, "seed": seed}
    )
    return build_graph("mine", dataset, files=[], base=base)


@pytest.mark.parametrize("coordinates", [True, False])
def test_copies_are_joined_by_roads_and_otherwise_untouched(coordinates):
    base = roads(coordinates=coordinates)
    n, n_copies = base.n_vertices, 6
    graph = made(base, rows=2, columns=3, roads=9)
    borders = 2 * 2 + 3
    assert graph.n_vertices == n_copies * n
    assert graph.n_arcs == n_copies * base.n_arcs + 2 * 9 * borders
    assert graph.component_labels()[0] == 1
    assert is_symmetric(Graph("again", graph.offsets, graph.targets, graph.weights))
    assert graph.metadata["roads_added"] == 9 * borders
    assert graph.metadata["directed"] is False
    tails, heads = graph.tails.astype(np.int64), graph.targets.astype(np.int64)
    inside = tails // n == heads // n
    assert np.array_equal(heads[inside] % n, np.tile(base.targets, n_copies))
    assert np.array_equal(graph.weights[inside], np.tile(base.weights, n_copies))
    crossed = Counter(zip((tails // n)[~inside].tolist(), (heads // n)[~inside].tolist(), strict=True))
    pairs = {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}
    assert crossed == dict.fromkeys(pairs | {(b, a) for a, b in pairs}, 9)
    assert set(graph.weights[~inside].tolist()) <= set(base.weights.tolist())
    assert (np.diff(heads) > 0)[tails[1:] == tails[:-1]].all()  # rows ascend: no arc is doubled


def test_roads_leave_from_the_rims_and_hardly_change_degrees():
    base = roads()
    west, east, south, north = sewn._rims(base, 6)
    assert base.lon[west].max() < np.quantile(base.lon, 0.1)
    assert base.lon[east].min() > np.quantile(base.lon, 0.9)
    assert base.lat[south].max() < np.quantile(base.lat, 0.1)
    assert base.lat[north].min() > np.quantile(base.lat, 0.9)
    assert np.all(np.diff(base.lat[west]) > 0)
    graph = made(base, rows=3, columns=3, roads=6)
    added = graph.degrees - np.tile(base.degrees, 9)
    assert added.min() == 0
    assert added.max() <= 2
    assert graph.degrees.max() <= base.degrees.max() + 1


def test_hop_distances_find_opposite_rims():
    """On a grid of 40 x 40 without coordinates, ends of the axes lie at opposite corners."""
    side = 40
    grid = built("grid", seed=1, rows=side, columns=side)
    assert grid.lon is None
    west, east, south, north = sewn._rims(grid, 8)
    for one, other in ((west, east), (south, north)):
        apart = abs(one // side - other // side) + abs(one % side - other % side)
        assert np.median(apart) >= side - 1
    rim = np.concatenate([west, east, south, north])
    from_border = np.minimum.reduce([rim // side, rim % side, side - 1 - rim // side, side - 1 - rim % side])
    assert np.median(from_border) <= 1


@settings(max_examples=40)
@given(st.data())
def test_any_graph_can_be_sewn(data):
    n = data.draw(st.integers(1, 8))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 9))
    arcs = np.array(data.draw(st.lists(ends, max_size=20)), dtype=np.int64).reshape(-1, 3)
    base = Graph.from_arcs("any", n, *arcs.T, undirected=data.draw(st.booleans()))
    rows, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    graph = made(base, rows=rows, columns=columns, roads=data.draw(st.integers(1, 10)))
    assert graph.n_vertices == rows * columns * n
    assert graph.is_sound
    components = base.component_labels()[0]
    assert graph.component_labels()[0] == 1 + rows * columns * (components - 1)
    tails = graph.tails
    assert (np.diff(graph.targets.astype(np.int64)) > 0)[tails[1:] == tails[:-1]].all()


def test_a_seed_gives_the_same_bits_and_another_only_other_weights():
    base = roads()
    one, again, other = (made(base, rows=2, columns=2, roads=5, seed=seed) for seed in (1, 1, 2))
    assert content_hash(one) == content_hash(again)
    assert np.array_equal(one.targets, other.targets)
    assert not np.array_equal(one.weights, other.weights)
    assert content_hash(one) == "dff846498732a995e425ab3b49fcb5917c4bd911332e5b3bf613b02012efe8c3"


MEMORY = """
import re
from pathlib import Path
from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.formats.derived import SewnParameters
from relaxometer.datasets.generators.roads import road_like
from relaxometer.datasets.generators.sewn import sew
from relaxometer.graphs.graph import Graph

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

small, map = (road_like(RoadParameters(rows=n, columns=n), seed=1) for n in (9, 200))
small, map = (Graph("m", g.offsets, g.targets, g.weights, metadata=g.metadata) for g in (small, map))
sew("warm-up", small, SewnParameters(rows=1, columns=2))
before = peak()
g = sew("mine", map, SewnParameters(rows=5, columns=5))
print((peak() - before) / (g.offsets.nbytes + g.targets.nbytes + g.weights.nbytes))
"""


def test_memory_stays_below_three_times_the_result():
    run = subprocess.run([sys.executable, "-c", MEMORY], stdout=subprocess.PIPE, check=True, timeout=300)
    assert 0.5 < float(run.stdout) < 3


def test_too_many_or_no_vertices_are_refused():
    assert "no vertices" in refusal(made, Graph.from_arcs("none", 0, [], [], []), rows=2, columns=2)
    large = roads(rows=70, columns=70)
    assert "vertex ids have 32 bits" in refusal(made, large, rows=1024, columns=1024)


def test_copies_keep_the_terms_and_the_unit_of_the_map_but_not_how_it_was_made():
    kept = {"license": "ODbL 1.0", "attribution": "© OSM", "weight_unit": "ms", "completeness": "unknown"}
    made_by = {"seed": 3, "file": "a.gr", "file_sha256": "0" * 64, "junctions": 7, "origin": "a.gr"}
    base = roads()
    base.metadata.update(kept | made_by)
    graph = made(base, rows=1, columns=2, roads=4)
    assert kept.items() <= graph.metadata.items()
    assert graph.metadata["parameters"] == {"rows": 1, "columns": 2, "roads": 4, "seed": 1}
    assert not made_by.keys() & graph.metadata.keys()
    assert made(base, license="CC0-1.0", rows=1, columns=1).metadata["license"] == "CC0-1.0"
