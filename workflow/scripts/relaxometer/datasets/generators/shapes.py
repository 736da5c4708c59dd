"""Undirected graphs of a plain shape: extremes of diameter and degree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relaxometer.datasets import weights
from relaxometer.datasets.formats.shapes import GridParameters, ShapeParameters
from relaxometer.datasets.generators.edge_lists import graph_of_edges
from relaxometer.datasets.parameters import Weights
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

Ends = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]


def build_grid(name: str, dataset: Dataset[GridParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make a grid; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    return _graph(dataset, p.rows * p.columns, grid_edges(p.rows, p.columns), p.weights)


def build_chain(name: str, dataset: Dataset[ShapeParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make a chain, which takes as many phases as vertices; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    return _graph(dataset, p.vertices, grid_edges(1, p.vertices), p.weights)


def build_star(name: str, dataset: Dataset[ShapeParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make a star around vertex 0; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    leaves = np.arange(1, p.vertices, dtype=np.uint32)
    return _graph(dataset, p.vertices, (np.zeros_like(leaves), leaves), p.weights)


def build_complete(
    name: str, dataset: Dataset[ShapeParameters], files: list[Path], base: Graph | None
) -> Graph:
    """Join every two vertices; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    tails, heads = np.triu_indices(p.vertices, k=1)
    return _graph(dataset, p.vertices, (tails.astype(np.uint32), heads.astype(np.uint32)), p.weights)


def build_binary_tree(
    name: str, dataset: Dataset[ShapeParameters], files: list[Path], base: Graph | None
) -> Graph:
    """Make a binary tree with levels filled in order; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    children = np.arange(1, p.vertices, dtype=np.uint32)
    return _graph(dataset, p.vertices, ((children - 1) // 2, children), p.weights)


def grid_edges(rows: int, columns: int) -> Ends:
    """Return the edges of a grid, first along rows, then along columns."""
    ids = np.arange(rows * columns, dtype=np.uint32).reshape(rows, columns)
    tails = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    heads = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    return tails, heads


def _graph(dataset: Dataset, n_vertices: int, ends: Ends, distribution: Weights) -> Graph:
    assert dataset.seed is not None, "the registry checks this"
    return graph_of_edges(
        dataset.format,
        n_vertices,
        *ends,
        weights.draw(distribution, dataset.seed, 0, len(ends[0])),
        metadata={"generator": "relaxometer.datasets.generators.shapes"},
    )
