"""Separators of large parts, found on cells of a few vertices first.

A separator of the graph of cells, each a vertex, shows where a small one of the part itself is to be found:
in the cells up to `BAND` steps from it. There a flow finds it exactly, as in a small part.

Cells are grown once for all parts, and vertices are numbered cell by cell, so that a part sorted by number is
sorted by cell. What a separator leaves of a cell may not be connected, which does no harm.
"""

from concurrent.futures import Executor
from typing import Any

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


def renumber(offsets: Small, adjacent: Small, pool: Executor) -> tuple[Small, Small, Small, Small]:
    """Return the vertices cell by cell, the cell of each, and the graph on them, numbered so."""
    n = len(offsets) - 1
    order, cell = grow(offsets, adjacent, CELL)
    place = np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    new_offsets = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(np.diff(offsets)[order], out=new_offsets[1:])
    heads = np.empty_like(adjacent)
    _ranges.call(pool, n, _move, offsets, adjacent, order, place, new_offsets, heads)
    return order, cell, new_offsets, heads


@njit(cache=True, nogil=True)
def grow(offsets: Any, adjacent: Any, largest: int) -> Any:
    """Return the vertices cell by cell, each grown breadth first, and the cells of the vertices so listed."""
    n = len(offsets) - 1
    order, cell = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    is_listed = np.zeros(n, dtype=np.bool_)
    size, n_cells = 0, 0
    for root in range(n):
        if is_listed[root]:
            continue
        order[size], is_listed[root] = root, True
        head, end = size, min(size + largest, n)
        first = size
        size += 1
        while head < size and size < end:
            v = order[head]
            head += 1
            for i in range(offsets[v], offsets[v + 1]):
                u = adjacent[i]
                if not is_listed[u] and size < end:
                    is_listed[u] = True
                    order[size] = u
                    size += 1
        cell[first:size] = n_cells
        n_cells += 1
    return order, cell


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
def cut_by_cells(
    offsets: Any, adjacent: Any, vertices: Any, begin: int, own: Any, share: float, cell: Any, band: int
) -> Any:
    """Cut a part as :func:`relaxometer.problems.sssp.phast._separators.cut` does, sorted by number."""
    begins = _number_cells(vertices, cell, own.near)
    cell_offsets, cell_heads = _join_cells(offsets, adjacent, vertices, begins, own)
    n_cells = len(begins) - 1
    cells = np.arange(n_cells).astype(np.int32)
    first, last = cut(cell_offsets, cell_heads, cells, 0, scratch(n_cells), share)
    zones = _zones(cell_offsets, cell_heads, cells, first, last, band)
    sizes = np.zeros(3, dtype=np.int64)
    for c in range(n_cells):
        sizes[zones[c]] += begins[c + 1] - begins[c]
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
def _number_cells(vertices: Any, cell: Any, number: Any) -> Any:
    """Fill in each vertex's cell, numbered from 0; return the places where cells begin, and the end."""
    begins = np.empty(len(vertices) + 1, dtype=np.int32)
    size = 0
    for k in range(len(vertices)):
        if k == 0 or cell[vertices[k]] != cell[vertices[k - 1]]:
            begins[size] = k
            size += 1
        number[vertices[k]] = size - 1
    begins[size] = len(vertices)
    return begins[: size + 1].copy()


@njit(cache=True, nogil=True)
def _join_cells(offsets: Any, adjacent: Any, vertices: Any, begins: Any, own: Any) -> Any:
    """Return the graph of a part's cells."""
    n_cells, n_arcs = len(begins) - 1, 0
    for v in vertices:
        n_arcs += offsets[v + 1] - offsets[v]
    cell_offsets, heads = np.zeros(n_cells + 1, dtype=np.int32), np.empty(n_arcs, dtype=np.int32)
    joined = np.full(n_cells, -1, dtype=np.int32)  # the last cell that was found to be next to it
    size = 0
    for c in range(n_cells):
        joined[c] = c
        for v in vertices[begins[c] : begins[c + 1]]:
            for i in range(offsets[v], offsets[v + 1]):
                u = adjacent[i]
                if own.label[u] == own.label[v] and joined[own.near[u]] != c:
                    joined[own.near[u]] = c
                    heads[size] = own.near[u]
                    size += 1
        cell_offsets[c + 1] = size
    return cell_offsets, heads[:size]


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
