"""Separators of large parts, found on cells of a few vertices first.

A separator of the graph of cells, each a vertex, shows where a small one of the part itself is to be found:
in the cells up to `BAND` steps from it. There a flow finds it exactly, as in a small part.

Cells are grown and joined once for all parts, on all cores, and vertices are numbered cell by cell. What a
separator leaves of a cell may not be connected, and cells may have been neighbours by vertices that are gone;
both do no harm.
"""

from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._separators import (
    FIRST,
    LAST,
    MIDDLE,
    cut,
    cut_middle,
    scratch,
    sort_by_zone,
)

Small = npt.NDArray[np.int32]
# Compiled functions take these as arguments: numba's cache does not see a changed value.
CELL = 16  # maximum vertices
BAND = 3


class Cells(NamedTuple):
    """The cells of a graph, in which vertices are numbered cell by cell, and which of them are neighbours."""

    of: Small  # the cell of each vertex
    first: Small  # the first vertex of each cell
    end: Small  # of the neighbours of each cell, which begin where the arcs of its first vertex do
    heads: Small  # these neighbours


def renumber(offsets: Small, adjacent: Small, pool: Executor) -> tuple[Small, Small, Small, Cells]:
    """Return the vertices cell by cell, and the graph and the cells on them, numbered so."""
    n, graph, heads = len(offsets) - 1, (offsets, adjacent), np.empty_like(adjacent)
    order, place, new_offsets, of, first = grow(*graph, CELL)
    _ranges.call(pool, n, _move, *graph, order, place, new_offsets, heads)
    cells = Cells(of, first, np.empty_like(first), np.empty_like(heads))
    _ranges.call(pool, len(first), _join, new_offsets, heads, cells, least=_ranges.LEAST // CELL)
    return order, new_offsets, heads, cells


@njit(cache=True, nogil=True)
def grow(offsets: Any, adjacent: Any, largest: int) -> Any:
    """List the vertices cell by cell, each grown breadth first.

    Returns this order, the place of each vertex, and by place, where arcs will begin, and the cell; and the
    place where each cell begins.
    """
    n = len(offsets) - 1
    order, cell, first = np.empty((3, n), dtype=np.int32)
    place, new_offsets = np.full(n, -1, dtype=np.int32), np.zeros(n + 1, dtype=np.int32)
    size, n_cells = 0, 0
    for root in range(n):
        if place[root] >= 0:
            continue
        order[size], place[root] = root, size
        head, end = size, min(size + largest, n)
        first[n_cells] = size
        size += 1
        while head < size:
            v = order[head]
            cell[head], new_offsets[head + 1] = n_cells, new_offsets[head] + offsets[v + 1] - offsets[v]
            head += 1
            for i in range(offsets[v], offsets[v + 1] if size < end else offsets[v]):
                u = adjacent[i]
                if place[u] < 0 and size < end:
                    order[size], place[u] = u, size
                    size += 1
        n_cells += 1
    return order, place, new_offsets, cell, first[:n_cells].copy()


@njit(cache=True, nogil=True)
def _move(
    offsets: Any, adjacent: Any, order: Any, place: Any, new_offsets: Any, heads: Any, begin: int, end: int
) -> None:
    """Write the new rows of a range of vertices."""
    for k in range(begin, end):
        at = new_offsets[k]
        for i in range(offsets[order[k]], offsets[order[k] + 1]):
            heads[at] = place[adjacent[i]]
            at += 1


@njit(cache=True, nogil=True)
def _join(offsets: Any, adjacent: Any, cells: Any, begin: int, end: int) -> None:
    """Find the neighbours of a range of cells."""
    joined = np.full(len(cells.first), -1, dtype=np.int32)  # the last cell that was found to be next to it
    for c in range(begin, end):
        joined[c] = c
        v = cells.first[c]
        at = offsets[v]
        while v < len(cells.of) and cells.of[v] == c:
            for i in range(offsets[v], offsets[v + 1]):
                d = cells.of[adjacent[i]]
                if joined[d] != c:
                    joined[d] = c
                    cells.heads[at] = d
                    at += 1
            v += 1
        cells.end[c] = at


@njit(cache=True, nogil=True)
def cut_by_cells(
    offsets: Any, adjacent: Any, vertices: Any, begin: int, own: Any, share: float, cells: Any, band: int
) -> Any:
    """Cut a part as :func:`relaxometer.problems.sssp.phast._separators.cut` does, sorted by number."""
    cell_offsets, cell_heads, n_vertices = _part(offsets, vertices, cells, own.near)
    n_cells = len(n_vertices)
    listed = np.arange(n_cells).astype(np.int32)
    first, last = cut(cell_offsets, cell_heads, listed, 0, scratch(n_cells), share)
    zones = _zones(cell_offsets, cell_heads, listed, first, last, band)
    sizes = np.zeros(3, dtype=np.int64)
    for c in range(n_cells):
        sizes[zones[c]] += n_vertices[c]
    if first + last < n_cells and sizes[FIRST] * sizes[LAST] == 0:  # the band is too wide
        return cut(offsets, adjacent, vertices, begin, own, share)
    middle, size = np.empty(sizes[MIDDLE], dtype=np.int32), 0
    for v in vertices:
        own.zone[v] = zones[own.near[v]]
        if own.zone[v] == MIDDLE:
            middle[size] = v
            size += 1
    if size == 0:  # components
        one, other = sizes[FIRST], sizes[LAST]
    else:
        one, other = cut_middle(
            offsets, adjacent, middle, begin, len(vertices), own, sizes[FIRST], sizes[LAST]
        )
    sort_by_zone(vertices, own.order[begin : begin + len(vertices)], own.zone, one, other)
    return one, other


@njit(cache=True, nogil=True)
def _part(offsets: Any, vertices: Any, cells: Any, number: Any) -> Any:
    """Fill in the cell of each vertex of a part, numbered from 0; return the graph on them, and their sizes.

    Cells that a separator cut are neighbours as before: they may be too many, never too few.
    """
    numbers = np.full(len(cells.first), -1, dtype=np.int32)
    names, sizes = np.empty((2, len(vertices)), dtype=np.int32)
    n_cells, n_arcs = 0, 0
    for v in vertices:
        c = cells.of[v]
        if numbers[c] < 0:
            names[n_cells], sizes[n_cells], numbers[c] = c, 0, n_cells
            n_arcs += cells.end[c] - offsets[cells.first[c]]
            n_cells += 1
        number[v] = numbers[c]
        sizes[numbers[c]] += 1
    cell_offsets, heads, size = np.zeros(n_cells + 1, dtype=np.int32), np.empty(n_arcs, dtype=np.int32), 0
    for k in range(n_cells):
        c = names[k]
        for i in range(offsets[cells.first[c]], cells.end[c]):
            if numbers[cells.heads[i]] >= 0:
                heads[size] = numbers[cells.heads[i]]
                size += 1
        cell_offsets[k + 1] = size
    return cell_offsets, heads[:size], sizes[:n_cells]


@njit(cache=True, nogil=True)
def _zones(offsets: Any, heads: Any, cells: Any, first: int, last: int, band: int) -> Any:
    """Return the zones of cells that are sorted by side, the separator last; the band is the middle."""
    n = len(cells)
    zones, steps = np.full(n, FIRST, dtype=np.int8), np.full(n, -1, dtype=np.int32)
    queue, size = np.empty(n, dtype=np.int32), 0
    for k in range(first, n):
        zones[cells[k]] = LAST
        if k >= first + last:
            zones[cells[k]], steps[cells[k]] = MIDDLE, 0
            queue[size] = cells[k]
            size += 1
    head = 0
    while head < size:
        c = queue[head]
        head += 1
        for i in range(offsets[c], offsets[c + 1]):
            d = heads[i]
            if steps[c] < band and steps[d] < 0:
                zones[d], steps[d] = MIDDLE, steps[c] + 1
                queue[size] = d
                size += 1
    return zones
