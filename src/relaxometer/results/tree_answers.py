"""First answers in few bytes: of a tree, only which of its neighbours each vertex was reached from.

Predecessors and lengths take at least four bytes per vertex each, and neither column compresses well.
Where arcs run both ways, a predecessor is one of the vertex's neighbours, and its place among them is a small
number. The graph, which a proof needs anyway, then tells the predecessor, and the tree the lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import Graph
from relaxometer.problems.problem import load_problem

LENGTHS = {"sssp": "distance", "bfs": "level"}
"""The column that follows from the tree, by problem."""

PREDECESSOR = "predecessor"

Columns = Mapping[str, npt.NDArray[Any]]
Places = npt.NDArray[np.uint32]


def places_of(graph: Graph, problem: str, source: int, columns: Columns) -> Places | None:
    """Return the place of each predecessor among the neighbours; None if the answer does not follow.

    Parameters
    ----------
    graph : Graph
    problem : str
    source : int
    columns : mapping of str to ndarray of shape (n_vertices,)
        The answer.

    Returns
    -------
    ndarray of shape (n_vertices,), uint32, or None
        From 1; 0 for the source and for vertices that are not reached.
    """
    if problem not in LENGTHS or sorted(columns) != sorted((LENGTHS[problem], PREDECESSOR)):
        return None
    predecessor = columns[PREDECESSOR]
    places = np.zeros(graph.n_vertices, dtype=np.uint32)
    if not _find_places(graph.offsets, graph.targets, predecessor, source, places):
        return None
    try:
        again = columns_of(graph, problem, source, places)
    except ValueError:
        return None
    same = all(
        again[name].dtype == column.dtype and again[name].tobytes() == column.tobytes()
        for name, column in columns.items()
    )
    return places if same else None


def columns_of(graph: Graph, problem: str, source: int, places: Places) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of an answer, given what :func:`places_of` returned.

    Raises
    ------
    ValueError
        If the places lead to no tree of the graph.
    """
    kinds = load_problem(problem).columns_on(graph)
    if problem not in LENGTHS or not 0 <= source < graph.n_vertices or places.shape != (graph.n_vertices,):
        raise ValueError("its tree is not one of this graph and problem")
    predecessor = np.full(graph.n_vertices, _largest(kinds[PREDECESSOR]), dtype=kinds[PREDECESSOR])
    predecessor[source] = source
    if not _follow_places(graph.offsets, graph.targets, places, predecessor):
        raise ValueError("a place in its tree is beyond the neighbours of the vertex")
    kind = kinds[LENGTHS[problem]]
    weights = graph.weights if problem == "sssp" else np.ones(graph.n_arcs, dtype=np.uint8)
    # Integers are added in 64 bits, so that none wraps; floats as the answer's type rounds them.
    sums = np.zeros(
        graph.n_vertices, dtype=kind if kind.kind == "f" else {"u": np.uint64, "i": np.int64}[kind.kind]
    )
    reached = predecessor != _largest(kinds[PREDECESSOR])
    if not _add_lengths(graph.offsets, graph.targets, weights, predecessor, reached, source, sums):
        raise ValueError("its tree has a cycle, or an arc that the graph does not have")
    lengths = np.full(graph.n_vertices, _largest(kind), dtype=kind)
    if kind.kind != "f" and reached.any() and sums[reached].max() >= _largest(kind):
        raise ValueError("a path of its tree is too long")
    lengths[reached] = sums[reached]
    return {LENGTHS[problem]: lengths, PREDECESSOR: predecessor}


def _largest(kind: np.dtype[Any]) -> Any:
    """Return the value of a vertex that is not reached."""
    return np.inf if kind.kind == "f" else np.iinfo(kind).max


@njit(cache=True)
def _find_places(offsets: Any, targets: Any, predecessor: Any, source: int, places: Any) -> bool:
    """Find predecessors among the neighbours; return False if one is not there."""
    largest = np.iinfo(predecessor.dtype).max
    if predecessor[source] != source:
        return False
    for v in range(len(predecessor)):
        if v == source or predecessor[v] == largest:
            continue
        arc, end = offsets[v], offsets[v + 1]
        while arc < end and targets[arc] != predecessor[v]:
            arc += 1
        if arc == end:
            return False
        places[v] = arc - offsets[v] + 1
    return True


@njit(cache=True)
def _follow_places(offsets: Any, targets: Any, places: Any, predecessor: Any) -> bool:
    """Write the predecessors of all places other than 0; return False if a place exceeds a degree."""
    for v in range(len(places)):
        if places[v] == 0:
            continue
        if places[v] > offsets[v + 1] - offsets[v]:
            return False
        predecessor[v] = targets[offsets[v] + places[v] - 1]
    return True


@njit(cache=True)
def _first_arc(offsets: Any, targets: Any, tail: int, head: int) -> int:
    """Return the first arc between two vertices, which is the lightest, or -1; arcs are sorted by head."""
    low, high = offsets[tail], offsets[tail + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < head:
            low = middle + 1
        else:
            high = middle
    return low if low < offsets[tail + 1] and targets[low] == head else -1


@njit(cache=True)
def _add_lengths(
    offsets: Any, targets: Any, weights: Any, predecessor: Any, reached: Any, source: int, sums: Any
) -> bool:
    """Add the weights along the tree, from the source on; return whether all reached vertices are in it."""
    n = len(predecessor)
    known, path = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    known[source] = True
    for first in range(n):
        v, count = first, 0
        while reached[v] and not known[v]:
            if count == n:
                return False
            path[count] = v
            count += 1
            v = predecessor[v]
        if count and not reached[v]:
            return False
        while count:
            count -= 1
            v = path[count]
            arc = _first_arc(offsets, targets, predecessor[v], v)
            if arc < 0:
                return False
            sums[v] = sums[predecessor[v]] + weights[arc]
            known[v] = True
    return True
