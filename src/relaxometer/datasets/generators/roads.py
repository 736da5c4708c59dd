"""Synthetic roads: a jittered grid, thinned out to the degrees of a road map.

The graphs have the properties that slow a search on real roads: small degrees, and a diameter of the order of
the square root of the number of vertices. Their hop diameter is close to that of the road networks of Florida
and the north-east of the USA with a similar number of junctions.
"""

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators.shapes import Ends, grid_edges
from relaxometer.datasets.random_bits import Purpose, bits, stream
from relaxometer.datasets.weights import draw, typed_graph
from relaxometer.graphs.graph import Graph

CELL = 1 / 1024
"""Width and height of a cell in degrees, about 110 m along a meridian."""

DIAGONALS = 0.06
"""Fraction of the grid's cells with a diagonal."""

JITTER = 0.35
"""Largest distance of a junction from its place in the grid, in cells."""

Degrees = npt.NDArray[np.float64]


def road_like(parameters: RoadParameters, seed: int) -> Graph:
    """Generate roads of one component, with both directions of each road and coordinates in degrees.

    The candidates are the edges of a grid of junctions, some of its cells with a diagonal. A random spanning
    tree is kept even if it exceeds the mean degree, and random further edges up to the mean degree, or all.
    Weights are independent of the geometry.
    """
    p = parameters
    junctions = p.rows * p.columns
    tails, heads = _offered(p, seed)
    order = np.argsort(bits(stream(seed, Purpose.ORDER), 0, len(tails)), kind="stable")
    kept = _kept(order, tails, heads, junctions, int(p.mean_degree * junctions / 2))
    lon, lat = _coordinates(p, seed)
    (tails, heads), lon, lat = _subdivided((tails[kept], heads[kept]), lon, lat, p.pieces)
    arcs, facts = (tails, heads, draw(p.weights, seed, len(tails))), {"generator": __name__}
    return typed_graph("road-like", len(lon), *arcs, undirected=True, lon=lon, lat=lat, metadata=facts)


def _offered(p: RoadParameters, seed: int) -> Ends:
    """Return the edges of the grid, with one of the two diagonals in the chosen cells."""
    tails, heads = grid_edges(p.rows, p.columns)
    ids = np.arange(p.rows * p.columns, dtype=np.uint32).reshape(p.rows, p.columns)
    cells = ids[:-1, :-1].ravel()
    random = bits(stream(seed, Purpose.DIAGONALS), 0, len(cells))
    chosen = random >> np.uint64(32) < np.uint64(int(DIAGONALS * 2**32))
    falling = (random[chosen] & np.uint64(1)).astype(np.uint32)
    corner = cells[chosen]
    across = np.uint32(p.columns)
    ends = corner + (1 - falling), corner + across + falling
    return np.concatenate([tails, ends[0]]), np.concatenate([heads, ends[1]])


def _kept(
    order: np.ndarray, tails: np.ndarray, heads: np.ndarray, n_vertices: int, n_edges: int
) -> np.ndarray:
    """Mark the first edges in `order` that make a spanning tree, then further ones up to `n_edges`."""
    rank = np.empty(len(order))
    rank[order] = np.arange(1, len(order) + 1)
    tree = minimum_spanning_tree(coo_array((rank, (tails, heads)), (n_vertices, n_vertices)))
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[order[tree.data.astype(np.int64) - 1]] = True
    further = order[~kept[order]]
    kept[further[: max(n_edges - (n_vertices - 1), 0)]] = True
    return kept


def _coordinates(p: RoadParameters, seed: int) -> tuple[Degrees, Degrees]:
    """Return degrees east and north of the junctions: the first in the south-west, near 0, 0."""
    random = bits(stream(seed, Purpose.JITTER), 0, 2 * p.rows * p.columns).reshape(-1, 2)
    # 53 bits fit a float64 exactly, so all machines round alike.
    offset = ((random >> np.uint64(11)).astype(np.float64) / 2**53 * 2 - 1) * JITTER
    row, column = np.divmod(np.arange(p.rows * p.columns), p.columns)
    return (column + offset[:, 0]) * CELL, (row + offset[:, 1]) * CELL


def _subdivided(ends: Ends, lon: Degrees, lat: Degrees, pieces: int) -> tuple[Ends, Degrees, Degrees]:
    """Cut every edge into `pieces` of equal length with new vertices of degree 2, numbered last."""
    if pieces == 1:
        return ends, lon, lat
    n_edges = len(ends[0])
    inner = np.arange(n_edges * (pieces - 1), dtype=np.uint32).reshape(n_edges, pieces - 1)
    inner += np.uint32(len(lon))
    along = np.concatenate([ends[0][:, None], inner, ends[1][:, None]], axis=1)
    share = np.arange(1, pieces) / pieces
    places = []
    for degrees in (lon, lat):
        first, last = degrees[ends[0]][:, None], degrees[ends[1]][:, None]
        places.append(np.concatenate([degrees, (first + (last - first) * share).ravel()]))
    return (along[:, :-1].ravel(), along[:, 1:].ravel()), places[0], places[1]
