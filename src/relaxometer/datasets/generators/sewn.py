"""Copies of a map in rows and columns, with a few roads between neighbours: a continent from a real region.

Inside a copy, degrees, weights and separators are the map's own. A border is crossed by few roads, as between
regions of a country: each leads from one copy's rim to the same height of the next copy's opposite rim.

The rim follows from coordinates. Without them, two axes of hop distances take their place: the first from a
vertex to one far from it, the second across, from the vertex farthest from both ends of the first. A vertex's
place on an axis is the difference of its distances from the two ends.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.derived import FORMATS, SewnParameters
from relaxometer.datasets.random_bits import Purpose, below, bits, stream
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.describe import either_way, hops_in
from relaxometer.graphs.graph import Graph

_OF_THE_MAP = (*FORMATS["sewn"].keeps_texts, "weight_unit", "completeness", "values_in_file")
"""Metadata of a map that hold for its copies; the entry may give others."""

Ints = npt.NDArray[np.int64]
Places = npt.NDArray[Any]


def build(name: str, dataset: Dataset[SewnParameters], base: Graph) -> Graph:
    """Sew copies of `base` together; see :data:`relaxometer.datasets.build.Reader`."""
    return sew(name, base, dataset.parameters)


def sew(name: str, base: Graph, parameters: SewnParameters) -> Graph:
    """Sew copies of a map together.

    Copy (r, c) holds the vertices from (r columns + c) n on, for a map of n vertices. Roads lead both ways,
    and join vertices of the largest component; the weight of a road is that of an arc of the map, drawn at
    random. The result has no coordinates, but the terms and the weight unit of the map.

    UserError if the map has no vertices or negative weights, or its copies more than 32 bits can number.
    """
    p, n = parameters, base.n_vertices
    copies = p.rows * p.columns
    if n == 0:
        raise UserError(f"graph {name}: the map to copy has no vertices")
    if base.weights.min(initial=0) < 0:
        raise UserError(f"graph {name}: the map has negative weights, so a two-way road is a negative cycle")
    if copies * n >= 2**32:
        raise UserError(f"graph {name}: {copies} copies have {copies * n} vertices; vertex ids have 32 bits")
    tails, heads = _roads(base, p)
    weights = _weights(base, p.seed, len(tails))
    ends = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    in_rows = np.lexsort(ends[::-1])
    roads = ends[0][in_rows], ends[1][in_rows], np.tile(weights, 2)[in_rows]
    offsets, targets, loads = _copied(base.offsets, base.targets, base.weights, copies, *roads)
    facts: dict[str, Any] = {key: base.metadata[key] for key in _OF_THE_MAP if key in base.metadata}
    facts |= {"generator": __name__, "roads_added": len(tails)}
    if base.metadata.get("directed") is False:
        facts["directed"] = False
    return Graph(name, offsets, targets, loads, metadata=facts, distance_type=base.distance_type)


def _roads(base: Graph, p: SewnParameters) -> tuple[Ints, Ints]:
    """Return the ends of the roads between the copies."""
    west, east, south, north = _rims(base, p.roads)
    copy = np.arange(p.rows * p.columns, dtype=np.int64).reshape(p.rows, p.columns) * base.n_vertices
    across = copy[:, :-1].reshape(-1, 1), copy[:, 1:].reshape(-1, 1)
    down = copy[:-1].reshape(-1, 1), copy[1:].reshape(-1, 1)
    tails = [(across[0] + east).ravel(), (down[0] + south).ravel()]
    heads = [(across[1] + west).ravel(), (down[1] + north).ravel()]
    return np.concatenate(tails), np.concatenate(heads)


def _rims(base: Graph, roads: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the vertices where roads leave to the west, east, south and north."""
    _, labels = base.component_labels()
    x: Places
    y: Places
    inside = np.flatnonzero(labels == np.bincount(labels).argmax())
    if base.lon is not None and base.lat is not None:
        x, y = base.lon[inside], base.lat[inside]
    else:
        x, y = (axis[inside] for axis in _hop_axes(base, int(inside[0])))
    return (*_extremes(inside, x, y, roads), *_extremes(inside, y, x, roads))


def _extremes(vertices: Ints, along: Places, across: Places, roads: int) -> tuple[Ints, Ints]:
    """Return the lowest and the highest vertex along an axis in each of the bands of equal size across it."""
    bands = np.array_split(np.argsort(across, kind="stable"), min(roads, len(vertices)))
    lowest = [band[along[band].argmin()] for band in bands]
    highest = [band[along[band].argmax()] for band in bands]
    return vertices[lowest], vertices[highest]


def _hop_axes(base: Graph, start: int) -> tuple[Ints, Ints]:
    """Return two places of each vertex of the component of `start`, from hop distances."""
    rows = either_way(base)
    west = hops_in(*rows, int(hops_in(*rows, start).argmax()))
    east = hops_in(*rows, int(west.argmax()))
    # The ends of the second axis are far from both ends of the first, and from each other.
    south = hops_in(*rows, int(np.minimum(west, east).argmax()))
    north = hops_in(*rows, int(np.minimum(np.minimum(west, east), south).argmax()))
    return west - east, south - north


def _weights(base: Graph, seed: int, count: int) -> npt.NDArray[Any]:
    """Draw weights of the map's arcs; 1 if it has none."""
    if base.n_arcs == 0:
        return np.ones(count, dtype=base.weights.dtype)
    drawn = below(bits(stream(seed, Purpose.WEIGHTS), 0, count), np.uint64(base.n_arcs))
    return base.weights[drawn]


@njit(cache=True)
def _copied(
    offsets: Any, targets: Any, weights: Any, copies: int, tails: Any, heads: Any, loads: Any
) -> tuple[Any, Any, Any]:
    """Return the rows of all copies with the roads, which are sorted by tail and head.

    A road leads to another copy: its place in a row is before or after all arcs of the map.
    """
    n, n_arcs = len(offsets) - 1, copies * len(targets) + len(tails)
    new_offsets = np.empty(copies * n + 1, dtype=np.int64)
    new_targets, new_weights = np.empty(n_arcs, dtype=np.uint32), np.empty(n_arcs, dtype=weights.dtype)
    size, road = 0, 0
    for copy in range(copies):
        first = copy * n
        for v in range(n):
            new_offsets[first + v] = size
            while road < len(tails) and tails[road] == first + v and heads[road] < first:
                new_targets[size], new_weights[size] = heads[road], loads[road]
                size += 1
                road += 1
            for i in range(offsets[v], offsets[v + 1]):
                new_targets[size], new_weights[size] = first + np.int64(targets[i]), weights[i]
                size += 1
            while road < len(tails) and tails[road] == first + v:
                new_targets[size], new_weights[size] = heads[road], loads[road]
                size += 1
                road += 1
    new_offsets[copies * n] = size
    return new_offsets, new_targets, new_weights
