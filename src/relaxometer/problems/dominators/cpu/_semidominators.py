"""Semidominators, and dominators from them in two ways, compiled with Numba.

Both ways are in one module: Numba keeps no compiled function that takes another one.
"""

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
from relaxometer.problems.dominators.cpu._on_cpu import Bounds

ROWS = 10  # rows of scratch that a graph needs


@njit(cache=True)
def find_by_buckets(graph: FlowGraph, idom: Ids, scratch: Ids) -> None:
    """Find the dominators of a graph by the simple algorithm of Lengauer and Tarjan."""
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


@njit(cache=True)
def find_by_ancestors(graph: FlowGraph, idom: Ids, scratch: Ids) -> None:
    """Find the dominators of a graph by SEMI-NCA: nearest common ancestors in the growing tree."""
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


@njit(cache=True)
def _find_share(graphs: FlowGraphs, idom: Ids, begin: int, end: int, by_ancestors: bool) -> int:
    scratch = scratch_rows(graphs, ROWS)
    for index in range(begin, end):
        first, last = graphs.first_vertex[index], graphs.first_vertex[index + 1]
        if by_ancestors:
            find_by_ancestors(graph_at(graphs, index), idom[first:last], scratch)
        else:
            find_by_buckets(graph_at(graphs, index), idom[first:last], scratch)
    return 0


@njit(cache=True)
def find(graphs: FlowGraphs, idom: Ids, by_ancestors: bool) -> int:
    """Find the dominators of all graphs on one core; return 0, the number of rounds."""
    return _find_share(graphs, idom, 0, len(graphs.roots), by_ancestors)


@njit(cache=True, parallel=True)
def find_on_cores(graphs: FlowGraphs, idom: Ids, bounds: Bounds, by_ancestors: bool) -> int:
    """Find them on several cores, which take shares of graphs in turn."""
    first_vertex, roots, out, into = graphs
    out_offsets, out_ends = out
    into_offsets, into_ends = into
    for share in prange(len(bounds) - 1):
        # Loops over cores take no nested tuples.
        own = FlowGraphs(first_vertex, roots, Arcs(out_offsets, out_ends), Arcs(into_offsets, into_ends))
        _find_share(own, idom, bounds[share], bounds[share + 1], by_ancestors)
    return 0
