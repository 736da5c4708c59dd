"""Contracts ways, which are lists of nodes, to a network of junctions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relaxometer.datasets.parameters import FLOATS, WeightType

EARTH_RADIUS_M = 6_371_000.0

_FAR = 2.0**62
"""Beyond all types of integer weights, and exact in an int64."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points on the globe: int64 ids in ascending order, and float64 degrees east and north."""

    ids: Ints
    lon: Floats
    lat: Floats

    def marked(self, marks: Flags) -> Nodes:
        """Return the marked nodes."""
        return Nodes(self.ids[marks], self.lon[marks], self.lat[marks])

    def find(self, ids: Ints) -> tuple[Ints, Flags]:
        """Return the positions of `ids` among the nodes, and a mask of those found."""
        if not len(self.ids):
            return np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=bool)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return places, self.ids[places] == ids


@dataclass(frozen=True, eq=False)
class Ways:
    """Lists of at least two node ids: way ``w`` has ``refs[offsets[w]]`` to ``refs[offsets[w + 1] - 1]``."""

    offsets: Ints
    refs: Ints

    def marked(self, marks: Flags) -> Ways:
        """Return the marked ways."""
        lengths = np.diff(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(lengths[marks])])
        return Ways(offsets, self.refs[np.repeat(marks, lengths)])


@dataclass(frozen=True, eq=False)
class Network:
    """Junctions and the edges between them, in arrays of shape (n_edges,).

    `one` and `other` are positions among the junctions, in the direction of the way, and `metres` the length
    along it. The edges of one of the `ways` are in order. `after` and `before` are positions among all nodes
    of the one after `one`, and the one before `other`.
    """

    junctions: Nodes
    one: Ints
    other: Ints
    metres: Floats
    ways: Ints
    after: Ints
    before: Ints


def contract(ways: Ways, nodes: Nodes, stops: Ints | None = None) -> Network:
    """Replace each stretch of a way between two junctions by one edge; junctions are in order of their ids.

    A node is a junction if a way ends at it, it occurs twice, or it is on a way and its id is among `stops`.
    Where a way leaves the given nodes, as at the edge of an extract, the stretch from its last junction is
    dropped.
    """
    places, known = nodes.find(ways.refs)
    way = np.repeat(np.arange(len(ways.offsets) - 1), np.diff(ways.offsets))
    # True where a segment of a way joins a position and the next one.
    joined = known[:-1] & known[1:] & (way[:-1] == way[1:])
    stretch = np.cumsum(~np.concatenate([[False], joined])[: len(known)])
    is_end = np.zeros(len(known), dtype=bool)
    is_end[ways.offsets[:-1]] = is_end[ways.offsets[1:] - 1] = True
    times = np.bincount(places[known], minlength=len(nodes.ids))
    is_junction = times >= 2
    is_junction[places[known & is_end]] = True
    if stops is not None:
        stop_places, found = nodes.find(stops)
        is_junction[stop_places[found]] |= times[stop_places[found]] > 0
    segments = np.flatnonzero(joined)
    metres = np.zeros(len(known))
    metres[segments + 1] = distance_m(nodes, places[segments], places[segments + 1])
    along = np.cumsum(metres)
    kept = np.flatnonzero(known)
    kept = kept[is_junction[places[kept]]]
    same_stretch = stretch[kept[:-1]] == stretch[kept[1:]]
    first, second = kept[:-1][same_stretch], kept[1:][same_stretch]
    new_id = np.cumsum(is_junction) - 1
    return Network(
        nodes.marked(is_junction),
        new_id[places[first]],
        new_id[places[second]],
        along[second] - along[first],
        way[first],
        places[first + 1],
        places[second - 1],
    )


def distance_m(nodes: Nodes, one: Ints, other: Ints) -> Floats:
    """Return great-circle distances in metres between the nodes at two lists of positions: haversines."""
    lon, lat = np.radians(nodes.lon), np.radians(nodes.lat)
    rise, turn = (np.sin((angle[other] - angle[one]) / 2) ** 2 for angle in (lat, lon))
    half_chord = rise + np.cos(lat[one]) * np.cos(lat[other]) * turn
    return 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(half_chord))


def travel_times(
    metres: Floats, metres_per_second: Floats | float, weight_type: WeightType
) -> Floats | npt.NDArray[np.float32] | Ints:
    """Return travel times: floats in seconds, or integers in milliseconds, at least 1.

    They may be out of the range of the type, which :meth:`Graph.from_arcs` refuses.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused there, too
        if weight_type in FLOATS:
            return (metres / metres_per_second).astype(weight_type)
        times = np.rint(metres * (1000 / metres_per_second))
    return np.clip(times, 1, _FAR).astype(np.int64)


def unit_of_times(weight_type: WeightType) -> dict[str, str]:
    """Return the metadata on the unit of :func:`travel_times`."""
    return {"weight_unit": "s" if weight_type in FLOATS else "ms"}


def inside_polygon(lon: Floats, lat: Floats, corners: list[tuple[float, float]]) -> Flags:
    """Return which points lie inside a polygon: a ray to the east crosses an odd number of its sides."""
    inside = np.zeros(len(lon), dtype=bool)
    for (x_1, y_1), (x_2, y_2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if y_1 != y_2:
            crosses = (lat >= min(y_1, y_2)) & (lat < max(y_1, y_2))
            inside ^= crosses & (lon < x_1 + (lat - y_1) * (x_2 - x_1) / (y_2 - y_1))
    return inside
