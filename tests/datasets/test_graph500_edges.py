"""Binary edge lists of Graph500."""

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers.graph500_edges import read_edges
from relaxometer.datasets.registry import Dataset

EDGES = np.array([[0, 3], [3, 1], [1, 1], [3, 0]], dtype="<i8")
WEIGHTS = np.array([0.5, 1.0, 0.0, 0.25], dtype="<f4")
VALUES = {"distribution": "values", "scale": 100}


def build(tmp_path, edges=EDGES, values=None, **parameters):
    files = [tmp_path / "edges.bin"]
    files[0].write_bytes(edges.tobytes())
    entry = {"format": "graph500-edges", "path": str(files[0]), "parameters": {"scale": 2, **parameters}}
    if values is not None:
        files.append(tmp_path / "weights.bin")
        files[1].write_bytes(values.tobytes())
        entry["edge_weights"] = {"path": str(files[1])}
    return build_graph("small", Dataset(**entry), files=files)


def arcs(graph):
    return list(zip(graph.tails.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))


def test_vertices_without_edges_stay(tmp_path):
    graph = build(tmp_path)
    assert graph.n_vertices == 4
    assert arcs(graph) == [(0, 3, 1), (1, 3, 1), (3, 0, 1), (3, 1, 1)]
    assert graph.metadata["edges_in_file"] == 4


def packed(edges):
    """Return edges as `packed_edge` of Graph500's generator/graph_generator.h."""
    words = [
        (v0 & 0xFFFFFFFF, v1 & 0xFFFFFFFF, v0 >> 32 & 0xFFFF | (v1 >> 32 & 0xFFFF) << 16) for v0, v1 in edges
    ]
    return np.array(words, dtype="<u4")


def test_packed_edges_are_the_same_graph(tmp_path):
    graph = build(tmp_path, packed(EDGES.tolist()), values=WEIGHTS, packed=True, weights=VALUES)
    assert arcs(graph) == arcs(build(tmp_path, values=WEIGHTS, weights=VALUES))


def test_both_halves_of_packed_ends_are_read(tmp_path):
    edges = [[5, 2**33 + 7], [2**47 - 1, 2**32], [2**31, 0], [0, 2**46 + 2**31]]
    path = tmp_path / "edges.bin"
    path.write_bytes(packed(edges).tobytes())
    assert np.column_stack(read_edges(path, 2**47, packed=True)).tolist() == edges
    path.write_bytes(packed([[0, -1]]).tobytes())
    with pytest.raises(UserError, match=r"edge 0 \(at byte 0\) has vertex -1, expected one from 0 to 3;"):
        read_edges(path, 4, packed=True)


def test_packed_edges_that_are_read_as_pairs_have_advice(tmp_path):
    words = packed(EDGES.tolist())
    with pytest.raises(UserError, match=r"or has edges of 12 bytes \(`packed: true`\)$"):
        build(tmp_path, words)
    with pytest.raises(
        UserError, match=r"36 bytes is not a multiple of 16, .*; `packed: true` reads edges of 12"
    ):
        build(tmp_path, words[:3])
    with pytest.raises(UserError, match=r"edges\.bin: 64 bytes is not a multiple of 12, the size of an edge"):
        build(tmp_path, packed=True)
    with pytest.raises(UserError, match=r"edges\.bin: no edges; the file is empty$"):
        build(tmp_path, EDGES[:0])


def test_weights_come_from_a_second_file(tmp_path):
    graph = build(tmp_path, values=WEIGHTS, weights=VALUES)
    assert arcs(graph) == [(0, 3, 25), (1, 3, 100), (3, 0, 25), (3, 1, 100)]
    assert graph.metadata["edge_weights"] == "weights.bin"


def test_weights_that_are_not_used_are_noted(tmp_path, capsys):
    assert build(tmp_path, values=WEIGHTS).metadata["values_in_file"] == "not used: weights are 1"
    assert "weights.bin: has values, but weights are 1; give `weights:" in capsys.readouterr().err


def test_a_wrong_vertex_names_its_edge(tmp_path):
    with pytest.raises(
        UserError, match=r"edges\.bin: edge 0 \(at byte 0\) has vertex 3, expected one from 0 to 1;"
    ):
        build(tmp_path, scale=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (WEIGHTS[:3], "12 bytes; expected 4 for each of 4 edges"),
        (np.array([0, 1, np.nan, 1], dtype="<f4"), "edge 2 has weight nan, expected 0 to"),
        (np.array([0, -1, 0, 1], dtype="<f4"), "edge 1 has weight -1.0, expected 0 to"),
    ],
)
def test_wrong_weights_are_one_line(tmp_path, values, message):
    with pytest.raises(UserError, match=message):
        build(tmp_path, values=values, weights=VALUES)


def test_values_need_their_file(tmp_path):
    with pytest.raises(
        UserError, match=r"^graph small: weights are taken from values, but the entry has no `edge"
    ):
        build(tmp_path, weights=VALUES)
