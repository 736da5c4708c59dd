"""Vertex separators from edge cuts, by a maximum flow in a corridor along the cut.

A partitioner that looks at edges leaves a cut that is nearly the best for edges, of its own neighbourhood.
The fewest vertices that separate what lies beyond the corridor on either side are found exactly: they are as
many as there are paths without a common vertex (Menger), which a search finds one by one. The corridor's
width limits how uneven the sides become.

KaHiP improves bisections in this way (Sanders and Schulz, "Engineering Multilevel Graph Partitioning
Algorithms", ESA 2011); FlowCutter chooses separators for customizable contraction hierarchies by their size
and balance as here (Hamann and Strasser, "Graph Bisection with Pareto Optimization", JEA 23, 2018).

All functions release Python's lock, so that several cuts are improved at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

Small = npt.NDArray[np.int32]
CORRIDOR = 0.08  # vertices of the corridor on each side of the cut, as a fraction of the graph
WIDEST = 12_000  # maximum of these vertices: a flow in a larger corridor takes long
SEPARATOR = 2  # label of a separator's vertices; those of the sides are 0 and 1
_INFINITE = 1 << 30


def improve(offsets: Small, adjacent: Small, side: Small, corridor: float = CORRIDOR) -> Small:
    """Return labels 0, 1 or `SEPARATOR` from two sides; a share of each, `corridor`, may change."""
    n = len(side)
    limit = min(int(corridor * n), WIDEST)
    inside, members = _corridor(offsets, adjacent, side, limit)
    network = _network(offsets, adjacent, side, inside, members)
    _maximize_flow(*network)
    begins, heads, capacity, reverse = network
    near_0, near_1 = _residual_sides(begins, heads, capacity, reverse)
    by_0, by_1 = (_labels(side, members, near, first) for first, near in enumerate((near_0, near_1)))
    return min(by_0, by_1, key=badness)


def badness(labels: Small) -> float:
    """Return the size of a separator per root of the smaller side: lower is better.

    Separators of road maps grow as a power of the part's size; this one compares parts of unequal balance.
    """
    sizes = np.bincount(labels, minlength=3)
    return float((sizes[SEPARATOR] + 0.5) / max(1, sizes[:2].min()) ** 0.5)


@njit(cache=True, nogil=True)
def _corridor(offsets: Any, adjacent: Any, side: Any, limit: int) -> Any:
    """Return the place of each vertex in the corridor, or -1, and the corridor's vertices.

    A corridor holds the ends of cut edges and, in breadth-first order, vertices of each side up to `limit`.
    """
    n = len(side)
    place = np.full(n, -1, dtype=np.int32)
    members = np.empty(n, dtype=np.int32)
    sizes = np.zeros(2, dtype=np.int64)
    size = 0
    for v in range(n):
        for i in range(offsets[v], offsets[v + 1]):
            if side[adjacent[i]] != side[v]:
                place[v] = size
                members[size] = v
                size += 1
                sizes[side[v]] += 1
                break
    head = 0
    while head < size:
        v = members[head]
        head += 1
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if place[u] < 0 and sizes[side[u]] < limit:
                place[u] = size
                members[size] = u
                size += 1
                sizes[side[u]] += 1
    return place, members[:size].copy()


@njit(cache=True, nogil=True)
def _network(offsets: Any, adjacent: Any, side: Any, place: Any, members: Any) -> Any:
    """Return a flow network: arcs by tail as offsets, heads, capacities, and the places of reverse arcs.

    A corridor's vertex k becomes an entry 2 k and an exit 2 k + 1, with an arc of capacity 1 between them.
    The last two nodes stand for what lies beyond the corridor on side 0, the flow's origin, and on side 1.
    """
    n = len(members)
    origin, goal = 2 * n, 2 * n + 1
    degree = np.zeros(2 * n + 3, dtype=np.int64)
    for k in range(n):
        v = members[k]
        degree[2 * k] += 1
        degree[2 * k + 1] += 1
        beyond = False
        for i in range(offsets[v], offsets[v + 1]):
            u = place[adjacent[i]]
            if u >= 0:
                degree[2 * k + 1] += 1
                degree[2 * u] += 1
            else:
                beyond = True
        if beyond:
            if side[v] == 0:
                degree[2 * k] += 1
                degree[origin] += 1
            else:
                degree[2 * k + 1] += 1
                degree[goal] += 1
    begins = np.zeros(2 * n + 3, dtype=np.int64)
    begins[1:] = np.cumsum(degree[:-1])
    ends = begins[:-1].copy()
    heads = np.empty(begins[-1], dtype=np.int32)
    capacity = np.empty(begins[-1], dtype=np.int32)
    reverse = np.empty(begins[-1], dtype=np.int32)
    for k in range(n):
        v = members[k]
        _add_arc(ends, heads, capacity, reverse, 2 * k, 2 * k + 1, 1)
        beyond = False
        for i in range(offsets[v], offsets[v + 1]):
            u = place[adjacent[i]]
            if u >= 0:
                _add_arc(ends, heads, capacity, reverse, 2 * k + 1, 2 * u, _INFINITE)
            else:
                beyond = True
        if beyond:
            if side[v] == 0:
                _add_arc(ends, heads, capacity, reverse, origin, 2 * k, _INFINITE)
            else:
                _add_arc(ends, heads, capacity, reverse, 2 * k + 1, goal, _INFINITE)
    return begins, heads, capacity, reverse


@njit(cache=True, nogil=True)
def _add_arc(ends: Any, heads: Any, capacity: Any, reverse: Any, tail: int, head: int, load: int) -> None:
    """Append an arc and its reverse to the rows of their tails."""
    there, back = ends[tail], ends[head]
    heads[there], capacity[there], reverse[there] = head, load, back
    heads[back], capacity[back], reverse[back] = tail, 0, there
    ends[tail] += 1
    ends[head] += 1


@njit(cache=True, nogil=True)
def _maximize_flow(begins: Any, heads: Any, capacity: Any, reverse: Any) -> None:
    """Find a maximum flow from the last node but one to the last; leave the residual in `capacity`.

    Each unit of flow takes a path that a depth-first search finds, which tries arcs to nodes nearer to the
    goal first. Few units flow, so this takes less time than the phases of Dinic's algorithm.
    """
    n_nodes = len(begins) - 1
    origin, goal = n_nodes - 2, n_nodes - 1
    nearest, ends = _nearest_first(begins, heads, capacity, reverse)
    visited = np.full(n_nodes, -1, dtype=np.int32)
    cursor = np.empty(n_nodes, dtype=np.int64)
    path = np.empty(n_nodes, dtype=np.int64)
    unit = 0
    while True:
        length, v = 0, origin
        visited[origin], cursor[origin] = unit, begins[origin]
        while v != goal:
            if cursor[v] < ends[v]:
                e = nearest[cursor[v]]
                cursor[v] += 1
                u = heads[e]
                if capacity[e] > 0 and visited[u] != unit:
                    visited[u], cursor[u] = unit, begins[u]
                    path[length] = e
                    length += 1
                    v = u
            elif length > 0:
                length -= 1
                v = heads[reverse[path[length]]]
            else:
                return
        for k in range(length):
            capacity[path[k]] -= 1
            capacity[reverse[path[k]]] += 1
        unit += 1


@njit(cache=True, nogil=True)
def _nearest_first(begins: Any, heads: Any, capacity: Any, reverse: Any) -> Any:
    """Return arcs of each node by distance of the heads, if any, to the goal, and the ends of rows."""
    n_nodes = len(begins) - 1
    goal = n_nodes - 1
    seen = np.zeros(n_nodes, dtype=np.bool_)
    queue = np.empty(n_nodes, dtype=np.int32)
    ends = begins[:-1].copy()
    nearest = np.empty(len(heads), dtype=np.int32)
    seen[goal], queue[0] = True, goal
    head, size = 0, 1
    while head < size:
        v = queue[head]
        head += 1
        for e in range(begins[v], begins[v + 1]):
            back, u = reverse[e], heads[e]
            nearest[ends[u]] = back
            ends[u] += 1
            if capacity[back] > 0 and not seen[u]:
                seen[u] = True
                queue[size] = u
                size += 1
    return nearest, ends


@njit(cache=True, nogil=True)
def _residual_sides(begins: Any, heads: Any, capacity: Any, reverse: Any) -> Any:
    """Return, by corridor vertex, a label according to each end of the flow: see `_labels`.

    From the origin, nodes that more flow could reach lie on its side; from the goal, nodes that could send it
    more. A vertex whose two nodes differ is in the separator.
    """
    n_nodes = len(begins) - 1
    n = n_nodes // 2 - 1
    reached = np.zeros((2, n_nodes), dtype=np.bool_)
    queue = np.empty(n_nodes, dtype=np.int32)
    for end in range(2):
        queue[0] = 2 * n + end
        reached[end, 2 * n + end] = True
        head, size = 0, 1
        while head < size:
            v = queue[head]
            head += 1
            for e in range(begins[v], begins[v + 1]):
                left = capacity[e] if end == 0 else capacity[reverse[e]]
                if left > 0 and not reached[end, heads[e]]:
                    reached[end, heads[e]] = True
                    queue[size] = heads[e]
                    size += 1
    near = np.zeros((2, n), dtype=np.int8)
    for end in range(2):
        for k in range(n):
            near[end, k] = np.int8(reached[end, 2 * k]) + np.int8(reached[end, 2 * k + 1])
    return near[0], near[1]


def _labels(side: Small, members: Small, near: npt.NDArray[np.int8], end: int) -> Small:
    """Return all labels; `near` counts the nodes of a corridor's vertex on the side of `end`."""
    labels = side.astype(np.int32)
    labels[members] = np.array([1 - end, SEPARATOR, end], dtype=np.int32)[near]
    return labels
