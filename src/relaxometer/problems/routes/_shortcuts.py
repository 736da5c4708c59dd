"""Lengths of a contraction hierarchy's arcs, how many arcs of the graph they stand for, and their parts.

As the customization of :mod:`relaxometer.problems.sssp.phast._cch`, which knows lengths only.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import Graph
from relaxometer.problems.sssp.phast._cch import Contraction, weigh_arcs
from relaxometer.problems.sssp.phast._fill import inverse

Words = npt.NDArray[np.uint32]
Pairs = npt.NDArray[np.uint64]
LOW = np.uint64(32)
NO_PATH = np.uint64(2**64 - 1)
NO_PART = np.uint32(2**32 - 1)


class Shortcuts(NamedTuple):
    """Lengths of the arcs of a hierarchy and their parts.

    A length is distance << 32 | number of arcs of the graph: of all shortest paths through lower vertices,
    one with the fewest arcs. All bits are set where no path leads. The parts, upward and downward, are the
    arc that is followed downward, then the one that is followed upward, both of the same lower vertex;
    `NO_PART` if the arc is one of the graph, or has no path.
    """

    upward: Pairs
    downward: Pairs
    parts: Words  # shape (n_arcs, 2, 2)


def find_shortcuts(graph: Graph, cch: Contraction) -> Shortcuts:
    """Return lengths and parts of the arcs of a contracted graph; the weights of `cch` play no part."""
    upward, downward = (np.full(len(cch.up), NO_PATH, dtype=np.uint64) for _ in range(2))
    parts = np.full((len(cch.up), 2, 2), NO_PART, dtype=np.uint32)
    rank = inverse(cch.order)
    lengths = graph.weights.astype(np.uint64) << LOW | np.uint64(1)
    weigh_arcs(rank[graph.tails], rank[graph.targets], lengths, cch.offsets, cch.up, upward, downward)
    _join(cch.offsets, cch.up, upward, downward, parts)
    return Shortcuts(upward, downward, parts)


@njit(cache=True)
def find_depths(parent: Any) -> Any:
    """Return the number of ancestors of each rank, shape (n_vertices,), int64, given their parents."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for rank in range(len(parent) - 1, -1, -1):
        if parent[rank] >= 0:
            depth[rank] = depth[parent[rank]] + 1
    return depth


@njit(cache=True)
def unpacking(rows: Any, up: Any, order: Any, upward: Any, downward: Any, parts: Any) -> tuple[Any, Any]:
    """Return what unpacking reads of each arc of a hierarchy; entries 2 k and 2 k + 1 are those of arc k.

    `rows`, `up` and `order` are of the :class:`Contraction`. By arc, upward or downward, one array has the
    number of arcs of the graph behind it, and the vertex at its end; the other its two parts, the number of
    arcs of the graph behind the first, and the vertex between them, or 0 for one of the graph or no path.
    """
    arcs, middles = np.empty((2 * len(up), 2), dtype=np.uint32), np.zeros((2 * len(up), 4), dtype=np.uint32)
    low = np.empty(len(up), dtype=np.uint32)
    for v in range(len(rows) - 1):
        low[rows[v] : rows[v + 1]] = v
    for e in range(len(up)):
        arcs[2 * e, 0], arcs[2 * e, 1] = np.uint32(upward[e]), order[up[e]]
        arcs[2 * e + 1, 0], arcs[2 * e + 1, 1] = np.uint32(downward[e]), order[low[e]]
        for side in range(2):
            first, second = parts[e, side, 0], parts[e, side, 1]
            if first != NO_PART:
                middle = middles[2 * e + side]
                middle[0], middle[1] = first, second
                middle[2], middle[3] = np.uint32(downward[first]), order[low[first]]
    return arcs, middles


@njit(cache=True)
def added(first: Any, second: Any) -> Any:
    """Return the length of two arcs, one behind the other; `NO_PATH` beyond 64 bits."""
    length = first + second
    return NO_PATH if length < first else length


@njit(cache=True)
def _join(rows: Any, up: Any, upward: Any, downward: Any, parts: Any) -> None:
    """Lower the length of every arc to that of its lower triangles, the lowest vertex first."""
    for v in range(len(rows) - 1):
        end = rows[v + 1]
        for one in range(rows[v], end):
            e = rows[up[one]]
            for other in range(one + 1, end):
                while up[e] != up[other]:
                    e += 1
                length = added(downward[one], upward[other])
                if length < upward[e]:
                    upward[e] = length
                    parts[e, 0, 0], parts[e, 0, 1] = one, other
                length = added(downward[other], upward[one])
                if length < downward[e]:
                    downward[e] = length
                    parts[e, 1, 0], parts[e, 1, 1] = other, one
