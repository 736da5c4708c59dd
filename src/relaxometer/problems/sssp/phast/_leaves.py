"""Orders of small parts by minimum degree, with adjacency in bits.

A vertex of least degree is contracted next: its neighbours become neighbours of each other, by an "or" of
rows of bits. The vertices around a part, which are contracted after all of it, count as neighbours. Of the
first few vertices of least degree, the one with the lowest elimination tree below it is taken.

Rose, "A Graph-Theoretic Study of the Numerical Solution of Sparse Positive Definite Systems of Linear
Equations", in Graph Theory and Computing, 1972.
"""

from typing import Any

import numpy as np

from relaxometer.core.compiled import njit

TRIED = 8  # vertices of least degree


@njit(cache=True, nogil=True)
def by_degree(offsets: Any, adjacent: Any, vertices: Any, label: Any, place: Any) -> Any:
    """Return the vertices of a part, which share a label, in an order of least degrees.

    `place` is for them to use; others may use the places of the vertices around at the same time.
    """
    n = len(vertices)
    around = _number(offsets, adjacent, vertices, label, place)
    rows = _rows(offsets, adjacent, vertices, label, place, around)
    degree, height = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    # Lists of the vertices of each degree, linked both ways.
    first = np.full(n + len(around) + 1, -1, dtype=np.int32)
    after, before = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    lists = first, after, before
    for v in range(n - 1, -1, -1):
        degree[v] = offsets[vertices[v] + 1] - offsets[vertices[v]]
        _link(v, degree[v], lists)
    order = np.empty(n, dtype=np.int32)
    least = 0
    for k in range(n):
        while first[least] < 0:
            least += 1
        v = _lowest(first[least], after, height)
        _unlink(v, least, lists)
        order[k] = vertices[v]
        least = max(0, least - 1)  # a neighbour's degree falls by one at most
        for word in range(rows.shape[1]):
            bits = rows[v, word]
            while bits:
                u = 64 * word + _count_bits(~bits & (bits - np.uint64(1)))  # the lowest bit that is set
                bits &= bits - np.uint64(1)
                if u < n:
                    height[u] = max(height[u], height[v] + 1)
                    _unlink(u, degree[u], lists)
                    degree[u] = _contract(rows, v, u)
                    _link(u, degree[u], lists)
                    least = min(least, degree[u])
    return order


@njit(cache=True, nogil=True)
def _number(offsets: Any, adjacent: Any, vertices: Any, label: Any, place: Any) -> Any:
    """Give numbers to the vertices of a part in `place`, and then to those around it, which are returned."""
    n_arcs, size = 0, 0
    for k in range(len(vertices)):
        place[vertices[k]] = k
        n_arcs += offsets[vertices[k] + 1] - offsets[vertices[k]]
    around = np.empty(n_arcs, dtype=np.int32)
    for v in vertices:
        for i in range(offsets[v], offsets[v + 1]):
            if label[adjacent[i]] != label[v]:
                around[size] = adjacent[i]
                size += 1
    around, size = around[:size], 0
    around.sort()
    for u in around:
        if size == 0 or around[size - 1] != u:
            around[size] = u
            size += 1
    return around[:size]


@njit(cache=True, nogil=True)
def _rows(offsets: Any, adjacent: Any, vertices: Any, label: Any, place: Any, around: Any) -> Any:
    """Return a bit for each neighbour of each vertex."""
    n = len(vertices)
    rows = np.zeros((n, (n + len(around) + 63) // 64), dtype=np.uint64)
    for k in range(n):
        v = vertices[k]
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            column = place[u] if label[u] == label[v] else n + np.searchsorted(around, u)
            rows[k, column // 64] |= np.uint64(1) << np.uint64(column % 64)
    return rows


@njit(cache=True, nogil=True)
def _link(v: int, degree: int, lists: Any) -> None:
    first, after, before = lists
    before[v], after[v] = -1, first[degree]
    if first[degree] >= 0:
        before[first[degree]] = v
    first[degree] = v


@njit(cache=True, nogil=True)
def _unlink(v: int, degree: int, lists: Any) -> None:
    first, after, before = lists
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        first[degree] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@njit(cache=True, nogil=True)
def _lowest(v: int, after: Any, height: Any) -> int:
    """Return the vertex of the least height among the first few of a list."""
    best = v
    for _ in range(TRIED):
        if height[v] < height[best]:
            best = v
        v = after[v]
        if v < 0:
            break
    return best


@njit(cache=True, nogil=True)
def _contract(rows: Any, v: int, u: int) -> int:
    """Give the neighbours of v to its neighbour u; return the degree of u."""
    degree = -2  # v and u themselves
    for word in range(rows.shape[1]):
        rows[u, word] |= rows[v, word]
        degree += _count_bits(rows[u, word])
    rows[u, v // 64] &= ~(np.uint64(1) << np.uint64(v % 64))
    rows[u, u // 64] &= ~(np.uint64(1) << np.uint64(u % 64))
    return degree


@njit(cache=True, nogil=True)
def _count_bits(word: Any) -> int:
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
