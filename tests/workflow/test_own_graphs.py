"""A graph of every format is built, and one of each kind passes through the workflow."""

import json
import re
import struct
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import heap_samples
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.formats import all_formats
from relaxometer.datasets.registry import load_registry
from relaxometer.graphs.graph import read_graph, write_graph
from sample_graphs import reference_distances
from sample_osm import write_extract, xml_of
from sample_railways import write_railways
from tiny_workflow import ONCE, ROOT, UNDRAWN, only, run_once, write_tiny_map

pytestmark = pytest.mark.slow

KANTO = {"south": 34.8, "west": 138.3, "north": 37.2, "east": 141.0}
VALUES = {"distribution": "values", "scale": 10}


def generated(form, vertices, arcs, /, **parameters):
    return {"format": form, "seed": 1, "vertices": vertices, "arcs": arcs, "parameters": parameters}


GRAPHS = {
    "my-dimacs": {"format": "dimacs", "path": "tiny.gr", "vertices": 108, "arcs": 390},
    "my-topology": {
        "format": "topology",
        "path": "edges.gr",
        "vertices": 4,
        "arcs": 6,
        "parameters": {"weights": {"distribution": "log-uniform", "range": [10, 1000], "seed": 3}},
    },
    "my-matrix-market": {
        "format": "matrix-market",
        "path": "matrix.mtx",
        "vertices": 3,
        "arcs": 4,
        "parameters": {"weights": VALUES},
    },
    "my-edge-list": {
        "format": "edge-list",
        "path": "edges.txt",
        "vertices": 3,
        "arcs": 2,
        "parameters": {"weights": VALUES, "directed": True},
    },
    "my-table": {
        "format": "table",
        "path": "towns.csv",
        "vertices": 4,
        "arcs": 6,
        "parameters": {"weight": "km"},
    },
    "my-npz": {"format": "npz", "path": "matrix.npz", "vertices": 2, "arcs": 1},
    "my-metis": {"format": "metis", "path": "lists.metis", "vertices": 3, "arcs": 4},
    "my-gap": {"format": "gap", "path": "arcs.sg", "vertices": 2, "arcs": 1},
    "my-graphml": {"format": "graphml", "path": "town.graphml", "vertices": 3, "arcs": 4},
    "my-node-link": {"format": "node-link", "path": "town.json", "vertices": 3, "arcs": 4},
    "my-graph500-edges": {
        "format": "graph500-edges",
        "path": "edges.bin",
        "edge_weights": {"path": "weights.bin"},
        "vertices": 4,
        "arcs": 4,
        "parameters": {"scale": 2, "weights": VALUES},
    },
    "my-heapsnapshot": {"format": "heapsnapshot", "path": "app.heapsnapshot", "vertices": 8, "arcs": 8},
    "my-hprof": {"format": "hprof", "path": "app.hprof", "vertices": 14, "arcs": 19},
    "my-heap-like": generated("heap-like", 300, 801, objects=300),
    "my-osm-pbf": {"format": "osm-pbf", "path": "small.osm.pbf", "vertices": 4, "arcs": 6},
    "my-osm-xml": {"format": "osm-xml", "path": "small.osm", "vertices": 4, "arcs": 6},
    "my-highways": {"format": "highways", "vertices": 6847, "arcs": 21764, "parameters": {"box": KANTO}},
    "my-ksj-n02": {"format": "ksj-n02", "path": "N02-24_GML.zip", "vertices": 5, "arcs": 10},
    "my-graph500": {"format": "graph500", "vertices": 1024, "arcs": 21102, "parameters": {"scale": 10}},
    "my-rmat": generated("rmat", 256, 4356, scale=8),
    "my-uniform-random": generated("uniform-random", 300, 2206, vertices=300, mean_degree=7.5),
    "my-grid": generated("grid", 63, 220, rows=7, columns=9),
    "my-chain": generated("chain", 20, 38, vertices=20),
    "my-star": generated("star", 20, 38, vertices=20),
    "my-complete": generated("complete", 12, 132, vertices=12),
    "my-binary-tree": generated("binary-tree", 31, 60, vertices=31),
    "my-road-like": generated("road-like", 600, 1620, rows=20, columns=30),
    "my-nearest-neighbors": generated("nearest-neighbors", 50, 194, vertices=50, neighbors=3),
    "my-delaunay": generated("delaunay", 50, 276, vertices=50),
    "my-barabasi-albert": generated("barabasi-albert", 50, 188, vertices=50, edges=2),
    "my-watts-strogatz": generated("watts-strogatz", 50, 196, vertices=50, neighbors=4, rewired=0.2),
    "my-flow-random": generated("flow-random", 40, 62, vertices=40),
    "my-ladder": {"format": "ladder", "vertices": 25, "arcs": 48, "parameters": {"rungs": 12}},
    "my-listed-arcs": {
        "format": "listed-arcs",
        "vertices": 4,
        "arcs": 3,
        "parameters": {"vertices": 4, "arcs": [[0, 1], [1, 2], [0, 3]]},
    },
    "my-sewn": {
        "format": "sewn",
        "extracted_from": "my-dimacs",
        "distances": "uint64",
        "vertices": 6 * 108,
        "arcs": 6 * 390 + 2 * 5 * 7,
        "parameters": {"rows": 2, "columns": 3, "roads": 5},
    },
    "my-reweighted": {
        "format": "reweighted",
        "extracted_from": "my-dimacs",
        "vertices": 108,
        "arcs": 390,
        "parameters": {"type": "float32", "scale": 0.5},
    },
}
"""Entries by name, ``my-`` and the format, with the counts of the graph."""

