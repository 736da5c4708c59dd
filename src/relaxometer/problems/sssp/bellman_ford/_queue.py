"""Bellman-Ford's algorithm with a queue, in 64 bits, compiled with Numba."""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

NO_PREDECESSOR = np.uint32(2**32 - 1)
NO_PATH = np.int64(2**63 - 1)


@njit(cache=True)
def vertex_on_cycle(predecessor: npt.NDArray[np.uint32], source: int, mark: npt.NDArray[np.int64]) -> int:
    """Return a vertex on a cycle of predecessors, not the source's, or -1; `mark` has a word per vertex."""
    mark[:] = -1
    for start in range(len(predecessor)):
        v = np.int64(start)
        while mark[v] < 0:
            mark[v] = start
            before = predecessor[v]
            if before == NO_PREDECESSOR or v == source:
                v = np.int64(-1)
                break
            v = np.int64(before)
        if v >= 0 and mark[v] == start:
            return int(v)
    return -1


@njit(cache=True)
def search(
    offsets: npt.NDArray[np.int64], targets: npt.NDArray[np.uint32], weights: npt.NDArray[Any], source: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], int, int]:
    """Return distances, predecessors, the number of relaxed arcs, and a vertex on a negative cycle or -1."""
    n = len(offsets) - 1
    distance = np.full(n, NO_PATH, dtype=np.int64)
    predecessor = np.full(n, NO_PREDECESSOR, dtype=np.uint32)
    queue = np.empty(n, dtype=np.int64)
    waits = np.zeros(n, dtype=np.bool_)
    mark = np.empty(n, dtype=np.int64)
    distance[source], predecessor[source] = 0, source
    queue[0], waits[source] = source, True
    first, size, relaxed, improved = 0, 1, 0, 0
    while size > 0:
        v = queue[first]
        first, size = (first + 1) % n, size - 1
        waits[v] = False
        relaxed += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            head = targets[i]
            length = distance[v] + weights[i]
            if length >= distance[head]:
                continue
            distance[head], predecessor[head] = length, v
            improved += 1
            if improved == n:
                improved = 0
                root = source if distance[source] == 0 else -1
                on_cycle = vertex_on_cycle(predecessor, root, mark)
                if on_cycle >= 0:
                    return distance, predecessor, relaxed, on_cycle
            if not waits[head]:
                queue[(first + size) % n] = head
                waits[head], size = True, size + 1
    return distance, predecessor, relaxed, -1
