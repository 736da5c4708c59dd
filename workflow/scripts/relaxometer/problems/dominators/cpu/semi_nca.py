"""SEMI-NCA: semidominators, then nearest common ancestors in the growing tree, on one CPU core."""

from __future__ import annotations

from numba import njit

from relaxometer.problems import variants
from relaxometer.problems.dominators._flow_graphs import (
    FlowGraph,
    FlowGraphs,
    Ids,
    begin_search,
    dominators_by_vertex,
    graph_at,
    least_semidominator,
    scratch_rows,
)
from relaxometer.problems.dominators.cpu._on_cpu import CpuSolver


class Parameters(variants.Parameters):
    """Nothing to set."""


@njit(cache=True)
def _find(graphs: FlowGraphs, idom: Ids) -> int:
    scratch = scratch_rows(graphs, 8)
    for index in range(len(graphs.roots)):
        first, end = graphs.first_vertex[index], graphs.first_vertex[index + 1]
        _find_one(graph_at(graphs, index), idom[first:end], scratch)
    return 0


@njit(cache=True)
def _find_one(graph: FlowGraph, idom: Ids, scratch: Ids) -> None:
    search, forest, reached = begin_search(graph, scratch)
    # `last` is not needed; its row holds the dominators by number.
    dominator, semi = search.last, forest.semi
    for v in range(reached):
        dominator[v] = search.parent[v]
    for v in range(reached - 1, 0, -1):
        semi[v] = least_semidominator(v, graph.into, search, forest)
    for v in range(1, reached):
        while dominator[v] > semi[v]:
            dominator[v] = dominator[dominator[v]]
    dominators_by_vertex(search.number, search.vertex, dominator, idom)


class Solver(CpuSolver):
    """Immediate dominators by SEMI-NCA, compiled with Numba.

    References
    ----------
    Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", PhD thesis, Princeton 2005.
    """

    find = staticmethod(_find)
