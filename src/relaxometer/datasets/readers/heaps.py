"""Common to the readers of heaps: a graph of references from the edges that a file lists."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import OBJECTS, Graph, Ids, Ints, offsets_of

SMALL, LARGE = 16, 128
"""Most references of an object that are sorted by exchanges, and that Numba, not NumPy, sorts."""


def heap_graph(
    name: str,
    edges: tuple[Ints, Ids],
    keeps: npt.NDArray[np.bool_],
    objects: dict[str, Any],
    metadata: dict[str, Any],
    root: int = 0,
) -> Graph:
    """Make the graph of the references that keep objects alive.

    `edges` are offsets and heads of all references, by the object that they lead from; `keeps` says which of
    them count, and is changed. `objects` are the columns `OBJECTS`. Self-loops are dropped and parallel
    references merged. An object without any reference is a root's.
    """
    offsets, heads = edges
    orphans = _orphans(offsets, heads, keeps, root)
    degrees, kept = _gathered(offsets, heads, keeps, orphans, root)
    starts = offsets_of(degrees)
    for u in np.flatnonzero(degrees > LARGE).tolist():
        kept[starts[u] : starts[u + 1]].sort()
    kept = kept[: _sort_and_merge(kept, degrees)]
    facts = {**metadata, "edges_in_file": len(heads), "orphans": len(orphans), "search_keys": [root]}
    ones = np.ones(len(kept), dtype=np.uint32)
    table = pa.table({column: objects[column] for column in OBJECTS})
    return Graph(name, offsets_of(degrees), kept, ones, metadata=facts, objects=table)


@njit(cache=True)
def marked(offsets: Ints, heads: Ids, follows: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return which objects are reached from the edges numbered `first` along those that `follows` marks."""
    n = len(offsets) - 1
    found, stack = np.zeros(n, np.bool_), np.empty(n, np.uint32)
    size = 0
    for edge in first:
        if not found[heads[edge]]:
            found[heads[edge]] = True
            stack[size] = heads[edge]
            size += 1
    while size:
        size -= 1
        u = stack[size]
        for edge in range(offsets[u], offsets[u + 1]):
            if follows[edge] and not found[heads[edge]]:
                found[heads[edge]] = True
                stack[size] = heads[edge]
                size += 1
    return found


@njit(cache=True)
def _orphans(offsets: Ints, heads: Ids, keeps: np.ndarray, root: int) -> np.ndarray:
    """Return the objects that no reference keeps alive, without the root; self-loops no longer count."""
    n = len(offsets) - 1
    is_held = np.zeros(n, np.bool_)
    is_held[root] = True
    for u in range(n):
        for edge in range(offsets[u], offsets[u + 1]):
            keeps[edge] &= heads[edge] != u
            if keeps[edge]:
                is_held[heads[edge]] = True
    return np.flatnonzero(~is_held).astype(np.uint32)


@njit(cache=True)
def _gathered(offsets: Ints, heads: Ids, keeps: np.ndarray, orphans: Ids, root: int) -> tuple[Ints, Ids]:
    """Return how many references of each object count, orphans being the root's, and their heads."""
    n = len(offsets) - 1
    degrees = np.zeros(n, np.int64)
    kept = np.empty(len(heads) + len(orphans), np.uint32)
    end = 0
    for u in range(n):
        start = end
        for edge in range(offsets[u], offsets[u + 1]):
            kept[end] = heads[edge]
            end += keeps[edge]
        if u == root:
            kept[end : end + len(orphans)] = orphans
            end += len(orphans)
        degrees[u] = end - start
    return degrees, kept[:end]


@njit(cache=True)
def _sort_and_merge(kept: Ids, degrees: Ints) -> int:
    """Sort the heads of each object, whose number changes as equal ones are merged; returns their number.

    Those of more than `LARGE` have been sorted.
    """
    start = end = 0
    for u in range(len(degrees)):
        stop = start + degrees[u]
        if degrees[u] <= SMALL:
            # Exchanges without branches, since a processor cannot predict them.
            for i in range(start + 1, stop):
                for k in range(start, i):
                    kept[k], kept[i] = min(kept[k], kept[i]), max(kept[k], kept[i])
        elif degrees[u] <= LARGE:
            kept[start:stop].sort()
        first = end
        for i in range(start, stop):
            kept[end] = kept[i]
            end += end == first or kept[i] != kept[end - 1]
        start, degrees[u] = stop, end - first
    return end
