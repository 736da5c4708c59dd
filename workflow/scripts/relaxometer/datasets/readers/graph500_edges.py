"""Reader of the edge lists that Graph500's reference implementation writes with ``-o``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.edge_files import Graph500EdgesParameters
from relaxometer.datasets.parameters import Values
from relaxometer.datasets.readers.completeness import note_on_completeness
from relaxometer.datasets.readers.edge_weights import graph_of_edges, make_weights, value_bounds
from relaxometer.datasets.readers.text import check_vertices, read_bytes
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph


def build(
    name: str, dataset: Dataset[Graph500EdgesParameters], files: list[Path], base: Graph | None
) -> Graph:
    """Make the graph of a file of edges and, if the entry has one, a file of weights.

    See :data:`relaxometer.datasets.build.Reader`.
    """
    parameters = dataset.parameters
    n_vertices = 1 << parameters.scale
    one, other = read_edges(files[0], n_vertices)
    check_vertices(f"{files[0]}: scale {parameters.scale}", n_vertices, len(one), "edges")
    values = None
    if dataset.edge_weights:
        values = read_values(files[1], len(one), value_bounds(parameters.weights, "float32", directed=False))
    elif isinstance(parameters.weights, Values):
        raise UserError(f"graph {name}: weights are taken from values, but the entry has no `edge_weights`")
    weights = make_weights(parameters.weights, len(one), values, "float32")
    metadata: dict[str, Any] = {"edges_in_file": len(one)}
    if values is None:  # a second file of another length would show that edges are missing
        metadata |= note_on_completeness(files[0], dataset)
    return graph_of_edges(name, n_vertices, (one, other), weights, metadata)


def read_edges(path: Path, n_vertices: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Read pairs of little-endian 64-bit integers.

    Returns
    -------
    one, other : ndarray of shape (n_edges,), int64

    Raises
    ------
    UserError
        If the file ends within a pair, or a vertex is out of range; names the edge.
    """
    data = read_bytes(path)
    if len(data) % 16:
        raise UserError(f"{path}: {len(data)} bytes is not a multiple of 16, the size of an edge")
    edges = np.frombuffer(data, dtype="<i8").astype(np.int64, copy=False).reshape(-1, 2)
    wrong = np.flatnonzero((edges < 0) | (edges >= n_vertices))
    if len(wrong):
        edge, end = divmod(int(wrong[0]), 2)
        raise UserError(
            f"{path}: edge {edge} (at byte {16 * edge}) has vertex {edges[edge, end]}, expected one from 0 "
            f"to {n_vertices - 1}; the entry's scale is wrong, or the file is not an edge list"
        )
    return edges[:, 0], edges[:, 1]


def read_values(path: Path, n_edges: int, bounds: tuple[float, float]) -> npt.NDArray[np.float64]:
    """Read one little-endian 32-bit float per edge.

    Returns
    -------
    ndarray of shape (n_edges,), float64

    Raises
    ------
    UserError
        If the number of values is wrong, or one is out of bounds; names the edge.
    """
    data = read_bytes(path)
    if len(data) != 4 * n_edges:
        raise UserError(f"{path}: {len(data)} bytes; expected 4 for each of {n_edges} edges")
    values = np.frombuffer(data, dtype="<f4").astype(np.float64)
    low, high = bounds
    wrong = np.flatnonzero(~((values >= low) & (values <= high)))
    if len(wrong):
        raise UserError(f"{path}: edge {wrong[0]} has weight {values[wrong[0]]}, expected {low} to {high}")
    return values
