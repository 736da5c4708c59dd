"""Makes a shortest-path tree from distances alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import parallel_chunksize

from relaxometer.core.compiled import njit, prange
from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED

if TYPE_CHECKING:
    from relaxometer.graphs.graph import Graph

CHUNK = 4096  # vertices that a thread takes at once: those with most arcs may be side by side


def shortest_path_tree(
    graph: Graph, source: int, distance: npt.NDArray[np.uint32], *, hops: bool = False
) -> npt.NDArray[np.uint32]:
    """Return a predecessor of each vertex along a shortest path, in O(n + m) work.

    An arc is tight if the distances of its ends differ by its weight, or by 1 if `hops`. A tight arc of
    positive weight is a predecessor whatever the others are; along tight arcs of weight 0, which may form
    cycles, the search goes outwards from the vertices that have one.

    `distance` is `UNREACHED` where no path leads; wrong distances leave vertices without a predecessor. The
    source is its own predecessor; `NO_PREDECESSOR` where there is none. Uses all cores, after which a process
    cannot fork others that do.
    """
    predecessor = np.full(graph.n_vertices, NO_PREDECESSOR, dtype=np.uint32)
    if distance[source] == 0:
        predecessor[source] = source
    with parallel_chunksize(CHUNK):
        _follow_arcs(graph.offsets, graph.targets, graph.weights, hops, distance, predecessor)
    if not hops and len(graph.weights) and not graph.weights.min():
        queue = np.empty(graph.n_vertices, dtype=np.uint32)
        _follow_weightless_arcs(graph.offsets, graph.targets, graph.weights, distance, predecessor, queue)
    return predecessor


@njit(parallel=True, cache=True)
def _follow_arcs(
    offsets: Any, targets: Any, weights: Any, hops: bool, distance: Any, predecessor: Any
) -> None:
    """Take tight arcs of positive weight; of several to one head, whichever a thread writes last."""
    for tail in prange(len(predecessor)):
        if distance[tail] == UNREACHED:
            continue
        for arc in range(offsets[tail], offsets[tail + 1]):
            weight = np.int64(1) if hops else np.int64(weights[arc])
            head = targets[arc]
            if (
                weight
                and predecessor[head] == NO_PREDECESSOR
                and distance[head] != UNREACHED
                and np.int64(distance[tail]) + weight == np.int64(distance[head])
            ):
                predecessor[head] = tail


@njit(cache=True)
def _follow_weightless_arcs(
    offsets: Any, targets: Any, weights: Any, distance: Any, predecessor: Any, queue: Any
) -> None:
    """Take tight arcs of weight 0, from the vertices that have a predecessor."""
    size = 0
    for vertex in range(len(predecessor)):
        if predecessor[vertex] != NO_PREDECESSOR:
            queue[size] = vertex
            size += 1
    first = 0
    while first < size:
        tail = queue[first]
        first += 1
        for arc in range(offsets[tail], offsets[tail + 1]):
            head = targets[arc]
            if weights[arc] == 0 and predecessor[head] == NO_PREDECESSOR and distance[head] == distance[tail]:
                predecessor[head] = tail
                queue[size] = head
                size += 1
