"""The backend of networkx: its functions answer as networkx's own, which also tests them."""

import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.library import networkx_backend
from relaxometer.library.networkx_info import FUNCTIONS

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
WHOLE, FRACTIONS = st.integers(0, 9), st.floats(0, 9, width=16)
LONG = st.integers(2**33, 2**40)

TOUCHED = [
    "networkx.algorithms.tests.test_dominance",
    "networkx.algorithms.tests.test_distance_measures",
    "networkx.algorithms.centrality.tests.test_closeness_centrality",
    "networkx.algorithms.centrality.tests.test_harmonic_centrality",
    "networkx.algorithms.shortest_paths",
    "networkx.algorithms.traversal.tests.test_bfs",
]
"""Modules of networkx's tests that call what the backend has."""


@pytest.fixture(autouse=True)
def _quiet():
    nx.config.warnings_to_ignore.add("cache")


@st.composite
def graphs(draw, weights, kinds=KINDS, least=1):
    """Graphs whose nodes are not numbers, with loops and edges without a weight."""
    made = draw(st.sampled_from(kinds))()
    n = draw(st.integers(least, 8))
    made.add_nodes_from(f"n{v}" for v in draw(st.permutations(range(n))))
    ends = st.sampled_from(list(made))
    for tail, head, load in draw(st.lists(st.tuples(ends, ends, weights | st.none()), max_size=20)):
        made.add_edge(tail, head, **({} if load is None else {"weight": load}))
    return made


def outcome(function, *args, **kwargs):
    """The answer, or the type of the exception."""
    try:
        found = function(*args, **kwargs)
        return list(found) if hasattr(found, "__next__") else found
    except nx.NetworkXException as error:
        return type(error)


def same(function, graph, *args, **kwargs):
    """Compare both answers, and return ours."""
    ours = outcome(function, graph, *args, backend="relaxometer", **kwargs)
    assert ours == outcome(function, graph, *args, backend="networkx", **kwargs)
    return ours


def length(graph, path):
    """The length of a path along the lightest of parallel edges."""
    edges = [graph[tail][head] for tail, head in pairwise(path)]
    loads = [edge.values() if graph.is_multigraph() else [edge] for edge in edges]
    return sum(min(one.get("weight", 1) for one in parallel) for parallel in loads)


def lengths_of(graph, paths, lengths):
    """Check that paths have these lengths."""
    assert {node: length(graph, path) for node, path in paths.items()} == lengths
    assert all(path[-1] == node for node, path in paths.items())


def test_networkx_knows_what_the_backend_has():
    for name in FUNCTIONS:
        assert "relaxometer" in nx.utils.backends._registered_algorithms[name].backends
        assert callable(getattr(networkx_backend, name))


def test_networkx_itself_loads_nothing_heavy():
    code = "import sys, networkx; print('numpy' in sys.modules, 'pydantic' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert said == "False False\n"


@pytest.mark.parametrize("weights", [WHOLE, FRACTIONS, LONG], ids=["whole", "floats", "long"])
@settings(max_examples=20)
@given(data=st.data())
def test_shortest_paths(weights, data):
    graph = data.draw(graphs(weights))
    node, other = data.draw(st.tuples(*[st.sampled_from(list(graph))] * 2))
    cutoff = data.draw(st.none() | weights)
    sources = data.draw(st.sets(st.sampled_from(list(graph)), min_size=1))
    found = same(nx.multi_source_dijkstra_path_length, graph, sources, cutoff=cutoff)
    assert list(found.values()) == sorted(found.values())
    lengths, paths = nx.multi_source_dijkstra(graph, sources, cutoff=cutoff, backend="relaxometer")
    assert lengths == found
    lengths_of(graph, paths, found)
    assert {path[0] for path in paths.values()} == sources
    same(nx.single_source_dijkstra_path_length, graph, node)
    same(nx.single_source_bellman_ford_path_length, graph, node)
    same(nx.dijkstra_path_length, graph, node, other)
    same(nx.bellman_ford_path_length, graph, node, other)
    same(nx.all_pairs_dijkstra_path_length, graph)
    same(nx.all_pairs_bellman_ford_path_length, graph)
    for start, (lengths, paths) in nx.all_pairs_dijkstra(graph, backend="relaxometer"):
        assert lengths[start] == 0
        lengths_of(graph, paths, lengths)
    same(nx.eccentricity, graph, weight="weight")
    same(nx.closeness_centrality, graph, distance="weight")
    same(nx.closeness_centrality, graph, node, wf_improved=False)
    same(nx.harmonic_centrality, graph)
    chosen = {"nbunch": list(graph)[:3], "distance": "weight", "sources": list(graph)[1:]}
    ours = nx.harmonic_centrality(graph, **chosen, backend="relaxometer")
    assert ours == pytest.approx(nx.harmonic_centrality(graph, **chosen))


