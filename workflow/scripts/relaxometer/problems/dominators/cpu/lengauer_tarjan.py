"""The algorithm of Lengauer and Tarjan, its simple form with path compression, on one CPU core."""

from __future__ import annotations

import numpy as np
from numba import njit

from relaxometer.problems import variants
from relaxometer.problems.dominators._flow_graphs import NONE, Arcs, Ids, Offsets, depth_first, evaluate
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
    scratch = np.empty((10, np.max(np.diff(first_vertex))), dtype=np.uint32)
    for graph in range(len(entries)):
        first, end = first_vertex[graph], first_vertex[graph + 1]
        arcs = (offsets[first : end + 1], targets)
        arcs_in = (predecessor_offsets[first : end + 1], predecessors)
        _find_one(entries[graph], arcs, arcs_in, idom[first:end], scratch)
    return 0


@njit(cache=True)
def _find_one(root: int, arcs: Arcs, arcs_in: Arcs, idom: Ids, scratch: Ids) -> None:
    order, number, parent, last = scratch[0], scratch[1], scratch[2], scratch[3]
    path, label, semi, above = scratch[4], scratch[5], scratch[6], scratch[7]
    bucket, next_in_bucket = scratch[8], scratch[9]
    reached = depth_first(root, *arcs, order, number, parent, last, path)
    predecessor_offsets, predecessors = arcs_in
    # `last` has served; the numbers of the dominators take its place.
    dominator = last
    for v in range(reached):
        label[v] = semi[v] = v
        above[v] = parent[v]
        bucket[v] = NONE
    for v in range(reached - 1, 0, -1):
        least = parent[v]
        vertex = order[v]
        for arc in range(predecessor_offsets[vertex], predecessor_offsets[vertex + 1]):
            u = number[predecessors[arc]]
            if u != NONE:
                least = min(least, semi[evaluate(u, v + 1, above, label, semi, path)])
        semi[v] = least
        next_in_bucket[v], bucket[least] = bucket[least], v
        # With v linked to its parent, the vertices whose semidominator that parent is can be settled.
        above_v = parent[v]
        waiting = bucket[above_v]
        while waiting != NONE:
            u = evaluate(waiting, v, above, label, semi, path)
            dominator[waiting] = u if semi[u] < semi[waiting] else above_v
            waiting = next_in_bucket[waiting]
        bucket[above_v] = NONE
    dominator[0] = 0
    for v in range(1, reached):
        if dominator[v] != semi[v]:
            dominator[v] = dominator[dominator[v]]
    for vertex in range(len(idom)):
        idom[vertex] = NONE if number[vertex] == NONE else order[dominator[number[vertex]]]


class Solver(CpuSolver):
    """Immediate dominators by Lengauer and Tarjan's simple algorithm, compiled with Numba.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
    parameters : Parameters

    References
    ----------
    Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1, 1979.
    """

    find = staticmethod(_find)
