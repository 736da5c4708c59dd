"""The arcs of a contraction, found for the subtrees of the elimination tree at once.

A vertex inherits the arcs of its children in the elimination tree, as in the factorization of a sparse
symmetric matrix. So subtrees are independent: threads take one each, and what lies above them follows.
Compiled functions release Python's lock.

Liu, "The Role of Elimination Trees in Sparse Factorization", SIAM Journal on Matrix Analysis and Applications
11, 1990.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit

Ints = npt.NDArray[np.int64]
SUBTREES = 64  # a subtree that one thread takes has at most this fraction of the vertices


def arrange(offsets: Ints, adjacent: npt.NDArray[Any], order: Ints) -> tuple[Ints, Ints]:
    """Return a postorder with the same hierarchy, and the ranks' parents in the elimination tree, or -1."""
    parent = _elimination_tree(offsets, adjacent, order)
    place = _postorder(parent)
    arranged, parents = np.empty_like(order), np.empty_like(parent)
    arranged[place] = order
    parents[place] = np.where(parent >= 0, place[parent], -1)
    return arranged, parents


def add_shortcuts(
    offsets: Ints, adjacent: npt.NDArray[Any], order: Ints, limit: int, parent: Ints | None = None
) -> tuple[Ints, Ints]:
    """Contract the vertices of a graph in order, which :func:`arrange` makes fast.

    `adjacent` has the neighbours of each vertex, in both directions, each once; `parent` those of the ranks
    in the elimination tree, if they are known. Returns offsets and higher neighbours of each rank, ascending,
    int64. If there are more than `limit`, only the number of those that were found has a meaning.
    """
    n = len(order)
    if parent is None:
        parent = _elimination_tree(offsets, adjacent, order)
    ends = _subtree_ends(parent, max(1, n // SUBTREES))
    begin, length = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    child, sibling = _children(parent)
    graph = offsets, adjacent, order, _inverse(order), child, sibling
    nothing = np.empty(0, dtype=np.int64)

    def contract(k: int) -> Ints:
        ranks = np.arange(ends[k, 0], ends[k, 1])
        found: Ints = _contract(*graph, ranks, begin, length, nothing, limit)
        return found

    with ThreadPoolExecutor(get_num_threads()) as pool:
        pieces = list(pool.map(contract, range(len(ends))))
    starts = np.cumsum([0, *map(len, pieces)])
    low = np.concatenate([*pieces, nothing])
    for (first, last), start in zip(ends.tolist(), starts.tolist(), strict=False):
        begin[first:last] += start
    is_low = np.zeros(n + 1, dtype=np.int8)
    np.add.at(is_low, ends.ravel(), np.tile(np.array([1, -1], dtype=np.int8), len(ends)))
    above = np.flatnonzero(np.cumsum(is_low[:-1]) == 0)
    high = nothing
    if len(low) <= limit:
        high = _contract(*graph, above, begin, length, low, limit)
    up_offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(length, out=up_offsets[1:])
    up = np.empty(len(low) + len(high), dtype=np.int64)
    if len(up) > limit:
        return up_offsets, up
    for k, (first, last) in enumerate(ends.tolist()):
        up[up_offsets[first] : up_offsets[last]] = pieces[k]
    _copy_rows(above, begin, up_offsets, len(low), high, up)
    return up_offsets, up


@njit(cache=True, nogil=True)
def _inverse(order: Any) -> Any:
    rank = np.empty(len(order), dtype=np.uint32)
    for r in range(len(order)):
        rank[order[r]] = r
    return rank


@njit(cache=True, nogil=True)
def _elimination_tree(offsets: Any, adjacent: Any, order: Any) -> Any:
    """Return the parent of each rank, -1 for a root: its lowest higher neighbour after contraction."""
    n = len(order)
    rank = _inverse(order)
    parent, root = np.full(n, -1, dtype=np.int64), np.arange(n)
    for r in range(n):
        for i in range(offsets[order[r]], offsets[order[r] + 1]):
            t = np.int64(rank[adjacent[i]])
            while t < r and root[t] != r:  # `root` leads upward, and is shortened on the way
                above = root[t]
                root[t] = r
                if above == t:
                    parent[t] = r
                t = above
    return parent


@njit(cache=True, nogil=True)
def _postorder(parent: Any) -> Any:
    """Return the place of each rank in a postorder, in which children keep their order."""
    n = len(parent)
    size = np.ones(n, dtype=np.int64)
    for r in range(n):
        if parent[r] >= 0:
            size[parent[r]] += size[r]
    place, end = np.empty(n, dtype=np.int64), n
    free = np.empty(n, dtype=np.int64)  # the end of the places left to the children of a rank
    for r in range(n - 1, -1, -1):
        if parent[r] < 0:
            last, end = end, end - size[r]
        else:
            last = free[parent[r]]
            free[parent[r]] -= size[r]
        place[r] = last - 1
        free[r] = last - 1
    return place


@njit(cache=True, nogil=True)
def _subtree_ends(parent: Any, largest: int) -> Any:
    """Return begins and ends of contiguous subtrees of up to `largest` ranks for tasks, and larger ones."""
    n = len(parent)
    size, first = np.ones(n, dtype=np.int64), np.arange(n)
    for r in range(n):
        p = parent[r]
        if p >= 0:
            size[p] += size[r]
            first[p] = min(first[p], first[r])
    ends = np.empty((n, 2), dtype=np.int64)
    k = 0
    for r in range(n):
        p = parent[r]
        if not largest // 32 < size[r] <= largest or first[r] != r - size[r] + 1:
            continue
        if p < 0 or size[p] > largest:
            ends[k, 0], ends[k, 1] = first[r], r + 1
            k += 1
    return ends[:k].copy()


@njit(cache=True, nogil=True)
def _children(parent: Any) -> Any:
    """Return the first child of each rank and the next child of its parent, -1 if there is none."""
    n = len(parent)
    child, sibling = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for r in range(n):
        p = parent[r]
        if p >= 0:
            sibling[r] = child[p]
            child[p] = r
    return child, sibling


@njit(cache=True, nogil=True)
def _contract(
    offsets: Any,
    adjacent: Any,
    order: Any,
    rank: Any,
    child: Any,
    sibling: Any,
    ranks: Any,
    begin: Any,
    length: Any,
    low: Any,
    limit: int,
) -> Any:
    """Return the rows of ascending `ranks`, whose children are among them or have their rows in `low`.

    Fills in where each row begins, counted through `low` and what is returned, and its length. Stops after
    more than `limit` arcs, with those of `low`.
    """
    found = np.empty(4 * len(ranks) + 64, dtype=np.int64)
    row, merged = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    size = 0
    for r in ranks:
        n_row = 0
        begins, ends = offsets[order[r]], offsets[order[r] + 1]
        if ends - begins > len(row):
            row = np.empty(2 * (ends - begins), dtype=np.int64)
        for i in range(begins, ends):
            if rank[adjacent[i]] > r:
                row[n_row] = rank[adjacent[i]]
                n_row += 1
        row[:n_row].sort()
        c = child[r]
        while c >= 0:
            if n_row + length[c] > len(merged):
                merged = np.empty(2 * (n_row + length[c]), dtype=np.int64)
            at = begin[c] - len(low)
            inherited = found[at : at + length[c]] if at >= 0 else low[begin[c] : begin[c] + length[c]]
            n_row = _merge(row[:n_row], inherited, r, merged)
            row, merged = merged, row
            c = sibling[c]
        if size + n_row > len(found):
            larger = np.empty(2 * (size + n_row), dtype=np.int64)
            larger[:size] = found[:size]
            found = larger
        found[size : size + n_row] = row[:n_row]
        begin[r], length[r] = len(low) + size, n_row
        size += n_row
        if len(low) + size > limit:
            break
    return found[:size].copy()


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
def _copy_rows(ranks: Any, begin: Any, up_offsets: Any, n_low: int, high: Any, up: Any) -> None:
    for r in ranks:
        for i in range(up_offsets[r + 1] - up_offsets[r]):
            up[up_offsets[r] + i] = high[begin[r] - n_low + i]
