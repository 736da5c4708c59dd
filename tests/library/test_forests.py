"""Nearest of several sources, searches up to a limit, and sums of other weights along paths."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relaxometer as rx

N = 14
NONE = 2**32 - 1
DEVICES = [("cpu", "sssp", {}), ("cpu", "bfs", {}), ("host", "sssp", {"variant": "near-far"})]


def random_graph(seed, dtype, count=40):
    """A graph with self-loops, parallel arcs and arcs of weight 0, and its arcs in the caller's order."""
    rng = np.random.default_rng(seed)
    tails = np.sort(rng.integers(0, N, count))
    heads, weights = rng.integers(0, N, count), rng.integers(0, 6, count).astype(dtype)
    if np.dtype(dtype).kind == "f":
        weights /= 4
    offsets = np.searchsorted(tails, np.arange(N + 1))
    return rx.Graph.from_csr(offsets, heads, weights), (tails, heads, weights)


def distances_from(sources, tails, heads, weights):
    """Bellman-Ford, as plainly as can be."""
    distance = np.full(N, np.inf)
    distance[sources] = 0
    for _ in range(N):
        np.minimum.at(distance, heads, distance[tails] + weights)
    return distance


def as_floats(answer):
    return np.where(answer.reached, next(iter(answer.columns.values())), np.inf)


def check_nearest(where, problem, options, seed, dtype, limit):
    graph, (tails, heads, weights) = random_graph(seed, dtype)
    if problem == "bfs":
        weights = np.ones(len(weights))
    prepared = rx.prepare(graph, problem, device=where, **options)
    for sources in ([3], [5, 0, 9, 5]):
        found = prepared.nearest(sources, limit=limit).verify()
        expected = distances_from(sources, tails, heads, weights)
        expected[expected > (np.inf if limit is None else limit)] = np.inf
        assert np.array_equal(as_floats(found), expected)
        assert found.source[sources].tolist() == found.predecessor[sources].tolist() == sources
        of_each = {one: distances_from([one], tails, heads, weights) for one in sources}
        for vertex in range(N):
            path, source = found.path_to(vertex), int(found.source[vertex])
            assert path[:1] == ([source] if expected[vertex] < np.inf else [])
            assert (of_each[source][vertex] == expected[vertex]) if path else source == NONE
    alone = prepared.search(3, limit=limit).verify()
    assert np.array_equal(as_floats(alone), as_floats(prepared.nearest([3], limit=limit)))


@pytest.mark.parametrize(("where", "problem", "options"), DEVICES[:2])
@given(
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from(["uint32", "float32", "float64"]),
    limit=st.sampled_from([None, 0, 0.8, 2, 1e40, np.inf]),
)
@settings(max_examples=20)
def test_nearest_of_several_sources(where, problem, options, seed, dtype, limit):
    check_nearest(where, problem, options, seed, dtype, limit)


@pytest.mark.parametrize("dtype", ["uint32", "float64"])
@pytest.mark.parametrize("problem", ["sssp", "bfs"])
def test_nearest_of_several_sources_by_kernels(problem, dtype):
    options = {"variant": "near-far"} if problem == "sssp" else {"variant": "top-down"}
    for seed, limit in enumerate([None, 0, 0.8, 2]):
        check_nearest("host", problem, options, seed, dtype, limit)


def test_the_variant_that_was_chosen_searches_from_several_sources():
    graph, arcs = random_graph(2, "uint32", count=100 * N)
    prepared = rx.prepare(graph, device="host", searches=1)
    assert prepared.resolved["chosen"] == "near-far"
    found = prepared.nearest([1, 2]).verify()
    assert np.array_equal(as_floats(found), distances_from([1, 2], *arcs))
    assert prepared._forest_solver is prepared._solver


@pytest.mark.parametrize(("where", "problem", "options"), DEVICES)
def test_a_search_stops_at_its_limit(where, problem, options):
    far = 2**32 - 2
    prepared = rx.prepare(
        rx.Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [1, far, far]), problem, **options, device=where
    )
    assert prepared.search(0, limit=1).verify().reached.tolist() == [True, True, False, False]
    if problem == "sssp":
        with pytest.raises(rx.WrongAnswer, match="longer than the largest distance"):
            prepared.search(0).verify()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_limit_between_two_distances_of_the_type_excludes_the_greater(dtype):
    graph = rx.Graph.from_csr([0, 1, 1], [1], np.array([0.1], dtype))
    for variant in ("dijkstra-cpu", "many-sources"):
        prepared = rx.prepare(graph, variant=variant, device="host")
        reached = [bool(prepared.search(0, limit=limit).reached[1]) for limit in (0.0999, 0.1, 0.1001)]
        assert reached == [False, dtype is np.float64, True], "0.1 of float32 is more than 0.1"


def test_a_limit_that_no_weight_reaches_is_cut_afterwards():
    far = 2**32 - 2
    graph = rx.Graph.from_csr([0, 1, 2, 3, 3], [1, 2, 3], np.full(3, far, np.uint32), distances="uint64")
    for answer in (rx.prepare(graph).search(0, limit=2 * far), rx.prepare(graph).nearest([0], limit=2 * far)):
        assert answer.verify().distance[:3].tolist() == [0, far, 2 * far]
        assert not answer.reached[3]


