"""R-MAT graphs: each edge descends through the quadrants of the adjacency matrix.

References
----------
Chakrabarti, Zhan and Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SDM 2004.
"""

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange
from relaxometer.datasets.formats.generated import RmatParameters
from relaxometer.datasets.random_bits import Purpose, number, stream
from relaxometer.datasets.weights import draw, typed_graph
from relaxometer.graphs.graph import Graph

Vertices = npt.NDArray[np.uint32]


def rmat(parameters: RmatParameters, seed: int) -> Graph:
    """Generate a graph of ``2**scale`` vertices; those with small ids have the most arcs."""
    p, n_edges = parameters, parameters.edge_factor << parameters.scale
    arcs = *rmat_edges(p, seed, n_edges), draw(p.weights, seed, n_edges)
    facts = {"generator": __name__, "input_edges": n_edges}
    return typed_graph("rmat", 1 << p.scale, *arcs, undirected=p.undirected, metadata=facts)


def rmat_edges(parameters: RmatParameters, seed: int, n_edges: int) -> tuple[Vertices, Vertices]:
    """Generate tails and heads of shape (n_edges,), uint32."""
    p = parameters
    # A 32-bit number below the first border selects quadrant a, below the second b, and so on.
    borders = np.array([int(share * 2**32) for share in (p.a, p.a + p.b, p.a + p.b + p.c)], dtype=np.uint64)
    tails, heads = np.empty(n_edges, dtype=np.uint32), np.empty(n_edges, dtype=np.uint32)
    _fill(stream(seed, Purpose.ENDS), p.scale, borders, tails, heads)
    return tails, heads


_ONE, _HALF = np.uint64(1), np.uint64(32)


@njit(parallel=True, cache=True)
def _fill(key: np.uint64, scale: int, borders: np.ndarray, tails: np.ndarray, heads: np.ndarray) -> None:
    for i in prange(len(tails)):
        tail = head = np.uint64(0)
        for level in range(scale):
            place = number(key, i * scale + level) >> _HALF
            down, right = place >= borders[1], borders[0] <= place < borders[1] or place >= borders[2]
            tail = tail << _ONE | np.uint64(down)
            head = head << _ONE | np.uint64(right)
        tails[i], heads[i] = tail, head
