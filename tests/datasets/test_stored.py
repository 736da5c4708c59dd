"""Graphs as other programs store them: METIS, the GAP Benchmark Suite, SciPy, networkx."""

import bz2
import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import relaxometer as rx
from built import built_from, refusal, weights_by_ends
from gap_files import gap_file
from relaxometer.core.errors import UserError

ARCS = {(0, 1): 5, (1, 0): 5, (1, 2): 7, (2, 1): 7}
METIS = "% a path, and a vertex without edges\n4 2 {}\n{}\n{}\n{}\n\n"


@pytest.mark.parametrize(
    ("header", "lists", "weighted"),
    [
        ("", ("2", "1 3", "2"), False),
        ("1", ("2 5", "% a comment\n1 5 3 7", "2 7"), True),
        ("011 2", ("8 9 2 5", "8 9 1 5 3 7", "8 9 2 7\n8 9"), True),
        ("110 1", ("4 8 2", "4 8 1 3", "4 8 2\n4 8"), False),
    ],
)
def test_metis(tmp_path, header, lists, weighted):
    content = METIS.format(header, *lists)
    graph = built_from(tmp_path, "metis", content)
    assert graph.n_vertices == 4
    assert weights_by_ends(graph) == (ARCS if weighted else dict.fromkeys(ARCS, 1))
    packed = built_from(
        tmp_path, "metis", bz2.compress(content.replace("\n", "\r\n").encode()), "file.metis.bz2"
    )
    assert weights_by_ends(packed) == weights_by_ends(graph)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 1\n2\n1\n", ":1: the header announces 3 vertices, but 2 lines follow"),
        ("2 2\n2\n1\n", ":1: the header announces 2 edges, but the lists have 2 neighbours"),
        ("2 1\n2\n1\n1\n", ":4: '1': more vertices than the header announces"),
        ("2 1\n3\n1\n", ":2: '3': a neighbour that is not a vertex"),
        ("2 1 1\n2\n1 4\n", ":2: '2': the number of fields does not fit"),
        ("2 1\n2\n1.5\n", ":3: '1.5': expected integers"),
        ("2 1\n2\n1111111111111111111\n", ":3: .*more than 18 digits"),
        ("2 1 0 1\n2\n1\n", ":1: .*the format has none"),
        ("2\n", ":1: '2': expected '<vertices> <edges>"),
        ("2 1 1\n2 4\n1 5\n", "edges of vertices 1 and 2, .*another weight"),
        ("3 1\n2\n\n1\n", "edges of vertices 1 and 2, .*one is missing"),
        ("", "no header"),
    ],
)
def test_faults_of_metis_files_are_named(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        built_from(tmp_path, "metis", content)


def test_an_edge_that_is_listed_twice_has_one_drawn_weight(tmp_path):
    drawn = {"distribution": "log-uniform", "range": [1, 10**6]}
    graph = built_from(tmp_path, "metis", METIS.format("", "2", "1 3", "2"), weights=drawn)
    assert not graph.metadata["directed"]
    assert len(set(graph.weights.tolist())) == 2


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gap(tmp_path, directed, weighted):
    arcs = [(*ends, weight) if weighted else ends for ends, weight in ARCS.items()]
    content, name = gap_file(4, arcs, directed=directed), "file.wsg" if weighted else "file.sg"
    graph = built_from(tmp_path, "gap", content, name)
    assert graph.n_vertices == 4
    assert weights_by_ends(graph) == (ARCS if weighted else dict.fromkeys(ARCS, 1))
    with pytest.raises(UserError, match="incomplete, or its name has the other ending"):
        built_from(tmp_path, "gap", content, "file.sg" if weighted else "file.wsg")
    for damaged in (content[:-1], b"", content[:17] + b"\xff" + content[18:], b"\2" + content[1:]):
        assert "file" in refusal(built_from, tmp_path, "gap", damaged, name)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_npz(tmp_path, form):
    matrix = sp.coo_array(([0.5, 0.0, 2.0], ([0, 1, 2], [1, 2, 0])), shape=(3, 3)).asformat(form)
    sp.save_npz(tmp_path / "m.npz", matrix)
    graph = rx.Graph.from_file(tmp_path / "m.npz").csr
    assert weights_by_ends(graph) == {(0, 1): 0.5, (1, 2): 0, (2, 0): 2}


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sp.csr_array((2, 3)), "expected as many rows as columns"),
        (sp.csr_array([[0, 1j], [0, 0]]), "expected real numbers"),
        (sp.dia_array(np.eye(2)), "expected csr, csc or coo"),
        (sp.csr_array([[0, -1.0], [0, 0]]), "value -1 is not a number from"),
    ],
)
def test_matrices_that_are_no_graphs_are_refused(tmp_path, matrix, message):
    sp.save_npz(tmp_path / "m.npz", matrix)
    with pytest.raises(UserError, match=message):
        built_from(tmp_path, "npz", (tmp_path / "m.npz").read_bytes(), "m.npz")


@pytest.mark.parametrize("form", ["graphml", "node-link"])
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_files_of_networkx(tmp_path, form, kind):
    town = kind()
    town.add_weighted_edges_from([("Paris", "Lyon", 4), ("Lyon", "Nice", 3)], weight="km")
    if form == "graphml":
        content = "\n".join(nx.generate_graphml(town))
    else:
        content = json.dumps(nx.node_link_data(town, edges="links" if kind is nx.Graph else "edges"))
    graph = built_from(tmp_path, form, content, weight="km")
    ids = graph.ids.to_pylist()
    found = {(ids[u], ids[v]): weight for (u, v), weight in weights_by_ends(graph).items()}
    expected = {("Paris", "Lyon"): 4, ("Lyon", "Nice"): 3}
    reverse = {ends[::-1]: weight for ends, weight in expected.items()}
    assert found == (expected if town.is_directed() else expected | reverse)
    assert "networkx cannot read it" in refusal(built_from, tmp_path, form, content[: len(content) // 2])
    said = refusal(built_from, tmp_path, form, content, weight="kms")
    assert "no edge has the attribute 'kms'; did you mean 'km'?" in said


def test_numbers_of_networkx_stay_numbers_and_weights_are_complete(tmp_path):
    edges = [{"source": 7, "target": 10**12, "weight": 2}, {"source": 7, "target": 3}]
    data = {"nodes": [{"id": node} for node in (7, 10**12, 3)], "edges": edges[:1]}
    assert built_from(tmp_path, "node-link", json.dumps(data)).ids.to_pylist() == [7, 10**12, 3]
    said = refusal(built_from, tmp_path, "node-link", json.dumps(data | {"edges": edges}))
    assert "attribute 'weight' of edge '(7, 3)' is 'None'; expected a number" in said
