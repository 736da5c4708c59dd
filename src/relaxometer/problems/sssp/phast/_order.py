"""Orders of contraction by nested dissection, on all cores.

Three steps:

1. Vertices of few neighbours are contracted first (`_reduce`): most of a road map.
2. The remaining graph is cut recursively by small separators (`_separators`), which come after both sides.
   Cuts wait for each other, so those of large parts are found on cells of a few vertices first (`_cells`).
3. Small parts are ordered by minimum degree (`_leaves`).

Parts do not wait for each other. The order depends on the edges of the graph only, neither on weights nor on
the number of cores.

Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016: orders for road maps.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.device.host_build import built_once
from relaxometer.problems.sssp.phast import _reduce
from relaxometer.problems.sssp.phast._cells import BAND, CELL, cut_by_cells, renumber
from relaxometer.problems.sssp.phast._leaves import TRIED, by_degree
from relaxometer.problems.sssp.phast._reduce import Ordered, reduce
from relaxometer.problems.sssp.phast._separators import SHARE, cut, scratch
from relaxometer.problems.sssp.phast._widths import PART, Size, guess, measure
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
LEAF = 512  # do not cut parts of fewer vertices
LARGE, LARGE_SHARE = 5, 0.3
"""Cut parts above this fraction of the graph, for which others wait, in the middle: it takes less time."""

BY_CELLS = 4
"""Cut parts above this multiple of what one thread orders alone by cells, in a fraction of the time."""

PARTS = 128  # a thread alone orders parts below this fraction of the reduced graph
MESH = 0.9  # do not reduce a graph before its size is guessed if more vertices have over two neighbours
TOO_LARGE = 2  # skip a graph whose hierarchy is expected to exceed a limit this many times
TRIED_CUTS, PEELED = 4, 0.8
"""Skip a large graph if after this many cuts, one after the other, a part has more than this fraction of it:
it has small separators only at its fringes."""
NO_LIMITS = Size(math.inf, math.inf)
CHOICES = (LEAF, LARGE, LARGE_SHARE, SHARE, TRIED, BY_CELLS, PARTS, CELL, BAND, *_reduce.CHOICES)
"""The parameters that an order depends on, in addition to the graph."""


def dissect(offsets: Small, adjacent: Small, pool: Executor, limits: Size = NO_LIMITS) -> Ordered:
    """Order a graph by nested dissection, after vertices of few neighbours.

    `adjacent` has the neighbours of each vertex, without itself, each once, and in both directions. Skipped
    if the hierarchy is expected to be `TOO_LARGE` times as large as its limits.
    """
    is_mesh = np.count_nonzero(np.diff(offsets) > 2) > MESH * (len(offsets) - 1)
    if is_mesh:
        _refuse_wide(len(offsets) - 1, measure(offsets, adjacent, pool), limits)
    reduced = reduce(offsets, adjacent, pool)
    graph, n = (reduced.offsets, reduced.adjacent), len(reduced.core)
    widths = [] if is_mesh else measure(*graph, pool)
    return Ordered(reduced, *_dissect(*graph, pool, lambda: _refuse_wide(n, widths, limits)))


def _refuse_wide(n: int, widths: Sequence[Future[int]], limits: Size) -> None:
    """Skip a graph whose separators are too large for a map."""
    if widths:
        expected = guess(n, widths)
        if any(one > TOO_LARGE * limit for one, limit in zip(expected, limits, strict=True)):
            arcs, triangles = expected
            raise Skipped(f"made for maps; expected are {arcs:.2g} arcs and {triangles:.2g} triangles")


def kept(offsets: Small, adjacent: Small, make: Callable[[], Small]) -> Small:
    """Return an order from the cache of compiled kernels, made if missing, under a hash of all it needs."""
    key = hashlib.sha256(repr(CHOICES).encode())
    key.update(offsets.data)
    key.update(adjacent.data)

    def build(folder: Path) -> Path:
        np.save(folder / "order.npy", make())
        return folder / "order.npy"

    order: Small = np.load(built_once(f"order-{key.hexdigest()[:24]}.npy", build), allow_pickle=False)
    return order


def _dissect(
    offsets: Small, adjacent: Small, pool: Executor, refuse_wide: Callable[[], None]
) -> tuple[Small, list[tuple[int, int]]]:
    """Order the vertices of a graph by cuts, of which threads make several at once; also return its parts.

    `refuse_wide` is called while the first cut is found, which occupies one core.
    """
    order, offsets, adjacent, cells = renumber(offsets, adjacent, pool)
    n = len(order)
    graph, own, vertices = (offsets, adjacent), scratch(n), np.arange(n, dtype=np.int32)
    smallest, small = max(LEAF, n // PARTS), []

    def halve(begin: int, end: int, cuts: int = 0) -> list[Future[Any]]:
        """Cut a part that some cuts have made, or order it if it is small; return what was begun."""
        if cuts == TRIED_CUTS and end - begin > max(PEELED * n, PART):
            raise Skipped(f"made for maps; {cuts} cuts leave a part of {(end - begin) / n:.0%} of the graph")
        if end - begin <= smallest:
            _order_part(graph, vertices, begin, end, own, SHARE, LEAF)
            small.append((begin, end))
            return []
        part = *graph, vertices[begin:end], begin, own, LARGE_SHARE if LARGE * (end - begin) > n else SHARE
        is_large = end - begin > BY_CELLS * smallest
        first, last = cut_by_cells(*part, cells, BAND) if is_large else cut(*part)
        _label(vertices, begin, end, first, last, own.label)
        parts = (begin, begin + first, cuts + 1), (begin + first, begin + first + last, cuts + 1)
        return [pool.submit(halve, *part) for part in parts]

    waiting = [pool.submit(halve, 0, n)]
    refuse_wide()
    while waiting:
        waiting += waiting.pop().result()
    return order[vertices], sorted(small)


@njit(cache=True, nogil=True)
def _label(vertices: Any, begin: int, end: int, first: int, last: int, label: Any) -> None:
    """Label the sides of a part in these places of the order, which was cut, by their first places."""
    for k in range(begin + first, end):
        label[vertices[k]] = begin + first if k < begin + first + last else -1


@njit(cache=True, nogil=True)
def _order_part(graph: Any, vertices: Any, begin: int, end: int, own: Any, share: float, leaf: int) -> None:
    """Order the part in these places."""
    offsets, adjacent = graph
    waiting = [(begin, end)]
    while len(waiting) > 0:
        begin, end = waiting.pop()
        if end - begin <= leaf:
            vertices[begin:end] = by_degree(offsets, adjacent, vertices[begin:end], own.label, own.near)
            continue
        first, last = cut(offsets, adjacent, vertices[begin:end], begin, own, share)
        _label(vertices, begin, end, first, last, own.label)
        waiting.append((begin, begin + first))
        waiting.append((begin + first, begin + first + last))
