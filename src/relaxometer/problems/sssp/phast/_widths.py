"""The size of a hierarchy, guessed from separators of a few parts before any order is made.

Separators of meshes grow with the root of their part, and those of the whole decide: in an order by nested
dissection the hierarchy has about s² log s arcs and s³ triangles if the first separator has s vertices. Maps
have far smaller separators, which grow more slowly, so theirs are overestimated up to tenfold without harm.

George, "Nested Dissection of a Regular Finite Element Mesh", SIAM Journal on Numerical Analysis 10, 1973.
"""

from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from relaxometer.core.compiled import njit
from relaxometer.problems.sssp.phast._separators import cut, scratch

Small = npt.NDArray[np.int32]
PART = 1 << 14  # vertices of a part, grown breadth first
PARTS = 9
SHARE = 0.3  # of a part, at least, is on either side of its separator; less would cut off what juts out
ARCS, TRIANGLES = 5.5, 10.0
"""Arcs per s² log2 s, and triangles per s³, of triangulations and graphs of nearest neighbours."""


class Size(NamedTuple):
    """Arcs and triangles of a hierarchy."""

    arcs: float
    triangles: float


def guess(offsets: Small, adjacent: Small, pool: Executor) -> Size:
    """Return about the size of the hierarchy of a graph of at least `PART` vertices."""
    n = len(offsets) - 1
    graph = sp.csr_matrix((np.ones(len(adjacent), dtype=np.bool_), adjacent, offsets), shape=(n, n))
    begins = [(2 * k + 1) * n // (2 * PARTS) for k in range(PARTS)]
    widths = list(pool.map(lambda begin: _width(graph, begin), begins))
    width = max(2.0, float(np.median(widths))) * (n / PART) ** 0.5
    return Size(ARCS * width**2 * np.log2(width), TRIANGLES * width**3)


def _width(graph: sp.csr_matrix, begin: int) -> int:
    """Return the size of a separator of the part around a vertex."""
    part = _grow(graph.indptr, graph.indices, begin, PART)
    vertices = np.arange(len(part), dtype=np.int32)
    own = graph[part][:, part]
    first, last = cut(own.indptr, own.indices, vertices, 0, scratch(len(part)), SHARE)
    return len(part) - int(first) - int(last)


@njit(cache=True, nogil=True)
def _grow(offsets: Any, adjacent: Any, begin: int, most: int) -> Any:
    """Return up to `most` vertices in the order of a breadth-first search."""
    seen = np.zeros(len(offsets) - 1, dtype=np.bool_)
    queue = np.empty(most, dtype=np.int32)
    queue[0], seen[begin] = begin, True
    head, size = 0, 1
    while head < size:
        v = queue[head]
        head += 1
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if not seen[u] and size < most:
                seen[u] = True
                queue[size] = u
                size += 1
    return queue[:size].copy()
