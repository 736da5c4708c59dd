"""What goes to a rival and what comes back: files of graphs, columns of answers, trees from distances."""

import errno
import json
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from faults import largest_file
from gap_files import gap_file
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers.dimacs import read_gr
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.tree import shortest_path_tree
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.rivals.answers import EXACT, NONE, TYPES, read_answer
from relaxometer.rivals.exchange import FORMATS, export, obstacle
from sample_graphs import sample_graphs


@st.composite
def graphs(draw):
    """Small graphs with zero weights, parallel arcs, self-loops and unreachable parts."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex, st.sampled_from([0, 0, 0, 1, 2, 5])), max_size=40))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ([], [], [])
    return Graph.from_arcs("random", n, tails, heads, weights, keep_self_loops=True, keep_parallel=True)


def scipy_distances(graph, source, hops=False):
    """Distances by SciPy, which takes one arc of several between two vertices: here the lightest."""
    merged = Graph.from_arcs("merged", graph.n_vertices, graph.tails, graph.targets, graph.weights)
    found = dijkstra(merged.to_scipy(), indices=source, unweighted=hops)
    return np.where(np.isinf(found), UNREACHED, found).astype(np.uint32)


# Trees


@pytest.mark.parametrize(("certifier", "hops"), [(SsspCertifier, False), (BfsCertifier, True)])
@given(graph=graphs() | st.sampled_from(list(sample_graphs().values())), data=st.data())
def test_distances_become_a_proof(host_device, certifier, hops, graph, data):
    vertices = st.integers(0, graph.n_vertices - 1)
    source = data.draw(vertices)
    distance = scipy_distances(graph, source, hops=hops)
    check = certifier(ResidentGraph.upload(host_device, graph)).check
    assert check(source, distance, shortest_path_tree(graph, source, distance, hops=hops)).holds

    vertex = data.draw(vertices)
    other = data.draw(st.sampled_from([0, 1, 2, 3, 4, 5, 7, 100, 2**31, 2**32 - 2, 2**32 - 1]))
    assume(other != distance[vertex])
    distance[vertex] = other
    assert not check(source, distance, shortest_path_tree(graph, source, distance, hops=hops)).holds


def test_an_unreached_vertex_has_no_predecessor_whatever_its_arcs():
    """An arc that would lead to a distance of 2**32 - 1, which means unreached."""
    graph = Graph.from_arcs("far", 3, [0, 1], [1, 2], [2**32 - 2, 1])
    distance = np.array([0, 2**32 - 2, UNREACHED], np.uint32)
    assert shortest_path_tree(graph, 0, distance).tolist() == [0, 0, NO_PREDECESSOR]


# Columns


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_columns_survive_every_type(tmp_path_factory, kind, data):
    dtype = np.dtype(TYPES[kind])
    is_float = dtype.kind == "f"
    largest = EXACT[TYPES[kind]] - 1 if is_float else np.iinfo(dtype).max - 1
    values = data.draw(st.lists(st.integers(0, min(largest, NONE - 1)) | st.none(), min_size=1, max_size=50))
    markers = [np.inf, -1, np.finfo(dtype).max] if is_float else [np.iinfo(dtype).max]
    markers += [-1, -(2**31)] if dtype.kind == "i" else []
    written = [data.draw(st.sampled_from(markers)) if value is None else value for value in values]
    folder = tmp_path_factory.mktemp("answer")
    np.array(written, dtype).tofile(folder / f"distance.{kind}")
    columns, overflowed = read_answer(folder, {"distance": range(len(values), len(values) + 1)})
    assert columns["distance"].tolist() == [NONE if value is None else value for value in values]
    assert columns["distance"].dtype == np.uint32
    assert not overflowed


@pytest.mark.parametrize("kind", ["u64", "i64", "f64"])
def test_a_finite_value_beyond_32_bits_is_an_overflow_of_the_first_column(tmp_path, kind):
    np.array([0, 2**32, 7], TYPES[kind]).tofile(tmp_path / f"distance.{kind}")
    np.array([0, 0, 1], "<u4").tofile(tmp_path / "predecessor.u32")
    columns, overflowed = read_answer(tmp_path, dict.fromkeys(("distance", "predecessor"), range(3, 4)))
    assert columns["distance"].tolist() == [0, NONE, 7]
    assert columns["predecessor"].tolist() == [0, NONE, 1]
    assert overflowed
    assert not read_answer(tmp_path, dict.fromkeys(("predecessor", "distance"), range(3, 4)))[1]


# Files of graphs


def arcs_of(graph, *, weights=True):
    columns = [graph.tails, graph.targets, graph.weights][: 3 if weights else 2]
    return [tuple(arc) for arc in np.column_stack(columns).tolist()]


@given(graph=graphs() | st.sampled_from(list(sample_graphs().values())))
def test_files_read_back_as_the_same_graph(tmp_path_factory, graph):
    folder = export(graph, tmp_path_factory.mktemp("exchange") / "graph", ["gr", "mtx", "sg"])
    assert np.array_equal(np.fromfile(folder / "offsets.i64", "<i8"), graph.offsets)
    assert np.array_equal(np.fromfile(folder / "targets.u32", "<u4"), graph.targets)
    assert np.array_equal(np.fromfile(folder / "weights.u32", "<u4"), graph.weights)
    facts = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    assert (facts["vertices"], facts["arcs"]) == (graph.n_vertices, graph.n_arcs)

    n_vertices, *columns = read_gr(folder / "graph.gr")
    assert n_vertices == graph.n_vertices
    assert [tuple(arc) for arc in np.column_stack(columns).tolist()] == arcs_of(graph)

    dataset = Dataset(
        format="matrix-market",
        path=str(folder / "graph.mtx"),
        parameters={"weights": {"distribution": "values"}},
    )
    if graph.n_arcs:
        read = build_graph("graph", dataset, files=[folder / "graph.mtx"])
        assert set(arcs_of(read)) <= set(arcs_of(graph))  # the lightest of parallel ones, and no loops
        pairs = {arc for arc in arcs_of(graph, weights=False) if arc[0] != arc[1]}
        assert set(arcs_of(read, weights=False)) == pairs
        assert read.n_vertices == graph.n_vertices

    for weights in (False, True):
        ending = "wsg" if weights else "sg"
        if obstacle(graph, ending):
            continue
        export(graph, folder, [ending])
        arcs = arcs_of(graph, weights=weights)
        directed = sorted((head, tail, *weight) for tail, head, *weight in arcs) != arcs
        expected = gap_file(graph.n_vertices, arcs, directed=directed)
        assert (folder / f"graph.{ending}").read_bytes() == expected


@pytest.mark.parametrize(("kind", "bits"), [("float32", 0x3F000000), ("float64", 0), ("int32", 4)])
def test_weights_of_other_types_have_one_word_per_arc(tmp_path, kind, bits):
    """For problems that do not read them."""
    graph = Graph.from_arcs("other", 2, [0], [1], [4 if kind == "int32" else 0.5], weight_type=kind)
    folder = export(graph, tmp_path / "graph", [])
    assert np.fromfile(folder / "weights.u32", "<u4").tolist() == [bits]


def test_what_gap_cannot_hold_and_files_of_a_batch_are_left_out(tmp_path):
    heavy = Graph.from_arcs("heavy", 2, [0], [1], [2**31])
    assert obstacle(heavy, "sg") == ""
    assert obstacle(heavy, "wsg") == ".wsg holds vertices and weights up to 2,147,483,647"
    folder = export(heavy, tmp_path / "heavy", ["sg", "wsg", "gr"])
    assert (folder / "graph.sg").exists()
    assert (folder / "graph.gr").exists()
    assert not (folder / "graph.wsg").exists()
    batch = Batch.from_graphs("two", [("a", 2, [0, 1], [1, 0], 0), ("b", 3, [0, 0], [1, 2], 0)])
    folder = export(batch, tmp_path / "two", ["gr"])
    assert np.fromfile(folder / "first_vertex.i64", "<i8").tolist() == [0, 2, 5]
    assert np.fromfile(folder / "entries.u32", "<u4").tolist() == [0, 0]
    assert np.fromfile(folder / "targets.u32", "<u4").tolist() == batch.targets.tolist()
    assert json.loads((folder / "graph.json").read_text(encoding="utf-8"))["graphs"] == 2
    assert not (folder / "weights.u32").exists()
    assert obstacle(batch, "gr") == ".gr holds one graph, not a batch"


def test_two_jobs_write_the_files_of_a_graph_at_once(tmp_path, monkeypatch):
    grid, writing = sample_graphs()["grid"], Event()

    def write_slowly(graph, path):
        with path.open("w", encoding="ascii") as file:
            writing.set()
            time.sleep(0.3)
            file.write("whole")

    monkeypatch.setitem(FORMATS, "gr", write_slowly)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(export, grid, tmp_path / "grid", ["gr"])
        assert writing.wait(10)
        export(grid, tmp_path / "grid", [])
        assert (first.result() / "graph.gr").read_text(encoding="ascii") == "whole"


def test_a_full_disk_is_an_error_of_the_system_that_names_the_file(tmp_path):
    grid = sample_graphs()["grid"]
    largest = max(array.nbytes for array in (grid.offsets, grid.targets, grid.weights))
    with largest_file(largest), pytest.raises(OSError, match="File too large") as error:
        export(grid, tmp_path / "grid", ["wsg"])
    assert error.value.errno == errno.EFBIG
    assert error.value.filename.startswith(str(tmp_path / "grid"))


def test_files_are_written_once_and_follow_the_graph(tmp_path):
    folder = tmp_path / "grid"
    grid, other = sample_graphs()["grid"], sample_graphs()["detour"]

    def dates():
        return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    export(grid, folder, ["gr"])
    first = dates()
    export(grid, folder, [])
    export(grid, folder, ["gr"])
    assert dates() == first
    export(grid, folder, ["sg"])
    assert {name: date for name, date in dates().items() if name != "graph.sg"} == first
    export(other, folder, [])
    assert not (folder / "graph.gr").exists()  # it was of the other graph
    assert np.fromfile(folder / "targets.u32", "<u4").tolist() == other.targets.tolist()
    (folder / "graph.json").write_text("not JSON", encoding="utf-8")
    export(grid, folder, [])
    assert np.fromfile(folder / "targets.u32", "<u4").tolist() == grid.targets.tolist()
