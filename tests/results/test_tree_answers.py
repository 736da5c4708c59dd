"""Answers packed as trees: the columns come back bit by bit, or the answer is not packed so."""

import numpy as np
import pytest

from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.variants import load_solver
from relaxometer.results.tree_answers import columns_of, places_of
from sample_graphs import sample_graphs

SOLVERS = {"sssp": "dijkstra-cpu", "bfs": "hybrid-cpu"}


def answer_of(graph, problem, source, device):
    module = load_solver(problem, SOLVERS[problem])
    solver = module.Solver(ResidentGraph.upload(device, graph), module.Parameters())
    return {name: np.asarray(column) for name, column in solver.solve(source).columns.items()}


def both_ways(kind, n=400, m=1500, seed=1):
    """A graph with arcs in both directions, parts that cannot be reached, and hubs."""
    rng = np.random.default_rng(seed)
    tails, heads = (rng.integers(0, n, m) * rng.random(m)).astype(int), rng.integers(0, n - 20, m)
    weights = rng.uniform(0.1, 9, m) if kind.startswith("float") else rng.integers(0, 50, m)
    return Graph.from_arcs("both", n, tails, heads, weights, undirected=True, weight_type=kind)


@pytest.mark.parametrize(
    ("problem", "kind"), [("bfs", "uint32"), *(("sssp", kind) for kind in ("uint32", "float32", "float64"))]
)
@pytest.mark.parametrize("source", [0, 7, 399])
def test_columns_come_back_bit_by_bit(host_device, problem, kind, source):
    graph = both_ways(kind)
    columns = answer_of(graph, problem, source, host_device)
    places = places_of(graph, problem, source, columns)
    assert places.dtype == np.uint32
    again = columns_of(graph, problem, source, places)
    assert again.keys() == columns.keys()
    for name, column in columns.items():
        assert again[name].dtype == column.dtype
        assert again[name].tobytes() == column.tobytes()


@pytest.mark.parametrize("problem", SOLVERS)
@pytest.mark.parametrize("name", sample_graphs())
def test_every_graph_has_its_answer_back_or_none(host_device, problem, name):
    graph = sample_graphs()[name]
    columns = answer_of(graph, problem, 0, host_device)
    places = places_of(graph, problem, 0, columns)
    if name in ("one-vertex", "hub", "grid"):
        assert places is not None
    if name == "random-directed":
        assert places is None, "some predecessors are not neighbours"
    if places is not None:
        again = columns_of(graph, problem, 0, places)
        assert all(again[one].tobytes() == columns[one].tobytes() for one in columns)


def test_an_answer_that_does_not_follow_from_its_tree_is_not_packed_so(host_device):
    graph = both_ways("uint32")
    columns = answer_of(graph, "sssp", 0, host_device)
    wrong = dict(columns, distance=columns["distance"] + np.uint32(1))
    assert places_of(graph, "sssp", 0, wrong) is None
    other_root = dict(columns, predecessor=columns["predecessor"].copy())
    other_root["predecessor"][0] = 1
    assert places_of(graph, "sssp", 0, other_root) is None
    assert places_of(graph, "dominators", 0, columns) is None
    assert places_of(graph, "sssp", 0, columns | {"cycle": columns["distance"]}) is None


def test_places_that_lead_in_a_circle_or_nowhere_and_lengths_beyond_the_type_are_refused(host_device):
    graph = Graph.from_arcs("chain", 5, [0, 1, 2, 3], [1, 2, 3, 4], [1] * 4, undirected=True)
    # Each but the first has two neighbours: the one before and the one after.
    assert columns_of(graph, "bfs", 0, np.array([0, 1, 1, 1, 1], dtype=np.uint32))["level"].tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]
    for places in ([0, 1, 2, 1, 1], [0, 2, 1, 1, 1], [0, 0, 1, 1, 1], [0, 3, 1, 1, 1], [0, 1, 1, 1]):
        with pytest.raises(ValueError, match="tree"):
            columns_of(graph, "bfs", 0, np.array(places, dtype=np.uint32))
    with pytest.raises(ValueError, match="tree"):
        columns_of(graph, "bfs", 5, np.zeros(5, dtype=np.uint32))
    graph = Graph.from_arcs("far", 3, [0, 1], [1, 2], [MAX_WEIGHT, 1], undirected=True)
    with pytest.raises(ValueError, match="too long"):
        columns_of(graph, "sssp", 0, np.array([0, 1, 1], dtype=np.uint32))
    assert columns_of(graph, "bfs", 0, np.array([0, 1, 1], dtype=np.uint32))["level"].tolist() == [0, 1, 2]
