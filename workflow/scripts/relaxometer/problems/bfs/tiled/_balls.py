"""Balls: what lies within a few hops of a vertex, so that a search advances several levels per phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from relaxometer.graphs.graph import offsets_of
from relaxometer.problems.sssp.tiled._tiles import REMOTE, Tiling
from relaxometer.problems.variants import Skipped

Entries = npt.NDArray[np.uint16]

WORD_BITS = 16
RIM = 1 << WORD_BITS - 1
"""Marks the heads from which the search goes on; the bits below are hops - 1 and an index."""

MAX_INDICES = RIM - 1
"""Balls of a tile and heads outside it, together; one index is left for `EMPTY`."""

EMPTY = (1 << WORD_BITS) - 1
"""Fills a ball up."""


@dataclass(frozen=True)
class Balls:
    """What each vertex of a tiling reaches within a few hops, in balls of one size.

    A ball holds the vertices within some number of hops of its own vertex: the largest number for which they
    fit. Paths end where they leave the tile. Of the heads in the tile, those of the most hops are the rim:
    all arcs out of the others lead to heads of the ball with at most one hop more. A vertex with more arcs
    than a ball holds has further balls, to which the last entry of each leads.

    Parameters
    ----------
    entries : ndarray of shape (n_tiles, n_balls, size), uint16
        `RIM` or 0, hops - 1 in the next bits, and an index in the lowest `index_bits`. An index below
        `capacity` is a vertex of the tile, one of the next `outside` a head in another tile, and a larger
        one, less `outside`, a ball. `EMPTY` fills up. Ball v is that of the tile's vertex v; further balls
        begin at `capacity`.
    slots : ndarray of shape (n_tiles, outside), uint32
        Mail slots of the heads in other tiles.
    capacity : int
        Vertices of the largest tile, rounded up to a multiple of four.
    index_bits : int
    """

    entries: Entries
    slots: npt.NDArray[np.uint32]
    capacity: int
    index_bits: int

    @property
    def outside(self) -> int:
        """Largest number of heads outside a tile."""
        return self.slots.shape[1]

    @property
    def max_hops(self) -> int:
        """Largest number of hops that an entry holds."""
        return 1 << WORD_BITS - 1 - self.index_bits


class Heads:
    """The heads of a tiling's arcs by their index in a tile's balls, without self-loops and parallel arcs.

    Attributes
    ----------
    offsets : ndarray of shape (n_vertices + 1,), int64
    index : ndarray of shape (n_heads,), int64
        A vertex of the same tile, or `capacity` and more for a head in another tile.
    slots : ndarray of shape (n_tiles, outside), uint32
    capacity : int
    """

    def __init__(self, tiling: Tiling) -> None:
        self.begins, self.capacity = tiling.begins.astype(np.int64), -(-tiling.largest // 4) * 4
        n_tiles, sizes = len(self.begins) - 1, np.diff(self.begins)
        tails = np.repeat(np.arange(sizes.sum()), np.diff(tiling.offsets))
        tiles = np.repeat(np.arange(n_tiles), sizes)[tails]
        crosses = tiling.targets >= REMOTE
        slot = tiling.targets.astype(np.int64) - REMOTE
        pairs, place = np.unique(tiles[crosses] << 32 | slot[crosses], return_inverse=True)
        firsts = np.searchsorted(pairs >> 32, np.arange(n_tiles + 1))
        outside = int(np.diff(firsts).max())
        self.slots = np.zeros((n_tiles, outside), dtype=np.uint32)
        self.slots[pairs >> 32, np.arange(len(pairs)) - firsts[pairs >> 32]] = pairs & 0xFFFFFFFF
        index = tiling.targets.astype(np.int64)
        index[crosses] = self.capacity + place - firsts[tiles[crosses]]
        keep = index != tails - self.begins[tiles]
        distinct = np.unique(tails[keep] << 32 | index[keep])
        self.index = distinct & 0xFFFFFFFF
        self.offsets = offsets_of(np.bincount(distinct >> 32, minlength=len(tiling.order)))

    def further_balls(self, size: int) -> int:
        """Return how many balls of this size some tile needs besides one per vertex."""
        balls = np.maximum(0, -((size - np.diff(self.offsets)) // (size - 1)))
        return int(np.diff(offsets_of(balls)[self.begins]).max())

    def n_balls(self, size: int) -> int:
        """Return the balls of this size per tile, so many that their bytes are a multiple of 16."""
        return -(-(self.capacity + self.further_balls(size)) // 8) * 8

    def balls(self, size: int, reach: int) -> Balls:
        """Fill balls of `size` entries with heads of at most `reach` hops.

        Raises
        ------
        Skipped
            If the indices of a tile need more than 15 bits.
        """
        n_balls = self.n_balls(size)
        bits = int(n_balls + self.slots.shape[1]).bit_length()
        if n_balls + self.slots.shape[1] > MAX_INDICES:
            raise Skipped(
                f"a tile has {n_balls} balls and {self.slots.shape[1]} heads outside; made for maps"
            )
        hops = min(reach, 1 << WORD_BITS - 1 - bits)
        entries = np.full((len(self.slots), n_balls, size), EMPTY, dtype=np.uint16)
        limits = self.capacity, self.slots.shape[1], bits, hops
        _fill(self.offsets, self.index, self.begins, *limits, entries)
        return Balls(entries, self.slots, self.capacity, bits)


@njit(cache=True)
def _fill(
    offsets: Any, index: Any, begins: Any, capacity: int, outside: int, bits: int, reach: int, entries: Any
) -> None:
    size = entries.shape[2]
    heads, hops = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for tile in range(len(begins) - 1):
        further = capacity
        for v in range(begins[tile], begins[tile + 1]):
            first, last = offsets[v], offsets[v + 1]
            ball, place = v - begins[tile], 0
            if last - first > size:
                for i in range(first, last):
                    if place == size - 1 and last - i > 1:
                        entries[tile, ball, place] = outside + further
                        ball, place = further, 0
                        further += 1
                    entries[tile, ball, place] = index[i] | (RIM if index[i] < capacity else 0)
                    place += 1
                continue
            count, radius, closed = _surround(
                offsets, index, begins[tile], ball, capacity, reach, heads, hops
            )
            for i in range(count):
                rim = RIM if hops[i] == radius and heads[i] < capacity and not closed else 0
                entries[tile, ball, i] = heads[i] | (hops[i] - 1) << bits | rim


@njit(cache=True)
def _surround(
    offsets: Any, index: Any, begin: int, center: int, capacity: int, reach: int, heads: Any, hops: Any
) -> tuple[int, int, bool]:
    """List the heads around a vertex of at most `size` arcs.

    Returns
    -------
    count, radius : int
        Heads listed, and the number of hops up to which all are.
    closed : bool
        Whether no path from the vertex leads further within the tile.
    """
    count, begin_of_last, radius = 0, 0, 0
    while radius < reach:
        found = count
        # The vertices at `radius` hops: the center, or the last ones found.
        for k in range(-1 if radius == 0 else begin_of_last, 0 if radius == 0 else count):
            u = center if k < 0 else heads[k]
            if u >= capacity:
                continue
            for i in range(offsets[begin + u], offsets[begin + u + 1]):
                head = index[i]
                known = head == center
                for j in range(found):
                    known = known or heads[j] == head
                if known:
                    continue
                if found == len(heads):
                    return count, radius, False
                heads[found], hops[found] = head, radius + 1
                found += 1
        if found == count:
            return count, radius, True
        begin_of_last, count, radius = count, found, radius + 1
    return count, radius, False
