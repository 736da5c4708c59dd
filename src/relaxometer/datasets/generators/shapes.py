"""Undirected graphs of a plain shape: extremes of diameter and degree."""

import numpy as np
import numpy.typing as npt

from relaxometer.datasets.formats.generated import GridParameters, ShapeParameters
from relaxometer.datasets.parameters import Weights
from relaxometer.datasets.weights import draw, typed_graph
from relaxometer.graphs.graph import Graph

Ids = npt.NDArray[np.uint32] | npt.NDArray[np.int64]
Ends = tuple[Ids, Ids]


def grid(parameters: GridParameters, seed: int) -> Graph:
    """Make a grid."""
    p = parameters
    return _graph(p.rows * p.columns * p.layers, grid_edges(p.rows, p.columns, p.layers), p.weights, seed)


def chain(parameters: ShapeParameters, seed: int) -> Graph:
    """Make a chain, which takes as many phases as vertices."""
    n = parameters.vertices
    return _graph(n, grid_edges(1, n), parameters.weights, seed)


def star(parameters: ShapeParameters, seed: int) -> Graph:
    """Make a star around vertex 0."""
    leaves = np.arange(1, parameters.vertices, dtype=np.uint32)
    return _graph(parameters.vertices, (np.zeros_like(leaves), leaves), parameters.weights, seed)


def complete(parameters: ShapeParameters, seed: int) -> Graph:
    """Join every two vertices."""
    ends = np.triu_indices(parameters.vertices, k=1)
    return _graph(parameters.vertices, ends, parameters.weights, seed)


def binary_tree(parameters: ShapeParameters, seed: int) -> Graph:
    """Make a binary tree with levels filled in order."""
    children = np.arange(1, parameters.vertices, dtype=np.uint32)
    return _graph(parameters.vertices, ((children - 1) // 2, children), parameters.weights, seed)


def grid_edges(rows: int, columns: int, layers: int = 1) -> Ends:
    """Return the edges of a grid, first along rows, then along columns, then between layers."""
    ids = np.arange(rows * columns * layers, dtype=np.uint32).reshape(layers, rows, columns)
    tails = np.concatenate([ids[:, :, :-1].ravel(), ids[:, :-1].ravel(), ids[:-1].ravel()])
    heads = np.concatenate([ids[:, :, 1:].ravel(), ids[:, 1:].ravel(), ids[1:].ravel()])
    return tails, heads


def _graph(n_vertices: int, ends: Ends, distribution: Weights, seed: int) -> Graph:
    arcs = *ends, draw(distribution, seed, len(ends[0]))
    return typed_graph("shape", n_vertices, *arcs, undirected=True, metadata={"generator": __name__})
