"""Orders of contraction: reduction, separators, parts in other processes, and the arcs that they give."""

import os
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.datasets.formats.generated import DelaunayParameters, RoadParameters
from relaxometer.datasets.generators.points import delaunay
from relaxometer.datasets.generators.roads import road_like
from relaxometer.problems.sssp.phast import (
    _cch,
    _cuts,
    _fill,
    _hierarchy,
    _metis_worker,
    _order,
    _widths,
    phast,
)
from relaxometer.problems.variants import Skipped


def adjacency(n, edges):
    """Offsets and neighbours of the edges, given as pairs, without loops and repetitions."""
    one, other = np.array([*edges, (0, 0)], dtype=np.int64).T
    apart = one != other
    ones = np.ones(apart.sum(), dtype=bool)
    matrix = sp.csr_matrix((ones, (one[apart], other[apart])), shape=(n, n))
    matrix = (matrix + matrix.T).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


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


@settings(max_examples=40, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_shortcuts_are_those_of_contraction(graph, random):
    offsets, adjacent = graph
    order = list(range(len(offsets) - 1))
    random.shuffle(order)
    order = np.array(order, dtype=np.int64)
    arranged, parent = _fill.arrange(offsets, adjacent, order)
    np.testing.assert_array_equal(parent, _fill._elimination_tree(offsets, adjacent, arranged))
    for one in (order, arranged):
        begins, up = _fill.add_shortcuts(offsets, adjacent, one, 10_000)
        rows = [up[begins[r] : begins[r + 1]].tolist() for r in range(len(order))]
        assert rows == contracted(offsets, adjacent, one)


def separates(offsets, adjacent, labels):
    tails = np.repeat(labels, np.diff(offsets))
    return not ((tails == 0) & (labels[adjacent] == 1)).any()


def test_a_bad_cut_becomes_the_best_separator():
    offsets, adjacent = dumbbell()
    n = len(offsets) - 1
    for first, most in ((n // 2 + 40, n), (n // 2 + 5, 3)):  # through the second grid, and near the bridges
        side = (np.arange(n) >= first).astype(np.int32)
        labels = _cuts.improve(offsets.astype(np.int32), adjacent, side)
        assert separates(offsets, adjacent, labels)
        assert 3 <= (labels == _cuts.SEPARATOR).sum() <= most


@settings(max_examples=40, deadline=None)
@given(graphs(), st.data())
def test_separators_separate_and_are_no_larger_than_the_cut(graph, data):
    offsets, adjacent = graph
    n = len(offsets) - 1
    side = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=np.int32)
    labels = _cuts.improve(offsets.astype(np.int32), adjacent, side)
    assert separates(offsets, adjacent, labels)
    tails = np.repeat(np.arange(n), np.diff(offsets))
    cut = tails[side[tails] < side[adjacent]]
    assert (labels == _cuts.SEPARATOR).sum() <= len(np.unique(cut))


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(_order, "MIN_CUT", 100)
    monkeypatch.setattr(_order, "MIN_PART", 60)
    monkeypatch.setattr(_order, "COARSE", 200)


def test_the_order_does_not_depend_on_the_number_of_processes(small_parts):
    graph = road_like(RoadParameters(rows=50, columns=60), seed=4)
    offsets, adjacent = _cch._undirected(graph)
    orders = [_order.dissect(offsets, adjacent, cores=cores) for cores in (1, 3)]
    np.testing.assert_array_equal(*orders)
    np.testing.assert_array_equal(np.sort(orders[0]), np.arange(graph.n_vertices))


def test_parts_give_about_as_many_arcs_as_metis_alone(small_parts, monkeypatch):
    graph = road_like(RoadParameters(rows=60, columns=60), seed=5)
    offsets, adjacent = _cch._undirected(graph)
    by_parts = _fill.add_shortcuts(offsets, adjacent, _cch._dissect(offsets, adjacent)[0], 10**6)[1]
    alone = _metis_worker.dissect(offsets.astype(np.int32), adjacent, 0, 1).astype(np.int64)
    assert len(by_parts) < 1.05 * len(_fill.add_shortcuts(offsets, adjacent, alone, 10**6)[1])


def test_islands_and_isolated_vertices_are_ordered(small_parts):
    offsets, adjacent = dumbbell(side=14, bridges=0)
    offsets = np.concatenate([offsets, np.full(30, offsets[-1])])
    order = _order.dissect(offsets, adjacent, cores=2)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(offsets) - 1))


