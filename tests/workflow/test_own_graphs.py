"""A graph of each kind passes through the workflow: with ids, of two files, made from others, of floats."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import heap_samples
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import load_registry
from relaxometer.graphs.graph import read_graph, write_graph
from sample_osm import write_extract
from tiny_workflow import ONCE, ROOT, UNDRAWN, only, run_once, write_tiny_map

pytestmark = pytest.mark.slow

KANTO = {"south": 34.8, "west": 138.3, "north": 37.2, "east": 141.0}

GRAPHS = {
    "my-dimacs": {"format": "dimacs", "path": "tiny.gr", "vertices": 108, "arcs": 390},
    "my-table": {
        "format": "table",
        "path": "towns.csv",
        "vertices": 4,
        "arcs": 6,
        "parameters": {"weight": "km"},
    },
    "my-graph500-edges": {
        "format": "graph500-edges",
        "path": "edges.bin",
        "edge_weights": {"path": "weights.bin"},
        "vertices": 4,
        "arcs": 4,
        "parameters": {"scale": 2, "weights": {"distribution": "values", "scale": 10}},
    },
    "my-heapsnapshot": {"format": "heapsnapshot", "path": "app.heapsnapshot", "vertices": 8, "arcs": 8},
    "my-hprof": {"format": "hprof", "path": "app.hprof", "vertices": 14, "arcs": 19},
    "my-osm-pbf": {"format": "osm-pbf", "path": "small.osm.pbf", "vertices": 4, "arcs": 6},
    "my-highways": {"format": "highways", "vertices": 6847, "arcs": 21764, "parameters": {"box": KANTO}},
    "my-graph500": {"format": "graph500", "vertices": 1024, "arcs": 21102, "parameters": {"scale": 10}},
    "my-ladder": {"format": "ladder", "vertices": 25, "arcs": 48, "parameters": {"rungs": 12}},
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

SEARCHED = [f"my-{kind}" for kind in ("table", "ladder", "sewn", "reweighted")]
"""With ids, with its own source, from other graphs, with long distances, and with floats."""

OF_TWO_FILES = "my-graph500-edges"

PAGES = ["my-table", "my-osm-pbf"]
"""Graphs whose pages differ: with ids, and with coordinates."""

ROOTED = {"my-ladder"}
"""Graphs with a single source of their own."""


def write_files(folder):
    """Write the files that the entries name."""
    towns = "from,to,km\nParis,Lyon,465\nLyon,Marseille,314\nMarseille,Nice,198\n"
    (folder / "towns.csv").write_text(towns, encoding="utf-8")
    edges = np.array([[0, 3], [3, 1], [1, 1], [3, 0]], dtype="<i8")
    (folder / "edges.bin").write_bytes(edges.tobytes())
    (folder / "weights.bin").write_bytes(np.array([0.5, 2, 0, 0.75], dtype="<f4").tobytes())
    (folder / "app.heapsnapshot").write_bytes(heap_samples.text(heap_samples.PLAIN))
    (folder / "app.hprof").write_bytes(heap_samples.java())
    write_extract(folder / "small.osm.pbf")


FLOATS = ["my-reweighted"]
"""Graphs with weights of type float32; sums of halves are exact."""


def run_graphs(workflow):
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
    return run_once(tmp_path_factory, "graphs", run_graphs)


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
    assert graph.weights.tolist() == [5, 20, 5, 20]


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
