"""Damaged data files for every reader."""

import gzip
import io
import json
import lzma
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from pyarrow import feather

from fuzz import reference
from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers import osm_blocks
from relaxometer.datasets.readers import osm_xml as osm_xml_reader
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph
from sample_osm import NODES, WAYS, blocks_of, xml_of
from sample_railways import railway_layers

GR = b"c roads\np sp 4 5\na 1 2 10\na 2 3 0\na 3 1 7\nc\na 1 2 4294967294\na 4 4 1\n"
CO = b"c\np aux sp co 4\nv 1 -73530767 41085396\nv 3 -73530538 41086098\nv 2 0 -90000000\nv 4 5 6\n"
PACE = b"c edges\np tw 5 4\n1 2\n2 3\n1 2\n4 5\n"
MTX = b"%%MatrixMarket matrix coordinate real symmetric\n% by hand\n4 4 4\n1 2 1.5\n3 3 2e3\n4 1 .25\n3 1 7\n"
EDGES = b"# from\tto\n1\t2\t.5\n70\t1\t3\n2\t70\t1e2\n5\t6\t0\n"
SCALE = 10.0
VALUES = {"distribution": "values", "scale": SCALE}


def zstandard_unpacked(packed: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        content: bytes = stream.read()
        return content


PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (lambda content: gzip.compress(content, 1, mtime=0), gzip.decompress),
    ".xz": (lambda content: lzma.compress(content, preset=0), lzma.decompress),
    ".zst": (lambda content: pa.Codec("zstd").compress(content, asbytes=True), zstandard_unpacked),
}


def contained(rng: random.Random, path: Path, content: bytes) -> tuple[Path, bytes | None]:
    """Write a file, sometimes compressed, and the compressed file sometimes damaged.

    Returns the path, and the content that a reader should find; None if only the reader knows.
    """
    kind = rng.choice(["", "", "", "", "", *PACKERS])
    path = path.with_name(path.name + kind)
    if kind:
        pack, unpack = PACKERS[kind]
        packed = pack(content)
        if rng.random() < 0.7:
            packed = damaged(rng, packed)
            try:
                content = unpack(packed)
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
    for name, wanted in zip(("offsets", "targets", "weights"), reference.csr(n_vertices, arcs), strict=True):
        assert getattr(graph, name).tolist() == wanted, f"other {name}"


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
        assert graph.is_sound
        assert graph.component_labels()[0] == 1
        assert np.abs(graph.lat).max() <= 90


@cache
def osm() -> list[bytes]:
    return blocks_of(NODES, WAYS, ways_per_block=2, located=True)


def osm_walk(rng: random.Random, folder: Path) -> None:
    """Damage an extract anywhere; only the walk through its blocks is tried."""
    path = folder / "mutant.osm.pbf"
    path.write_bytes(damaged(rng, b"".join(osm())))
    found = outcome(osm_blocks.ends_with_relations, path)
    assert found in (None, True, False)
    nodes = outcome(osm_blocks.locations_on_ways, path, np.array(sorted(NODES)))
    assert nodes is None or not np.any(np.abs(nodes.lon) > 180)


TABLE = """# towns
from,to,name,km
Paris,Lyon,"A6, A7",465
7,Paris,,1.5
Lyon, été ,x,3e2
007,7,y,0
""".encode()
COLUMNS = {"source": "from", "target": "to", "weight": "km", "directed": True}
WITH_COLUMNS = Dataset(format="table", path="file", parameters=COLUMNS)


def text_table(rng: random.Random, folder: Path) -> None:
    """Damage a text file; what is accepted is the graph that Python's csv module reads."""
    path, content = contained(rng, folder / "file.csv", damaged(rng, TABLE))
    graph = outcome(build_graph, "mutant", WITH_COLUMNS, files=[path])
    if content is None:
        assert graph is None, "accepted a damaged container"
    elif graph is not None:
        ids, arcs = reference.table(content)
        assert graph.ids.to_pylist() == ids, "other ids"
        compared(graph, lambda: (len(ids), arcs))


def binary_table(rng: random.Random, folder: Path, suffix: str) -> None:
    """Damage a Parquet or Arrow file; what is accepted is sound."""
    table = pa.table({"from": ["Paris", "Lyon", "7"], "to": ["Lyon", "7", "Paris"], "km": [465, 1.5, 0]})
    path = folder / f"file{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, path, compression=rng.choice(["lz4", "uncompressed"]))
    path.write_bytes(damaged(rng, path.read_bytes()))
    graph = outcome(build_graph, "mutant", WITH_COLUMNS, files=[path])
    if graph is not None:
        assert graph.is_sound
        assert len(set(graph.ids.to_pylist())) == graph.n_vertices


