"""The arcs of a contraction, found for the subtrees of the elimination tree at once.

A vertex inherits the arcs of its children in the elimination tree, as in the factorization of a sparse
symmetric matrix. So subtrees are independent: threads take one each, and what lies above them follows.
Compiled functions release Python's lock.

Liu, "The Role of Elimination Trees in Sparse Factorization", SIAM Journal on Matrix Analysis and Applications
11, 1990.
"""

import itertools
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import offsets_of
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._reduce import Ordered

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
NOTHING: Small = np.empty(0, dtype=np.int32)
SUBTREES = 64  # a subtree that one thread takes has at most this fraction of the vertices
LEAST = 32  # and more than this fraction of that, for which a call is worth its overhead


class Arranged(NamedTuple):
    """Ranks of the vertices in a postorder of the elimination tree."""

    order: Small  # the vertex of each rank
    rank: Small  # and the rank of each vertex
    parent: Small  # the parent of each rank, or -1
    size: Small  # of its subtree, whose ranks end with it
    origin: Small  # its place among the contracted vertices, or, beyond them, that in the order of the others


def arrange(given: Ordered, pool: Executor) -> Arranged:
    """Return a postorder with the same hierarchy as that of an order."""
    graph, order, parts = given
    first = len(graph.contracted)
    n = first + len(order)
    # Large arrays are made here: NumPy asks for large pages, for which a new array takes less time.
    vertices, rank, parent, place, size, free = np.empty((6, n), dtype=np.int32)
    core, root = (graph.offsets, graph.adjacent), np.empty(len(order), dtype=np.int32)
    tree = core, order, inverse(order), first, root, parent[first:]
    spans = np.array(parts, dtype=np.int64).reshape(-1, 2)
    growing = [pool.submit(_grow_tree, *tree, some) for some in np.array_split(spans, _ranges.CALLS)]
    _ranges.call(pool, n, _list, graph.contracted, graph.core, order, vertices, rank)
    _ranges.call(pool, first, _find_lowest, graph.row_offsets, graph.rows, rank, parent)
    for one in growing:
        one.result()
    _grow_tree(*tree, np.array(_between(parts, len(order)), dtype=np.int64).reshape(-1, 2))
    _postorder(parent, place, size, free)
    arranged = Arranged(*np.empty((5, n), dtype=np.int32))
    _ranges.call(pool, n, _move, vertices, parent, place, size, arranged)
    return arranged


def add_shortcuts(given: Ordered, arranged: Arranged, limit: int, pool: Executor) -> tuple[Ints, Small]:
    """Contract the vertices of a graph in an order that was arranged.

    Returns offsets and higher neighbours of each rank, ascending. If there are more than `limit`, only the
    number of those that were found has a meaning.
    """
    graph, (order, rank, _, size, origin) = given.graph, arranged
    n, largest = len(order), max(1, len(order) // SUBTREES)
    roots, _ = subtrees(size, None, 1, largest)
    roots = roots[size[roots] > largest // LEAST]
    spans = np.stack([roots + 1 - size[roots], roots + 1], axis=1)
    begin, length = np.zeros((2, n), dtype=np.int64)
    core = graph.offsets, graph.adjacent, rank[graph.core]
    graphs = (graph.row_offsets, graph.rows, rank), core, origin, given.order, size
    rows = begin, length
    below = [
        pool.submit(_contract, graphs, spans[k : k + 1], rows, NOTHING, limit) for k in range(len(spans))
    ]
    pieces = [one.result() for one in below]
    n_low = sum(map(len, pieces))
    above = np.array(_between(spans.tolist(), n), dtype=np.int64).reshape(-1, 2)
    high = low = NOTHING
    if n_low <= limit:
        low = _list_tops(roots, pieces, begin, length)
        high = _contract(graphs, above, rows, low, limit - n_low + len(low))
    up_offsets = offsets_of(length)
    up = np.empty(n_low + len(high), dtype=np.int32)
    if len(up) <= limit:
        list(pool.map(_copy_into, pieces, itertools.repeat(up), up_offsets[spans[:, 0]]))
        _copy_rows(above, begin, up_offsets, len(low), high, up)
    return up_offsets, up


def _between(spans: Sequence[tuple[int, int]], n: int) -> list[tuple[int, int]]:
    """Return the ranges of n items that lie between ascending ones."""
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), n]
    return [span for span in zip(ends, begins, strict=True) if span[0] < span[1]]


