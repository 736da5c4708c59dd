"""Vertices of few neighbours, contracted before all others, in rounds on all cores.

In a round, a vertex of at most `MOST` neighbours goes if it has fewer than each of them; ties are broken by a
hash of the numbers. No two are adjacent, so every vertex that is left finds its new neighbours by itself: in
the place of one that goes, those of the latter. More than half of a road map has at most two neighbours, and
goes without adding arcs; to contract vertices of three adds none either, and leaves a fourth to a third of it
to be cut.
"""

import itertools
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.problems.sssp.phast import _ranges

Small = npt.NDArray[np.int32]
MOST = 3  # neighbours
LEAST_SHARE = 16  # stop after a round that contracts less than this fraction of the vertices, 1/16
FIRST = (2, 2, 2)  # at most, in the first rounds
CHOICES = (MOST, FIRST, LEAST_SHARE)
"""The parameters that the order depends on."""


NOTHING = (np.empty(0, dtype=np.int32),) * 3


class Reduced(NamedTuple):
    """What is left of a graph, and what was contracted before."""

    contracted: Small  # the vertices in order
    row_offsets: Small  # and the neighbours that each of them had when it was contracted
    rows: Small
    core: Small  # the vertices that are left
    offsets: Small  # and the graph on them, which are numbered by their places in `core`
    adjacent: Small


class Ordered(NamedTuple):
    """A reduced graph and an order of what is left of it."""

    graph: Reduced
    order: Small  # places in `core`
    parts: list[tuple[int, int]]  # ranges of the order that no edge joins, and whose other neighbours follow

    @property
    def vertices(self) -> Small:
        """All vertices in order."""
        return np.concatenate([self.graph.contracted, self.graph.core[self.order]])


def ordered(offsets: Small, adjacent: Small, order: Small) -> Ordered:
    """Return a graph of which nothing was contracted, in any order."""
    nothing = np.empty(0, dtype=np.int32)
    core = np.arange(len(offsets) - 1, dtype=np.int32)
    graph = Reduced(nothing, np.zeros(1, dtype=np.int32), nothing, core, offsets, adjacent)
    return Ordered(graph, order, [])


def reduce(offsets: Small, adjacent: Small, pool: Executor) -> Reduced:
    """Contract vertices of up to `MOST` neighbours, which are listed in both directions."""
    names = np.arange(len(offsets) - 1, dtype=np.int32)
    gone = [NOTHING]
    for most in itertools.chain(FIRST, itertools.repeat(MOST)):
        before = len(names)
        names, offsets, adjacent, parts = _round(names, offsets, adjacent, most, pool)
        gone += parts
        if most == MOST and LEAST_SHARE * (before - len(names)) <= before:
            break
    contracted, lengths, rows = (np.concatenate(one) for one in zip(*gone, strict=True))
    return Reduced(contracted, _sums(lengths), rows, names, offsets, adjacent)


def _round(
    names: Small, offsets: Small, adjacent: Small, most: int, pool: Executor
) -> tuple[Small, Small, Small, list[tuple[Small, Small, Small]]]:
    """Contract vertices that are not adjacent; return what is left, and those vertices, degrees, and rows."""
    n = len(names)
    place = np.empty(n, dtype=np.int32)
    firsts = np.cumsum([0, *_ranges.call(pool, n, _choose, offsets, adjacent, most, place)])
    parts = _ranges.call(pool, n, _rows, offsets, adjacent, names, place, firsts, _ranges.width(n))
    new_names, lengths, heads = zip(NOTHING, *(part[:3] for part in parts), strict=True)
    ends = np.cumsum([0, *map(len, heads)])
    new_heads = np.empty(ends[-1], dtype=np.int32)
    list(pool.map(copy_into, heads, itertools.repeat(new_heads), ends[:-1]))
    gone = [part[3:] for part in parts]
    return np.concatenate(new_names), _sums(np.concatenate(lengths)), new_heads, gone


def _sums(lengths: Small) -> Small:
    sums = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=sums[1:])
    return sums


@njit(cache=True, nogil=True)
def copy_into(part: Any, whole: Any, begin: int) -> None:
    """Copy a part to its place."""
    whole[begin : begin + len(part)] = part


@njit(cache=True, nogil=True)
def _key(offsets: Any, v: int) -> Any:
    """Return what decides between neighbours: the degree, then a hash that no two vertices share."""
    return np.int64(offsets[v + 1] - offsets[v]) << 32 | (np.int64(v) * 2654435761 & 0xFFFFFFFF)


@njit(cache=True, nogil=True)
def _choose(offsets: Any, adjacent: Any, most: int, place: Any, begin: int, end: int) -> int:
    """Choose the vertices of a range that go, whose place is -1, and number the others; return how many."""
    left = 0
    for v in range(begin, end):
        stays = offsets[v + 1] - offsets[v] > most
        if not stays:
            own = _key(offsets, v)
            for i in range(offsets[v], offsets[v + 1]):
                if _key(offsets, adjacent[i]) < own:
                    stays = True
                    break
        place[v] = left if stays else -1
        left += stays
    return left


@njit(cache=True, nogil=True)
def _rows(
    offsets: Any, adjacent: Any, names: Any, place: Any, firsts: Any, width: int, begin: int, end: int
) -> Any:
    """Return names, degrees and new rows of those of a range that are left, and then of those that go.

    Places are counted from the first of each range, of `width` vertices.
    """
    n = end - begin
    left, lengths, gone, own_lengths = np.empty((4, n), dtype=np.int32)
    heads = np.empty(2 * (offsets[end] - offsets[begin]) + 64, dtype=np.int32)
    rows = np.empty(offsets[end] - offsets[begin], dtype=np.int32)
    n_left, n_gone, size, own_size = 0, 0, 0, 0
    for v in range(begin, end):
        if place[v] < 0:
            for i in range(offsets[v], offsets[v + 1]):
                rows[own_size] = names[adjacent[i]]
                own_size += 1
            gone[n_gone], own_lengths[n_gone] = names[v], offsets[v + 1] - offsets[v]
            n_gone += 1
            continue
        first, bound = size, 0
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            bound += 1 if place[u] >= 0 else offsets[u + 1] - offsets[u]
        if size + bound > len(heads):
            larger = np.empty(2 * (size + bound), dtype=np.int32)
            larger[:size] = heads[:size]
            heads = larger
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if place[u] >= 0:
                heads[size] = firsts[u // width] + place[u]
                size += 1
        if size - first < offsets[v + 1] - offsets[v]:
            for i in range(offsets[v], offsets[v + 1]):
                u = adjacent[i]
                if place[u] < 0:
                    for j in range(offsets[u], offsets[u + 1]):
                        w = adjacent[j]
                        if w != v:
                            size = _add(heads, first, size, firsts[w // width] + place[w])
        left[n_left], lengths[n_left] = names[v], size - first
        n_left += 1
    return left[:n_left], lengths[:n_left], heads[:size], gone[:n_gone], own_lengths[:n_gone], rows[:own_size]


@njit(cache=True, nogil=True)
def _add(heads: Any, first: int, size: int, head: int) -> int:
    """Append a head to the row that begins at `first`, unless it is there; return the end of the row."""
    for i in range(first, size):
        if heads[i] == head:
            return size
    heads[size] = head
    return size + 1