LARGE = {"kanto-like", "kanto-like-main"}
"""Formats of one size, a million vertices; ``tests/datasets/test_kanto.py`` builds them."""

SEARCHED = [f"my-{kind}" for kind in ("table", "ladder", "sewn", "reweighted")]
"""With ids, with its own source, from other graphs, with long distances, and with floats."""

OF_TWO_FILES = "my-graph500-edges"

PAGES = ["my-table", "my-osm-pbf"]
"""Graphs whose pages differ: with ids, and with coordinates."""

ROOTED = {"my-ladder"}
"""Graphs with a single source of their own."""

WEIGHTS = {
    "my-matrix-market": [15, 15, 20_000, 20_000],
    "my-edge-list": [5, 30],
    "my-graph500-edges": [5, 20, 5, 20],
}


def write_files(folder):
    """Write a small file of every format that is read from one."""
    files = {
        "edges.gr": "p tw 4 3\n1 2\n2 3\n4 2\n",
        "matrix.mtx": "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 2 2e3\n",
        "towns.csv": "from,to,km\nParis,Lyon,465\nLyon,Marseille,314\nMarseille,Nice,198\n",
        "lists.metis": "3 2\n2\n1 3\n2\n",
        "town.graphml": "\n".join(nx.generate_graphml(nx.path_graph(3))),
        "town.json": json.dumps(nx.node_link_data(nx.path_graph(3))),
        "small.osm": xml_of(),
        "edges.txt": "# from\tto\n1\t2\t.5\n70\t1\t3\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    edges = np.array([[0, 3], [3, 1], [1, 1], [3, 0]], dtype="<i8")
    (folder / "edges.bin").write_bytes(edges.tobytes())
    (folder / "weights.bin").write_bytes(np.array([0.5, 2, 0, 0.75], dtype="<f4").tobytes())
    (folder / "arcs.sg").write_bytes(struct.pack("<?qq3qi3qi", True, 1, 2, 0, 1, 1, 1, 0, 0, 1, 0))
    sp.save_npz(folder / "matrix.npz", sp.csr_array([[0, 5], [0, 0]]))
    (folder / "app.heapsnapshot").write_bytes(heap_samples.text(heap_samples.PLAIN))
    (folder / "app.hprof").write_bytes(heap_samples.java())
    write_extract(folder / "small.osm.pbf")
    write_railways(folder / "N02-24_GML.zip")


FLOATS = ["my-reweighted"]
"""Graphs with weights of type float32; sums of halves are exact."""


def run_all_formats(workflow):
    write_files(workflow.folder)
    variants = {"conventional": {"graphs": FLOATS}, "dijkstra-cpu": {"not_on": FLOATS}}
    section = {**only(*variants, variants=variants), "graphs": SEARCHED}
    workflow.configure({**UNDRAWN, "datasets": GRAPHS, "timing": ONCE, "sssp": section})
    # All pages and figures would be most of the jobs and show nothing new.
    files = [f"results/descriptions/graphs/{name}.json" for name in PAGES]
    files.append(f"results/graphs/{OF_TWO_FILES}/graph.json")
    workflow.run("--cores", "2", "--", "results/summary.csv", *files, timeout_s=1800)


@pytest.fixture(scope="module")
def finished_graphs(tmp_path_factory):
    """A run of one variant over a graph of every kind."""
    return run_once(tmp_path_factory, "formats", run_all_formats)


def test_every_format_of_a_graph_has_its_own():
    named = {name.removeprefix("my-") for name in GRAPHS}
    assert named | LARGE == {name for name, form in all_formats().items() if not form.batch}
    assert all(entry["format"] == name.removeprefix("my-") for name, entry in GRAPHS.items())


def test_every_answer_is_certified(finished_graphs):
    summary = finished_graphs.frame("summary.csv", "graph")
    assert set(summary.index) == set(SEARCHED)
    assert (summary["status"] == "ok").all()
    assert (summary["certified"] == 1).all()
    assert all(sources == (1 if graph in ROOTED else 2) for graph, sources in summary["sources"].items())


@pytest.mark.parametrize("name", PAGES)
def test_the_graph_has_a_page(finished_graphs, name):
    page = json.loads(finished_graphs.text(f"descriptions/graphs/{name}.json"))
    assert (page["vertices"], page["arcs"]) == (GRAPHS[name]["vertices"], GRAPHS[name]["arcs"])
    assert sum(page["degrees"]["count"]) == page["vertices"]
    assert finished_graphs.path(f"results/figures/common/degrees/{name}.svg").is_file()


def test_a_graph_of_two_files_is_built(finished_graphs):
    graph = read_graph(finished_graphs.path(f"results/graphs/{OF_TWO_FILES}"))
    assert graph.weights.tolist() == WEIGHTS[OF_TWO_FILES]


@pytest.mark.parametrize("name", [name for name, entry in GRAPHS.items() if "extracted_from" not in entry])
def test_the_graph_is_the_one_of_the_entry(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    write_tiny_map(tmp_path / "tiny.gr")
    dataset = load_registry(ROOT / "resources/datasets.yaml", GRAPHS)[name]
    graph = build_graph(name, dataset, files=[Path(file.path) for file in dataset.files])
    write_graph(graph, tmp_path / name)
    graph = read_graph(tmp_path / name)
    assert (graph.n_vertices, graph.n_arcs) == (GRAPHS[name]["vertices"], GRAPHS[name]["arcs"])
    assert graph.metadata["format"] == GRAPHS[name]["format"]
    if name in WEIGHTS:
        assert graph.weights.tolist() == WEIGHTS[name]


@pytest.mark.parametrize("name", SEARCHED)
def test_the_answer_is_the_shortest_paths(finished_graphs, name):
    graph = read_graph(finished_graphs.path(f"results/graphs/{name}"))
    source = int(finished_graphs.frame(f"sources/{name}.parquet")["source"].iloc[0])
    variant = "conventional" if name in FLOATS else "dijkstra-cpu"
    answer = finished_graphs.frame(f"runs/sssp/{name}/{variant}/answer.parquet")
    units = 2 if name in FLOATS else 1  # of the reference, which takes integers
    in_units = replace(graph, weights=(graph.weights * units).astype(np.uint32))
    distance = answer["distance"].to_numpy()
    assert distance.dtype == graph.lengths.distances
    np.testing.assert_array_equal(distance * units, reference_distances(in_units, source))


def test_ids_of_a_file_pass_through_the_workflow(finished_graphs):
    ids = finished_graphs.frame("graphs/my-table/vertices.parquet")["id"]
    assert ids.tolist() == ["Lyon", "Marseille", "Nice", "Paris"]
    sources = finished_graphs.frame("sources/my-table.parquet")
    assert sources["id"].tolist() == ids.take(sources["source"]).tolist()
    page = finished_graphs.text("pages/graphs/my-table.html")
    assert re.search(
        "<th>The lower bound is the distance between</th><td>(Paris and Nice|Nice and Paris)<", page
    )


def test_floats_pass_through_the_workflow(finished_graphs):
    integers, floats = (
        read_graph(finished_graphs.path(f"results/graphs/{name}")) for name in ("my-dimacs", "my-reweighted")
    )
    assert floats.weights.dtype == np.float32
    np.testing.assert_array_equal(floats.weights * 2, integers.weights)
    assert floats.weights.tolist() != np.rint(floats.weights).tolist()
    distance = finished_graphs.frame("runs/sssp/my-reweighted/conventional/answer.parquet")["distance"]
    assert len(np.unique(distance % 1)) == 2, "halves, which no integer holds"
