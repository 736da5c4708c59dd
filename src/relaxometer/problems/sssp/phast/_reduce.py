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
    n = len(offsets) - 1
    names, n_gone, n_rows = np.arange(n, dtype=np.int32), 0, 0
    gone = np.empty(n, dtype=np.int32), np.zeros(n + 1, dtype=np.int32), np.empty(MOST * n, dtype=np.int32)
    for most in itertools.chain(FIRST, itertools.repeat(MOST)):
        n = len(names)
        place = np.empty(n, dtype=np.int32)
        chosen = _ranges.call(pool, n, _choose, offsets, adjacent, most, place)
        left, rows = np.cumsum([(0, n_rows), *chosen], axis=0).T
        new_names = np.empty(left[-1], dtype=np.int32)
        plan = (names, offsets, adjacent), place, (left, rows), n_gone, _ranges.width(n), new_names, gone
        offsets, adjacent = _joined(_ranges.call(pool, n, _rows, *plan), pool)
        names, n_gone, n_rows = new_names, n_gone + n - len(new_names), int(rows[-1])
        if most == MOST and LEAST_SHARE * (n - len(names)) <= n:
            break
    contracted = gone[0][:n_gone], gone[1][: n_gone + 1], gone[2][:n_rows]
    return Reduced(*contracted, names, offsets, adjacent)


def _joined(parts: list[tuple[Small, Small]], pool: Executor) -> tuple[Small, Small]:
    """Return offsets and heads of rows in parts that follow each other, of which each has their ends."""
    firsts, begins = np.cumsum([(0, 0), *((len(ends), len(heads)) for ends, heads in parts)], axis=0).T
    offsets, heads = np.zeros(firsts[-1] + 1, dtype=np.int32), np.empty(begins[-1], dtype=np.int32)
    whole = itertools.repeat((offsets, heads))
    list(pool.map(_append, parts, whole, firsts[:-1], begins[:-1]))
    return offsets, heads


@njit(cache=True, nogil=True)
def _append(part: Any, whole: Any, first: int, begin: int) -> None:
    """Copy rows to their place, after `first` others of `begin` heads."""
    (ends, part_heads), (offsets, heads) = part, whole
    for k in range(len(ends)):
        offsets[first + k + 1] = begin + ends[k]
    for i in range(len(part_heads)):
        heads[begin + i] = part_heads[i]


@njit(cache=True, nogil=True)
def _key(offsets: Any, v: int) -> Any:
    """Return what decides between neighbours: the degree, then a hash that no two vertices share."""
    return np.int64(offsets[v + 1] - offsets[v]) << 32 | (np.int64(v) * 2654435761 & 0xFFFFFFFF)


@njit(cache=True, nogil=True)
def _choose(offsets: Any, adjacent: Any, most: int, place: Any, begin: int, end: int) -> Any:
    """Choose the vertices of a range that go, whose place is -1, and number the others.

    Returns how many are left, and how many arcs the others have.
    """
    left, n_arcs = 0, 0
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
        n_arcs += 0 if stays else offsets[v + 1] - offsets[v]
    return left, n_arcs


@njit(cache=True, nogil=True)
def _rows(
    graph: Any,
    place: Any,
    firsts: Any,
    n_gone: int,
    width: int,
    new_names: Any,
    gone: Any,
    begin: int,
    end: int,
) -> Any:
    """Fill in the names of those of a range that are left, and what is known of those that go.

    Returns ends and heads of the rows of the former. `firsts` are the numbers of vertices that are left and
    arcs of those that go before each range, of `width` vertices; `n_gone` vertices have gone before.
    """
    (names, offsets, adjacent), (left, arcs) = graph, firsts
    n_left, own_size = left[begin // width], arcs[begin // width]
    n_gone += begin - n_left
    first_left, size = n_left, 0
    ends, heads = (
        np.empty(end - begin, np.int32),
        np.empty(2 * (offsets[end] - offsets[begin]) + 64, np.int32),
    )
    for v in range(begin, end):
        if place[v] < 0:
            for i in range(offsets[v], offsets[v + 1]):
                gone[2][own_size] = names[adjacent[i]]
                own_size += 1
            gone[0][n_gone], gone[1][n_gone + 1] = names[v], own_size
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
                heads[size] = left[u // width] + place[u]
                size += 1
        if size - first < offsets[v + 1] - offsets[v]:
            for i in range(offsets[v], offsets[v + 1]):
                u = adjacent[i]
                if place[u] < 0:
                    for j in range(offsets[u], offsets[u + 1]):
                        w = adjacent[j]
                        if w != v:
                            size = _add(heads, first, size, left[w // width] + place[w])
        new_names[n_left], ends[n_left - first_left] = names[v], size
        n_left += 1
    return ends[: n_left - first_left], heads[:size]


@njit(cache=True, nogil=True)
def _add(heads: Any, first: int, size: int, head: int) -> int:
    """Append a head to the row that begins at `first`, unless it is there; return the end of the row."""
    for i in range(first, size):
        if heads[i] == head:
            return size
    heads[size] = head
    return size + 1
