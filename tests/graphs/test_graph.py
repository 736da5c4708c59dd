"""CSR graphs: building against a dense reference, and Parquet that is read back or refused."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from built import refusal, weighted_arcs
from relaxometer.core.errors import UserError
from relaxometer.graphs import lengths
from relaxometer.graphs.graph import MAX_WEIGHT, Graph, content_hash, describe, read_graph, write_graph
from relaxometer.graphs.lengths import lengths_for


@st.composite
def arc_lists(draw, max_vertices=8, max_arcs=40):
    """Draw (n_vertices, tails, heads, weights) with loops, parallel arcs and zero weights."""
    n_vertices = draw(st.integers(1, max_vertices))
    n_arcs = draw(st.integers(0, max_arcs))
    ends = hnp.arrays(np.int64, n_arcs, elements=st.integers(0, n_vertices - 1))
    weights = hnp.arrays(np.int64, n_arcs, elements=st.integers(0, 3) | st.integers(0, MAX_WEIGHT))
    return n_vertices, draw(ends), draw(ends), draw(weights)


WEIGHTS = {
    "uint32": (np.int64, st.integers(0, MAX_WEIGHT)),
    "float32": (np.float32, st.floats(0, float(np.finfo(np.float32).max), width=32)),
    "float64": (np.float64, st.floats(0, float(np.finfo(np.float64).max))),
    "int32": (np.int64, st.integers(-(2**31 - 1), 2**31 - 1)),
}
"""By type: how weights are given, and what they may be."""


@st.composite
def graphs(draw):
    """Draw a graph of any type of weights, with or without coordinates."""
    n_vertices, tails, heads, _ = draw(arc_lists())
    weight_type = draw(st.sampled_from(sorted(WEIGHTS)))
    given_as, elements = WEIGHTS[weight_type]
    arcs = tails, heads, draw(hnp.arrays(given_as, len(tails), elements=elements))
    degrees = hnp.arrays(np.float64, n_vertices, elements=st.floats(-90, 90))
    lon, lat = draw(st.none() | st.tuples(degrees, degrees)) or (None, None)
    metadata = {"license": "ODbL 1.0", "attribution": "© OpenStreetMap contributors"}
    return Graph.from_arcs(
        "drawn", n_vertices, *arcs, lon=lon, lat=lat, weight_type=weight_type, metadata=metadata
    )


def small_graph():
    return Graph.from_arcs("small", 4, [0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 7, 7], metadata={"license": "MIT"})


@given(arc_lists())
def test_arcs_are_the_lightest_of_each_pair_sorted_and_typed(drawn):
    n_vertices, tails, heads, weights = drawn
    graph = Graph.from_arcs("drawn", n_vertices, tails, heads, weights)
    lightest = {}
    for u, v, w in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        if u != v:
            lightest[u, v] = min(w, lightest.get((u, v), w))
    assert weighted_arcs(graph) == sorted((u, v, w) for (u, v), w in lightest.items())
    assert (graph.offsets.dtype, graph.targets.dtype, graph.weights.dtype) == (np.int64, np.uint32, np.uint32)
    assert (graph.offsets[0], graph.offsets[-1]) == (0, graph.n_arcs)
    assert graph.n_vertices == n_vertices


@given(arc_lists())
def test_loops_and_parallel_arcs_can_be_kept(drawn):
    graph = Graph.from_arcs("drawn", *drawn, keep_self_loops=True, keep_parallel=True)
    _, *columns = drawn
    assert weighted_arcs(graph) == sorted(zip(*(column.tolist() for column in columns), strict=True))


@given(arc_lists(), st.booleans(), st.booleans())
def test_undirected_arcs_are_arcs_both_ways(drawn, loops, parallel):
    n_vertices, tails, heads, weights = drawn
    keep = {"keep_self_loops": loops, "keep_parallel": parallel}
    both = [np.concatenate(pair) for pair in ((tails, heads), (heads, tails), (weights, weights))]
    one_way = Graph.from_arcs("one way", n_vertices, *both, **keep)
    undirected = Graph.from_arcs("undirected", *drawn, undirected=True, **keep)
    assert content_hash(undirected) == content_hash(one_way)
    assert undirected.metadata == {"directed": False}


@given(arc_lists(), st.booleans(), st.booleans())
@settings(max_examples=30)
def test_high_ids_give_the_same_arcs(drawn, loops, parallel):
    n_vertices, tails, heads, weights = drawn
    shift = 2**17  # a bucket then holds many rows
    options = {"undirected": True, "keep_self_loops": loops, "keep_parallel": parallel}
    low = Graph.from_arcs("low", *drawn, **options)
    high = Graph.from_arcs("high", n_vertices + shift, tails + shift, heads + shift, weights, **options)
    assert [(u - shift, v - shift, w) for u, v, w in weighted_arcs(high)] == weighted_arcs(low)


@given(arc_lists())
def test_scipy_gets_every_arc_with_zero_weights_explicit(drawn):
    graph = Graph.from_arcs("drawn", *drawn)
    matrix = graph.to_scipy()
    assert matrix.nnz == graph.n_arcs
    dense = matrix.toarray()
    np.testing.assert_array_equal(dense[graph.tails, graph.targets], graph.weights)


@given(arc_lists(), st.data())
def test_an_induced_subgraph_keeps_the_arcs_inside(drawn, data):
    graph = Graph.from_arcs("drawn", *drawn)
    marked = np.array(data.draw(st.lists(st.booleans(), min_size=drawn[0], max_size=drawn[0])), dtype=bool)
    inside = graph.induced(marked)
    old_id = np.flatnonzero(marked)
    expected = [(u, v, w) for u, v, w in weighted_arcs(graph) if marked[u] and marked[v]]
    assert [(old_id[u], old_id[v], w) for u, v, w in weighted_arcs(inside)] == expected


def test_an_induced_subgraph_has_no_search_keys_of_the_whole():
    graph = small_graph()
    graph.metadata["search_keys"] = [0, 3]
    assert graph.induced(np.array([False, True, True, True])).metadata == {"license": "MIT"}
    assert graph.largest_component().metadata == {"license": "MIT"}
    assert graph.metadata["search_keys"] == [0, 3]


@given(graphs())
def test_the_largest_component_is_connected_and_closed(graph):
    _, labels = graph.component_labels()
    largest = graph.largest_component()
    assert largest.n_vertices == np.bincount(labels).max()
    assert largest.component_labels()[0] == 1
    np.testing.assert_array_equal(labels[graph.tails], labels[graph.targets])


@pytest.mark.parametrize(
    ("tails", "heads", "weights", "message"),
    [
        ([0, 3], [1, 1], [1, 1], "graph bad: tail of arc 1 is 3; expected an integer from 0 to 2"),
        ([0, 1], [-1, 1], [1, 1], "graph bad: head of arc 0 is -1; expected an integer from 0 to 2"),
        ([0, 1], [1, 0], [1, -1], "graph bad: weight of arc 1 is -1; expected an integer from 0 to 42949672"),
        ([0, 1], [1, 0], [2**32 - 1, 1], "graph bad: weight of arc 0 is 4294967295; expected an integer"),
        ([0, 1], [1, 0], [0.5, 1], "graph bad: weights are float64; integers from 0 to"),
        ([0, 1], [1, 0], [0.5, np.nan], "graph bad: weight of arc 1 is nan; expected a finite number from 0"),
    ],
)
def test_invalid_arcs_are_refused(tails, heads, weights, message):
    kind = "float64" if "finite" in message else "uint32"
    said = refusal(Graph.from_arcs, "bad", 3, tails, heads, weights, weight_type=kind)
    assert said.startswith(message)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs())
def test_a_graph_comes_back_from_parquet(tmp_path, graph):
    write_graph(graph, tmp_path)
    back = read_graph(tmp_path)
    assert back.name == graph.name
    for column in ("offsets", "targets", "weights", "lon", "lat"):
        expected, found = getattr(graph, column), getattr(back, column)
        if expected is None:
            assert found is None
        else:
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
    assert back.metadata["weight_type"] == graph.weights.dtype.name
    assert graph.metadata.items() <= back.metadata.items()
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("graph", "key", "wrong", "message"),
    [
        ("floats", "weight_type", "float16", "graph.json: weight_type is 'float16'; expected"),
        ("floats", "weight_type", [1], "graph.json: weight_type is '[1]'; expected"),
        ("floats", "weight_type", "uint32", "distance_type is 'float32'; expected uint32 or uint64"),
        ("wide", "distance_type", None, "graph.json: distance_type is 'None'; expected uint32 or uint64"),
        ("wide", "distance_type", "float32", "graph.json: distance_type is 'float32'; expected uint32 or"),
        ("wide", "distance_type", "uint32", "the graph is not the one that was written"),
    ],
)
def test_a_wrong_type_in_the_description_is_one_line(tmp_path, graph, key, wrong, message):
    floats = Graph.from_arcs("floats", 2, [0], [1], [0.5], weight_type="float32")
    write_graph(floats if graph == "floats" else wide_graph(), tmp_path)
    path = tmp_path / "graph.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**description, key: wrong}), encoding="utf-8")
    assert message in refusal(read_graph, tmp_path)


def wide_graph(weight=MAX_WEIGHT):
    return Graph.from_arcs("wide", 3, [0, 1], [1, 2], [weight, weight], weight_type="uint32/uint64")


class TestDistanceType:
    """Files say whether distances have 64 bits, and the hash of the content covers it."""

    def test_it_is_read_back(self, tmp_path):
        write_graph(wide_graph(), tmp_path)
        graph = read_graph(tmp_path)
        assert graph.lengths.name == "uint32/uint64"
        assert (graph.metadata["weight_type"], graph.metadata["distance_type"]) == ("uint32", "uint64")
        assert graph.largest_component().lengths is graph.lengths
        assert content_hash(graph) != content_hash(replace(graph, distance_type=None))

    def test_only_uint32_has_wide_distances(self):
        assert "uint64 need weights of type uint32, not float32" in refusal(lengths_for, "float32", "uint64")
        assert "float32 need weights of type float32, not uint32" in refusal(lengths_for, "uint32", "float32")


@given(arc_lists())
def test_parallel_arcs_are_merged_to_the_lightest_of_any_type(drawn):
    """Another unit and a shift below zero keep the order of weights."""
    *arcs, weights = drawn
    weights = weights % 1000
    integers = weighted_arcs(Graph.from_arcs("drawn", *arcs, weights))
    floats = Graph.from_arcs("drawn", *arcs, weights * 0.1, weight_type="float32")
    assert weighted_arcs(floats) == [(u, v, float(np.float32(w * 0.1))) for u, v, w in integers]
    shifted = Graph.from_arcs("drawn", *arcs, weights - 500, weight_type="int32")
    assert weighted_arcs(shifted) == [(u, v, w - 500) for u, v, w in integers]


def test_the_description_counts():
    description = describe(small_graph())
    assert (description["vertices"], description["arcs"]) == (4, 4)
    assert (description["min_weight"], description["max_weight"], description["mean_weight"]) == (5, 7, 6.0)
    assert (description["components"], description["component_sizes"]) == (2, [3, 1])
    assert (description["mean_degree"], description["max_degree"]) == (1.0, 2)
    assert description["license"] == "MIT"


def test_a_long_column_is_hashed_in_pieces(monkeypatch):
    graph = Graph.from_arcs("path", 100, np.arange(99), np.arange(1, 100), np.arange(99))
    short = content_hash(graph)
    monkeypatch.setattr("relaxometer.graphs.graph.HASHED_PIECE", 64)
    in_pieces = content_hash(graph)
    assert in_pieces != short
    digest = hashlib.sha256()
    for column in (graph.offsets, graph.targets, graph.weights):
        content = column.tobytes()
        pieces = [content[start : start + 64] for start in range(0, len(content), 64)]
        digest.update(b"".join(hashlib.sha256(piece).digest() for piece in pieces))
    assert in_pieces == digest.hexdigest()
    graph.weights[98] += 1
    assert content_hash(graph) != in_pieces


class TestDoubles:
    """Weights of 64 bits are sorted by their ranks, and stored as they are."""

    NEXT = float(np.nextafter(0.1, 1))
    LARGEST = float(np.finfo(np.float64).max)

    def graph(self, weights):
        arcs = np.zeros(len(weights), dtype=int), np.ones(len(weights), dtype=int)
        return Graph.from_arcs("doubles", 2, *arcs, weights, keep_parallel=True, weight_type="float64")

    def test_the_last_bit_decides(self):
        weights = [self.NEXT, 0.1, 5e-324, self.LARGEST, 0.0, -0.0, 0.1]
        graph = self.graph(weights)
        assert graph.weights.tolist() == sorted(weights)
        assert not np.signbit(graph.weights).any()
        one = Graph.from_arcs("one", 2, [0, 0], [1, 1], [self.NEXT, 0.1], weight_type="float64")
        assert one.weights.tolist() == [0.1]

    @pytest.mark.parametrize("scale", [1.0, 2.0**1000, 2.0**-1060])
    def test_mean_and_deviation_neither_overflow_nor_vanish(self, scale):
        found = describe(self.graph([scale, 3 * scale]))
        assert (found["mean_weight"], found["sd_weight"]) == (2 * scale, scale)
        largest = describe(self.graph([self.LARGEST] * 3))
        assert (largest["mean_weight"], largest["sd_weight"]) == (self.LARGEST, 0)

    def test_more_different_ones_than_ranks(self, monkeypatch):
        monkeypatch.setattr(lengths, "MAX_DISTINCT", 2)
        with pytest.raises(UserError, match=r"^graph doubles: 3 different weights; expected at most 2$"):
            self.graph([1.0, 3.0, 2.0])