def test_a_path_along_negative_arcs_may_leave_the_limit():
    graph = rx.Graph.from_arcs(4, [0, 1, 2, 0], [1, 2, 3, 2], [4, -3, 2, 2])
    assert rx.prepare(graph).search(0).verify().distance.tolist() == [0, 4, 1, 3]
    near = rx.prepare(graph).search(0, limit=1).verify()
    assert near.reached.tolist() == [True, False, True, False]
    assert [near.path_to(vertex) for vertex in (1, 2)] == [[], [0, 1, 2]]
    assert near.sums_along([10, 200, 3000, 5]).tolist() == [0, 2**63 - 1, 210, 2**63 - 1]


@pytest.mark.parametrize(
    ("column", "vertex", "value", "limit"),
    [
        ("source", 2, 1, None),
        ("source", 4, 0, None),
        ("predecessor", 1, 0, None),
        ("distance", 2, 4, None),
        ("distance", 3, 7, None),
        ("predecessor", 3, 2, 5),
        ("distance", 2, NONE, 5),
    ],
)
def test_a_wrong_forest_is_refused(column, vertex, value, limit):
    """Source 1 is at distance 0 from source 0, vertex 3 beyond the limit, and vertex 4 out of reach."""
    graph = rx.Graph.from_arcs(5, [0, 0, 1, 2], [1, 2, 2, 3], [0, 3, 4, 3])
    found = rx.prepare(graph).nearest([0, 1], limit=limit).verify()
    assert found.source.tolist() == [0, 1, 0, NONE if limit else 0, NONE]
    columns = {name: one.copy() for name, one in found.columns.items()}
    columns[column][vertex] = value
    with pytest.raises(rx.WrongAnswer, match="rule"):
        replace(found, columns=columns).verify()


def sum_on(path, tails, heads, weights, second):
    """The sum along a path of the second weights of its arcs: the lightest, and of equal ones the first."""
    total = 0
    for ends in pairwise(path):
        arcs = [i for i in range(len(tails)) if (tails[i], heads[i]) == ends]
        total += second[min(arcs, key=lambda i: weights[i])]
    return total


@pytest.mark.parametrize("problem", ["sssp", "bfs", "routes"])
@given(st.integers(0, 2**32), st.sampled_from(["int64", "float64", "int8"]))
@settings(max_examples=15)
def test_other_weights_are_summed_up_along_paths(problem, seed, dtype):
    graph, arcs = random_graph(seed, "uint32")
    second = np.random.default_rng(seed).integers(-9, 9, graph.n_arcs).astype(dtype)
    nowhere = np.inf if dtype == "float64" else 2**63 - 1
    if problem == "routes":
        routes = rx.prepare(graph, "routes", device="cpu")
        answer = routes.pairs([3] * N, range(N), paths=True, along=second).verify()
        ends = np.cumsum(answer.size)
        paths = [answer.path[end - size : end].tolist() for end, size in zip(ends, answer.size, strict=True)]
        sums = answer.along
        table = routes.table([0, 3], range(N), along=second)
        assert np.array_equal(table[1][1], sums)
        assert np.array_equal(table[0][1], answer.distance)
    else:
        tree = rx.prepare(graph, problem, device="cpu").search(3)
        sums, paths = tree.sums_along(second), [tree.path_to(vertex) for vertex in range(N)]
    assert sums.dtype == ("float64" if dtype == "float64" else "int64")
    assert sums.tolist() == [sum_on(path, *arcs, second) if path else nowhere for path in paths]


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_other_weights_of_a_networkx_graph_are_in_the_order_of_its_edges(kind):
    made = kind()
    for ends, length, time in [("ba", 2, 7), ("ab", 2, 5), ("ab", 3, 1), ("aa", 0, 9), ("bc", 1, 4)]:
        made.add_edge(*ends, length=length, time=time)
    trees = rx.prepare(rx.Graph.from_networkx(made, "length"))
    tree = trees.search("a")
    times = np.array([time for *_, time in made.edges(data="time")])
    first = 5 if kind is nx.MultiDiGraph else 7
    sums = dict(zip(made, tree.sums_along(times).tolist(), strict=True))
    assert sums == {"a": 0, "b": first, "c": first + 4}
    trees.customize(times)
    assert dict(zip(made, trees.search("a").distance.tolist(), strict=True)) == {"a": 0, "b": 1, "c": 5}


def exported(array):
    """Return an array that offers DLPack alone."""
    return SimpleNamespace(__dlpack__=array.__dlpack__, __dlpack_device__=array.__dlpack_device__)


@pytest.mark.parametrize("form", [list, tuple, exported, "uint8", "uint32", ">u4", "int64", ">i2"])
def test_vertices_may_be_any_array(form):
    graph, _ = random_graph(1, "uint32")
    sources = np.array([3, 7], form) if isinstance(form, str) else form(np.array([3, 7]))
    prepared, routes = rx.prepare(graph, device="cpu"), rx.prepare(graph, "routes", device="cpu")
    expected = [prepared.search(3).distance, prepared.search(7).distance]
    answers = prepared.search_each(sources)
    assert isinstance(answers, Iterator)
    assert np.array_equal([answer.distance for answer in answers], expected)
    assert np.array_equal([answer.distance for answer in prepared.search(sources)], expected)
    assert np.array_equal(routes.table(sources, range(N)), expected)
    assert np.array_equal(prepared.nearest(sources).distance, np.minimum(*expected))
    if form == "uint32":
        assert np.shares_memory(sources, routes._vertices(sources))
    elif isinstance(form, str):
        wrong = np.array([3, -1 if "i" in form and form[0] != "u" else N], form)
        with pytest.raises(
            rx.GraphError, match=f"vertex '{wrong[1]}': expected an integer from 0 to {N - 1}"
        ):
            routes.pairs(wrong, wrong)
