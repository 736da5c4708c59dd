"""Witnesses of semidominators: what proves, arc by arc, that a vertex has no nearer dominator.

The vertices of all graphs are numbered in pre-order of a depth-first search, those of a graph from its first
vertex on. A tree path is one in the search's tree F. For every vertex v but a root there are:

``semi[v]``
    A proper ancestor s of v in F from which a path leads to v whose inner vertices all have numbers above v.
``arc[v]``, ``via[v]``
    The last arc of that path, as an index into the lists of predecessors: it comes from s itself, where
    ``via[v]`` is `NONE`, or from below ``via[v]``, a vertex above v whose semidominator is s too.
``relative[v]``
    A vertex y on the tree path from s to v, both left out, or `NONE`.

Those of the first two kinds can be checked one vertex at a time, and then, whatever found them, the paths are
there: follow ``via``, whose numbers grow, until an arc comes from s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from relaxometer.problems.dominators._flow_graphs import (
    NONE,
    Arcs,
    FlowGraphs,
    Ids,
    Offsets,
    depth_first,
    evaluate,
)


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Search tree and semidominators of all vertices.

    Parameters
    ----------
    number : ndarray of shape (n_vertices,), uint32
        Of every vertex of the batch; `NONE` where the search of its graph does not come.
    vertex : ndarray of shape (n_vertices,), uint32
        The vertex of every number; `NONE` where a number stands for none. So in all that follows.
    last : ndarray of shape (n_vertices,), uint32
        The largest number below each vertex in F.
    semi, via, relative : ndarray of shape (n_vertices,), uint32
    arc : ndarray of shape (n_vertices,), int64
    """

    number: Ids
    vertex: Ids
    last: Ids
    semi: Ids
    via: Ids
    relative: Ids
    arc: Offsets

    @classmethod
    def of(cls, graphs: FlowGraphs) -> Witnesses:
        """Find the witnesses by the algorithm of Lengauer and Tarjan, and check every one.

        Raises
        ------
        AssertionError
            If one does not hold.
        """
        n = len(graphs.offsets) - 1
        ids = np.full((6, n), NONE, dtype=np.uint32)
        number, vertex, last, semi, via, relative = ids
        found = cls(number, vertex, last, semi, via, relative, np.full(n, -1, dtype=np.int64))
        arguments = (*graphs.arrays, *found.arrays)
        _find(*arguments)
        wrong = _unproven(graphs.first_vertex, graphs.predecessor_offsets, graphs.predecessors, *found.arrays)
        assert not wrong, f"{wrong} semidominators are not what their witnesses say"
        return found

    @property
    def arrays(self) -> tuple[Ids, Ids, Ids, Ids, Ids, Ids, Offsets]:
        """The arguments of compiled functions."""
        return self.number, self.vertex, self.last, self.semi, self.via, self.relative, self.arc


@njit(cache=True)
def _find(
    first_vertex: Offsets,
    entries: Ids,
    offsets: Offsets,
    targets: Ids,
    into: Offsets,
    tails: Ids,
    number: Ids,
    vertex: Ids,
    last: Ids,
    semi: Ids,
    via: Ids,
    relative: Ids,
    arc: Offsets,
) -> None:
    scratch = np.empty((6, max(np.max(np.diff(first_vertex)), 1)), dtype=np.uint32)
    for graph in range(len(entries)):
        first, end = first_vertex[graph], first_vertex[graph + 1]
        reached = _find_one(
            entries[graph],
            (offsets[first : end + 1], targets),
            (into[first : end + 1], tails),
            (number[first:end], vertex[first:end], last[first:end]),
            (semi[first:end], via[first:end], relative[first:end], arc[first:end]),
            scratch,
        )
        # From numbers and ids within the graph to those of the batch.
        for ids in (vertex, last, semi, via, relative):
            for v in range(first, first + reached):
                if ids[v] != NONE:
                    ids[v] += first
        for v in range(first, end):
            if number[v] != NONE:
                number[v] += first


