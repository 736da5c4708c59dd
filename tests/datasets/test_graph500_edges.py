"""Binary edge lists of Graph500."""

import numpy as np
import pytest

from built import built, refusal, weighted_arcs
from relaxometer.datasets.readers.graph500_edges import read_edges

EDGES = np.array([[0, 3], [3, 1], [1, 1], [3, 0]], dtype="<i8")
WEIGHTS = np.array([0.5, 1.0, 0.0, 0.25], dtype="<f4")
VALUES = {"distribution": "values", "scale": 100}


def build(tmp_path, edges=EDGES, values=None, **parameters):
    files, entry = [tmp_path / "edges.bin"], {}
    files[0].write_bytes(edges.tobytes())
    if values is not None:
        files.append(tmp_path / "weights.bin")
        files[1].write_bytes(values.tobytes())
        entry["edge_weights"] = {"path": str(files[1])}
    return built("graph500-edges", *files, entry=entry, **{"scale": 2, **parameters})


def test_vertices_without_edges_stay(tmp_path):
    graph = build(tmp_path)
    assert graph.n_vertices == 4
    assert weighted_arcs(graph) == [(0, 3, 1), (1, 3, 1), (3, 0, 1), (3, 1, 1)]
    assert graph.metadata["edges_in_file"] == 4


def packed(edges):
    """Return edges as `packed_edge` of Graph500's generator/graph_generator.h."""
    words = [
        (v0 & 0xFFFFFFFF, v1 & 0xFFFFFFFF, v0 >> 32 & 0xFFFF | (v1 >> 32 & 0xFFFF) << 16) for v0, v1 in edges
    ]
    return np.array(words, dtype="<u4")


def test_packed_edges_are_the_same_graph_and_both_halves_of_their_ends_are_read(tmp_path):
    graph = build(tmp_path, packed(EDGES.tolist()), values=WEIGHTS, packed=True, weights=VALUES)
    assert weighted_arcs(graph) == weighted_arcs(build(tmp_path, values=WEIGHTS, weights=VALUES))
    edges = [[5, 2**33 + 7], [2**47 - 1, 2**32], [2**31, 0], [0, 2**46 + 2**31]]
    path = tmp_path / "edges.bin"
    path.write_bytes(packed(edges).tobytes())
    assert np.column_stack(read_edges(path, 2**47, packed=True)).tolist() == edges
    path.write_bytes(packed([[0, -1]]).tobytes())
    said = refusal(read_edges, path, 4, packed=True)
    assert "edge 0 (at byte 0) has vertex -1, expected one from 0 to 3;" in said


def test_packed_edges_that_are_read_as_pairs_have_advice(tmp_path):
    words = packed(EDGES.tolist())
    assert refusal(build, tmp_path, words).endswith("or has edges of 12 bytes (`packed: true`)")
    said = refusal(build, tmp_path, words[:3])
    assert "36 bytes is not a multiple of 16, " in said
    assert "; `packed: true` reads edges of 12" in said


def test_weights_come_from_a_second_file_and_are_noted_if_not_used(tmp_path, capsys):
    graph = build(tmp_path, values=WEIGHTS, weights=VALUES)
    assert weighted_arcs(graph) == [(0, 3, 25), (1, 3, 100), (3, 0, 25), (3, 1, 100)]
    assert graph.metadata["edge_weights"] == "weights.bin"
    assert build(tmp_path, values=WEIGHTS).metadata["values_in_file"] == "not used: weights are 1"
    assert "weights.bin: has values, but weights are 1; give `weights:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"packed": True}, "edges.bin: 64 bytes is not a multiple of 12, the size of an edge"),
        ({"edges": EDGES[:0]}, "edges.bin: no edges; the file is empty"),
        ({"scale": 1}, "edges.bin: edge 0 (at byte 0) has vertex 3, expected one from 0 to 1;"),
        ({"values": WEIGHTS[:3], "weights": VALUES}, "12 bytes; expected 4 for each of 4 edges"),
        ({"values": WEIGHTS * np.float32("nan"), "weights": VALUES}, "edge 0 has weight nan, expected 0 to"),
        ({"values": 0.5 - WEIGHTS, "weights": VALUES}, "edge 1 has weight -0.5, expected 0 to"),
        ({"weights": VALUES}, "graph small: weights are taken from values, but the entry has no `edge_w"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, parameters, message):
    assert message in refusal(build, tmp_path, **parameters)
