"""SEMI-NCA: semidominators, then nearest common ancestors in the growing tree, on one CPU core."""

from __future__ import annotations

from relaxometer.core.compiled import njit, prange
from relaxometer.problems.dominators._flow_graphs import (
    Arcs,
    FlowGraph,
    FlowGraphs,
    Ids,
    begin_search,
    dominators_by_vertex,
    graph_at,
    least_semidominator,
    scratch_rows,
)
from relaxometer.problems.dominators.cpu._on_cpu import Bounds, CpuParameters, CpuSolver


class Parameters(CpuParameters):
    """Cores; see :class:`relaxometer.problems.dominators.cpu._on_cpu.CpuParameters`."""


@njit(cache=True)
def _find_share(graphs: FlowGraphs, idom: Ids, begin: int, end: int) -> int:
    scratch = scratch_rows(graphs, 8)
    for index in range(begin, end):
        first, last = graphs.first_vertex[index], graphs.first_vertex[index + 1]
        _find_one(graph_at(graphs, index), idom[first:last], scratch)
    return 0


@njit(cache=True)
def _find(graphs: FlowGraphs, idom: Ids) -> int:
    return _find_share(graphs, idom, 0, len(graphs.roots))


@njit(cache=True, parallel=True)
def _find_on_cores(graphs: FlowGraphs, idom: Ids, bounds: Bounds) -> int:
    first_vertex, roots, out, into = graphs
    out_offsets, out_ends = out
    into_offsets, into_ends = into
    for share in prange(len(bounds) - 1):
        # Loops over cores take no nested tuples.
        own = FlowGraphs(first_vertex, roots, Arcs(out_offsets, out_ends), Arcs(into_offsets, into_ends))
        _find_share(own, idom, bounds[share], bounds[share + 1])
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
    find_on_cores = staticmethod(_find_on_cores)
