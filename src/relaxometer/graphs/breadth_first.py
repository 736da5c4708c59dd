"""Breadth-first search with a queue, compiled with Numba."""

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

UNREACHED = np.uint32(2**32 - 1)


@njit(cache=True)
def search(
    offsets: npt.NDArray[np.int64], targets: npt.NDArray[np.uint32], source: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32], int]:
    """Return levels, predecessors, and the queue: the vertices reached, in order, and their number."""
    n = len(offsets) - 1
    level = np.full(n, UNREACHED, dtype=np.uint32)
    predecessor = np.full(n, UNREACHED, dtype=np.uint32)
    queue = np.empty(n, dtype=np.uint32)
    level[source] = 0
    predecessor[source] = source
    queue[0] = source
    first, size = 0, 1
    while first < size:
        u = queue[first]
        first += 1
        for arc in range(offsets[u], offsets[u + 1]):
            v = targets[arc]
            if level[v] == UNREACHED:
                level[v] = level[u] + np.uint32(1)
                predecessor[v] = u
                queue[size] = v
                size += 1
    return level, predecessor, queue, size