def _list_tops(tops: Ints, pieces: list[Small], begin: Ints, length: Ints) -> Small:
    """Return the rows of the highest ranks of subtrees, which begin there from now on."""
    rows = [piece[len(piece) - length[top] :] for piece, top in zip(pieces, tops, strict=True)]
    begin[tops] = np.cumsum([0, *map(len, rows)])[:-1]
    return np.concatenate([NOTHING, *rows])


@njit(cache=True, nogil=True)
def _copy_into(part: Any, whole: Any, begin: int) -> None:
    """Copy a part to its place."""
    whole[begin : begin + len(part)] = part


@njit(cache=True, nogil=True)
def inverse(order: Any) -> Any:
    """Return the rank of each vertex of an order, int32."""
    rank = np.empty(len(order), dtype=np.int32)
    for r in range(len(order)):
        rank[order[r]] = r
    return rank


@njit(cache=True, nogil=True)
def _list(contracted: Any, core: Any, order: Any, vertices: Any, rank: Any, begin: int, end: int) -> None:
    """Fill in a range of the vertices in order, and their ranks."""
    for r in range(begin, end):
        v = contracted[r] if r < len(contracted) else core[order[r - len(contracted)]]
        vertices[r], rank[v] = v, r


@njit(cache=True, nogil=True)
def _find_lowest(row_offsets: Any, rows: Any, rank: Any, parent: Any, begin: int, end: int) -> None:
    """Fill in the parents of a range of contracted vertices: the lowest of their neighbours, or -1."""
    for k in range(begin, end):
        lowest = len(rank)
        for i in range(row_offsets[k], row_offsets[k + 1]):
            lowest = min(lowest, rank[rows[i]])
        parent[k] = lowest if lowest < len(rank) else -1


@njit(cache=True, nogil=True)
def _grow_tree(core: Any, order: Any, rank: Any, first: int, root: Any, parent: Any, spans: Any) -> None:
    """Add ranges of ranks to the elimination tree: fill in the rank of each child's parent, plus `first`.

    The parent is the lowest higher neighbour after contraction, -1 as long as there is none. All lower
    neighbours of a range are in the tree, or in the range.
    """
    offsets, adjacent = core
    for k in range(len(spans)):
        for r in range(spans[k, 0], spans[k, 1]):
            root[r], parent[r] = r, -1
            for i in range(offsets[order[r]], offsets[order[r] + 1]):
                t = rank[adjacent[i]]
                while t < r and root[t] != r:  # `root` leads upward, and is shortened on the way
                    above = root[t]
                    root[t] = r
                    if above == t:
                        parent[t] = first + r
                    t = above


@njit(cache=True, nogil=True)
def subtree_sizes(parent: Any, own: Any) -> Any:
    """Return the sums of `own` over the subtrees of an elimination tree."""
    size = own.copy()
    for r in range(len(parent)):
        if parent[r] >= 0:
            size[parent[r]] += size[r]
    return size


@njit(cache=True, nogil=True)
def subtrees(size: Any, offsets: Any, per_vertex: int, largest: float) -> Any:
    """Return the roots of the largest subtrees of at most `largest` work, and the ranks above; both ascend.

    `size` has the vertices of each subtree in a postorder. The work is `per_vertex` for each of them, and 1
    for each of their arcs, if the offsets of these are given.
    """
    found, n_roots, begin = np.empty(len(size), dtype=np.int64), 0, len(size)  # roots, and from there others
    r = len(size) - 1
    while r >= 0:
        work = per_vertex * size[r]
        if offsets is not None:
            work += offsets[r + 1] - offsets[r + 1 - size[r]]
        if work <= largest:
            found[n_roots] = r
            n_roots += 1
            r -= size[r]
        else:
            begin -= 1
            found[begin] = r
            r -= 1
    return found[:n_roots][::-1].copy(), found[begin:].copy()


@njit(cache=True, nogil=True)
def _postorder(parent: Any, place: Any, size: Any, free: Any) -> None:
    """Fill in the place of each rank in a postorder, in which children keep their order, and subtree sizes.

    `free` is for use: the end of the places left to the children of a rank.
    """
    size[:] = 1
    for r in range(len(parent)):
        if parent[r] >= 0:
            size[parent[r]] += size[r]
    end = len(parent)
    for r in range(len(parent) - 1, -1, -1):
        if parent[r] < 0:
            last, end = end, end - size[r]
        else:
            last = free[parent[r]]
            free[parent[r]] -= size[r]
        place[r] = last - 1
        free[r] = last - 1


