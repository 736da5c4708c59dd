"""Graphs in the forms that rivals read: raw arrays, and files of DIMACS, Matrix Market and GAP.

Byte order is little-endian throughout.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from relaxometer.core.files import locked, replacing, write_json
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.batch import content_hash as hash_of_batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.graph import content_hash as hash_of_graph
from relaxometer.problems.queries import QuerySet
from relaxometer.rivals.answers import TYPES

PIECE = 1 << 20  # arcs that are turned into text at a time
WEIGHTED = ("gr", "mtx", "wsg")  # formats that hold weights
MAX_GAP = 2**31 - 1  # largest id and weight in GAP's serialized form


def export(graph: Graph | Batch, folder: Path, formats: Sequence[str]) -> Path:
    """Write a graph's raw arrays and the files of some `FORMATS` into a folder of their own; return it.

    Files of the same graph stay; ``graph.json`` has the hash of its content. Jobs on several nodes may call
    it at once. Formats with an :func:`obstacle` are left out.
    """
    version = hash_of_graph(graph) if isinstance(graph, Graph) else hash_of_batch(graph)
    facts = _facts(graph) | {"content": version}
    with locked(folder):
        if _read_facts(folder / "graph.json") != facts:
            shutil.rmtree(folder, ignore_errors=True)
        for name, write in _writers(graph, formats):
            if not (path := folder / name).exists():
                with replacing(path) as temporary:
                    write(temporary)
        if not (path := folder / "graph.json").exists():
            write_json(facts, path)
    return folder


def write_queries(queries: QuerySet, folder: Path) -> None:
    """Write the arrays of a query set, ``NAME.u32``, and ``options.txt``, lines ``NAME=VALUE``."""
    for name, array in queries.arrays.items():
        _write_array(array.astype("<u4", copy=False), folder / f"{name}.u32")
    lines = (f"{name}={value}\n" for name, value in queries.options.items())
    (folder / "options.txt").write_text("".join(lines), encoding="ascii")


def obstacle(graph: Graph | Batch, ending: str) -> str:
    """Return why a graph cannot be written in one of the `FORMATS`; empty if it can."""
    if isinstance(graph, Batch):
        return f".{ending} holds one graph, not a batch"
    if ending in WEIGHTED and graph.weights.dtype != np.uint32:
        return f".{ending} holds weights of type uint32, not {graph.weights.dtype}"
    largest = int(graph.weights.max(initial=0)) if ending == "wsg" else 0
    if ending in ("sg", "wsg") and max(graph.n_vertices, largest) > MAX_GAP:
        return f".{ending} holds vertices and weights up to {MAX_GAP:,}"
    return ""


def _read_facts(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _writers(graph: Graph | Batch, formats: Sequence[str]) -> Iterator[tuple[str, Callable[[Path], object]]]:
    for name, array in _arrays(graph).items():
        yield name, partial(_write_array, array)
    for ending in formats:
        if isinstance(graph, Graph) and not obstacle(graph, ending):
            yield f"graph.{ending}", partial(FORMATS[ending], graph)


def _arrays(graph: Graph | Batch) -> dict[str, npt.NDArray[Any]]:
    """Return the raw arrays of a graph by the names of their files.

    Weights of another type than uint32 are there as bits, or as zeros if they have 64 bits, for problems that
    do not read them. A batch has no weights. Its ``first_vertex.i64``, of one element more than it has
    graphs, says where the vertices of each graph begin, and ``entries.u32`` which of them is the entry;
    targets count within their graph.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"offsets.i64": graph.offsets, "targets.u32": graph.targets}
    if isinstance(graph, Graph):
        fits = graph.lengths.weight_word == np.uint32
        arrays["weights.u32"] = graph.weights.view(np.uint32) if fits else np.zeros(graph.n_arcs, np.uint32)
    else:
        arrays |= {"first_vertex.i64": graph.first_vertex, "entries.u32": graph.entries}
    return {name: array.astype(TYPES[name[-3:]], copy=False) for name, array in arrays.items()}


def _facts(graph: Graph | Batch) -> dict[str, object]:
    facts: dict[str, object] = {"name": graph.name, "vertices": graph.n_vertices, "arcs": graph.n_arcs}
    if isinstance(graph, Graph):
        return facts | {"directed": bool(graph.metadata.get("directed", True))}
    return facts | {"graphs": len(graph)}


def _write_array(array: npt.NDArray[Any], path: Path) -> None:
    with path.open("wb") as file:
        _append(array, file)


def _append(array: npt.NDArray[Any], file: BinaryIO) -> None:
    """Write an array; unlike ``tofile`` it says which error the system reports, such as a full disk."""
    file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _write_gr(graph: Graph, path: Path) -> None:
    """Write the 9th DIMACS challenge's format, whose ids begin with 1."""
    _write_arcs(graph, path, f"p sp {graph.n_vertices} {graph.n_arcs}\n", "a ")


def _write_mtx(graph: Graph, path: Path) -> None:
    """Write a Matrix Market matrix: an entry per arc, row and column from 1."""
    n = graph.n_vertices
    head = f"%%MatrixMarket matrix coordinate integer general\n{n} {n} {graph.n_arcs}\n"
    _write_arcs(graph, path, head, "")


def _write_arcs(graph: Graph, path: Path, head: str, begin: str) -> None:
    import pandas as pd  # here, since every timed job imports this module

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


def _write_gap(graph: Graph, path: Path, *, weighted: bool) -> None:
    """Write GAP's serialized form.

    It is one byte that says whether the graph is directed, the numbers of arcs and of vertices, then offsets
    and neighbours of the arcs: ids, or pairs of id and weight. Those of the reversed arcs follow, unless they
    are the same: then the graph is undirected, and both arcs of each edge count. Vertices and weights are
    signed integers of 32 bits.
    """
    import scipy.sparse as sp

    def neighbours(heads: npt.NDArray[Any], arcs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        ids = heads.astype("<i4")
        return np.column_stack([ids, graph.weights[arcs].astype("<i4")]) if weighted else ids

    arcs = np.arange(graph.n_arcs)
    reverse = sp.csr_array((arcs, graph.targets, graph.offsets), shape=(graph.n_vertices,) * 2).tocsc()
    forth = graph.offsets, neighbours(graph.targets, arcs)
    back = reverse.indptr, neighbours(reverse.indices, reverse.data)
    is_directed = not all(map(np.array_equal, forth, back))
    with path.open("wb") as file:
        _append(np.array([is_directed]), file)
        _append(np.array([graph.n_arcs, graph.n_vertices], "<i8"), file)
        for offsets, ends in (forth, back)[: 1 + is_directed]:
            _append(offsets.astype("<i8"), file)
            _append(ends, file)


FORMATS: dict[str, Callable[[Graph, Path], object]] = {
    "gr": _write_gr,
    "mtx": _write_mtx,
    "sg": partial(_write_gap, weighted=False),
    "wsg": partial(_write_gap, weighted=True),
}
"""Writers by ending."""
