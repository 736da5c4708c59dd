"""Customizable contraction hierarchies: an order by nested dissection, shortcuts, and their weights.

Vertices are contracted in order: when a vertex is removed, shortcuts join its remaining neighbours. A
shortest path then climbs to its highest vertex and descends from there, whatever the weights; those of the
shortcuts follow from triangles. These are the paper's preprocessing and customization; the query is PHAST.

Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import UNREACHED, Graph
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._fill import add_shortcuts, arrange, inverse
from relaxometer.problems.sssp.phast._order import dissect, kept
from relaxometer.problems.sssp.phast._reduce import ordered
from relaxometer.problems.sssp.phast._slices import MAX_ROW
from relaxometer.problems.sssp.phast._widths import Size
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
MAX_UPWARD = 2**32 - 2**10
"""Upward arcs that 32 bits can number, less those that a warp may read beyond the end."""

MAX_TRIANGLES = 2**31  # kernels step through fans of triangles, of which there are fewer, with 32 bits


@dataclass(frozen=True)
class Contraction:
    """A contracted graph. The rank of a vertex is its place in the order; higher ranks are contracted later.

    The lowest higher neighbour of a rank is its parent in the elimination tree; all are its ancestors.
    """

    order: Small  # the vertex of each rank
    offsets: Ints  # of the arcs of each rank
    up: Small  # its higher neighbours, ascending
    parent: Small  # parent of each rank in the elimination tree; -1 for a root
    size: Small  # of the subtree below each rank, whose ranks end with it


@dataclass(frozen=True)
class Weighted(Contraction):
    """A contracted graph with the weights of its arcs."""

    upward: Words  # of the arc to each of the higher neighbours
    downward: Words  # and of the arc from it


def contract(graph: Graph, fill: float) -> Weighted:
    """Order and contract a graph, and find the weights of all arcs; Skipped as by :func:`number`."""
    with _ranges.threads() as pool:
        cch = number(graph, fill, pool)
    upward, downward = _customize(graph, cch.order, cch.offsets, cch.up)
    return Weighted(**vars(cch), upward=upward, downward=downward)


def number(graph: Graph, fill: float, pool: Executor, keep_order: bool = False) -> Contraction:
    """Order and contract a graph, whatever its weights.

    Skipped if the hierarchy would have more than `fill` arcs per edge, or a vertex more than a slice. With
    `keep_order`, the order is kept in the cache of compiled kernels, for any weights.
    """
    offsets, adjacent = _undirected(graph, pool)
    limit = min(max(int(fill * (len(adjacent) // 2)), 1 << 16), MAX_UPWARD)
    limits = Size(limit, MAX_TRIANGLES)
    if keep_order:
        order = kept(offsets, adjacent, lambda: dissect(offsets, adjacent, pool, limits).vertices)
        dissected = ordered(offsets, adjacent, order)
    else:
        dissected = dissect(offsets, adjacent, pool, limits)
    arranged = arrange(dissected, pool)
    up_offsets, up = add_shortcuts(dissected, arranged, limit, pool)
    if len(up) > limit:
        raise Skipped(f"made for maps; the hierarchy would have more than fill = {fill:g} arcs per edge")
    longest = int(np.diff(up_offsets).max())
    if longest > MAX_ROW:
        raise Skipped(f"made for maps; a vertex would have {longest} upward arcs, over {MAX_ROW}")
    return Contraction(arranged.order, up_offsets, up, arranged.parent, arranged.size)


def _customize(graph: Graph, order: Small, offsets: Ints, up: Small) -> tuple[Words, Words]:
    """Return the weights of upward and downward arcs: the paper's basic customization."""
    upward, downward = (np.full(len(up), UNREACHED, dtype=np.uint32) for _ in range(2))
    rank = inverse(order)
    weigh_arcs(rank[graph.tails], rank[graph.targets], graph.weights, offsets, up, upward, downward)
    _weigh_shortcuts(offsets, up, upward, downward)
    return upward, downward


def jumps(parent: Any, height: int, xp: Any = np) -> Any:
    """Return the ancestors 1, 2, 4, ... steps above each position, uint32; a root is its own parent."""
    found = [parent.astype(np.uint32)]
    while 2 ** len(found) <= height:
        found.append(found[-1][found[-1]])
    return xp.stack(found)


def _undirected(graph: Graph, pool: Executor) -> tuple[Small, Small]:
    """Return offsets and neighbours of the graph without directions, loops and parallel edges."""
    checks = _ranges.begin(pool, graph.n_vertices, _is_undirected, graph.offsets, graph.targets)
    offsets, adjacent = graph.offsets.astype(np.int32), graph.targets.astype(np.int32)
    if all(one.result() for one in checks):
        return offsets, adjacent
    shape = (graph.n_vertices, graph.n_vertices)
    is_loop = graph.tails == graph.targets
    # "Or" merges parallel arcs: a sum of bytes would wrap to 0 for 256 of them.
    ones = np.ones(graph.n_arcs, dtype=np.bool_)[~is_loop]
    matrix = sp.csr_matrix((ones, (graph.tails[~is_loop], graph.targets[~is_loop])), shape=shape)
    matrix = (matrix + matrix.T).tocsr()
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)


@njit(cache=True, nogil=True)
def _is_undirected(offsets: Any, targets: Any, begin: int, end: int) -> bool:
    """Return whether the rows of a range of tails ascend, without loops, and each arc has a reverse."""
    for tail in range(begin, end):
        for i in range(offsets[tail], offsets[tail + 1]):
            head = targets[i]
            if head == tail or (i > offsets[tail] and targets[i - 1] >= head):
                return False
            place, last = offsets[head], offsets[head + 1]
            while place < last and targets[place] != tail:
                place += 1
            if place == last:
                return False
    return True


@njit(cache=True, nogil=True)
def weigh_arcs(
    tails: Any, heads: Any, weights: Any, offsets: Any, up: Any, upward: Any, downward: Any
) -> None:
    """Lower the weights of the hierarchy's arcs to those of the graph's."""
    for i in range(len(tails)):
        low, high = min(tails[i], heads[i]), max(tails[i], heads[i])
        if low == high:
            continue
        begin = offsets[low]
        e = begin + np.searchsorted(up[begin : offsets[low + 1]], high)
        if tails[i] == low:
            upward[e] = min(upward[e], weights[i])
        else:
            downward[e] = min(downward[e], weights[i])


@njit(cache=True, nogil=True)
def _weigh_shortcuts(offsets: Any, up: Any, upward: Any, downward: Any) -> None:
    """Lower each arc's weight to its lower triangles', bottom-up; lengths beyond 32 bits are unreached."""
    for v in range(len(offsets) - 1):
        end = offsets[v + 1]
        for one in range(offsets[v], end):
            e = offsets[up[one]]
            for other in range(one + 1, end):
                while up[e] != up[other]:
                    e += 1
                by_up = np.int64(downward[one]) + np.int64(upward[other])
                by_down = np.int64(downward[other]) + np.int64(upward[one])
                upward[e] = min(np.int64(upward[e]), by_up, np.int64(UNREACHED))
                downward[e] = min(np.int64(downward[e]), by_down, np.int64(UNREACHED))
