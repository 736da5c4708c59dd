"""Reader of the edge lists that Graph500's reference implementation writes.

Version 2 writes pairs of 64-bit integers with ``make-edgelist -o``. Version 3 writes the file that the
variable ``TMPFILE`` names, by default with packed edges (``packed_edge`` of its generator), and their weights
to ``{TMPFILE}.weights``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.edge_files import Graph500EdgesParameters
from relaxometer.datasets.parameters import Values
from relaxometer.datasets.readers.edge_weights import make_weights, note_on_values, value_column
from relaxometer.datasets.readers.text import Column, check_vertices, note_on_completeness, read_bytes
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

_PACKED = np.dtype([("low", "<u4", 2), ("high", "<i2", 2)])
"""A packed edge of version 3. Its last word has the high half of the second end in its own high half."""


def build(
    name: str, dataset: Dataset[Graph500EdgesParameters], file: Path, values_file: Path | None = None
) -> Graph:
    """Make the graph of a file of edges and, if the entry has one, a file of weights.

    See :data:`relaxometer.datasets.build.Reader`.
    """
    parameters = dataset.parameters
    n_vertices = 1 << parameters.scale
    one, other = read_edges(file, n_vertices, packed=parameters.packed)
    check_vertices(f"{file}: scale {parameters.scale}", n_vertices, len(one), "edges")
    values = None
    if values_file:
        values = read_values(
            values_file, len(one), value_column(parameters.weights, "float32", directed=False)
        )
    elif isinstance(parameters.weights, Values):
        raise UserError(f"graph {name}: weights are taken from values, but the entry has no `edge_weights`")
    weights = make_weights(parameters.weights, len(one), values, "float32", values_file or file)
    metadata: dict[str, Any] = {"edges_in_file": len(one)}
    if values_file is None:  # a second file of another length would show that edges are missing
        metadata |= note_on_completeness(file, dataset)
    else:
        metadata |= note_on_values(parameters)
    return typed_graph(name, n_vertices, one, other, weights, undirected=True, metadata=metadata)


def read_edges(
    path: Path, n_vertices: int, *, packed: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return both ends of edges, little-endian: pairs of 64-bit integers, or packed ones of 12 bytes.

    UserError if the file is empty or ends within an edge, or a vertex is out of range; names the edge.
    """
    data = read_bytes(path)
    if not data:
        raise UserError(f"{path}: no edges; the file is empty")
    size = _PACKED.itemsize if packed else 16
    may_be_packed = not packed and len(data) % _PACKED.itemsize == 0
    if len(data) % size:
        advice = "; `packed: true` reads edges of 12 bytes" if may_be_packed else ""
        raise UserError(f"{path}: {len(data)} bytes is not a multiple of {size}, the size of an edge{advice}")
    edges = _unpacked(data) if packed else np.frombuffer(data, dtype="<i8").reshape(-1, 2)
    edges = edges.astype(np.int64, copy=False)
    wrong = np.flatnonzero((edges < 0) | (edges >= n_vertices))
    if len(wrong):
        edge, end = divmod(int(wrong[0]), 2)
        advice = ", or has edges of 12 bytes (`packed: true`)" if may_be_packed else ""
        raise UserError(
            f"{path}: edge {edge} (at byte {size * edge}) has vertex {edges[edge, end]}, expected one from 0 "
            f"to {n_vertices - 1}; the entry's scale is wrong, or the file is not an edge list{advice}"
        )
    return edges[:, 0], edges[:, 1]


def _unpacked(data: bytes) -> npt.NDArray[np.int64]:
    """Return the ends of packed edges, shape (n_edges, 2): 32 low bits each, then 16 high bits each."""
    packed = np.frombuffer(data, dtype=_PACKED)
    edges = packed["high"].astype(np.int64)
    edges <<= 32
    edges |= packed["low"]
    return edges


def read_values(path: Path, n_edges: int, column: Column) -> npt.NDArray[np.float64]:
    """Read one little-endian 32-bit float per edge, within the bounds of a column, as float64.

    UserError if the number of values is wrong, or one does not fit the column; names the edge.
    """
    data = read_bytes(path)
    if len(data) != 4 * n_edges:
        raise UserError(f"{path}: {len(data)} bytes; expected 4 for each of {n_edges} edges")
    values = np.frombuffer(data, dtype="<f4").astype(np.float64)
    low, high = column.low, column.high
    wrong = np.flatnonzero(~((values >= low) & (values <= high)))
    if len(wrong):
        raise UserError(f"{path}: edge {wrong[0]} has weight {values[wrong[0]]}, expected {low} to {high}")
    if column.whole and np.any(values != np.rint(values)):
        first = int(np.argmax(values != np.rint(values)))
        raise UserError(f"{path}: edge {first} has weight {values[first]}, a fraction; {column.whole}")
    return values
