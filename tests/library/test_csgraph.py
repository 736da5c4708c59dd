"""Functions of `relaxometer.csgraph` answer as those of `scipy.sparse.csgraph` do."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph as scipys

import relaxometer as rx
from relaxometer import csgraph
from relaxometer.device.cuda import obstacle
from relaxometer.library import csgraph as own

DEVICES = ("cpu", "host") if obstacle() else ("cpu", "host", "cuda")
EXACT = 2**53
WEIGHTS = {
    "integers": st.integers(0, 9),
    "floats": st.floats(0, 10),
    "long": st.sampled_from([0, 1, 2**32 - 2, 2**31]),
    "huge": st.sampled_from([0.5, 2.0**40, 2.0**52, 1e-300, 1e300]),
}
SIGNED = {
    "signed": st.integers(-4, 9),
    "signed floats": st.floats(-2, 9),
    "far": st.integers(-(2**31), 2**33),
}


@st.composite
def graphs(draw, weights, highest=0):
    """A matrix as a caller may have it: dense, masked or sparse, with explicit zeros and repeated places.

    Heights of vertices make weights negative without a negative cycle.
    """
    n = draw(st.integers(1, 7))
    places = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=3 * n))
    values = draw(st.lists(weights, min_size=len(places), max_size=len(places)))
    rows, columns = np.array(places, np.int64).reshape(-1, 2).T
    height = np.array(draw(st.lists(st.integers(0, highest), min_size=n, max_size=n)))
    values = np.array(values, float) + height[columns] - height[rows]
    kind = draw(st.sampled_from(["dense", "no arc", "masked", "rows", "columns", "lists"]))
    if kind == "rows":  # unsorted, and entries of one place stand side by side
        order = np.argsort(rows, kind="stable")
        offsets = np.searchsorted(rows[order], np.arange(n + 1))
        return sp.csr_array((values[order], columns[order], offsets), shape=(n, n))
    dense, is_arc = np.zeros((n, n)), np.zeros((n, n), bool)
    dense[rows, columns], is_arc[rows, columns] = values, True
    if kind == "masked":
        return np.ma.array(dense, mask=~is_arc)
    if kind == "no arc":
        return np.where(is_arc, dense, draw(st.sampled_from([np.inf, np.nan])))
    if kind == "dense":
        return (
            dense.astype(np.int64) if (dense == np.rint(dense)).all() and abs(dense).max() < EXACT else dense
        )
    sparse = sp.coo_array((dense[is_arc], np.nonzero(is_arc)), shape=(n, n))
    return sparse.tocsc() if kind == "columns" else sparse.tolil()


def outcome(function, *arguments, **options):
    """What a call returns, as a tuple, or the exception that it raises."""
    try:
        found = function(*arguments, **options)
    except (ValueError, csgraph.NegativeCycleError) as error:
        return type(error)
    return found if isinstance(found, tuple) else (found,)


def assert_tree(graph, distance, predecessor, source, directed, unweighted=False):
    """Each predecessor is the tail of an arc that ends with the distance of its head."""
    arcs = own._arcs(graph, directed, unweighted)
    lightest = {}
    ends = [(arcs.tails, arcs.matrix.indices)]
    for tails, heads in ends if directed else [*ends, ends[0][::-1]]:
        for tail, head, weight in zip(tails.tolist(), heads.tolist(), arcs.matrix.data, strict=True):
            lightest[tail, head] = min(weight, lightest.get((tail, head), np.inf))
    assert predecessor.dtype == np.int32
    for vertex, before in enumerate(predecessor.tolist()):
        assert (before == -9999) == (np.isinf(distance[vertex]) or vertex in np.atleast_1d(source))
        if before != -9999:
            assert distance[vertex] == distance[before] + lightest[before, vertex]


@given(st.data(), st.sampled_from(list(WEIGHTS)), st.booleans(), st.booleans())
@settings(max_examples=30)
def test_dijkstra_has_the_bits_of_scipys(data, kind, directed, unweighted):
    graph = data.draw(graphs(WEIGHTS[kind]))
    n = graph.shape[0]
    indices = data.draw(st.none() | st.integers(-n, n) | st.lists(st.integers(-n, n - 1), max_size=12))
    limit = data.draw(st.sampled_from([np.inf, np.inf, 0, 2.5, 2.0**32, -1]))
    arguments = (graph, directed, indices, False, unweighted, limit)
    expected = outcome(scipys.dijkstra, *arguments)
    for device in DEVICES:
        found = outcome(csgraph.dijkstra, *arguments, device=device)
        if isinstance(expected, type):
            assert found is expected
            continue
        assert found[0].dtype == np.float64
        np.testing.assert_array_equal(found[0], expected[0], strict=True)
        distance, predecessor = csgraph.dijkstra(
            graph, directed, indices, True, unweighted, limit, device=device
        )
        sources = np.arange(n) if indices is None else np.array(indices, int).ravel()
        rows = zip(distance.reshape(-1, n), predecessor.reshape(-1, n), sources % n, strict=True)
        for row in rows:
            assert_tree(graph, *row, directed, unweighted)


def test_more_sources_than_a_launch_takes(monkeypatch):
    monkeypatch.setattr(own, "AT_ONCE", own.MANY)
    graph = sp.random_array((20, 20), density=0.2, rng=np.random.default_rng(1))
    expected = scipys.dijkstra(graph)
    np.testing.assert_array_equal(csgraph.dijkstra(graph, device="host"), expected)
    steps = scipys.dijkstra(graph, unweighted=True)
    np.testing.assert_array_equal(csgraph.dijkstra(graph, unweighted=True, device="host"), steps)


@given(st.data(), st.sampled_from(list(WEIGHTS)), st.booleans(), st.booleans())
@settings(max_examples=20)
def test_the_nearest_source(data, kind, directed, unweighted):
    graph = data.draw(graphs(WEIGHTS[kind]))
    n = graph.shape[0]
    indices = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5))
    limit = data.draw(st.sampled_from([np.inf, 3.0]))
    arguments = (graph, directed, indices, True, unweighted, limit, True)
    expected, *_ = scipys.dijkstra(*arguments)
    each = scipys.dijkstra(graph, directed, None, unweighted=unweighted, limit=limit)
    for device in DEVICES:
        distance, predecessor, source = csgraph.dijkstra(*arguments, device=device)
        np.testing.assert_array_equal(distance, expected, strict=True)
        assert_tree(graph, distance, predecessor, indices, directed, unweighted)
        assert source.dtype == np.int32
        for vertex in range(n):
            if np.isinf(distance[vertex]):
                assert source[vertex] == -9999
            else:
                assert source[vertex] in indices
                assert each[source[vertex], vertex] == distance[vertex]
                before = predecessor[vertex]
                assert source[vertex if before == -9999 else before] == source[vertex]


@pytest.mark.parametrize("function", ["bellman_ford", "johnson", "floyd_warshall", "shortest_path"])
@given(st.data(), st.sampled_from(list(WEIGHTS | SIGNED)), st.booleans(), st.booleans())
@settings(max_examples=20)
def test_weights_of_any_sign(function, data, kind, directed, unweighted):
    graph = data.draw(graphs((WEIGHTS | SIGNED)[kind]))
    options = {"directed": directed, "unweighted": unweighted}
    if function == "shortest_path":
        options["method"] = data.draw(st.sampled_from(["auto", "FW", "BF", "J"]))
    elif function != "floyd_warshall":
        vertices = st.integers(0, graph.shape[0] - 1)
        options["indices"] = data.draw(st.none() | vertices | st.lists(vertices, max_size=3))
    expected = outcome(getattr(scipys, function), graph, **options)
    for device in DEVICES:
        found = outcome(getattr(csgraph, function), graph, **options, device=device)
        if isinstance(expected, type):
            assert found is expected
        elif "floats" in kind or kind == "huge":
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-13, atol=1e-13)
        else:
            np.testing.assert_array_equal(found[0], expected[0], strict=True)


@given(
    graphs(WEIGHTS["integers"], highest=20), st.sampled_from(["bellman_ford", "johnson", "floyd_warshall"])
)
@settings(max_examples=25)
def test_trees_with_negative_arcs(graph, function):
    expected = getattr(scipys, function)(graph)
    for device in DEVICES:
        distance, predecessor = getattr(csgraph, function)(graph, return_predecessors=True, device=device)
        np.testing.assert_array_equal(distance, expected, strict=True)
        for source in range(len(expected)) if function != "floyd_warshall" else ():
            assert_tree(graph, distance[source], predecessor[source], source, directed=True)


@pytest.mark.parametrize("where", DEVICES)
def test_only_a_negative_cycle_within_reach_concerns_bellman_ford(where):
    graph = sp.csr_array(([1.0, -2.0, 1.0, -3.0], ([0, 1, 2, 3], [1, 1, 3, 2])), shape=(4, 4))
    graph[1, 1] = 2
    np.testing.assert_array_equal(
        csgraph.bellman_ford(graph, indices=0, device=where), [0, 1, np.inf, np.inf]
    )
    with pytest.raises(scipys.NegativeCycleError):
        csgraph.bellman_ford(graph, indices=[0, 3], device=where)
    with pytest.raises(scipys.NegativeCycleError):
        csgraph.johnson(graph, indices=0, device=where)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("function", ["dijkstra", "johnson", "bellman_ford"])
def test_an_entry_without_a_finite_weight_is_no_arc(function, where):
    graph = sp.csr_array(([2.0, np.inf, np.nan, 1.0], ([0, 0, 1, 1], [1, 2, 0, 3])), shape=(4, 4))
    found = getattr(csgraph, function)(graph, device=where)
    np.testing.assert_array_equal(found, getattr(scipys, function)(graph))


@pytest.mark.parametrize("where", DEVICES)
def test_integers_whose_sums_pass_32_bits(where):
    ends = [0, 1], [1, 2]
    long, deep = (sp.csr_array(([weight] * 2, ends), shape=(3, 3)) for weight in (2**32 - 2, 1 - 2**31))
    for options in ({"indices": 0}, {"indices": [0], "min_only": True}):
        found = csgraph.dijkstra(long, **options, device=where)
        np.testing.assert_array_equal(found, [0, 2**32 - 2, 2**33 - 4])
    np.testing.assert_array_equal(csgraph.johnson(deep, indices=0, device=where), [0, 1 - 2**31, 2 - 2**32])


@given(graphs(WEIGHTS["integers"]), st.booleans())
@settings(max_examples=20)
def test_a_breadth_first_order_goes_level_by_level(graph, directed):
    levels = scipys.dijkstra(graph, directed, indices=0, unweighted=True)
    for device in DEVICES:
        order, predecessor = csgraph.breadth_first_order(graph, 0, directed, device=device)
        assert order.dtype == np.int32
        assert sorted(order.tolist()) == np.flatnonzero(np.isfinite(levels)).tolist()
        assert (np.diff(levels[order]) >= 0).all()
        assert_tree(graph, levels, predecessor, 0, directed, unweighted=True)
        alone = csgraph.breadth_first_order(graph, 0, directed, return_predecessors=False, device=device)
        np.testing.assert_array_equal(alone, order)


@pytest.mark.parametrize("where", DEVICES)
def test_overwrite_leaves_the_distances_in_the_matrix(where):
    graph = np.array([[0.0, 3, 0], [0, 0, 1], [5, 0, 0]])
    expected = scipys.floyd_warshall(graph)
    csgraph.shortest_path(graph, overwrite=True, device=where)
    np.testing.assert_array_equal(graph, expected)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize(
    "call",
    [
        lambda module, **on: module.dijkstra(np.ones((2, 3)), **on),
        lambda module, **on: module.johnson(sp.csr_array((2, 3)), **on),
        lambda module, **on: module.bellman_ford(np.eye(2), indices=2, **on),
        lambda module, **on: module.shortest_path(np.eye(2), "FW", indices=0, **on),
        lambda module, **on: module.shortest_path(np.eye(2), "A*", **on),
    ],
)
def test_a_mistake_is_a_value_error_as_in_scipy(call, where):
    assert outcome(call, scipys) is ValueError
    assert outcome(call, csgraph, device=where) is ValueError


def test_what_has_no_kernel_is_scipys():
    assert rx.csgraph is csgraph
    assert csgraph.minimum_spanning_tree is scipys.minimum_spanning_tree
    assert csgraph.dijkstra is own.dijkstra
