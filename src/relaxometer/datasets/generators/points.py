"""Graphs of random points in the plane: nearest neighbours, and Delaunay triangulations.

The coordinates are integers, so squared distances are exact. SciPy's tree and Qhull round in between; their
answers are checked in exact arithmetic, and an answer that passes is the only one.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import Delaunay, QhullError, cKDTree

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import DelaunayParameters, NearestNeighborsParameters
from relaxometer.datasets.parameters import Weights
from relaxometer.datasets.random_bits import Purpose, bits, stream
from relaxometer.datasets.weights import draw, typed_graph
from relaxometer.graphs.graph import Graph

Ints = npt.NDArray[np.int64]

WIDTH = 24
"""Binary logarithm of the side of the square of the points; squared distances have less than 53 bits."""

SPARE = 1 << 17
"""Points drawn in addition, to replace those that coincide with earlier ones: about 2**15 of 2**32 points."""

PIECE = 1 << 16
"""Points whose neighbours are searched at a time, to bound memory."""


def nearest_neighbors(parameters: NearestNeighborsParameters, seed: int) -> Graph:
    """Join every point to its nearest ones; of equally near ones, to those of the smallest ids."""
    points = random_points(parameters.vertices, seed)
    near = _nearest(points, parameters.neighbors)
    tails = np.repeat(np.arange(len(points)), parameters.neighbors)
    return _graph(points, tails, near.ravel(), parameters.weights, seed)


def delaunay(parameters: DelaunayParameters, seed: int) -> Graph:
    """Triangulate points; UserError if the triangulation is not unique, or rounding misleads Qhull: rare."""
    points = random_points(parameters.vertices, seed)
    try:
        found = Delaunay(points)
    except QhullError:  # all points are on a line
        triangles = None
    else:
        triangles = found.simplices.astype(np.int64)
    if triangles is None or not _is_delaunay(points, triangles, found.neighbors):
        raise UserError(
            f"delaunay: seed {seed} gives points without a unique triangulation, or too close to that for "
            "Qhull; give another seed"
        )
    return _graph(points, triangles.ravel(), np.roll(triangles, 1, axis=1).ravel(), parameters.weights, seed)


def random_points(count: int, seed: int) -> Ints:
    """Draw int64 points without repetition from a square of ``2**WIDTH`` by ``2**WIDTH``."""
    drawn = bits(stream(seed, Purpose.POINTS), 0, count + SPARE) >> np.uint64(64 - 2 * WIDTH)
    _, first = np.unique(drawn, return_index=True)
    kept = drawn[np.sort(first)[:count]]
    return np.stack(np.divmod(kept, np.uint64(1 << WIDTH)), axis=1).astype(np.int64)


def _nearest(points: Ints, count: int) -> Ints:
    """Return the `count` nearest other points of each, shape (n_points, count).

    One more is asked for. If it is as near as the last of them, others may be, too: then more are asked for,
    until one is farther.
    """
    tree, n = cKDTree(points), len(points)
    result = np.empty((n, count), dtype=np.int64)
    for start in range(0, n, PIECE):
        rows, asked = np.arange(start, min(start + PIECE, n)), count + 2
        while len(rows):
            asked = min(asked, n)
            found = tree.query(points[rows], asked)[1]
            squares = ((points[found] - points[rows, None]) ** 2).sum(axis=2)
            order = np.lexsort((found, squares))
            found, squares = (np.take_along_axis(array, order, axis=1) for array in (found, squares))
            done = (squares[:, -1] > squares[:, count]) | (asked == n)
            result[rows[done]] = found[done, 1 : count + 1]  # the first is the point itself
            rows, asked = rows[~done], 2 * asked
    return result


def _is_delaunay(points: Ints, triangles: Ints, neighbors: Ints) -> bool:
    """Return whether triangles are the only Delaunay triangulation of all points.

    They are if their boundary is convex, and the point across each inner edge is outside of the triangle's
    circle.
    """
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    turns: list[npt.NDArray[Any]] = [_cross(b - a, c - a)]
    boundary = np.full(len(points), -1)
    for corner in range(3):
        tails, heads = triangles[:, (corner + 1) % 3], triangles[:, (corner + 2) % 3]
        outer = neighbors[:, corner] < 0
        boundary[tails[outer]] = heads[outer]
        inner = np.flatnonzero(neighbors[:, corner] > np.arange(len(triangles)))
        across = triangles[neighbors[inner, corner]].sum(axis=1) - tails[inner] - heads[inner]
        turns.append(-_in_circle(*(points[triangles[inner, k]] - points[across] for k in range(3))))
    tails = np.flatnonzero(boundary >= 0)
    heads = boundary[tails]
    turns.append(_cross(points[heads] - points[tails], points[boundary[heads]] - points[heads]))
    # By Euler's formula, no point is missing.
    complete = len(triangles) == 2 * len(points) - 2 - len(tails)
    return complete and all(bool(np.all(turn > 0)) for turn in turns)


def _cross(a: Ints, b: Ints) -> Ints:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _in_circle(a: Ints, b: Ints, c: Ints) -> npt.NDArray[np.float64]:
    """Return numbers above 0 where the origin is inside the circle of a, b and c, 0 where it is on it.

    The corners are in counterclockwise order. The factors of the three products are exact. Where the sum is
    within its rounding error, it is computed again in integers of any size.
    """
    lifts = np.stack([(corner**2).sum(axis=1) for corner in (a, b, c)])
    areas = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)])
    products = lifts.astype(np.float64) * areas
    result: npt.NDArray[np.float64] = products.sum(axis=0)
    unsure = np.abs(result) <= np.abs(products).sum(axis=0) * 2.0**-48
    result[unsure] = (lifts[:, unsure].astype(object) * areas[:, unsure]).sum(axis=0)
    return result


def _graph(points: Ints, tails: Ints, heads: Ints, distribution: Weights, seed: int) -> Graph:
    """Make the graph of edges that may repeat, with coordinates in a square of one degree."""
    ends = np.minimum(tails, heads), np.maximum(tails, heads)
    tails, heads = np.divmod(np.unique(ends[0] * len(points) + ends[1]), len(points))
    arcs = tails, heads, draw(distribution, seed, len(tails))
    lon, lat = np.ascontiguousarray(points.T / 2.0**WIDTH)
    facts = {"generator": __name__}
    return typed_graph("points", len(points), *arcs, undirected=True, lon=lon, lat=lat, metadata=facts)
