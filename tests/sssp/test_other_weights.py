"""Studies on graphs whose weights are not uint32 with distances of the same type."""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.studies.throughput import measure_throughput
from relaxometer.studies.traffic import measure_traffic, slowed
from sample_graphs import FLOATS, as_type, sample_graphs


@pytest.fixture(params=["uint32/uint64", "float64"])
def graph(request):
    return as_type(sample_graphs()["grid"], request.param)


@pytest.fixture
def refusal(graph):
    return f"takes weights of type uint32, not {graph.lengths.title}"


def test_throughput(host_device, graph, refusal):
    names = ["many-sources", "phast-many", "phast-many-distances"]
    given = {"variants": names, "searches": [2], "repetitions": 1, "seed": 1}
    rows = measure_throughput(graph, host_device, **given).to_pylist()
    assert [row["status"] for row in rows] == ["ok", "skipped", "skipped"]
    assert rows[0]["proven"] == 2
    assert [row["reason"] for row in rows[1:]] == [refusal] * 2


def test_traffic(graph, refusal):
    given = {"rounds": 1, "searches": 2, "share": 0.5, "factor": 3.0, "seed": 1}
    names = ["near-far", "dijkstra-cpu", "phast"]
    rows = measure_traffic(graph, "host", variants=names, **given).to_pylist()
    assert [row["status"] for row in rows] == ["ok", "ok", "skipped"]
    assert rows[2]["reason"] == refusal
    assert rows[0]["slowed"] == rows[1]["slowed"] > 0


@pytest.mark.parametrize("kind", FLOATS)
def test_slowed_weights_are_neither_rounded_to_integers_nor_infinite(kind):
    graph, rng = as_type(sample_graphs()["grid"], kind), np.random.default_rng(1)
    weights = slowed(graph, 1.0, 3.0, rng)
    assert weights.dtype == graph.weights.dtype
    assert ((weights >= graph.weights) & (weights <= 3 * graph.weights)).all()
    assert (weights % 1 != 0).any()
    largest = Graph.from_arcs("largest", 2, [0], [1], [FLOATS[kind].largest], weight_type=kind)
    assert slowed(largest, 1.0, 3.0, rng).tolist() == [FLOATS[kind].largest]


@pytest.mark.parametrize(
    ("kind", "wider"),
    [
        ("uint32", "; `distances: uint64` in the graph's dataset holds it"),
        ("float32", "; weights of type float64 have distances that hold it"),
        ("float64", ""),
    ],
)
def test_a_path_that_is_too_long_names_the_wider_type(kind, wider):
    reason = f"a shortest path is longer than the largest distance of type {kind}{wider}"
    assert LENGTHS[kind].too_long == reason
