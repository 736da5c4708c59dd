"""Statistics of graphs and batches, on graphs with known answers."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from flow_facts import arcs_of, dominators
from graph_strategies import drawn_graphs, flow_graphs
from relaxometer.graphs import graph as graphs
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.describe import describe_batch, describe_graph, either_way, hops_in, loop_kinds
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from sample_graphs import undirected


def described(graph):
    """Return the statistics of `graph`, as if it had been written and read."""
    return describe_graph(Graph(**{**vars(graph), "metadata": graphs.describe(graph)}))


def edges_of_a_path(n):
    return np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)


def from_edges(n, edges, name="drawn"):
    edges = np.asarray(edges, dtype=int).reshape(-1, 2)
    graph = undirected(name, n, edges, np.arange(1, len(edges) + 1))
    graph.metadata["directed"] = False
    return graph


def occurring(found):
    return dict(zip(found["value"], found["count"], strict=True))


def test_a_path_a_star_and_a_loop_have_their_degrees_diameters_and_shares():
    facts = described(from_edges(7, edges_of_a_path(7)))
    assert occurring(facts["degrees"]) == {1: 2, 2: 5}
    assert facts["hop_diameter"] == {"low": 6, "high": 6, "ends": facts["hop_diameter"]["ends"]}
    assert sorted(facts["hop_diameter"]["ends"]) == [0, 6]
    assert facts["median_weight"] == 3.5
    bounds = described(from_edges(8, edges_of_a_path(8)))["hop_diameter"]
    assert (bounds["low"], bounds["high"]) == (7, 8), "they differ if the length is odd"
    assert (facts["components"], facts["largest_component"], facts["isolated"]) == (1, 7, 0)
    assert "in_degrees" not in facts
    rim = np.arange(1, 41)
    facts = described(from_edges(41, np.stack([np.zeros(40, dtype=int), rim], axis=1)))
    assert occurring(facts["degrees"]) == {1: 40, 40: 1}
    assert (facts["hop_diameter"]["low"], facts["hop_diameter"]["high"]) == (2, 2)
    assert facts["share_above"] == {"32": 1 / 41, "512": 0}
    assert facts["arc_share_above"] == {"32": 0.5, "512": 0}
    looped = Graph.from_arcs("looped", 3, [0, 1, 2, 2], [0, 2, 1, 2], [1, 1, 1, 1], keep_self_loops=True)
    facts = described(looped)
    assert (facts["components"], facts["largest_component"], facts["isolated"]) == (2, 2, 1)
    assert (facts["hop_diameter"]["low"], facts["hop_diameter"]["high"]) == (1, 2)
    assert occurring(facts["degrees"]) == {1: 2, 2: 1}
    assert occurring(facts["in_degrees"]) == {1: 2, 2: 1}


@pytest.mark.parametrize("kind", ["uint32", "float32", "float64", "int32"])
def test_the_median_of_the_largest_weights_is_one_of_them(kind):
    largest = LENGTHS[kind].largest
    graph = Graph.from_arcs("drawn", 3, [0, 1], [1, 2], np.full(2, largest, dtype=kind), weight_type=kind)
    assert described(graph)["median_weight"] == largest


def test_two_components_and_isolated_vertices():
    # Vertices 0 and 9 have no arcs; 1 to 3 and 4 to 8 are paths.
    edges = np.concatenate([edges_of_a_path(3) + 1, edges_of_a_path(5) + 4])
    facts = described(from_edges(10, edges))
    assert (facts["components"], facts["largest_component"], facts["isolated"]) == (4, 5, 2)
    assert facts["component_sizes"] == [5, 3, 1, 1]
    assert (facts["hop_diameter"]["low"], facts["hop_diameter"]["high"]) == (4, 4)
    assert sorted(facts["hop_diameter"]["ends"]) == [4, 8]
    assert occurring(facts["degrees"]) == {0: 2, 1: 4, 2: 4}


@pytest.mark.parametrize("n", [0, 1])
def test_no_arcs(n):
    facts = described(Graph.from_arcs("bare", n, [], [], []))
    assert (facts["vertices"], facts["largest_component"], facts["isolated"]) == (n, n, n)
    assert facts["hop_diameter"] == {"low": 0, "high": 0, "ends": [0, 0] if n else []}
    assert facts["share_above"]["32"] == 0


@given(drawn_graphs(st.just(1), most=12))
def test_components_equal_those_of_scipy(drawn):
    graph, _ = drawn
    count, labels = graph.component_labels()
    theirs, their_labels = sp.csgraph.connected_components(graph.to_scipy(), connection="weak")
    assert count == theirs
    assert len(set(zip(labels.tolist(), their_labels.tolist(), strict=True))) == count
    assert labels.max() == count - 1
    assert (np.diff(np.unique(labels, return_index=True)[1]) > 0).all(), "labels ascend with the vertices"


@given(drawn_graphs(st.just(1), most=12))
def test_the_hop_diameter_is_within_its_bounds(drawn):
    graph, _ = drawn
    _, labels = graph.component_labels()
    inside = labels == np.bincount(labels).argmax()
    hops = sp.csgraph.shortest_path(graph.to_scipy(), directed=False, unweighted=True)[inside][:, inside]
    bounds = described(graph)["hop_diameter"]
    assert bounds["low"] <= hops.max() <= bounds["high"] <= 2 * bounds["low"]
    start, end = bounds["ends"]
    assert hops_in(*either_way(graph), start)[end] == bounds["low"]


# The cycle of 1 and 2 in the second graph can be entered at both; the fourth graph has a self-loop.
FOUR = [
    ("while", 4, [0, 1, 2, 1], [1, 2, 1, 3], 0),
    ("goto", 3, [0, 0, 1, 2], [1, 2, 2, 1], 0),
    ("if", 3, [0, 0, 1], [1, 2, 2], 0),
    ("spin", 2, [0, 1], [1, 1], 0),
]


@given(st.lists(flow_graphs(max_vertices=9, max_arcs=24), min_size=1, max_size=4))
def test_a_cycle_is_irreducible_if_none_of_its_heads_dominates_it(drawn):
    batch = Batch.from_graphs("drawn", drawn)
    loops, irreducible = loop_kinds(batch)
    for graph, loop, bad in zip(batch, loops, irreducible, strict=True):
        above = dominators(graph)
        without_back_arcs = [(u, v) for u, v in arcs_of(graph) if v not in above[u]]
        assert bad == (not nx.is_directed_acyclic_graph(nx.DiGraph(without_back_arcs)))
        assert loop == (not nx.is_directed_acyclic_graph(nx.DiGraph(arcs_of(graph))))


def test_a_batch():
    facts = describe_batch(Batch.from_graphs("four", FOUR, metadata={"license": "MIT"}))
    assert occurring(facts["size_counts"]) == {2: 1, 3: 2, 4: 1}
    assert occurring(facts["degree_counts"]) == {0: 2, 1: 7, 2: 3}
    assert occurring(facts["in_degree_counts"]) == {0: 4, 1: 3, 2: 5}
    assert facts["arcs_per_vertex"] == 13 / 12
    assert facts["largest_graph"] == "while"
    assert (facts["share_with_loops"], facts["share_irreducible"]) == (0.75, 0.25)
    assert facts["license"] == "MIT"
    facts = describe_batch(Batch.from_graphs("none", []))
    assert (facts["arcs_per_vertex"], facts["largest_graph"], facts["share_with_loops"]) == (0, "", 0)