@njit(cache=True, nogil=True)
def _move(vertices: Any, parent: Any, place: Any, size: Any, arranged: Any, begin: int, end: int) -> None:
    """Fill in, by place, what is known of a range by rank."""
    for r in range(begin, end):
        p = place[r]
        arranged.order[p], arranged.rank[vertices[r]] = vertices[r], p
        arranged.parent[p] = place[parent[r]] if parent[r] >= 0 else -1
        arranged.size[p], arranged.origin[p] = size[r], r


@njit(cache=True, nogil=True)
def _contract(graphs: Any, spans: Any, rows: Any, low: Any, limit: int) -> Any:
    """Return the rows of ascending ranges of ranks, whose children are there or have their rows in `low`.

    Fills in `rows`: where each begins, counted through `low` and what is returned, and its length. Leaves out
    most after more than `limit` arcs, with those of `low`.
    """
    contracted, core, origin, order, tree_size = graphs
    begin, length = rows
    n_contracted = len(contracted[0]) - 1
    found = np.empty(4 * (spans[:, 1] - spans[:, 0]).sum() + 64, dtype=np.int32)
    row, merged = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    size = 0
    for s in range(len(spans)):
        for r in range(spans[s, 0], spans[s, 1]):
            k = origin[r]
            is_core = k >= n_contracted
            offsets, adjacent, rank = core if is_core else contracted
            v = order[k - n_contracted] if is_core else k
            if offsets[v + 1] - offsets[v] > len(row):
                row = np.empty(2 * (offsets[v + 1] - offsets[v]), dtype=np.int32)
            n_row = 0
            for i in range(offsets[v], offsets[v + 1]):
                if rank[adjacent[i]] > r:
                    row[n_row] = rank[adjacent[i]]
                    n_row += 1
            _sort(row[:n_row])
            c = r - 1 if is_core else -1
            while c > r - tree_size[r]:
                if origin[c] < n_contracted:  # its neighbours have been joined
                    c -= tree_size[c]
                    continue
                if n_row + length[c] > len(merged):
                    merged = np.empty(2 * (n_row + length[c]), dtype=np.int32)
                at = begin[c] - len(low)
                inherited = found[at : at + length[c]] if at >= 0 else low[begin[c] : begin[c] + length[c]]
                n_row = _merge(row[:n_row], inherited, r, merged)
                row, merged = merged, row
                c -= tree_size[c]
            if size + n_row > len(found):
                larger = np.empty(2 * (size + n_row), dtype=np.int32)
                larger[:size] = found[:size]
                found = larger
            found[size : size + n_row] = row[:n_row]
            begin[r], length[r] = len(low) + size, n_row
            size += n_row
            if len(low) + size > limit:
                break
    return found[:size]


@njit(cache=True, nogil=True)
def _sort(row: Any) -> None:
    """Sort a row in place; most have a few items."""
    if len(row) > 32:
        row.sort()
        return
    for k in range(1, len(row)):
        item, place = row[k], k
        while place > 0 and row[place - 1] > item:
            row[place] = row[place - 1]
            place -= 1
        row[place] = item


@njit(cache=True, nogil=True)
def _merge(one: Any, other: Any, left_out: int, merged: Any) -> int:
    """Merge two ascending rows without repetitions into another; return its length."""
    i, j, size = 0, 0, 0
    while i < len(one) or j < len(other):
        if j == len(other) or (i < len(one) and one[i] <= other[j]):
            least = one[i]
            j += j < len(other) and other[j] == least
            i += 1
        else:
            least = other[j]
            j += 1
        if least != left_out:
            merged[size] = least
            size += 1
    return size


@njit(cache=True, nogil=True)
def _copy_rows(spans: Any, begin: Any, up_offsets: Any, n_low: int, high: Any, up: Any) -> None:
    for s in range(len(spans)):
        for r in range(spans[s, 0], spans[s, 1]):
            for i in range(up_offsets[r + 1] - up_offsets[r]):
                up[up_offsets[r] + i] = high[begin[r] - n_low + i]
