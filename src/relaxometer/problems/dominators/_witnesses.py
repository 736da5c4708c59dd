"""Witnesses of semidominators: they prove, arc by arc, that no vertex has a nearer dominator.

The vertices of all graphs are numbered in pre-order of a depth-first search; the numbers of a graph begin at
its first vertex. F is the tree of the search. Every vertex v except a root has:

``semi[v]``
    A proper ancestor s of v in F with a path to v whose inner vertices all have numbers above v.
``arc[v]``, ``via[v]``
    The last arc of that path, as an index into the arcs by head. The arc comes from s itself, and ``via[v]``
    is `NONE`; or it comes from the subtree of ``via[v]``, a vertex above v with the same semidominator s.
``relative[v]``
    A vertex strictly between s and v on their tree path, or `NONE`.

The first two are checked vertex by vertex. Then the paths exist, whatever found the witnesses: follow
``via``, whose numbers grow, until an arc comes from s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange
from relaxometer.problems.dominators._flow_graphs import (
    NONE,
    Arcs,
    FlowGraph,
    FlowGraphs,
    Forest,
    Ids,
    Offsets,
    Search,
    begin_forest,
    depth_first,
    evaluate,
    graph_at,
    scratch_rows,
)


class Witnesses(NamedTuple):
    """Search tree and semidominators of all vertices, as arrays of shape (n_vertices,)."""

    number: Ids  # by vertex of the batch; `NONE` if it is unreached
    vertex: Ids  # by number, as all that follow; `NONE` if no vertex has the number
    last: Ids  # the last number in its subtree in F
    semi: Ids
    via: Ids
    relative: Ids
    arc: Offsets

    @classmethod
    def of(cls, graphs: FlowGraphs) -> Witnesses:
        """Find the witnesses by the algorithm of Lengauer and Tarjan; AssertionError if one does not hold."""
        n = graphs.n_vertices
        number, vertex, last, semi, via, relative = np.full((6, n), NONE, dtype=np.uint32)
        found = cls(number, vertex, last, semi, via, relative, np.full(n, -1, dtype=np.int64))
        _find(graphs, found)
        wrong = _unproven(graphs, found)
        assert not wrong, f"{wrong} semidominators are not what their witnesses say"
        return found


@njit(cache=True)
def _find(graphs: FlowGraphs, found: Witnesses) -> None:
    scratch = scratch_rows(graphs, 6)
    for index in range(len(graphs.roots)):
        first, end = graphs.first_vertex[index], graphs.first_vertex[index + 1]
        part = _slice(found, first, end)
        reached = _find_one(graph_at(graphs, index), part, scratch)
        # From numbers and ids within the graph to those of the batch.
        for ids in (part.vertex, part.last, part.semi, part.via, part.relative):
            for v in range(reached):
                if ids[v] != NONE:
                    ids[v] += first
        for v in range(end - first):
            if part.number[v] != NONE:
                part.number[v] += first


@njit(cache=True)
def _slice(found: Witnesses, first: int, end: int) -> Witnesses:
    return Witnesses(
        found.number[first:end],
        found.vertex[first:end],
        found.last[first:end],
        found.semi[first:end],
        found.via[first:end],
        found.relative[first:end],
        found.arc[first:end],
    )


@njit(cache=True)
def _find_one(graph: FlowGraph, found: Witnesses, scratch: Ids) -> int:
    semi, bucket, next_in_bucket = found.semi, scratch[0], scratch[1]
    search = Search(found.number, found.vertex, scratch[2], found.last, scratch[3])
    forest = Forest(scratch[4], scratch[5], semi, search.path)
    reached = depth_first(graph, search)
    begin_forest(forest, search.parent, reached)
    for v in range(reached):
        bucket[v] = NONE
    for v in range(reached - 1, 0, -1):
        _witness(v, graph.into, search, forest, found)
        next_in_bucket[v], bucket[semi[v]] = bucket[semi[v]], v
        parent = search.parent[v]
        waiting = bucket[parent]
        while waiting != NONE:
            y = evaluate(waiting, v, forest)
            if semi[y] < semi[waiting]:
                found.relative[waiting] = y
            waiting = next_in_bucket[waiting]
        bucket[parent] = NONE
    return reached


@njit(cache=True)
def _witness(v: int, into: Arcs, search: Search, forest: Forest, found: Witnesses) -> None:
    """Find the semidominator of `v` and its witnesses; exactly the vertices above `v` are linked."""
    vertex = found.vertex[v]
    for arc in range(into.offsets[vertex], into.offsets[vertex + 1]):
        u = search.number[into.ends[arc]]
        if u == NONE:
            continue
        through = evaluate(u, v + 1, forest)
        if found.semi[through] < found.semi[v]:
            found.semi[v] = found.semi[through]
            found.arc[v] = arc
            found.via[v] = through if through > v else NONE


@njit(cache=True)
def _unproven(graphs: FlowGraphs, found: Witnesses) -> int:
    """Count the vertices whose witnesses do not hold."""
    into, last, semi = graphs.into, found.last, found.semi
    wrong = 0
    for index in range(len(graphs.roots)):
        first = graphs.first_vertex[index]
        for v in range(first + 1, graphs.first_vertex[index + 1]):
            vertex = found.vertex[v]
            if vertex == NONE:
                continue
            s, u, y, arc = semi[v], found.via[v], found.relative[v], found.arc[v]
            holds = first <= s < v <= last[s]
            holds &= into.offsets[vertex] <= arc < into.offsets[vertex + 1]
            if holds:
                tail = found.number[first + into.ends[arc]]
                holds &= tail == s if u == NONE else v < u <= tail <= last[u] and semi[u] == s
                holds &= y == NONE or (s < y < v <= last[y] and y <= last[s])
            wrong += not holds
    return wrong


class Tree(NamedTuple):
    """A forest by number: the descendants of v, including v, are the w with begin[v] <= begin[w] < end[v].

    A root is its own parent; `NONE` is the parent of numbers without a vertex.
    """

    parent: Ids
    begin: Ids
    end: Ids


@njit(cache=True)
def tree_of(parent: Ids) -> Tree:
    """Find the intervals of a forest in which no parent has a larger number than its child."""
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
    return Tree(parent, begin, begin + size)


@njit(cache=True, parallel=True)
def arcs_past_dominators(first: Ids, into: Arcs, number: Ids, tree: Tree) -> npt.NDArray[np.bool_]:
    """Mark vertices with an arc from outside the subtree of their parent; graphs begin at `first`."""
    marked = np.zeros(len(number), dtype=np.bool_)
    for w in prange(len(number)):
        if number[w] == NONE or tree.parent[number[w]] == number[w]:
            continue
        above = tree.parent[number[w]]
        for arc in range(into.offsets[w], into.offsets[w + 1]):
            u = number[first[w] + into.ends[arc]]
            if u != NONE and not tree.begin[above] <= tree.begin[u] < tree.end[above]:
                marked[w] = True
    return marked
