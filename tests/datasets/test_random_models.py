"""Graphs of random points and models of networks, against plain constructions."""

from itertools import combinations
from unittest import mock

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from built import built
from relaxometer.core.errors import UserError
from relaxometer.datasets.generators import points
from relaxometer.datasets.random_bits import Purpose, bits, stream

SEEDS = st.integers(0, 2**40)
WIDTHS = st.sampled_from([3, 4, 24])
"""On a coarse lattice many points are equally near or on one line or circle."""


def made(form, seed=1, **parameters):
    return built(form, seed=seed, **parameters)


def edges(graph):
    return {(u, v) for u, v in zip(graph.tails.tolist(), graph.targets.tolist(), strict=True) if u < v}


def ordered(pairs):
    return {(min(pair), max(pair)) for pair in pairs}


@settings(max_examples=40)
@given(seed=SEEDS, width=WIDTHS, n=st.integers(2, 40), count=st.integers(1, 8))
def test_each_point_is_joined_to_the_nearest(seed, width, n, count):
    count = min(count, n - 1)
    with mock.patch.object(points, "WIDTH", width):
        graph = made("nearest-neighbors", seed, vertices=n, neighbors=count)
    places = np.stack([graph.lon, graph.lat], axis=1) * 2**width
    assert len({*map(tuple, places.tolist())}) == n
    expected = set()
    for v, place in enumerate(places):
        distances = ((places - place) ** 2).sum(axis=1).tolist()
        near = sorted((distance, u) for u, distance in enumerate(distances) if u != v)
        expected |= ordered((v, u) for _, u in near[:count])
    assert edges(graph) == expected


@settings(max_examples=40)
@given(seed=SEEDS, width=WIDTHS, n=st.integers(3, 12))
def test_circles_of_triangles_hold_no_other_point(seed, width, n):
    with mock.patch.object(points, "WIDTH", width):
        places = points.random_points(n, seed).tolist()
        try:
            found = edges(made("delaunay", seed, vertices=n))
        except UserError:
            assert width < 24
            return
    assert found == ordered(
        pair
        for corners in combinations(range(n), 3)
        if all(outside(places, *corners, other) for other in {*range(n)} - {*corners})
        for pair in combinations(corners, 2)
    )


def outside(places, *four):
    """Return whether the last point is outside the circle of three others, in Python's integers."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = (places[v] for v in four)
    rows = [(x - dx, y - dy, (x - dx) ** 2 + (y - dy) ** 2) for x, y in ((ax, ay), (bx, by), (cx, cy))]
    (a, b, c), (d, e, f), (g, h, i) = rows
    turn = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return turn * (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)) < 0


def test_points_on_a_circle_are_refused():
    with mock.patch.object(points, "WIDTH", 1), pytest.raises(UserError, match="give another seed"):
        made("delaunay", vertices=4)


@given(seed=SEEDS, n=st.integers(1, 60), per_vertex=st.integers(1, 5))
def test_heads_are_drawn_from_the_ends_of_earlier_edges(seed, n, per_vertex):
    random = bits(stream(seed, Purpose.ENDS), 0, 2 * n * per_vertex).tolist()
    ends = []
    for v in range(1, n):
        earlier = list(ends)
        for _ in range(per_vertex):
            ends += [v, earlier[random[len(ends) + 1] % len(earlier)] if earlier else 0]
    graph = made("barabasi-albert", seed, vertices=n, edges=per_vertex)
    assert edges(graph) == ordered(zip(ends[::2], ends[1::2], strict=True))
    assert graph.component_labels()[0] == 1


@pytest.mark.parametrize(("n", "neighbors"), [(3, 2), (20, 6), (21, 20)])
def test_nothing_rewired_is_the_ring_of_networkx(n, neighbors):
    expected = networkx.watts_strogatz_graph(n, neighbors, 0)
    assert edges(made("watts-strogatz", vertices=n, neighbors=neighbors, rewired=0)) == ordered(
        expected.edges
    )


@pytest.mark.parametrize("rewired", [0.1, 0.5, 1])
def test_the_rewired_share_leads_anywhere(rewired):
    n = 20_000
    graph = made("watts-strogatz", vertices=n, neighbors=8, rewired=rewired)
    assert graph.n_arcs == pytest.approx(8 * n, rel=0.001)
    steps = np.array([(v - u) % n for u, v in edges(graph)])
    steps = np.minimum(steps, n - steps)
    assert np.mean(steps > 4) == pytest.approx(rewired, abs=0.01)
    assert steps[steps > 4].mean() == pytest.approx(n / 4, rel=0.05)


@pytest.mark.parametrize("size", [(2, 3, 4), (1, 5, 3), (4, 1, 1)])
def test_layers_make_the_grid_of_networkx(size):
    layers, rows, columns = size
    expected = networkx.convert_node_labels_to_integers(networkx.grid_graph(size[::-1]), ordering="sorted")
    graph = made("grid", rows=rows, columns=columns, layers=layers)
    assert edges(graph) == ordered(expected.edges)
    assert graph.n_vertices == len(expected)


@pytest.mark.parametrize(
    ("form", "parameters", "reason"),
    [
        ("nearest-neighbors", {"vertices": 5, "neighbors": 5}, "neighbors: .*fewer than the 5 vertices"),
        ("watts-strogatz", {"vertices": 9, "neighbors": 3, "rewired": 0}, "neighbors: .*multiple of 2"),
        ("grid", {"rows": 2048, "columns": 2048, "layers": 1024}, "vertex ids have 32 bits"),
    ],
)
def test_sizes_that_do_not_exist_are_refused(form, parameters, reason):
    with pytest.raises(ValueError, match=reason):
        made(form, **parameters)
