"""Damaged data files for every reader."""

from __future__ import annotations

import gzip
import json
import lzma
import random
import struct
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np

from fuzz import reference
from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers import osm_blocks, osm_pbf
from relaxometer.datasets.readers.python_cfgs import graphs_of_file
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from sample_osm import HEADER, block, blocks_of
from sample_railways import railway_layers

GR = b"c roads\np sp 4 5\na 1 2 10\na 2 3 0\na 3 1 7\nc\na 1 2 4294967294\na 4 4 1\n"
CO = b"c\np aux sp co 4\nv 1 -73530767 41085396\nv 3 -73530538 41086098\nv 2 0 -90000000\nv 4 5 6\n"
PACE = b"c edges\np tw 5 4\n1 2\n2 3\n1 2\n4 5\n"
MTX = b"%%MatrixMarket matrix coordinate real symmetric\n% by hand\n4 4 4\n1 2 1.5\n3 3 2e3\n4 1 .25\n3 1 7\n"
EDGES = b"# from\tto\n1\t2\t.5\n70\t1\t3\n2\t70\t1e2\n5\t6\t0\n"
SCALE = 10.0
VALUES = {"distribution": "values", "scale": SCALE}


def contained(rng: random.Random, path: Path, content: bytes) -> tuple[Path, bytes | None]:
    """Write a file, sometimes compressed, and the compressed file sometimes damaged.

    Returns the path, and the content that a reader should find; None if only the reader knows.
    """
    kind = rng.choice(["", "", "", "", "", ".gz", ".xz"])
    path = path.with_name(path.name + kind)
    if kind:
        packed = gzip.compress(content, 1, mtime=0) if kind == ".gz" else lzma.compress(content, preset=0)
        if rng.random() < 0.7:
            packed = damaged(rng, packed)
            try:
                content = gzip.decompress(packed) if kind == ".gz" else lzma.decompress(packed)
            except Exception:
                path.write_bytes(packed)
                return path, None
        path.write_bytes(packed)
    else:
        path.write_bytes(content)
    return path, content


def compared(graph: Graph | None, expected: Callable[[], tuple[int, reference.Arcs]]) -> None:
    """Check that a graph is the expected one; ValueError of `expected` says that there is none."""
    try:
        n_vertices, arcs = expected()
    except ValueError:
        assert graph is None, "accepted a file that the simple reader refuses"
        return
    assert graph is not None, "refused a file that the simple reader accepts"
    assert graph.n_vertices == n_vertices, "another number of vertices"
    for name, found, wanted in zip(
        ("offsets", "targets", "weights"),
        (graph.offsets, graph.targets, graph.weights),
        reference.csr(n_vertices, arcs),
        strict=True,
    ):
        assert found.tolist() == wanted, f"other {name}"


def text_target(
    form: str, sample: bytes, expected: Callable[[bytes], tuple[int, reference.Arcs]], **parameters: Any
) -> Callable[[random.Random, Path], None]:
    """Return a function that damages a text file, and compares its graph with that of the simple reader."""

    dataset = Dataset(format=form, path="file", parameters=parameters)

    def try_one(rng: random.Random, folder: Path) -> None:
        path, content = contained(rng, folder / "file", damaged(rng, sample))
        graph = outcome(build_graph, "mutant", dataset, files=[path])
        if content is not None:
            compared(graph, partial(expected, content))
        else:
            assert graph is None, "accepted a damaged container"

    return try_one


WITH_PLACES = Dataset(format="dimacs", path="file.gr", coordinates={"path": "file.co"})


def dimacs_with_places(rng: random.Random, folder: Path) -> None:
    arcs, places = folder / "file.gr", folder / "file.co"
    content = damaged(rng, CO)
    arcs.write_bytes(GR)
    places.write_bytes(content)
    graph = outcome(build_graph, "mutant", WITH_PLACES, files=[arcs, places])
    try:
        expected = reference.places(content, 4)
    except ValueError:
        assert graph is None, "accepted places that the simple reader refuses"
        return
    assert graph is not None, "refused places that the simple reader accepts"
    assert list(zip(graph.lon.tolist(), graph.lat.tolist(), strict=True)) == expected


def graph500_edges(rng: random.Random, folder: Path) -> None:
    scale = rng.choice([2] * 50 + [20, 31])
    edges = np.array([[0, 1], [1, 2], [3, 0], [2, 2]], "<i8").tobytes()
    values = np.array([0, 1, 7.5, 250], "<f4").tobytes()
    if rng.random() < 0.7:
        edges = damaged(rng, edges)
    else:
        values = damaged(rng, values)
    paths = [folder / "edges", folder / "weights"]
    for path, content in zip(paths, (edges, values), strict=True):
        path.write_bytes(content)
    dataset = Dataset(
        format="graph500-edges",
        path=str(paths[0]),
        edge_weights={"path": str(paths[1])},
        parameters={"scale": scale, "weights": {"distribution": "values", "scale": 1}},
    )
    graph = outcome(build_graph, "mutant", dataset, files=paths)

    def expected() -> tuple[int, reference.Arcs]:
        reference.expect(len(values) % 4 == 0)
        floats = [number for (number,) in struct.iter_unpack("<f", values)]
        return reference.graph500_edges(edges, floats, scale)

    compared(graph, expected)


COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def railways(rng: random.Random, folder: Path) -> None:
    """Damage the tree or the text of the layers in an archive, or the archive."""
    layers = {layer: {"features": features} for layer, features in railway_layers().items()}
    if rng.random() < 0.6:
        layers = tree_damaged(rng, layers)
    path = folder / "N02.zip"
    with zipfile.ZipFile(path, "w", rng.choice(COMPRESSIONS)) as members:
        for layer, content in layers.items() if isinstance(layers, dict) else ():
            text = json.dumps(content).encode()
            members.writestr(
                f"UTF-8/N02-24_{layer}.geojson", damaged(rng, text) if rng.random() < 0.3 else text
            )
    if rng.random() < 0.3:
        path.write_bytes(damaged(rng, path.read_bytes()))
    graph = outcome(build_graph, "mutant", Dataset(format="ksj-n02", path=str(path)), files=[path])
    if graph is not None:
        sound(graph)


def sound(graph: Graph) -> None:
    """Check what holds for every graph from an undirected file."""
    assert graph.is_sound
    assert not np.any(graph.tails == graph.targets)
    assert graph.metadata["directed"] is False
    assert graph.component_labels()[0] == 1
    for degrees, largest in ((graph.lon, 180), (graph.lat, 90)):
        assert degrees is not None
        assert np.all(np.abs(degrees) <= largest)


OSM_NODES = {1 + i: (i % 5 / 1000, i // 5 / 1000) for i in range(25)}
OSM_WAYS = {
    i: (list(range(1 + 5 * i, 6 + 5 * i)), {"highway": "residential", "oneway": "yes"}) for i in range(5)
}
OSM_WAYS |= {9 + i: (list(range(1 + i, 26, 5)), {"highway": "primary"}) for i in range(5)}


@cache
def osm() -> list[bytes]:
    return blocks_of(OSM_NODES, OSM_WAYS, ways_per_block=4)


def osm_walk(rng: random.Random, folder: Path) -> None:
    """Damage an extract anywhere; only the walk through its blocks is tried."""
    path = folder / "mutant.osm.pbf"
    path.write_bytes(damaged(rng, b"".join(osm())))
    found = outcome(osm_blocks.ends_with_relations, path)
    assert found in (None, True, False)


@cache
def database() -> duckdb.DuckDBPyConnection:
    return _new_database()


def connection() -> duckdb.DuckDBPyConnection:
    """Return a connection to a database that is made once, since loading its extension takes long."""
    try:
        return database().cursor().execute("SELECT 1")
    except duckdb.Error:  # an internal error has made it unusable
        database.cache_clear()
        return database().cursor()


_new_database = osm_pbf._database_with_spatial


def osm_extract(rng: random.Random, folder: Path) -> None:
    """Damage the content of blocks and compress it again, so that no checksum notices; or cut at a block."""
    path = folder / "mutant.osm.pbf"
    if rng.random() < 0.3:
        kept = rng.randrange(len(osm()) + 1)
        path.write_bytes(b"".join(osm()[:kept]))
    else:
        kept = -1
        inner = [osm_blocks.unpacked(osm_blob(one)) for one in osm()[1:]]
        inner[rng.randrange(len(inner))] = damaged(rng, inner[rng.randrange(len(inner))])
        path.write_bytes(block(b"OSMHeader", HEADER) + b"".join(block(b"OSMData", one) for one in inner))
    with patch.object(osm_pbf, "_database_with_spatial", connection):
        graph = outcome(build_graph, "mutant", Dataset(format="osm-pbf", path=str(path)), files=[path])
    if graph is not None:
        assert graph.is_sound
        if kept >= 0:
            assert graph.n_arcs == 2 * 2 * 4 * 5 or "completeness" in graph.metadata


def osm_blob(whole: bytes) -> bytes:
    """Return what follows the header in a block."""
    return whole[4 + int.from_bytes(whole[:4]) :]


PYTHON = b"""import os

def f(a, b=1):
    try:
        while a > b:
            a -= 1 if a % 2 else 2
            if a == 7:
                continue
    except ValueError as error:
        raise KeyError from error
    finally:
        b = [x for x in range(a) if x]
    with open(os.devnull) as file:
        match file.read():
            case "a": return 1
            case _: return lambda: (yield)
"""


def python_cfgs(rng: random.Random, folder: Path) -> None:
    path = folder / "module.py"
    path.write_bytes(damaged(rng, PYTHON))
    found = graphs_of_file(path, folder)
    batch = outcome(Batch.from_graphs, "mutant", found.graphs)
    assert batch is not None
    assert batch.is_sound or len(batch) > 1


TARGETS = [
    Target("dimacs", text_target("dimacs", GR, reference.dimacs), 60),
    Target("dimacs coordinates", dimacs_with_places, 20),
    Target("topology", text_target("topology", PACE, reference.topology), 40),
    Target(
        "matrix market",
        text_target("matrix-market", MTX, partial(reference.matrix_market, scale=SCALE), weights=VALUES),
        60,
    ),
    Target(
        "edge list",
        text_target(
            "edge-list",
            EDGES,
            partial(reference.edge_list, scale=SCALE, directed=True),
            weights=VALUES,
            directed=True,
        ),
        60,
    ),
    Target("graph500 edges", graph500_edges, 30),
    Target("railways", railways, 40),
    Target("osm blocks", osm_walk, 60),
    Target("osm extract", osm_extract, 2, reserves_memory=True),
    Target("python control flow", python_cfgs, 10),
]
