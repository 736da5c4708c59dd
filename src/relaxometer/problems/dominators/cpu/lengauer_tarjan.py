"""The simple algorithm of Lengauer and Tarjan, with path compression, on one CPU core."""

from __future__ import annotations

from relaxometer.core.compiled import njit, prange
from relaxometer.problems.dominators._flow_graphs import (
    NONE,
    Arcs,
    FlowGraph,
    FlowGraphs,
    Ids,
    begin_search,
    dominators_by_vertex,
    evaluate,
    graph_at,
    least_semidominator,
    scratch_rows,
)
from relaxometer.problems.dominators.cpu._on_cpu import Bounds, CpuParameters, CpuSolver


class Parameters(CpuParameters):
    """Cores; see :class:`relaxometer.problems.dominators.cpu._on_cpu.CpuParameters`."""


@njit(cache=True)
def _find_share(graphs: FlowGraphs, idom: Ids, begin: int, end: int) -> int:
    scratch = scratch_rows(graphs, 10)
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
    bucket, next_in_bucket = scratch[8], scratch[9]
    semi = forest.semi
    for v in range(reached):
        bucket[v] = NONE
    # `last` is not needed; its row holds the dominators by number.
    dominator = search.last
    for v in range(reached - 1, 0, -1):
        semi[v] = least_semidominator(v, graph.into, search, forest)
        next_in_bucket[v], bucket[semi[v]] = bucket[semi[v]], v
        # v is linked to its parent now, which settles the vertices whose semidominator is that parent.
        parent = search.parent[v]
        waiting = bucket[parent]
        while waiting != NONE:
            u = evaluate(waiting, v, forest)
            dominator[waiting] = u if semi[u] < semi[waiting] else parent
            waiting = next_in_bucket[waiting]
        bucket[parent] = NONE
    dominator[0] = 0
    for v in range(1, reached):
        if dominator[v] != semi[v]:
            dominator[v] = dominator[dominator[v]]
    dominators_by_vertex(search.number, search.vertex, dominator, idom)


class Solver(CpuSolver):
    """Immediate dominators by Lengauer and Tarjan's simple algorithm, compiled with Numba.

    References
    ----------
    Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1, 1979.
    """

    find = staticmethod(_find)
    find_on_cores = staticmethod(_find_on_cores)
