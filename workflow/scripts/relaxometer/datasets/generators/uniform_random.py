"""Uniform random graphs: both ends of every edge are drawn from all vertices.

References
----------
Erdős and Rényi, "On Random Graphs I", Publicationes Mathematicae 6, 1959.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from relaxometer.datasets import weights
from relaxometer.datasets.formats.uniform_random import UniformRandomParameters
from relaxometer.datasets.generators.edge_lists import graph_of_edges
from relaxometer.datasets.random_bits import Purpose, below, number, stream
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

Vertices = npt.NDArray[np.uint32]


def build(
    name: str, dataset: Dataset[UniformRandomParameters], files: list[Path], base: Graph | None
) -> Graph:
    """Make the graph from the entry's seed; see :data:`relaxometer.datasets.build.Reader`."""
    assert dataset.seed is not None, "the registry checks this"
    return uniform_random(dataset.parameters, dataset.seed)


def uniform_random(parameters: UniformRandomParameters, seed: int) -> Graph:
    """Generate a uniform random graph; self-loops are dropped and parallel arcs merged to the lightest.

    Parameters
    ----------
    parameters : UniformRandomParameters
    seed : int
    """
    p = parameters
    n_edges = int(p.vertices * p.mean_degree / (2 if p.undirected else 1))
    tails, heads = uniform_edges(p.vertices, seed, 0, n_edges)
    return graph_of_edges(
        "uniform-random",
        p.vertices,
        tails,
        heads,
        weights.draw(p.weights, seed, 0, n_edges),
        undirected=p.undirected,
        metadata={"generator": "relaxometer.datasets.generators.uniform_random", "input_edges": n_edges},
    )


def uniform_edges(n_vertices: int, seed: int, start: int, stop: int) -> tuple[Vertices, Vertices]:
    """Generate the edges `start` to `stop` - 1: tails and heads of shape (stop - start,), uint32."""
    tails, heads = np.empty(stop - start, dtype=np.uint32), np.empty(stop - start, dtype=np.uint32)
    _fill(stream(seed, Purpose.ENDS), start, np.uint64(n_vertices), tails, heads)
    return tails, heads


@njit(parallel=True, cache=True)
def _fill(key: np.uint64, start: int, n_vertices: np.uint64, tails: np.ndarray, heads: np.ndarray) -> None:
    for i in prange(len(tails)):
        tails[i] = below(number(key, 2 * (start + i)), n_vertices)
        heads[i] = below(number(key, 2 * (start + i) + 1), n_vertices)
