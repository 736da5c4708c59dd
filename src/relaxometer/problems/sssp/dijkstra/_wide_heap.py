"""Dijkstra's algorithm with 64-bit distances: a heap of two arrays, in one module as in ``_heap.py``."""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

NO_PREDECESSOR = np.uint32(2**32 - 1)
UNREACHED = np.uint64(2**64 - 1)
INFINITE = np.uint64(0x7FF0000000000000)


@njit(cache=True)
def push(
    lengths: npt.NDArray[np.uint64],
    vertices: npt.NDArray[np.uint32],
    size: int,
    length: np.uint64,
    vertex: np.uint32,
) -> None:
    """Add an entry to the first `size` of the heap."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if lengths[parent] <= length:
            break
        lengths[child] = lengths[parent]
        vertices[child] = vertices[parent]
        child = parent
    lengths[child] = length
    vertices[child] = vertex


@njit(cache=True)
def pop(
    lengths: npt.NDArray[np.uint64], vertices: npt.NDArray[np.uint32], size: int
) -> tuple[np.uint64, np.uint32]:
    """Take the nearest entry out of the first `size` of the heap."""
    top = lengths[0], vertices[0]
    last = lengths[size - 1]
    hole = 0
    child = 1
    while child < size - 1:
        if child + 1 < size - 1 and lengths[child + 1] < lengths[child]:
            child += 1
        if last <= lengths[child]:
            break
        lengths[hole] = lengths[child]
        vertices[hole] = vertices[child]
        hole = child
        child = 2 * hole + 1
    lengths[hole] = last
    vertices[hole] = vertices[size - 1]
    return top


@njit(cache=True)
def search(
    offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.uint32],
    weights: npt.NDArray[Any],
    sources: npt.NDArray[np.uint32],
    bound: np.uint64,
    rounded: npt.NDArray[np.float64] | None,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], int, bool]:
    """Return distances, predecessors, the number of relaxed arcs, and whether a path is too long.

    Distances are those from the nearest source. Paths of length `bound`, its bits, or more are not followed.

    Weights are uint32 if `rounded` is None. Then no path is too long: with fewer than 2**32 arcs it is
    shorter than 2**64. Otherwise they are float64, distances are their bits, which compare as they do, and
    `rounded` has one element to add them in. The compiler leaves out the other case.
    """
    n = len(offsets) - 1
    distance = np.full(n, UNREACHED if rounded is None else INFINITE, dtype=np.uint64)
    predecessor = np.full(n, NO_PREDECESSOR, dtype=np.uint32)
    lengths = np.empty(len(targets) + len(sources), dtype=np.uint64)
    vertices = np.empty(len(targets) + len(sources), dtype=np.uint32)
    size = 0
    for source in sources:
        distance[source] = 0
        predecessor[source] = source
        push(lengths, vertices, size, np.uint64(0), source)
        size += 1
    relaxed = 0
    overflowed = False
    while size > 0:
        nearest, v = pop(lengths, vertices, size)
        size -= 1
        if nearest > distance[v]:
            continue
        relaxed += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            if rounded is None:
                length = nearest + np.uint64(weights[i])
            else:
                rounded[0] = distance.view(np.float64)[v] + weights[i]
                length = rounded.view(np.uint64)[0]
                if length >= INFINITE:
                    overflowed = True
            head = targets[i]
            if length < distance[head] and length < bound:
                distance[head] = length
                predecessor[head] = v
                push(lengths, vertices, size, length, head)
                size += 1
    return distance, predecessor, relaxed, overflowed
