"""Sweeps in reverse post-order that intersect paths up the tree (Cooper, Harvey, Kennedy), on one core."""

from __future__ import annotations

import numpy as np
from numba import njit

from relaxometer.problems import variants
from relaxometer.problems.dominators._flow_graphs import NONE, Arcs, Ids, Offsets
from relaxometer.problems.dominators.cpu._on_cpu import CpuSolver


class Parameters(variants.Parameters):
    """Nothing to set."""


@njit(cache=True)
def _find(
    first_vertex: Offsets,
    entries: Ids,
    offsets: Offsets,
    targets: Ids,
    predecessor_offsets: Offsets,
    predecessors: Ids,
    idom: Ids,
) -> int:
    scratch = np.empty((4, np.max(np.diff(first_vertex))), dtype=np.uint32)
    most_rounds = 0
    # The graphs of a batch are numbered in reverse post-order; a single one need not be.
    in_order = len(entries) > 1
    for graph in range(len(entries)):
        first, end = first_vertex[graph], first_vertex[graph + 1]
        arcs = (offsets[first : end + 1], targets)
        arcs_in = (predecessor_offsets[first : end + 1], predecessors)
        rounds = _find_one(entries[graph], arcs, arcs_in, idom[first:end], scratch, in_order)
        most_rounds = max(most_rounds, rounds)
    return most_rounds


@njit(cache=True)
def _find_one(root: int, arcs: Arcs, arcs_in: Arcs, idom: Ids, scratch: Ids, in_order: bool) -> int:
    order, number, dominator, path = scratch[0], scratch[1], scratch[2], scratch[3]
    predecessor_offsets, predecessors = arcs_in
    if in_order:
        reached = len(idom)
        for v in range(reached):
            order[v] = number[v] = v
    else:
        reached = _reverse_post_order(root, *arcs, order, number, path)
    dominator[0] = 0
    for v in range(1, reached):
        dominator[v] = NONE
    rounds, changed = 0, True
    while changed:
        rounds, changed = rounds + 1, False
        for v in range(1, reached):
            meeting = NONE
            vertex = order[v]
            for arc in range(predecessor_offsets[vertex], predecessor_offsets[vertex + 1]):
                u = number[predecessors[arc]]
                if u == NONE or dominator[u] == NONE:
                    continue
                if meeting == NONE:
                    meeting = u
                while u != meeting:
                    if u > meeting:
                        u = dominator[u]
                    else:
                        meeting = dominator[meeting]
            if dominator[v] != meeting:
                dominator[v] = meeting
                changed = True
    for vertex in range(len(idom)):
        idom[vertex] = NONE if number[vertex] == NONE else order[dominator[number[vertex]]]
    return rounds


@njit(cache=True)
def _reverse_post_order(root: int, offsets: Offsets, targets: Ids, order: Ids, number: Ids, path: Ids) -> int:
    """Rank one graph in reverse post-order; return how many vertices were reached."""
    n = len(offsets) - 1
    for v in range(n):
        number[v] = NONE
    next_arc = offsets[:-1].copy()
    path[0] = root
    number[root] = 0
    depth, finished = 1, 0
    while depth:
        v = path[depth - 1]
        if next_arc[v] < offsets[v + 1]:
            head = targets[next_arc[v]]
            next_arc[v] += 1
            if number[head] == NONE:
                number[head] = 0
                path[depth] = head
                depth += 1
        else:
            order[finished] = v
            finished += 1
            depth -= 1
    for i in range(finished // 2):
        order[i], order[finished - 1 - i] = order[finished - 1 - i], order[i]
    for i in range(finished):
        number[order[i]] = i
    return finished


class Solver(CpuSolver):
    """Immediate dominators by the iterative algorithm of Cooper, Harvey and Kennedy, compiled with Numba.

    A batch's graphs come in reverse post-order, so that only a single graph is searched for it.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
    parameters : Parameters

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    """

    find = staticmethod(_find)
