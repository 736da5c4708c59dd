"""Damaged files of graphs, batches and sources."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from relaxometer.distributed.stored import _tails as tails_of_slice
from relaxometer.distributed.stored import read_slice
from relaxometer.graphs.batch import Batch, read_batch, write_batch
from relaxometer.graphs.files import read_sources
from relaxometer.graphs.graph import Graph, read_degrees, read_graph, write_graph

PLACES = np.array([1.0, 2.0, 3.0, 4.0])
GRAPH = Graph.from_arcs(
    "small",
    4,
    [0, 1, 1, 2],
    [1, 0, 2, 1],
    [5, 5, 7, 7],
    lon=PLACES,
    lat=PLACES,
    metadata={"search_keys": [0, 2]},
)
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


def rows_are_those_of_the_written_graph(folder: Path) -> None:
    """Read the arcs as ranks do, without a hash: an accepted file must be a graph, not the same one."""
    for first, stop in ((0, 4), (1, 3), (2, 2)):
        arcs = outcome(read_slice, folder / "arcs.parquet", ["target", "weight"], first, stop)
        assert arcs is None or arcs["target"].dtype == arcs["weight"].dtype == np.uint32
        tails = outcome(tails_of_slice, folder / "vertices.parquet", first, stop)
        assert tails is None or (len(tails) == stop - first and np.all(tails[1:] >= tails[:-1]))


def batch_is_the_written_one(folder: Path) -> None:
    batch = outcome(read_batch, folder)
    if batch is not None:
        for name in ("names", "first_vertex", "entries", "offsets", "targets"):
            assert np.array_equal(getattr(batch, name), getattr(BATCH, name)), f"other {name}"


@cache
def sources() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"source": [3, 0, 2]}), stream)
    return stream.getvalue()


def drawn_sources(rng: random.Random, folder: Path) -> None:
    path = folder / "sources.parquet"
    path.write_bytes(mutant(rng, path.name, sources()))
    found = outcome(read_sources, path, 4)
    if found is not None:
        assert found.dtype == np.int64
        assert np.all((found >= 0) & (found < 4))


TARGETS = [
    Target("graph files", folder_target("graph", graph_is_the_written_one), 30),
    Target("batch files", folder_target("batch", batch_is_the_written_one), 20),
    Target("rows of a graph", folder_target("graph", rows_are_those_of_the_written_graph), 15),
    Target("sources", drawn_sources, 20),
]
