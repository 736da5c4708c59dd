"""The iterative algorithm of Cooper, Harvey and Kennedy on one CPU core."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from relaxometer.problems.dominators._flow_graphs import (
    NONE,
    Arcs,
    FlowGraph,
    FlowGraphs,
    Ids,
    dominators_by_vertex,
    graph_at,
    scratch_rows,
)
from relaxometer.problems.dominators.cpu._on_cpu import Bounds, CpuParameters, CpuSolver


class Parameters(CpuParameters):
    """Cores; see :class:`relaxometer.problems.dominators.cpu._on_cpu.CpuParameters`."""


@njit(cache=True)
def _find_share(graphs: FlowGraphs, idom: Ids, begin: int, end: int) -> int:
    scratch = scratch_rows(graphs, 4)
    most_rounds = 0
    # The graphs of a batch are numbered in reverse post-order; a single one need not be.
    in_order = len(graphs.roots) > 1
    for index in range(begin, end):
        first, last = graphs.first_vertex[index], graphs.first_vertex[index + 1]
        rounds = _find_one(graph_at(graphs, index), idom[first:last], scratch, in_order)
        most_rounds = max(most_rounds, rounds)
    return most_rounds


@njit(cache=True)
def _find(graphs: FlowGraphs, idom: Ids) -> int:
    return _find_share(graphs, idom, 0, len(graphs.roots))


@njit(cache=True, parallel=True)
def _find_on_cores(graphs: FlowGraphs, idom: Ids, bounds: Bounds) -> int:
    first_vertex, roots, out, into = graphs
    out_offsets, out_ends = out
    into_offsets, into_ends = into
    rounds = np.zeros(len(bounds) - 1, dtype=np.int64)
    for share in prange(len(bounds) - 1):
        # Loops over cores take no nested tuples.
        own = FlowGraphs(first_vertex, roots, Arcs(out_offsets, out_ends), Arcs(into_offsets, into_ends))
        rounds[share] = _find_share(own, idom, bounds[share], bounds[share + 1])
    return rounds.max()


@njit(cache=True)
def _find_one(graph: FlowGraph, idom: Ids, scratch: Ids, in_order: bool) -> int:
    vertex, number, dominator, path = scratch[0], scratch[1], scratch[2], scratch[3]
    if in_order:
        reached = len(idom)
        for v in range(reached):
            vertex[v] = number[v] = v
    else:
        reached = _reverse_post_order(graph, vertex, number, path)
    dominator[0] = 0
    for v in range(1, reached):
        dominator[v] = NONE
    rounds, changed = 0, True
    while changed:
        rounds, changed = rounds + 1, False
        for v in range(1, reached):
            meeting = _meeting_of_predecessors(vertex[v], graph.into, number, dominator)
            if dominator[v] != meeting:
                dominator[v] = meeting
                changed = True
    dominators_by_vertex(number, vertex, dominator, idom)
    return rounds


@njit(cache=True, inline="always")
def _meeting_of_predecessors(vertex: int, into: Arcs, number: Ids, dominator: Ids) -> np.uint32:
    """Return where the paths up the tree from all predecessors with a dominator meet."""
    meeting = NONE
    for arc in range(into.offsets[vertex], into.offsets[vertex + 1]):
        u = number[into.ends[arc]]
        if u == NONE or dominator[u] == NONE:
            continue
        if meeting == NONE:
            meeting = u
        while u != meeting:
            if u > meeting:
                u = dominator[u]
            else:
                meeting = dominator[meeting]
    return meeting


@njit(cache=True)
def _reverse_post_order(graph: FlowGraph, vertex: Ids, number: Ids, path: Ids) -> int:
    """Rank one graph in reverse post-order; return the number of vertices reached."""
    offsets, heads = graph.out
    for v in range(len(offsets) - 1):
        number[v] = NONE
    next_arc = offsets[:-1].copy()
    path[0] = graph.root
    number[graph.root] = 0
    depth, finished = 1, 0
    while depth:
        v = path[depth - 1]
        if next_arc[v] < offsets[v + 1]:
            head = heads[next_arc[v]]
            next_arc[v] += 1
            if number[head] == NONE:
                number[head] = 0
                path[depth] = head
                depth += 1
        else:
            vertex[finished] = v
            finished += 1
            depth -= 1
    for i in range(finished // 2):
        vertex[i], vertex[finished - 1 - i] = vertex[finished - 1 - i], vertex[i]
    for i in range(finished):
        number[vertex[i]] = i
    return finished


class Solver(CpuSolver):
    """Immediate dominators by the iterative algorithm of Cooper, Harvey and Kennedy, compiled with Numba.

    Sweeps in reverse post-order intersect the tree paths of predecessors until nothing changes. The graphs
    of a batch come in that order; a single graph is searched first.

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    """

    find = staticmethod(_find)
    find_on_cores = staticmethod(_find_on_cores)