WORKER_THAT_DIES = """
import sys
from relaxometer.problems.sssp.phast import _metis_worker
_metis_worker.dissect = lambda *_: sys.exit(3)
sys.exit(_metis_worker.fork(list(map(int, sys.argv[1:]))))
"""


@pytest.mark.parametrize("worker", ["raise SystemExit(3)\n", WORKER_THAT_DIES])
def test_a_process_that_dies_is_an_error(small_parts, monkeypatch, tmp_path, worker):
    (tmp_path / "worker.py").write_text(worker)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    _order._processes.cache_clear()
    offsets, adjacent = dumbbell(side=14)
    with monkeypatch.context() as patch:
        patch.setattr(_order._metis_worker, "__file__", str(tmp_path / "worker.py"))
        with pytest.raises(RuntimeError, match="METIS ended with status 3"):
            _order.dissect(offsets, adjacent, cores=2)
    assert len(_order.dissect(offsets, adjacent, cores=2)) == 2 * 14 * 14  # by new processes


def test_processes_end_with_their_owner_but_not_with_its_fork(small_parts):
    _order._processes.cache_clear()
    metis = _order.metis_processes(1)
    assert _order.metis_processes(1) is metis
    process = metis._process
    if os.fork() == 0:
        _order._end(os.getppid(), process, metis._pipes)
        os._exit(0)
    assert os.wait()[1] == 0
    assert process.poll() is None
    offsets, adjacent = dumbbell(side=14)
    assert len(_order.dissect(offsets, adjacent, cores=1)) == 2 * 14 * 14
    del metis
    _order._processes.cache_clear()
    assert process.poll() is not None


def test_the_size_of_a_mesh_is_guessed(monkeypatch):
    monkeypatch.setattr(_widths, "PART", 4096)
    offsets, adjacent = _cch._undirected(delaunay(DelaunayParameters(vertices=8192), 1))
    up_offsets, up = _fill.add_shortcuts(offsets, adjacent, _cch._dissect(offsets, adjacent)[0], 10**6)
    degrees = np.diff(up_offsets)
    arcs, triangles = _widths.guess(offsets.astype(np.int32), adjacent)
    assert len(up) / 2 < arcs < 2 * len(up)
    assert 1 / 3 < triangles / (degrees * (degrees - 1) // 2).sum() < 3


def test_a_graph_of_wide_separators_is_refused_before_it_is_ordered(small_parts, monkeypatch):
    for module in (_order, _widths):
        monkeypatch.setattr(module, "PART", 400)
    monkeypatch.setattr(_order._Dissection, "run", None)
    offsets, adjacent = dumbbell(side=40)
    for limits in (_widths.Size(1000, np.inf), _widths.Size(np.inf, 1000)):
        with pytest.raises(Skipped, match=r"made for maps; expected are .* triangles"):
            _order.dissect(offsets, adjacent, limits, cores=1)


def test_a_kept_order_serves_any_weights(monkeypatch, tmp_path):
    monkeypatch.setenv("RELAXOMETER_CACHE", str(tmp_path))
    graph = road_like(RoadParameters(rows=20, columns=20), seed=6)
    first = _hierarchy.build(graph, 3, 16.0, keep_order=True)
    monkeypatch.setattr(_cch, "dissect", None)
    other = road_like(RoadParameters(rows=20, columns=20, weights={"distribution": "unit"}), seed=6)
    np.testing.assert_array_equal(other.targets, graph.targets)
    again = _hierarchy.build(other, 3, 16.0, keep_order=True)
    np.testing.assert_array_equal(again.order, first.order)
    with pytest.raises(TypeError):
        _hierarchy.build(road_like(RoadParameters(rows=20, columns=21), seed=6), 3, 16.0, keep_order=True)


@pytest.mark.parametrize(
    ("n", "tasks"),
    [(1, 1), (640, 10), (1_524_453, 132), (3_696_000, 132), (3_696_001, 264), (24_391_248, 924)],
)
def test_large_maps_get_a_multiple_of_the_blocks(n, tasks):
    assert phast._auto_tasks(n, 132) == tasks


def test_a_large_top_takes_fewer_subtrees(monkeypatch):
    graph = road_like(RoadParameters(rows=60, columns=60), seed=2)
    top = [int(_hierarchy.build(graph, 6, 16.0).task_begins[1])]
    for most in (top[0] - 1, 0):
        monkeypatch.setattr(_hierarchy, "MAX_TOP", most)
        top.append(int(_hierarchy.build(graph, 6, 16.0).task_begins[1]))
    assert top[0] > top[1] > top[2] > 0
