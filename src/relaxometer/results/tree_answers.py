"""First answers in few bytes: of a tree, only which of its neighbours each vertex was reached from.

Predecessors and lengths take at least four bytes per vertex each, and neither column compresses well.
Where arcs run both ways, a predecessor is one of the vertex's neighbours, and its place among them is a small
number. The graph, which a proof needs anyway, then tells the predecessor, and the tree the lengths.
"""

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

    Places have the shape (n_vertices,) and begin with 1; 0 is for the source and for vertices that are not
    reached.
    """
    if problem not in LENGTHS or sorted(columns) != sorted((LENGTHS[problem], PREDECESSOR)):
        return None
    predecessor = columns[PREDECESSOR]
    reached = np.flatnonzero(predecessor != _largest(predecessor.dtype))
    inner = reached[reached != source]
    places = np.zeros(graph.n_vertices, dtype=np.uint32)
    try:
        places[inner] = _first_arcs(graph, inner, predecessor[inner]) - graph.offsets[inner] + 1
        again = columns_of(graph, problem, source, places)
    except ValueError:
        return None
    same = all(
        again[name].dtype == column.dtype and again[name].tobytes() == column.tobytes()
        for name, column in columns.items()
    )
    return places if same else None


def columns_of(graph: Graph, problem: str, source: int, places: Places) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of an answer from :func:`places_of`; ValueError unless they are a tree."""
    kinds = load_problem(problem).columns_on(graph)
    if problem not in LENGTHS or not 0 <= source < graph.n_vertices or places.shape != (graph.n_vertices,):
        raise ValueError("its tree is not one of this graph and problem")
    if places[source] or (places > graph.degrees).any():
        raise ValueError("a place in its tree is beyond the neighbours of the vertex")
    inner = np.flatnonzero(places)
    parents = graph.targets[graph.offsets[inner] + places[inner] - 1]
    predecessor = np.full(graph.n_vertices, _largest(kinds[PREDECESSOR]), dtype=kinds[PREDECESSOR])
    predecessor[source], predecessor[inner] = source, parents
    kind = kinds[LENGTHS[problem]]
    # Integers are added in 64 bits, so that none wraps; floats as the answer's type rounds them.
    wide = kind if kind.kind == "f" else {"u": np.uint64, "i": np.int64}[kind.kind]
    sums, added = np.zeros(graph.n_vertices, wide), np.zeros(graph.n_vertices, wide)
    arcs = _first_arcs(graph, parents, inner)
    added[inner] = graph.weights[arcs] if problem == "sssp" else 1
    order = _from_the_source(inner, parents, source, graph.n_vertices)
    _add_along(order, predecessor, added, sums)
    if kind.kind != "f" and sums[order].max() >= _largest(kind):
        raise ValueError("a path of its tree is too long")
    lengths = np.full(graph.n_vertices, _largest(kind), dtype=kind)
    lengths[order] = sums[order]
    return {LENGTHS[problem]: lengths, PREDECESSOR: predecessor}


def _largest(kind: np.dtype[Any]) -> Any:
    """Return the value of a vertex that is not reached."""
    return np.inf if kind.kind == "f" else np.iinfo(kind).max


def _first_arcs(graph: Graph, tails: npt.NDArray[Any], heads: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the first arc of each pair, which is the lightest; ValueError if a pair has none."""
    n = graph.n_vertices
    keys = graph.tails.astype(np.int64) * n + graph.targets  # ascend, as the arcs of a vertex do by head
    wanted = tails.astype(np.int64) * n + heads
    arcs = np.searchsorted(keys, wanted)
    if len(wanted) and (not len(keys) or (keys.take(arcs, mode="clip") != wanted).any()):
        raise ValueError("its tree has an arc that the graph does not have")
    return arcs


def _from_the_source(
    inner: npt.NDArray[np.int64], parents: npt.NDArray[Any], source: int, n: int
) -> npt.NDArray[Any]:
    """Return the vertices of a tree, each after its parent; ValueError if it is none from this source."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    arcs = csr_array((np.ones(len(inner), dtype=np.int8), (parents, inner)), shape=(n, n))
    order: npt.NDArray[Any] = breadth_first_order(arcs, source, return_predecessors=False)
    if len(order) != len(inner) + 1:
        raise ValueError("its tree has a cycle")
    return order


@njit(cache=True)
def _add_along(order: Any, predecessor: Any, added: Any, sums: Any) -> None:
    for v in order[1:]:
        sums[v] = sums[predecessor[v]] + added[v]
