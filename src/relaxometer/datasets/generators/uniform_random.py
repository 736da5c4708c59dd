"""Uniform random graphs: both ends of every edge are drawn from all vertices.

References
----------
Erdős and Rényi, "On Random Graphs I", Publicationes Mathematicae 6, 1959.
"""

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange
from relaxometer.datasets.formats.generated import UniformRandomParameters
from relaxometer.datasets.random_bits import Purpose, below, number, stream
from relaxometer.datasets.weights import draw, typed_graph
from relaxometer.graphs.graph import Graph

Vertices = npt.NDArray[np.uint32]


def uniform_random(parameters: UniformRandomParameters, seed: int) -> Graph:
    """Generate a uniform random graph."""
    p = parameters
    n_edges = int(p.vertices * p.mean_degree / (2 if p.undirected else 1))
    arcs = *uniform_edges(p.vertices, seed, n_edges), draw(p.weights, seed, n_edges)
    facts = {"generator": __name__, "input_edges": n_edges}
    return typed_graph("uniform-random", p.vertices, *arcs, undirected=p.undirected, metadata=facts)


def uniform_edges(n_vertices: int, seed: int, n_edges: int) -> tuple[Vertices, Vertices]:
    """Generate tails and heads of shape (n_edges,), uint32."""
    tails, heads = np.empty(n_edges, dtype=np.uint32), np.empty(n_edges, dtype=np.uint32)
    _fill(stream(seed, Purpose.ENDS), np.uint64(n_vertices), tails, heads)
    return tails, heads


@njit(parallel=True, cache=True)
def _fill(key: np.uint64, n_vertices: np.uint64, tails: np.ndarray, heads: np.ndarray) -> None:
    for i in prange(len(tails)):
        tails[i] = below(number(key, 2 * i), n_vertices)
        heads[i] = below(number(key, 2 * i + 1), n_vertices)
