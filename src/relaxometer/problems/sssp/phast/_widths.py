"""The size of a hierarchy, guessed from separators of a few parts before any order is made.

Separators of meshes grow with the root of their part, and those of the whole decide: in an order by nested
dissection the hierarchy has about s² log s arcs and s³ triangles if the first separator has s vertices. Maps
have far smaller separators, which grow more slowly, so theirs are overestimated up to tenfold without harm.

George, "Nested Dissection of a Regular Finite Element Mesh", SIAM Journal on Numerical Analysis 10, 1973.
"""

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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


def measure(offsets: Small, adjacent: Small, pool: Executor) -> list[Future[int]]:
    """Begin to find separators of some parts of a graph, none if it has less than `PART` vertices."""
    n = len(offsets) - 1
    if n < PART:
        return []
    begins = [(2 * k + 1) * n // (2 * PARTS) for k in range(PARTS)]
    return [pool.submit(_width, offsets, adjacent, begin, PART, SHARE) for begin in begins]


def guess(n: int, widths: Sequence[Future[int]]) -> Size:
    """Return about the size of the hierarchy of a graph of `n` vertices."""
    width = max(2.0, float(np.median([one.result() for one in widths]))) * (n / PART) ** 0.5
    return Size(ARCS * width**2 * np.log2(width), TRIANGLES * width**3)


@njit(cache=True, nogil=True)
def _width(offsets: Any, adjacent: Any, begin: int, most: int, share: float) -> int:
    """Return the size of a separator of the part of up to `most` vertices around a vertex."""
    place, queue = np.full(len(offsets) - 1, -1, dtype=np.int32), np.empty(most, dtype=np.int32)
    queue[0], place[begin] = begin, 0
    head, size, n_arcs = 0, 1, 0
    while head < size:
        v = queue[head]
        head += 1
        n_arcs += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if place[u] < 0 and size < most:
                queue[size], place[u] = u, size
                size += 1
    own_offsets, heads = np.zeros(size + 1, dtype=np.int32), np.empty(n_arcs, dtype=np.int32)
    at = 0
    for k in range(size):
        for i in range(offsets[queue[k]], offsets[queue[k] + 1]):
            if place[adjacent[i]] >= 0:
                heads[at] = place[adjacent[i]]
                at += 1
        own_offsets[k + 1] = at
    first, last = cut(own_offsets, heads[:at], np.arange(size).astype(np.int32), 0, scratch(size), share)
    return size - first - last
