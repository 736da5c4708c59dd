"""Orders of contraction by nested dissection, on all cores.

Three steps:

1. Vertices of at most two neighbours are contracted first, in rounds of vertices that are not adjacent: more
   than half of a road map. This adds no more arcs than any other order would.
2. The remaining graph is cut recursively by small separators (`_separators`), which come after both sides.
3. Small parts are ordered by minimum degree (`_leaves`).

Parts do not wait for each other. The order depends on the edges of the graph only, neither on weights nor on
the number of cores.

Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016: orders for road maps.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit
from relaxometer.device.host_build import built_once
from relaxometer.problems.sssp.phast._leaves import TRIED, by_degree
from relaxometer.problems.sssp.phast._separators import SHARE, cut, scratch
from relaxometer.problems.sssp.phast._widths import PART, Size, guess
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
LEAF = 512  # do not cut parts of fewer vertices
LARGE, LARGE_SHARE = 5, 0.3
"""Cut parts above this fraction of the graph, for which others wait, in the middle: it takes less time."""

PARTS = 128  # a thread alone orders parts below this fraction of the reduced graph
MESH = 0.9  # do not reduce a graph before its size is guessed if more vertices have over two neighbours
TOO_LARGE = 2  # skip a graph whose hierarchy is expected to exceed a limit this many times
NO_LIMITS = Size(math.inf, math.inf)
CHOICES = (LEAF, LARGE, LARGE_SHARE, SHARE, TRIED)
"""The parameters that an order depends on, in addition to the graph."""


def dissect(
    offsets: Ints, adjacent: npt.NDArray[Any], limits: Size = NO_LIMITS, cores: int | None = None
) -> Ints:
    """Order the vertices of a graph by nested dissection; return them, the one to contract first first.

    `adjacent` has the neighbours of each vertex, without itself, each once, and in both directions. `cores`
    is the number of threads, by default Numba's. Skipped if the hierarchy is expected to be `TOO_LARGE` times
    as large as its limits.
    """
    whole = offsets.astype(np.int32), adjacent.astype(np.int32)
    is_mesh = np.count_nonzero(np.diff(offsets) > 2) > MESH * (len(offsets) - 1)
    if is_mesh:
        _refuse_wide(*whole, limits)
    contracted, core, *graph = _reduce(*whole)
    if not is_mesh:
        _refuse_wide(graph[0], graph[1], limits)
    order = _dissect(graph[0], graph[1], cores or get_num_threads())
    return np.concatenate([contracted, core[order]]).astype(np.int64)


def _refuse_wide(offsets: Small, adjacent: Small, limits: Size) -> None:
    """Skip a graph whose separators are too large for a map."""
    if len(offsets) > PART:
        expected = guess(offsets, adjacent)
        if any(one > TOO_LARGE * limit for one, limit in zip(expected, limits, strict=True)):
            arcs, triangles = expected
            raise Skipped(f"made for maps; expected are {arcs:.2g} arcs and {triangles:.2g} triangles")


def kept(offsets: Ints, adjacent: npt.NDArray[Any], make: Callable[[], Ints]) -> Ints:
    """Return an order from the cache of compiled kernels, made if missing, under a hash of all it needs."""
    key = hashlib.sha256(repr(CHOICES).encode())
    key.update(np.ascontiguousarray(offsets, dtype=np.int64).data)
    key.update(np.ascontiguousarray(adjacent, dtype=np.uint32).data)

    def build(folder: Path) -> Path:
        np.save(folder / "order.npy", make())
        return folder / "order.npy"

    order: Ints = np.load(built_once(f"order-{key.hexdigest()[:24]}.npy", build), allow_pickle=False)
    return order


def _dissect(offsets: Small, adjacent: Small, cores: int) -> Small:
    """Order the vertices of a graph by cuts, of which threads make several at once."""
    n = len(offsets) - 1
    own, vertices = scratch(n), np.arange(n, dtype=np.int32)
    smallest = max(LEAF, n // PARTS)

    def halve(begin: int, end: int) -> list[tuple[int, int]]:
        """Cut a part, or order it if it is small; return what is left to do."""
        if end - begin <= smallest:
            _order_part(offsets, adjacent, vertices, begin, end, own, SHARE, LEAF)
            return []
        share = LARGE_SHARE if LARGE * (end - begin) > n else SHARE
        first, last = _cut(offsets, adjacent, vertices, begin, end, own, share)
        return [(begin, begin + first), (begin + first, begin + first + last)]

    with ThreadPoolExecutor(cores) as pool:
        waiting = {pool.submit(halve, 0, n)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {pool.submit(halve, *part) for one in done for part in one.result()}
    return vertices


@njit(cache=True, nogil=True)
def _cut(offsets: Any, adjacent: Any, vertices: Any, begin: int, end: int, own: Any, share: float) -> Any:
    """Cut the part in these places of the order; a part is labelled by the first of them."""
    first, last = cut(offsets, adjacent, vertices[begin:end], begin, own, share)
    for k in range(begin + first, end):
        own.label[vertices[k]] = begin + first if k < begin + first + last else -1
    return first, last


@njit(cache=True, nogil=True)
def _order_part(
    offsets: Any, adjacent: Any, vertices: Any, begin: int, end: int, own: Any, share: float, leaf: int
) -> None:
    """Order the part in these places."""
    place = np.full(len(offsets) - 1, -1, dtype=np.int32)
    waiting = [(begin, end)]
    while len(waiting) > 0:
        begin, end = waiting.pop()
        if end - begin <= leaf:
            vertices[begin:end] = by_degree(offsets, adjacent, vertices[begin:end], place)
            continue
        first, last = _cut(offsets, adjacent, vertices, begin, end, own, share)
        waiting.append((begin, begin + first))
        waiting.append((begin + first, begin + first + last))


def _reduce(offsets: Small, adjacent: Small) -> tuple[Small, Small, Small, Small]:
    """Contract vertices of up to two neighbours; return them in order, the others, and the graph on those."""
    contracted, degree = _contract_simple(offsets, adjacent)
    is_left = np.ones(len(degree), dtype=np.bool_)
    is_left[contracted] = False
    core = np.flatnonzero(is_left).astype(np.int32)
    return contracted, core, *_rows_left(offsets, adjacent, degree, is_left, core)


@njit(cache=True, nogil=True)
def _contract_simple(offsets: Any, adjacent: Any) -> Any:
    """Contract vertices of up to two neighbours in rounds; return them and the rest of all rows."""
    n = len(offsets) - 1
    degree = np.empty(n, dtype=np.int32)
    order = np.empty(n, dtype=np.int32)
    listed = np.zeros(n, dtype=np.bool_)  # for this round or the next one
    blocked_in = np.full(n, -1, dtype=np.int32)
    current, following = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    size, n_current, n_round = 0, 0, 0
    for v in range(n):
        degree[v] = offsets[v + 1] - offsets[v]
        if degree[v] <= 2:
            listed[v] = True
            current[n_current] = v
            n_current += 1
    while n_current > 0:
        n_following = 0
        for k in range(n_current):
            v = current[k]
            if blocked_in[v] == n_round:  # a neighbour was contracted in this round
                following[n_following] = v
                n_following += 1
                continue
            order[size] = v
            size += 1
            begin = offsets[v]
            one, other = adjacent[begin], adjacent[begin + degree[v] - 1]
            for i in range(degree[v]):
                u = adjacent[begin + i]
                blocked_in[u] = n_round
                _replace(offsets, adjacent, degree, u, v, other if u == one else one)
                if degree[u] <= 2 and not listed[u]:
                    listed[u] = True
                    following[n_following] = u
                    n_following += 1
        current, following = following, current
        n_current = n_following
        n_round += 1
    return order[:size].copy(), degree


@njit(cache=True, nogil=True)
def _replace(offsets: Any, adjacent: Any, degree: Any, u: int, old: int, new: int) -> None:
    """Make `new` a neighbour of u instead of `old`, unless it is u itself or one already."""
    begin, end = offsets[u], offsets[u] + degree[u]
    is_new = new != u
    place = begin
    for i in range(begin, end):
        if adjacent[i] == old:
            place = i
        elif adjacent[i] == new:
            is_new = False
    if is_new:
        adjacent[place] = new
    else:
        adjacent[place] = adjacent[end - 1]
        degree[u] -= 1


@njit(cache=True, nogil=True)
def _rows_left(offsets: Any, adjacent: Any, degree: Any, is_left: Any, core: Any) -> Any:
    place = (np.cumsum(is_left) - 1).astype(np.int32)
    new_offsets = np.zeros(len(core) + 1, dtype=np.int32)
    for k in range(len(core)):
        new_offsets[k + 1] = new_offsets[k] + degree[core[k]]
    heads = np.empty(new_offsets[-1], dtype=np.int32)
    for k in range(len(core)):
        for i in range(degree[core[k]]):
            heads[new_offsets[k] + i] = place[adjacent[offsets[core[k]] + i]]
    return new_offsets, heads
