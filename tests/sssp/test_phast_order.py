"""Orders of contraction: reduction, separators, leaves, and the arcs that they give."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymetis
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, maximum_flow

from relaxometer.datasets.formats.generated import DelaunayParameters, FlowRandomParameters, RoadParameters
from relaxometer.datasets.generators.flow_graphs import flow_random
from relaxometer.datasets.generators.points import delaunay
from relaxometer.datasets.generators.roads import road_like
from relaxometer.problems.sssp.phast import (
    _cch,
    _cells,
    _fill,
    _hierarchy,
    _leaves,
    _order,
    _ranges,
    _reduce,
    _separators,
    _widths,
)
from relaxometer.problems.variants import Skipped

SHARES_A_POOL = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def adjacency(n, edges):
    """Offsets and neighbours of the edges, given as pairs, without loops and repetitions."""
    one, other = np.array([*edges, (0, 0)], dtype=np.int64).T
    apart = one != other
    ones = np.ones(apart.sum(), dtype=bool)
    matrix = sp.csr_matrix((ones, (one[apart], other[apart])), shape=(n, n))
    matrix = (matrix + matrix.T).tocsr()
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 24))
    vertex = st.integers(0, n - 1)
    return adjacency(n, draw(st.lists(st.tuples(vertex, vertex), max_size=50)))


def dumbbell(side=12, bridges=3):
    """Two grids joined by a few edges."""
    number = np.arange(side * side).reshape(side, side)
    grid = [*zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)]
    grid += zip(number[:-1].ravel(), number[1:].ravel(), strict=True)
    second = [(a + side * side, b + side * side) for a, b in grid]
    joints = [(4 * k, side * side + 4 * k) for k in range(bridges)]
    return adjacency(2 * side * side, grid + second + joints)


def contracted(offsets, adjacent, order):
    """Higher neighbours of each rank after contraction, by sets."""
    n = len(order)
    rank = np.argsort(order)
    above = [set() for _ in range(n)]
    for v in range(n):
        for u in adjacent[offsets[v] : offsets[v + 1]]:
            above[min(rank[v], rank[u])].add(int(max(rank[v], rank[u])))
    for r in range(n):
        for low in above[r]:
            above[low] |= {high for high in above[r] if high > low}
    return [sorted(row) for row in above]


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def shortcuts(pool, given):
    """The order, and offsets and higher neighbours of its ranks."""
    arranged = _fill.arrange(given, pool)
    return arranged, *_fill.add_shortcuts(given, arranged, 10**6, pool)


@SHARES_A_POOL
@given(graphs(), st.randoms(use_true_random=False), st.booleans())
def test_shortcuts_are_those_of_contraction(pool, graph, random, is_reduced):
    offsets, adjacent = graph
    given = _reduce.ordered(offsets, adjacent, np.arange(len(offsets) - 1, dtype=np.int32))
    if is_reduced:
        given = given._replace(graph=_reduce.reduce(offsets, adjacent, pool))
    order = list(range(len(given.graph.core)))
    random.shuffle(order)
    arranged, begins, up = shortcuts(pool, given._replace(order=np.array(order, dtype=np.int32)))
    rows = [up[begins[r] : begins[r + 1]].tolist() for r in range(len(arranged.order))]
    assert rows == contracted(offsets, adjacent, arranged.order)
    assert arranged.parent.tolist() == [row[0] if row else -1 for row in rows]


@SHARES_A_POOL
@given(graphs(), st.sampled_from([1, 4, 1 << 12]))
def test_vertices_of_few_neighbours_are_contracted(pool, graph, least):
    offsets, adjacent = graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ranges, "LEAST", least)
        reduced = _reduce.reduce(offsets, adjacent, pool)
    left = [set(adjacent[offsets[v] : offsets[v + 1]].tolist()) for v in range(len(offsets) - 1)]
    rows = np.split(reduced.rows, reduced.row_offsets[1:-1])
    for v, row in zip(reduced.contracted.tolist(), rows, strict=False):
        assert sorted(row.tolist()) == sorted(left[v])
        assert len(row) <= _reduce.MOST
        for u in left[v]:
            left[u] = (left[u] | left[v]) - {u, v}
    core = reduced.core.tolist()
    assert sorted([*core, *reduced.contracted.tolist()]) == list(range(len(left)))
    for k, v in enumerate(core):
        row = reduced.adjacent[reduced.offsets[k] : reduced.offsets[k + 1]]
        assert sorted(reduced.core[row].tolist()) == sorted(left[v])


def cut_by(offsets, adjacent, share):
    """The sides and the separator of the whole graph, and the keys by which its vertices are sorted."""
    n = len(offsets) - 1
    own, vertices = _separators.scratch(n), np.arange(n, dtype=np.int32)
    first, last = _separators.cut(offsets, adjacent, vertices, 0, own, share)
    np.testing.assert_array_equal(np.sort(vertices), np.arange(n))
    labels = np.full(n, 2)
    labels[vertices[:first]] = 0
    labels[vertices[first : first + last]] = 1
    tails = np.repeat(labels, np.diff(offsets))
    assert not ((tails == 0) & (labels[adjacent] == 1)).any()
    return labels, own.near


def paths_without_common_vertices(offsets, adjacent, begins, ends):
    """The most of them from one set of vertices to another, which they may begin or end in only."""
    n = len(offsets) - 1
    tails = np.repeat(np.arange(n), np.diff(offsets))
    free = begins | ends
    inner = np.where(free, n, 1).astype(np.int32)
    one = 2 * np.concatenate([tails, np.arange(n)]) + np.repeat([1, 0], [len(tails), n])
    other = 2 * np.concatenate([adjacent, np.arange(n)]) + np.repeat([0, 1], [len(tails), n])
    one = np.concatenate([one, np.full(begins.sum(), 2 * n), 2 * np.flatnonzero(ends) + 1])
    other = np.concatenate([other, 2 * np.flatnonzero(begins), np.full(ends.sum(), 2 * n + 1)])
    capacity = np.full(len(one), n, dtype=np.int32)
    capacity[len(tails) : len(tails) + n] = inner
    network = sp.csr_matrix((capacity, (one, other)), shape=(2 * n + 2, 2 * n + 2))
    return maximum_flow(network, 2 * n, 2 * n + 1).flow_value


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 9), st.integers(4, 30), st.floats(0, 0.4), st.randoms(use_true_random=False))
def test_a_separator_is_as_small_as_its_ends_allow(rows, columns, gaps, random):
    number = np.arange(rows * columns).reshape(rows, columns)
    edges = [*zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)]
    edges += zip(number[:-1].ravel(), number[1:].ravel(), strict=True)
    kept = [edge for edge in edges if random.random() >= gaps]
    offsets, adjacent = adjacency(rows * columns, kept)
    labels, key = cut_by(offsets, adjacent, 0.2)
    n, low = len(labels), int(0.2 * len(labels))
    if connected_components(sp.csr_matrix((adjacent + 1, adjacent, offsets), shape=(n, n)))[0] > 1:
        assert (labels < 2).all()
        return
    place = np.argsort(np.argsort(key, kind="stable"))
    begins, ends = place < low, place >= n - low
    tails = np.repeat(np.arange(n), np.diff(offsets))
    if not (begins[tails] & ends[adjacent]).any():
        assert (labels == 2).sum() == paths_without_common_vertices(offsets, adjacent, begins, ends)
        assert (labels[begins] == 0).all()
        assert (labels[ends] == 1).all()


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_any_graph_is_cut(graph):
    labels, _ = cut_by(*graph, 0.2)
    assert (labels != 2).any()


def cut_by_cells(pool, offsets, adjacent, band):
    """The sides and the separator of the whole graph."""
    order, offsets, adjacent, cells = _cells.renumber(offsets, adjacent, pool)
    n = len(order)
    own, vertices = _separators.scratch(n), np.arange(n, dtype=np.int32)
    first, last = _cells.cut_by_cells(offsets, adjacent, vertices, 0, own, 0.3, cells, band)
    np.testing.assert_array_equal(np.sort(vertices), np.arange(n))
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    labels = np.full(n, 2)
    labels[vertices[:first]] = 0
    labels[vertices[first : first + last]] = 1
    assert not ((np.repeat(labels, np.diff(offsets)) == 0) & (labels[adjacent] == 1)).any()
    assert (own.zone == -1).all()
    return np.bincount(labels, minlength=3)


@SHARES_A_POOL
@given(graphs(), st.sampled_from([1, 3]), st.sampled_from([2, 16]))
def test_any_graph_is_cut_by_cells(pool, graph, band, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cells, "CELL", size)
        assert cut_by_cells(pool, *graph, band)[:2].sum() > 0


@pytest.mark.parametrize("bridges", [0, 5])
def test_few_vertices_separate_two_grids_of_cells(pool, bridges):
    sizes = cut_by_cells(pool, *dumbbell(40, bridges), 3)
    assert sizes[2] == bridges
    assert sizes[:2].min() >= 1600 - bridges


@settings(max_examples=60, deadline=None)
@given(graphs(), st.data())
def test_a_leaf_is_contracted_by_least_degrees(graph, data):
    offsets, adjacent = graph
    n = len(offsets) - 1
    vertices = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))), dtype=np.int32)
    label = np.where(np.isin(np.arange(n), vertices), 3, -1).astype(np.int32)
    order = _leaves.by_degree(offsets, adjacent, vertices, label, np.empty(n, dtype=np.int32))
    near = {v: set(adjacent[offsets[v] : offsets[v + 1]].tolist()) for v in range(n)}
    left = set(vertices.tolist())
    for v in order.tolist():
        assert len(near[v]) == min(len(near[u]) for u in left)
        left.remove(v)
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}
    assert not left


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(_order, "LEAF", 60)


def test_the_order_does_not_depend_on_the_number_of_threads(small_parts, pool):
    graph = road_like(RoadParameters(rows=50, columns=60), seed=4)
    offsets, adjacent = _cch._undirected(graph, pool)
    with ThreadPoolExecutor(1) as alone:
        orders = [_order.dissect(offsets, adjacent, threads).vertices for threads in (alone, pool)]
    np.testing.assert_array_equal(*orders)
    np.testing.assert_array_equal(np.sort(orders[0]), np.arange(graph.n_vertices))


def test_parts_give_about_as_many_arcs_as_metis(small_parts, pool):
    graph = road_like(RoadParameters(rows=60, columns=60), seed=5)
    offsets, adjacent = _cch._undirected(graph, pool)
    dissected = _order.dissect(offsets, adjacent, pool)
    arranged, begins, by_parts = shortcuts(pool, dissected)
    assert len(dissected.parts) > 10
    lowest = by_parts[np.minimum(begins[:-1], len(by_parts) - 1)]
    np.testing.assert_array_equal(arranged.parent, np.where(np.diff(begins) > 0, lowest, -1))
    by_metis = np.array(pymetis.nested_dissection(pymetis.CSRAdjacency(offsets, adjacent))[0], dtype=np.int32)
    assert len(by_parts) < 1.05 * len(shortcuts(pool, _reduce.ordered(offsets, adjacent, by_metis))[2])


def test_the_size_of_a_mesh_is_guessed(monkeypatch, pool):
    monkeypatch.setattr(_widths, "PART", 4096)
    offsets, adjacent = _cch._undirected(delaunay(DelaunayParameters(vertices=8192), 1), pool)
    _, up_offsets, up = shortcuts(pool, _order.dissect(offsets, adjacent, pool))
    degrees = np.diff(up_offsets)
    arcs, triangles = _widths.guess(8192, _widths.measure(offsets, adjacent, pool))
    assert len(up) / 2 < arcs < 2 * len(up)
    assert 1 / 3 < triangles / (degrees * (degrees - 1) // 2).sum() < 3


def test_a_graph_of_wide_separators_is_refused(small_parts, monkeypatch, pool):
    monkeypatch.setattr(_widths, "PART", 400)
    offsets, adjacent = dumbbell(side=40)
    for limits in (_widths.Size(1000, np.inf), _widths.Size(np.inf, 1000)):
        with pytest.raises(Skipped, match=r"made for maps; expected are .* triangles"):
            _order.dissect(offsets, adjacent, pool, limits)


def test_a_graph_that_can_only_be_cut_at_its_fringes_is_refused_after_a_few_cuts(monkeypatch, pool):
    monkeypatch.setattr(_order, "PART", 1000)
    graph = flow_random(FlowRandomParameters(vertices=20_000), seed=1)
    with pytest.raises(Skipped, match=r"made for maps; 4 cuts leave a part of 9\d% of the graph"):
        _order.dissect(*_cch._undirected(graph, pool), pool)


def test_a_kept_order_serves_any_weights(monkeypatch, tmp_path, pool):
    monkeypatch.setenv("RELAXOMETER_CACHE", str(tmp_path))
    graph = road_like(RoadParameters(rows=20, columns=20), seed=6)
    first = _cch.number(graph, 16.0, pool, keep_order=True)
    monkeypatch.setattr(_cch, "dissect", None)
    other = road_like(RoadParameters(rows=20, columns=20, weights={"distribution": "unit"}), seed=6)
    np.testing.assert_array_equal(other.targets, graph.targets)
    again = _cch.number(other, 16.0, pool, keep_order=True)
    np.testing.assert_array_equal(again.order, first.order)
    with pytest.raises(TypeError):
        _cch.number(road_like(RoadParameters(rows=20, columns=21), seed=6), 16.0, pool, keep_order=True)


def test_a_large_top_takes_fewer_subtrees(monkeypatch, pool):
    graph = road_like(RoadParameters(rows=60, columns=60), seed=2)
    cch = _cch.number(graph, 16.0, pool)
    top = [int(_hierarchy.lay_out(cch, 6, [], pool).task_begins[1])]
    for most in (top[0] - 1, 0):
        monkeypatch.setattr(_hierarchy, "MAX_TOP", most)
        top.append(int(_hierarchy.lay_out(cch, 6, [], pool).task_begins[1]))
    assert top[0] > top[1] > top[2] > 0