@settings(max_examples=25)
@given(graph=graphs(st.integers(-2, 9)), data=st.data())
def test_negative_weights(graph, data):
    node = data.draw(st.sampled_from(list(graph)))
    same(nx.negative_edge_cycle, graph)
    found = same(nx.single_source_bellman_ford_path_length, graph, node)
    ours = outcome(nx.find_negative_cycle, graph, node, backend="relaxometer")
    if isinstance(found, dict):
        assert ours is nx.NetworkXError
        lengths_of(graph, nx.single_source_bellman_ford_path(graph, node, backend="relaxometer"), found)
    else:
        assert ours[0] == ours[-1]
        assert len(set(ours)) == len(ours) - 1
        assert length(graph, ours) < 0


def test_kernels_find_negative_cycles(monkeypatch):
    monkeypatch.setattr(networkx_backend, "_device", lambda: "host")
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 4), (1, 2, -3), (2, 1, 2), (3, 0, 1)])
    assert nx.negative_edge_cycle(graph, backend="relaxometer")
    assert sorted(nx.find_negative_cycle(graph, 0, backend="relaxometer")[1:]) == [1, 2]
    assert not nx.negative_edge_cycle(graph.subgraph([0, 1, 3]), backend="relaxometer")


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_without_nodes(kind):
    same(nx.eccentricity, kind())
    same(nx.all_pairs_shortest_path_length, kind())
    same(nx.closeness_centrality, kind())


@settings(max_examples=25)
@given(graph=graphs(WHOLE), data=st.data())
def test_breadth_first_search_keeps_the_order(graph, data):
    node = data.draw(st.sampled_from(list(graph)))
    limit = data.draw(st.none() | st.integers(0, 4))
    for function in (nx.bfs_edges, nx.bfs_predecessors, nx.bfs_successors):
        same(function, graph, node, depth_limit=limit)
    tree = nx.bfs_tree(graph, node, depth_limit=limit, backend="relaxometer")
    assert list(tree.edges) == list(nx.bfs_tree(graph, node, depth_limit=limit).edges)
    same(nx.bfs_layers, graph, data.draw(st.sets(st.sampled_from(list(graph)))))
    found = same(nx.single_source_shortest_path_length, graph, node, cutoff=limit)
    assert list(found) == list(nx.single_source_shortest_path_length(graph, node, cutoff=limit))
    same(nx.all_pairs_shortest_path_length, graph, cutoff=limit)
    for function in (nx.eccentricity, nx.diameter, nx.radius):
        same(function, graph)


@settings(max_examples=25)
@given(graph=graphs(WHOLE, [nx.DiGraph, nx.MultiDiGraph]), data=st.data())
def test_dominators(graph, data):
    node = data.draw(st.sampled_from(list(graph)))
    same(nx.immediate_dominators, graph, node)
    same(nx.dominance_frontiers, graph, node)