MATRICES = [
    b"%%matrixmarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 2 -4\n",
    b"%%MatrixMarket matrix array real general\n% columns\n3 3\n0\n1\n2\n3\n0\n4\n5\n6\n0\n",
    b"%%MatrixMarket matrix array integer symmetric\n3 3\n7\n1\n2\n0\n4\n0\n",
    b"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n5\n-2\n0\n",
]
SIGNED = {"weights": {"distribution": "values", "type": "int32", "scale": 1}}


def matrix(rng: random.Random, folder: Path) -> None:
    """Damage a dense or skew-symmetric matrix, or an archive of one; what is accepted is what SciPy reads."""
    path, content = folder / "m.mtx", damaged(rng, rng.choice(MATRICES))
    if rng.random() < 0.3:
        path, kept = folder / "m.tar.gz", content
        content = archive_of(content)
        if rng.random() < 0.7:
            content = damaged(rng, content)
        path.write_bytes(gzip.compress(content, 1, mtime=0))
        if content != archive_of(kept):
            graph = outcome(build_graph, "mutant", Dataset(format="matrix-market", path="m"), files=[path])
            assert graph is None or graph.is_sound
            return
        content = kept
    else:
        path.write_bytes(content)
    dataset = Dataset(format="matrix-market", path="m", parameters=SIGNED)
    graph = outcome(build_graph, "mutant", dataset, files=[path])
    if graph is not None:
        compared(graph, partial(reference.matrix, content))


def archive_of(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("m/m.mtx")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def osm_xml(rng: random.Random, folder: Path) -> None:
    """Damage a file of OpenStreetMap's XML; its elements are those that ElementTree finds."""
    path, content = contained(rng, folder / "file.osm", damaged(rng, xml_of().encode()))
    elements = outcome(osm_xml_reader.read_elements, path)
    if elements is not None and content is not None:
        found = {
            (one["kind"], one["id"], tuple(one["refs"] or ()), tuple(one["tags"] or ()))
            for one in elements.to_pylist()
        }
        assert found == reference.osm_elements(content), "other elements"


METIS = b"% by hand\n4 3 011 1\n9 2 5 4 1\n9 1 5 3 7\n8 2 7\n\t7 1 1\n"
GAP = struct.pack("<?qq5q4i", False, 4, 4, 0, 1, 3, 4, 4, 1, 0, 2, 1)
TOWN = nx.Graph([("Paris", "Lyon", {"weight": 4}), ("Lyon", "Nice", {"weight": 3})])


def stored(rng: random.Random, folder: Path, form: str, suffix: str, sample: Callable[[], bytes]) -> None:
    """Damage a file; what is accepted is sound, and of METIS the graph of a simple reader."""
    path, content = folder / f"file{suffix}", damaged(rng, sample())
    path.write_bytes(content)
    graph = outcome(build_graph, "mutant", Dataset(format=form, path=str(path)), files=[path])
    if graph is None:
        return
    assert graph.is_sound
    if form == "metis":
        compared(graph, partial(reference.metis, content))


def matrix_of_scipy() -> bytes:
    content = io.BytesIO()
    sp.save_npz(content, sp.csr_array([[0, 1.5], [2, 0]]), compressed=False)
    return content.getvalue()


STORED = [
    ("metis", "", lambda: METIS),
    ("gap", ".sg", lambda: GAP),
    ("npz", ".npz", matrix_of_scipy),
    ("graphml", "", lambda: "\n".join(nx.generate_graphml(TOWN)).encode()),
    ("node-link", "", lambda: json.dumps(nx.node_link_data(TOWN)).encode()),
]

MATRIX_OF = partial(reference.matrix_market, scale=SCALE)
ARCS_OF = partial(reference.edge_list, scale=SCALE, directed=True)

TARGETS = [
    *(
        Target(form, partial(stored, form=form, suffix=suffix, sample=sample), 20)
        for form, suffix, sample in STORED
    ),
    Target("table", text_table, 60),
    Target("parquet table", partial(binary_table, suffix=".parquet"), 20),
    Target("arrow table", partial(binary_table, suffix=".arrow"), 20),
    Target("dimacs", text_target("dimacs", GR, reference.dimacs), 60),
    Target("dimacs coordinates", dimacs_with_places, 20),
    Target("topology", text_target("topology", PACE, partial(reference.dimacs, problem=b"tw")), 40),
    Target("matrix market", text_target("matrix-market", MTX, MATRIX_OF, weights=VALUES), 60),
    Target("edge list", text_target("edge-list", EDGES, ARCS_OF, weights=VALUES, directed=True), 60),
    Target("matrix layouts", matrix, 40),
    Target("osm xml", osm_xml, 40),
    Target("railways", railways, 40),
    Target("osm blocks", osm_walk, 60),
]
