"""Facts about flow graphs, found by the simplest methods."""

import numpy as np

from relaxometer.graphs.batch import FlowGraph


def arcs_of(graph: FlowGraph) -> list[tuple[int, int]]:
    """Return the arcs of a graph in CSR order."""
    return list(zip(graph.tails.tolist(), graph.targets.tolist(), strict=True))


def dominators(graph: FlowGraph) -> list[set[int]]:
    """Return for each vertex the vertices on every path from the entry to it."""
    everything = set(range(graph.n_vertices))
    found = [{graph.entry} if v == graph.entry else everything for v in range(graph.n_vertices)]
    predecessors: list[list[int]] = [[] for _ in everything]
    for tail, head in arcs_of(graph):
        predecessors[head].append(tail)
    changed = True
    while changed:
        changed = False
        for v in everything - {graph.entry}:
            smaller = {v} | set.intersection(*(found[u] for u in predecessors[v]))
            changed |= smaller != found[v]
            found[v] = smaller
    return found


def loop_heads(graph: FlowGraph) -> set[int]:
    """Return the heads of natural loops: vertices that dominate one of their predecessors."""
    above = dominators(graph)
    return {head for tail, head in arcs_of(graph) if head in above[tail]}


def joins(graph: FlowGraph) -> list[int]:
    """Return the vertices with several predecessors."""
    return np.flatnonzero(np.bincount(graph.targets, minlength=graph.n_vertices) > 1).tolist()


def branches(graph: FlowGraph) -> list[int]:
    """Return the vertices with several successors."""
    return np.flatnonzero(np.diff(graph.offsets) > 1).tolist()


def exits(graph: FlowGraph) -> list[int]:
    """Return the vertices without successors."""
    return np.flatnonzero(np.diff(graph.offsets) == 0).tolist()