@njit(cache=True)
def _find_one(
    root: int,
    arcs: Arcs,
    arcs_in: Arcs,
    tree: tuple[Ids, Ids, Ids],
    witnesses: tuple[Ids, Ids, Ids, Offsets],
    scratch: Ids,
) -> int:
    number, order, last = tree
    semi, via, relative, arc_of = witnesses
    parent, path, label = scratch[0], scratch[1], scratch[2]
    above, bucket, next_in_bucket = scratch[3], scratch[4], scratch[5]
    reached = depth_first(root, *arcs, order, number, parent, last, path)
    into, tails = arcs_in
    for v in range(reached):
        label[v] = semi[v] = v
        above[v] = parent[v]
        bucket[v] = NONE
    for v in range(reached - 1, 0, -1):
        for arc in range(into[order[v]], into[order[v] + 1]):
            u = number[tails[arc]]
            if u == NONE:
                continue
            through = evaluate(u, v + 1, above, label, semi, path)
            if semi[through] < semi[v]:
                semi[v] = semi[through]
                arc_of[v] = arc
                via[v] = through if through > v else NONE
        next_in_bucket[v], bucket[semi[v]] = bucket[semi[v]], v
        waiting = bucket[parent[v]]
        while waiting != NONE:
            y = evaluate(waiting, v, above, label, semi, path)
            if semi[y] < semi[waiting]:
                relative[waiting] = y
            waiting = next_in_bucket[waiting]
        bucket[parent[v]] = NONE
    return reached


@njit(cache=True)
def _unproven(
    first_vertex: Offsets,
    into: Offsets,
    tails: Ids,
    number: Ids,
    vertex: Ids,
    last: Ids,
    semi: Ids,
    via: Ids,
    relative: Ids,
    arc: Offsets,
) -> int:
    """Count the vertices whose witnesses do not hold."""
    wrong = 0
    for graph in range(len(first_vertex) - 1):
        first = first_vertex[graph]
        for v in range(first + 1, first_vertex[graph + 1]):
            if vertex[v] == NONE:
                continue
            s, u, y = semi[v], via[v], relative[v]
            holds = first <= s < v <= last[s]
            holds &= into[vertex[v]] <= arc[v] < into[vertex[v] + 1]
            if holds:
                tail = number[first + tails[arc[v]]]
                holds &= tail == s if u == NONE else v < u <= tail <= last[u] and semi[u] == s
                holds &= y == NONE or (s < y < v <= last[y] and y <= last[s])
            wrong += not holds
    return wrong


@njit(cache=True)
def tree_intervals(parent: Ids) -> tuple[Ids, Ids]:
    """Find the intervals of a forest's own pre-order, where no vertex has a parent above itself.

    Parameters
    ----------
    parent : ndarray of shape (n_vertices,), uint32
        A root is its own; `NONE` where there is no vertex.

    Returns
    -------
    begin, end : ndarray of shape (n_vertices,), uint32
        The descendants of v, itself included, are the w with ``begin[v] <= begin[w] < end[v]``.
    """
    size = np.ones(len(parent), dtype=np.uint32)
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] != NONE and parent[v] != v:
            size[parent[v]] += size[v]
    begin = np.empty(len(parent), dtype=np.uint32)
    free = np.empty(len(parent), dtype=np.uint32)
    for v in range(len(parent)):
        if parent[v] == NONE:
            continue
        if parent[v] == v:
            begin[v] = v
        else:
            begin[v] = free[parent[v]]
            free[parent[v]] += size[v]
        free[v] = begin[v] + 1
    return begin, begin + size


@njit(cache=True, parallel=True)
def arcs_past_dominators(
    graph_start: Ids, into: Offsets, tails: Ids, number: Ids, parent: Ids, begin: Ids, end: Ids
) -> npt.NDArray[np.bool_]:
    """Mark the vertices into which an arc leads from outside the subtree of their parent.

    Parameters
    ----------
    graph_start : ndarray of shape (n_vertices,), uint32
        First vertex of the graph of each vertex.
    into, tails
        Predecessors of each vertex, as ids within its graph.
    number : ndarray of shape (n_vertices,), uint32
    parent, begin, end : ndarray of shape (n_vertices,), uint32
        By number; see :func:`tree_intervals`.
    """
    marked = np.zeros(len(number), dtype=np.bool_)
    for w in prange(len(number)):
        if number[w] == NONE or parent[number[w]] == number[w]:
            continue
        above = parent[number[w]]
        for arc in range(into[w], into[w + 1]):
            u = number[graph_start[w] + tails[arc]]
            if u != NONE and not begin[above] <= begin[u] < end[above]:
                marked[w] = True
    return marked
