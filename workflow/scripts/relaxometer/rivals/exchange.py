"""Graphs in the forms that rivals read: raw arrays, and files of DIMACS, Matrix Market and GAP.

Byte order is little-endian throughout.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.core.files import replacing, write_json
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph

PIECE = 1 << 20
"""Arcs that are turned into text at a time."""


def export(graph: Graph | Batch, folder: Path, formats: Sequence[str]) -> Path:
    """Write a graph's raw arrays, and the files of some `FORMATS`, unless they are there; return `folder`."""
    stamp = folder / "graph.json"
    version = str(graph.metadata.get("content_sha256", graph.n_arcs))
    if not (stamp.is_file() and json.loads(stamp.read_text(encoding="utf-8")).get("version") == version):
        shutil.rmtree(folder, ignore_errors=True)
        write_raw(graph, folder, version)
    for ending in formats:
        path = folder / f"graph.{ending}"
        if isinstance(graph, Graph) and not path.is_file():
            write_format(graph, path)
    return folder


def write_raw(graph: Graph | Batch, folder: Path, version: str = "") -> None:
    """Write a graph as ``offsets.i64``, ``targets.u32``, ``weights.u32`` and ``graph.json``.

    A batch has no weights. Its ``first_vertex.i64``, of one element more than it has graphs, says where the
    vertices of each graph begin, and ``entries.u32`` which of them is the entry; targets count within their
    graph.
    """
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "offsets.i64": graph.offsets.astype("<i8", copy=False),
        "targets.u32": graph.targets.astype("<u4", copy=False),
    }
    counts: dict[str, object] = {
        "name": graph.name,
        "vertices": graph.n_vertices,
        "arcs": graph.n_arcs,
        "version": version,
    }
    if isinstance(graph, Graph):
        arrays["weights.u32"] = graph.weights.astype("<u4", copy=False)
        counts["directed"] = bool(graph.metadata.get("directed", True))
    else:
        arrays["first_vertex.i64"] = graph.first_vertex.astype("<i8", copy=False)
        arrays["entries.u32"] = graph.entries.astype("<u4", copy=False)
        counts["graphs"] = len(graph)
    for name, array in arrays.items():
        with replacing(folder / name) as temporary:
            array.tofile(temporary)
    write_json(counts, folder / "graph.json")


def write_format(graph: Graph, path: Path) -> None:
    """Write a graph in the format that the ending of `path` names; see :data:`FORMATS`."""
    with replacing(path) as temporary:
        FORMATS[path.suffix[1:]](graph, temporary)


def _write_gr(graph: Graph, path: Path) -> None:
    """Write the 9th DIMACS challenge's format, whose ids begin with 1."""
    _write_arcs(graph, path, f"p sp {graph.n_vertices} {graph.n_arcs}\n", "a ")


def _write_mtx(graph: Graph, path: Path) -> None:
    """Write a Matrix Market matrix: an entry per arc, row and column from 1."""
    n = graph.n_vertices
    head = f"%%MatrixMarket matrix coordinate integer general\n{n} {n} {graph.n_arcs}\n"
    _write_arcs(graph, path, head, "")


def _write_arcs(graph: Graph, path: Path, head: str, begin: str) -> None:
    tails = graph.tails
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write(head)
        for start in range(0, graph.n_arcs, PIECE):
            piece = slice(start, start + PIECE)
            columns = {
                "tail": tails[piece].astype(np.int64) + 1,
                "head": graph.targets[piece].astype(np.int64) + 1,
                "weight": graph.weights[piece],
            }
            text = pd.DataFrame(columns).to_csv(sep=" ", header=False, index=False, lineterminator="\n")
            file.write("".join(begin + line for line in text.splitlines(keepends=True)) if begin else text)


def _write_sg(graph: Graph, path: Path) -> None:
    _write_gap(graph, path, np.ascontiguousarray(graph.targets.astype("<i4")))


def _write_wsg(graph: Graph, path: Path) -> None:
    pairs = np.column_stack([graph.targets.astype("<i4"), graph.weights.astype("<i4")])
    _write_gap(graph, path, pairs)


def _write_gap(graph: Graph, path: Path, neighbours: npt.NDArray[np.generic]) -> None:
    """Write GAP's serialized form: a directed graph with both its arcs and their reverse.

    One byte that says whether it is directed, the numbers of arcs and vertices, then offsets and neighbours
    of the arcs and of the reversed arcs. Vertices and weights are signed integers of 32 bits.
    """
    order = np.lexsort((graph.tails, graph.targets))
    reverse = neighbours[order].copy()
    heads = reverse[:, 0] if reverse.ndim == 2 else reverse
    heads[...] = graph.tails[order]
    incoming = np.bincount(graph.targets, minlength=graph.n_vertices)
    offsets = np.concatenate([[0], np.cumsum(incoming)])
    with path.open("wb") as file:
        np.array([True]).tofile(file)
        np.array([graph.n_arcs, graph.n_vertices], "<i8").tofile(file)
        for bounds, ends in ((graph.offsets, neighbours), (offsets, reverse)):
            bounds.astype("<i8").tofile(file)
            ends.tofile(file)


FORMATS: dict[str, Callable[[Graph, Path], None]] = {
    "gr": _write_gr,
    "mtx": _write_mtx,
    "sg": _write_sg,
    "wsg": _write_wsg,
}
"""Writers by ending."""