@pytest.mark.parametrize(
    ("loads", "kind"), [([1, 2], int), ([True, 3], int), ([1.5, 2.0], float), ([2**40, 1], int)]
)
def test_lengths_have_the_type_of_the_weights(loads, kind):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", loads[0]), ("b", "c", loads[1])])
    found = nx.single_source_dijkstra_path_length(graph, "a", backend="relaxometer")
    assert [type(length) for length in found.values()] == [int, kind, kind]
    assert type(nx.dijkstra_path_length(graph, "a", "c", backend="relaxometer")) is kind


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (None, "NoneType"),
        (Fraction(1, 3), "Fraction"),
        (Decimal(1), "Decimal"),
        (2**70, "beyond 64 bits"),
        (2**60, "do not hold exactly"),
        (float("inf"), "infinite"),
        (float("nan"), "infinite"),
        (-0.5, "not integers"),
        (-(2**40), "beyond 31 bits"),
    ],
)
def test_weights_that_no_solver_takes_are_refused(load, reason):
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=load)
    with pytest.raises(NotImplementedError, match=reason):
        networkx_backend.convert_from_nx(graph, edge_attrs={"weight": 1})


@pytest.mark.parametrize(
    ("name", "kwargs", "reason"),
    [
        ("dijkstra_path", {"weight": lambda *_: 1}, "function"),
        ("closeness_centrality", {"distance": lambda *_: 1}, "function"),
        ("bfs_edges", {"sort_neighbors": sorted}, "sorted"),
        ("bfs_tree", {"reverse": True}, "predecessors"),
        ("eccentricity", {"sp": {}}, "given"),
        ("diameter", {"e": {}}, "given"),
        ("radius", {"usebounds": True}, "bounds"),
    ],
)
def test_arguments_that_a_function_does_not_take_are_refused(name, kwargs, reason):
    assert reason in networkx_backend.can_run(name, (nx.DiGraph([(1, 2)]),), kwargs)


def test_networkx_answers_where_the_backend_does_not():
    graph = nx.path_graph(networkx_backend.SMALL[False])
    graph.edges[0, 1]["weight"] = Fraction(1, 3)
    with nx.config(backend_priority=["relaxometer"]):
        assert nx.dijkstra_path_length(graph, 0, 1) == Fraction(1, 3)
        assert nx.single_source_shortest_path_length(graph, 0)[999] == 999
    assert "relaxometer" in graph.__networkx_cache__["backends"]


def test_small_graphs_are_left_to_networkx_unless_they_are_converted():
    graph = nx.path_graph(networkx_backend.SMALL[True])
    assert networkx_backend.should_run("diameter", (graph,), {}) is True
    assert "faster" in networkx_backend.should_run("bfs_tree", (graph,), {"source": 0})
    nx.diameter(graph, backend="relaxometer")
    assert networkx_backend.should_run("bfs_tree", (graph,), {"source": 0}) is True


@settings(max_examples=10)
@given(graph=graphs(WHOLE))
def test_a_graph_comes_back(graph):
    back = networkx_backend.convert_to_nx(networkx_backend.convert_from_nx(graph, edge_attrs={"weight": 1}))
    assert list(back) == list(graph)
    lightest = nx.DiGraph() if graph.is_directed() else nx.Graph()
    lightest.add_nodes_from(graph)
    loads = {}
    for tail, head, load in graph.edges(data="weight", default=1):
        key = (tail, head) if graph.is_directed() else frozenset((tail, head))
        loads[key] = min(load, loads.get(key, load))
        lightest.add_edge(tail, head, weight=loads[key])
    assert nx.utils.graphs_equal(back, lightest)


@pytest.mark.slow
def test_networkx_passes_its_own_tests():
    environment = {**os.environ, "NETWORKX_TEST_BACKEND": "relaxometer", "NETWORKX_FALLBACK_TO_NX": "True"}
    options = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "-k", "not use_bounds_on_off"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *TOUCHED],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
