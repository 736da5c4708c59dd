"""Damaged files of graphs and batches."""

import json
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from relaxometer.graphs.batch import Batch, read_batch, write_batch
from relaxometer.graphs.graph import Graph, read_degrees, read_graph, write_graph

PLACES = np.array([1.0, 2.0, 3.0, 4.0])
ARCS, FACTS = ([0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 7, 7]), {"search_keys": [0, 2]}
GRAPH = Graph.from_arcs("small", 4, *ARCS, lon=PLACES, lat=PLACES, metadata=FACTS)
BATCH = Batch.from_graphs("two", [("one", 3, [0, 1], [1, 2], 0), ("other", 2, [0], [1], 0)])


@cache
def files_of(kind: str) -> dict[str, bytes]:
    """Return the files of the graph or the batch by name."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "graph":
            write_graph(GRAPH, Path(folder))
        else:
            write_batch(BATCH, Path(folder))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def mutant(rng: random.Random, name: str, content: bytes) -> bytes:
    if name.endswith(".json") and rng.random() < 0.6:
        return json.dumps(tree_damaged(rng, json.loads(content))).encode("utf-8", "surrogatepass")
    return damaged(rng, content)


def folder_target(kind: str, check: Callable[[Path], None]) -> Callable[[random.Random, Path], None]:
    """Return a function that damages one file of a graph or batch, and reads it back."""

    def try_one(rng: random.Random, folder: Path) -> None:
        files = files_of(kind)
        wrong = rng.choice(sorted(files))
        for name, content in files.items():
            (folder / name).write_bytes(mutant(rng, name, content) if name == wrong else content)
        check(folder)

    return try_one


def graph_is_the_written_one(folder: Path) -> None:
    graph = outcome(read_graph, folder)
    if graph is not None:
        for name in ("offsets", "targets", "weights"):
            assert np.array_equal(getattr(graph, name), getattr(GRAPH, name)), f"other {name}"
    degrees = outcome(read_degrees, folder)
    vertices = degrees is not None and json.loads((folder / "graph.json").read_bytes())["vertices"]
    assert degrees is None or (len(degrees) == vertices and np.all(degrees >= 0)), "not degrees of a graph"


def batch_is_the_written_one(folder: Path) -> None:
    batch = outcome(read_batch, folder)
    if batch is not None:
        for name in ("names", "first_vertex", "entries", "offsets", "targets"):
            assert np.array_equal(getattr(batch, name), getattr(BATCH, name)), f"other {name}"


TARGETS = [
    Target("graph files", folder_target("graph", graph_is_the_written_one), 30),
    Target("batch files", folder_target("batch", batch_is_the_written_one), 20),
]
