"""Random models of networks: preferential attachment and small worlds.

References
----------
Barabási and Albert, "Emergence of Scaling in Random Networks", Science 286, 1999.
Sanders and Schulz, "Scalable Generation of Scale-free Graphs", Information Processing Letters 116, 2016.
Watts and Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange
from relaxometer.datasets.formats.generated import BarabasiAlbertParameters, WattsStrogatzParameters
from relaxometer.datasets.parameters import Weights
from relaxometer.datasets.random_bits import Purpose, below, bits, number, stream
from relaxometer.datasets.weights import draw, typed_graph
from relaxometer.graphs.graph import Graph

Ids = npt.NDArray[np.uint32] | npt.NDArray[np.int64]


def barabasi_albert(parameters: BarabasiAlbertParameters, seed: int) -> Graph:
    """Let each vertex bring edges to earlier vertices, drawn in proportion to their degrees."""
    n, edges = parameters.vertices, parameters.edges
    heads = np.empty((n - 1) * edges, dtype=np.uint32)
    _attach(stream(seed, Purpose.ENDS), edges, heads)
    return _graph(n, np.repeat(np.arange(1, n), edges), heads, parameters.weights, seed)


@njit(parallel=True, cache=True)
def _attach(key: np.uint64, edges: int, heads: np.ndarray) -> None:
    """Choose the heads of edges; edge i has tail ``1 + i // edges``.

    Of all ends of the edges of earlier vertices, one is drawn: a vertex in proportion to its degree. Place
    2 i of these ends is the tail of edge i. Place 2 i + 1 is its head, which is drawn again from its index.
    """
    for i in prange(len(heads)):
        place: Any = 2 * i + 1
        while place % 2 and place > 2 * edges:
            ends = 2 * edges * (place // 2 // edges)
            place = np.int64(number(key, place) % np.uint64(ends))
        # The edges of vertex 1 lead to vertex 0.
        heads[i] = 0 if place % 2 else 1 + place // 2 // edges


def watts_strogatz(parameters: WattsStrogatzParameters, seed: int) -> Graph:
    """Join every vertex of a ring to its nearest ones, then replace heads by other vertices at random."""
    n, per_side = parameters.vertices, parameters.neighbors // 2
    tails = np.repeat(np.arange(n), per_side)
    steps: npt.NDArray[Any] = np.tile(np.arange(1, per_side + 1), n)
    random = bits(stream(seed, Purpose.REWIRED), 0, len(tails)) >> np.uint64(32)
    chosen = random < np.uint64(int(parameters.rewired * 2**32))
    # Between 1 and n - 1 steps along the ring lead to any other vertex.
    drawn = below(bits(stream(seed, Purpose.ENDS), 0, len(tails)), np.uint64(n - 1)).astype(np.int64)
    steps[chosen] = drawn[chosen] + 1
    return _graph(n, tails, (tails + steps) % n, parameters.weights, seed)


def _graph(n_vertices: int, tails: Ids, heads: Ids, distribution: Weights, seed: int) -> Graph:
    arcs = tails, heads, draw(distribution, seed, len(tails))
    facts = {"generator": __name__, "input_edges": len(tails)}
    return typed_graph("network", n_vertices, *arcs, undirected=True, metadata=facts)
