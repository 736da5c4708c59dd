"""Batches of flow graphs: numbering, selection, and Parquet that is read back or refused."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from built import refusal
from flow_facts import arcs_of
from graph_strategies import flow_graphs
from relaxometer.graphs.batch import Batch, describe, read_batch, write_batch

batches = st.lists(flow_graphs(), max_size=4)


def small_batch():
    return Batch.from_graphs(
        "small",
        [
            ("diamond", 4, [0, 0, 1, 2], [1, 2, 3, 3], 0),
            ("loop", 3, [2, 1, 1, 0], [1, 1, 0, 1], 2),
            ("point", 1, [], [], 0),
        ],
        metadata={"license": "MIT"},
    )


def reference_order(n_vertices, tails, heads, entry):
    """Return the vertices reached by networkx's search, in reverse post-order."""
    graph = nx.DiGraph(sorted(zip(tails, heads, strict=True)))
    graph.add_nodes_from(range(n_vertices))
    return list(nx.dfs_postorder_nodes(graph, entry))[::-1]


def same(found, expected):
    for name in ("first_vertex", "entries", "offsets", "targets"):
        assert getattr(found, name).dtype == getattr(expected, name).dtype
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert list(found.names) == list(expected.names)


@given(batches)
def test_graphs_are_numbered_in_reverse_post_order(drawn):
    batch = Batch.from_graphs("drawn", drawn)
    types = (batch.first_vertex.dtype, batch.entries.dtype, batch.offsets.dtype, batch.targets.dtype)
    assert types == (np.int64, np.uint32, np.int64, np.uint32)
    assert batch.sizes.sum() == batch.first_vertex[-1] == batch.n_vertices
    assert batch.degrees.sum() == batch.offsets[-1] == batch.first_arc[-1] == batch.n_arcs
    for graph, (name, n_vertices, tails, heads, entry) in zip(batch, drawn, strict=True):
        order = reference_order(n_vertices, tails, heads, entry)
        new = {vertex: rank for rank, vertex in enumerate(order)}
        expected = {(new[u], new[v]) for u, v in zip(tails, heads, strict=True) if u in new}
        assert (graph.name, graph.entry, graph.n_vertices) == (name, 0, len(order))
        assert arcs_of(graph) == sorted(expected)
        # Every vertex but the entry has a smaller predecessor.
        assert {v for u, v in expected if u < v} == set(range(1, len(order)))


@given(batches, st.data())
def test_a_selection_is_the_batch_of_the_selected(drawn, data):
    marks = data.draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn)))
    selected = Batch.from_graphs("drawn", drawn).select(np.array(marks, dtype=bool))
    chosen = [graph for graph, marked in zip(drawn, marks, strict=True) if marked]
    same(selected, Batch.from_graphs("drawn", chosen))


def test_a_long_path_needs_no_recursion():
    n = 100_000
    batch = Batch.from_graphs("path", [("path", n, np.arange(n - 1), np.arange(1, n), 0)])
    assert batch.n_vertices == n
    np.testing.assert_array_equal(batch.targets, np.arange(1, n))


def test_a_batch_is_indexed_from_either_end_and_described():
    batch = small_batch()
    assert batch[-1].name == batch[2].name == "point"
    with pytest.raises(IndexError, match="graph 3 of a batch of 3"):
        batch[3]
    description = describe(small_batch())
    assert (description["graphs"], description["vertices"], description["arcs"]) == (3, 8, 8)
    assert description["sizes"] == {
        "min": 1,
        "mean": 8 / 3,
        "quantiles": {"0.25": 1, "0.5": 3, "0.75": 3, "0.9": 3, "0.99": 3},
        "max": 4,
        "share_at_most": {"32": 1.0, "64": 1.0, "1024": 1.0},
    }
    assert (description["degrees"]["min"], description["degrees"]["max"]) == (0, 2)
    assert description["license"] == "MIT"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (("g", 2, [0, 2], [1, 1], 0), "graph g: tail of an arc is 2, not one of its 2 vertices"),
        (("g", 2, [0, 1], [1, -1], 0), "graph g: head of an arc is -1, not one of its 2 vertices"),
        (("g", 2, [0], [1], 2), "graph g: entry is 2, not one of its 2 vertices"),
    ],
)
def test_ids_out_of_range_are_refused(graph, message):
    assert refusal(Batch.from_graphs, "bad", [("good", 3, [0], [2], 0), graph]) == message


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches)
def test_a_batch_comes_back_from_parquet(tmp_path, drawn):
    batch = Batch.from_graphs("drawn", drawn, metadata={"attribution": "© 標準"})
    write_batch(batch, tmp_path)
    back = read_batch(tmp_path)
    assert back.name == batch.name
    same(back, batch)
    assert batch.metadata.items() <= back.metadata.items()
    assert not list(tmp_path.glob("*.part"))
