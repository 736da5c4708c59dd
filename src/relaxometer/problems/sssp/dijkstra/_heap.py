"""Dijkstra's algorithm with a binary heap of 64-bit words, compiled with Numba.

All of it is at the top of one module: Numba finds no compiled function again that holds others in a closure,
and does not see that one of another file has changed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

NO_PREDECESSOR = UNREACHED = np.uint32(2**32 - 1)
INFINITE = np.uint32(0x7F800000)
LOW = np.uint64(32)


@njit(cache=True)
def push(heap: npt.NDArray[np.uint64], size: int, entry: np.uint64) -> None:
    """Add an entry to the first `size` words of `heap`."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = entry


@njit(cache=True)
def pop(heap: npt.NDArray[np.uint64], size: int) -> np.uint64:
    """Take the smallest entry out of the first `size` words of `heap`."""
    top = heap[0]
    last = heap[size - 1]
    hole = 0
    child = 1
    while child < size - 1:
        if child + 1 < size - 1 and heap[child + 1] < heap[child]:
            child += 1
        if last <= heap[child]:
            break
        heap[hole] = heap[child]
        hole = child
        child = 2 * hole + 1
    heap[hole] = last
    return top


@njit(cache=True)
def search(
    offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.uint32],
    weights: npt.NDArray[Any],
    sources: npt.NDArray[np.uint32],
    bound: np.uint32,
    rounded: npt.NDArray[np.float32] | None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], int, bool]:
    """Return distances, predecessors, the number of relaxed arcs, and whether a path is too long.

    Distances are those from the nearest source. Paths of length `bound`, its bits, or more are not followed.

    Weights are integers if `rounded` is None. Otherwise they are float32, distances are their bits, which
    compare as they do, and `rounded` has one element to add them in. The compiler leaves out the other case.
    """
    n = len(offsets) - 1
    unreached = UNREACHED if rounded is None else INFINITE
    distance = np.full(n, unreached, dtype=np.uint32)
    predecessor = np.full(n, NO_PREDECESSOR, dtype=np.uint32)
    heap = np.empty(len(targets) + len(sources), dtype=np.uint64)
    size = 0
    for source in sources:
        distance[source] = 0
        predecessor[source] = source
        push(heap, size, np.uint64(source))
        size += 1
    relaxed = 0
    overflowed = False
    while size > 0:
        entry = pop(heap, size)
        size -= 1
        v = np.uint32(entry)
        if np.uint32(entry >> LOW) > distance[v]:
            continue
        relaxed += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            if rounded is None:
                length = np.uint64(distance[v]) + np.uint64(weights[i])
            else:
                rounded[0] = distance.view(np.float32)[v] + weights[i]
                length = np.uint64(rounded.view(np.uint32)[0])
            head = targets[i]
            if length >= np.uint64(bound):
                if length >= np.uint64(unreached):
                    overflowed = True
            elif length < np.uint64(distance[head]):
                distance[head] = np.uint32(length)
                predecessor[head] = v
                push(heap, size, length << LOW | np.uint64(head))
                size += 1
    return distance, predecessor, relaxed, overflowed
