"""Reverse post-order of the graphs of a batch. Loads Numba."""

import numpy as np

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import Ids, Ints


@njit(cache=True)
def reverse_post_order(first_vertex: Ints, entries: Ints, offsets: Ints, targets: Ids) -> Ints:
    """Rank the vertices of every graph in reverse post-order of a depth-first search from its entry.

    Returns the new id of each vertex within its graph; -1 if the search does not reach it.
    """
    rank = np.full(len(offsets) - 1, -1, dtype=np.int64)
    next_arc = offsets[:-1].copy()
    seen = np.zeros(len(offsets) - 1, dtype=np.bool_)
    path = np.empty(len(offsets), dtype=np.int64)
    for graph in range(len(entries)):
        first = first_vertex[graph]
        path[0] = first + entries[graph]
        seen[path[0]] = True
        depth, finished = 1, 0
        while depth:
            vertex = path[depth - 1]
            if next_arc[vertex] < offsets[vertex + 1]:
                head = first + np.int64(targets[next_arc[vertex]])
                next_arc[vertex] += 1
                if not seen[head]:
                    seen[head] = True
                    path[depth] = head
                    depth += 1
            else:
                rank[vertex] = finished
                finished += 1
                depth -= 1
        for vertex in range(first, first_vertex[graph + 1]):
            if seen[vertex]:
                rank[vertex] = finished - 1 - rank[vertex]
    return rank
