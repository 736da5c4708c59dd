"""Shortest paths and breadth-first search with the interface of :mod:`scipy.sparse.csgraph`.

Names, arguments, defaults, conventions and exceptions are SciPy's; ``device`` is one argument more, as for
:func:`relaxometer.prepare`. docs/library.md says which function runs where. An invalid argument is a
ValueError. A negative cycle is a NegativeCycleError; :func:`bellman_ford` minds only those that a source
reaches.

No weight is rounded. Kernels get integers that fit as uint32, and once more as float64 if a path was too
long. Distances of float64 weights are the least sums rounded after each arc, the same bits as those of
SciPy's ``dijkstra``. Of several shortest paths, any may be the answer.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph as scipys
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import NegativeCycleError

from relaxometer.graphs.lengths import LENGTHS, ON_CYCLE
from relaxometer.library._forests import with_source
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import Prepared, place, prepare

__all__ = [
    "NegativeCycleError",
    "bellman_ford",
    "breadth_first_order",
    "breadth_first_tree",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "shortest_path",
]

NOWHERE = -9999
"""Predecessor of a source, and of a vertex that is not reached."""

SEVERAL = {"sssp": "many-sources", "bfs": "multi-source"}
"""Variants that search from many sources in one launch."""

MANY = 8
"""Sources from which on these are taken."""

AT_ONCE = 256

ANSWERS = 1 << 31
"""Bytes that the answers of a launch may take on the device."""

EXACT = 2.0**53
"""float64 holds all integers up to this."""


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths; see :func:`scipy.sparse.csgraph.shortest_path`.

    ``method`` decides as in SciPy which function of this module answers.
    """
    if method == "auto":
        arcs = _arcs(csgraph, directed, unweighted=False)
        if indices is None and arcs.matrix.nnz >= arcs.n**2 / 4:
            method = "FW"
        else:
            method = "J" if arcs.has_negative else "D"
    if method == "FW":
        if indices is not None:
            raise ValueError("Cannot specify indices with method == 'FW'.")
        return floyd_warshall(csgraph, directed, return_predecessors, unweighted, overwrite, device=device)
    functions = {"D": dijkstra, "BF": bellman_ford, "J": johnson}
    if method not in functions:
        raise ValueError(f"unrecognized method '{method}'")
    return functions[method](csgraph, directed, indices, return_predecessors, unweighted, device=device)


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths; see :func:`scipy.sparse.csgraph.dijkstra`."""
    where = place(device)
    arcs = None if where == "cpu" else _arcs(csgraph, directed, unweighted)
    if arcs is None or arcs.has_negative:
        return scipys.dijkstra(
            csgraph, directed, indices, return_predecessors, unweighted, limit, min_only=min_only
        )
    if limit < 0:
        raise ValueError("limit must be >= 0")
    sources, shape = _sources(indices, arcs.n)
    if min_only:
        nearest = _nearest(arcs.graph(), sources, limit, where)
        return nearest if return_predecessors else nearest[0]
    found = _trees(arcs.graph(), arcs.problem, sources, return_predecessors, limit, where)
    return _shaped(found, shape, return_predecessors)


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths with weights of any sign; see :func:`scipy.sparse.csgraph.bellman_ford`."""
    return _of_any_sign(
        scipys.bellman_ford, csgraph, directed, indices, return_predecessors, unweighted, device
    )


def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find shortest paths with weights of any sign; see :func:`scipy.sparse.csgraph.johnson`."""
    return _of_any_sign(scipys.johnson, csgraph, directed, indices, return_predecessors, unweighted, device)


def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: str = "auto",
) -> Any:
    """Find all shortest paths; see :func:`scipy.sparse.csgraph.floyd_warshall`.

    On a GPU by a search from each vertex, so that distances of floats are rounded as those of
    :func:`dijkstra`. As in SciPy, a zero of a masked array is not an arc here, and loops do not count.
    """
    where, found = place(device), None
    if where != "cpu":
        shown = np.ma.masked_equal(csgraph, 0) if np.ma.isMaskedArray(csgraph) else csgraph
        arcs = _arcs(shown, directed, unweighted)
        arcs = arcs._replace(matrix=_kept(arcs.matrix, arcs.tails != arcs.matrix.indices))
        everywhere = np.arange(arcs.n)
        found = _with_potentials(arcs, everywhere, everywhere, return_predecessors, where)
    if found is None:
        return scipys.floyd_warshall(csgraph, directed, return_predecessors, unweighted, overwrite)
    if overwrite and isinstance(csgraph, np.ndarray) and csgraph.dtype == np.float64 and csgraph.flags.carray:
        csgraph[...] = found[0]
    return found if return_predecessors else found[0]


def breadth_first_order(
    csgraph: Any,
    i_start: int,
    directed: bool = True,
    return_predecessors: bool = True,
    *,
    device: str = "auto",
) -> Any:
    """Order vertices by their level; see :func:`scipy.sparse.csgraph.breadth_first_order`.

    On a GPU, vertices of a level ascend, and a predecessor is any vertex of the level before.
    """
    where = place(device)
    if where == "cpu":
        return scipys.breadth_first_order(csgraph, i_start, directed, return_predecessors)
    arcs = _arcs(csgraph, directed, unweighted=True)
    (source,), _ = _sources(i_start, arcs.n)
    searches = prepare(arcs.graph(), "bfs", device=where)
    found = searches.search(source)
    asnumpy = searches.device.asnumpy
    by_level = found.level.argsort(kind="stable")[: int(found.reached.sum())]
    order = asnumpy(by_level.astype(np.int32))
    return (order, asnumpy(_predecessors(found, source))) if return_predecessors else order


def breadth_first_tree(csgraph: Any, i_start: int, directed: bool = True, *, device: str = "auto") -> Any:
    """Return a breadth-first tree as a matrix; see :func:`scipy.sparse.csgraph.breadth_first_tree`."""
    _, predecessors = breadth_first_order(csgraph, i_start, directed, device=device)
    return scipys.reconstruct_path(csgraph, predecessors, directed)


class _Arcs(NamedTuple):
    """A matrix of arcs in rows, float64, whose entries may repeat a place, and how to read it."""

    matrix: Any
    directed: bool
    unweighted: bool

    @property
    def n(self) -> int:
        return self.matrix.shape[0]

    @property
    def problem(self) -> str:
        return "bfs" if self.unweighted else "sssp"

    @property
    def has_negative(self) -> bool:
        return bool((self.matrix.data < 0).any())

    @property
    def tails(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(self.n), np.diff(self.matrix.indptr))

    def graph(self) -> Graph:
        """Return a graph for kernels, with weights as uint32 where all are integers that fit."""
        weights = self.matrix.data
        if _is_integral(weights, LENGTHS["uint32"].largest):
            weights = weights.astype(np.uint32)
        heads = self.matrix.indices
        if self.directed:
            graph = Graph.from_csr(self.matrix.indptr, heads, weights)
        else:
            graph = Graph.from_arcs(self.n, self.tails, heads, weights, undirected=True)
        return graph.kept_on_device()


def _arcs(csgraph: Any, directed: bool, unweighted: bool) -> _Arcs:
    if issparse(csgraph):
        matrix = csgraph.tocsr()
    elif np.ma.isMaskedArray(csgraph):
        matrix = scipys.csgraph_from_masked(csgraph)
    else:
        matrix = scipys.csgraph_from_dense(csgraph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"compressed-sparse graph of shape {matrix.shape}; expected (N, N)")
    weights = np.ones(matrix.nnz) if unweighted else matrix.data.astype(np.float64)
    matrix = csr_array((weights, matrix.indices, matrix.indptr), shape=matrix.shape)
    return _Arcs(_kept(matrix, np.isfinite(weights)), directed, unweighted)


def _kept(matrix: Any, is_kept: npt.NDArray[np.bool_]) -> Any:
    if is_kept.all():
        return matrix
    offsets = np.append(0, np.cumsum(is_kept))[matrix.indptr]
    return csr_array((matrix.data[is_kept], matrix.indices[is_kept], offsets), shape=matrix.shape)


def _sources(indices: Any, n: int) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
    """Return the sources, and the shape of an answer for them."""
    sources = np.arange(n) if indices is None else np.array(indices, dtype=np.int64)
    shape = (*sources.shape, n)
    sources = sources.ravel()
    sources[sources < 0] += n
    if ((sources < 0) | (sources >= n)).any():
        raise ValueError("indices out of range 0...N")
    return sources, shape


def _shaped(found: tuple[Any, Any], shape: tuple[int, ...], return_predecessors: bool) -> Any:
    distance, predecessor = found
    if return_predecessors:
        return distance.reshape(shape), predecessor.reshape(shape)
    return distance.reshape(shape)


def _is_integral(weights: npt.NDArray[np.float64], largest: float) -> bool:
    return bool((np.abs(weights) <= largest).all() and (weights == np.rint(weights)).all())


def _wider(graph: Graph) -> Graph:
    """Return the same graph with weights as float64, after a path that was too long for uint32."""
    csr = graph.csr
    made = Graph.from_csr(csr.offsets, csr.targets, csr.weights.astype(np.float64))
    return made.kept_on_device()


def _searches(graph: Graph, problem: str, n_sources: int, where: str) -> tuple[Prepared, int]:
    """Return a solver for this many searches, and from how many sources to search at once."""
    at_once = min(n_sources, AT_ONCE, ANSWERS // (16 * graph.n_vertices))
    if at_once < MANY:
        return prepare(graph, problem, searches=n_sources, device=where), 1
    return prepare(graph, problem, variant=SEVERAL[problem], device=where, sources=at_once), at_once


def _trees(graph: Graph, problem: str, sources: Any, want: bool, limit: float, where: str) -> tuple[Any, Any]:
    """Return distances and, if wanted, predecessors, a row for each source."""
    shape = len(sources), graph.n_vertices
    distance, predecessor = np.empty(shape), np.empty(shape if want else 0, np.int32)
    if not distance.size:
        return distance, predecessor
    searches, at_once = _searches(graph, problem, len(sources), where)
    for start in range(0, len(sources), at_once):
        part = sources[start : start + at_once]
        answers = searches.search(part, limit=None if np.isinf(limit) else limit)
        if graph.csr.weights.dtype != np.float64 and any(answer.overflowed for answer in answers):
            return _trees(_wider(graph), problem, sources, want, limit, where)
        for row, (source, answer) in enumerate(zip(part, answers, strict=True), start):
            distance[row] = searches.device.asnumpy(_distances(answer))
            if want:
                predecessor[row] = searches.device.asnumpy(_predecessors(answer, source))
    return distance, predecessor


def _distances(answer: Any) -> Any:
    column = answer.columns["level" if answer.prepared.problem == "bfs" else "distance"]
    distance = column.astype(np.float64)
    distance[~answer.reached] = np.inf
    return distance


def _predecessors(answer: Any, source: Any) -> Any:
    predecessor = answer.predecessor.astype(np.int32)
    predecessor[~answer.reached] = NOWHERE
    predecessor[source] = NOWHERE
    return predecessor


def _nearest(graph: Graph, sources: Any, limit: float, where: str) -> tuple[Any, Any, Any]:
    """Return distance, predecessor and nearest source of each vertex."""
    n = graph.n_vertices
    if not len(sources):
        return np.full(n, np.inf), np.full(n, NOWHERE, np.int32), np.full(n, NOWHERE, np.int32)
    solver = prepare(graph, variant="near-far", device=where)
    answer = solver.nearest(sources, limit=None if np.isinf(limit) else limit)
    if graph.lengths.dtype != np.float64 and answer.overflowed:
        return _nearest(_wider(graph), sources, limit, where)
    source = answer.source.astype(np.int32)
    source[~answer.reached] = NOWHERE
    found = _distances(answer), _predecessors(answer, solver.device.asarray(sources)), source
    return tuple(map(solver.device.asnumpy, found))


def _of_any_sign(
    own: Any, csgraph: Any, directed: bool, indices: Any, want: bool, unweighted: bool, device: str
) -> Any:
    """Answer as a function of SciPy, or by it where no kernel fits."""
    arcs = _arcs(csgraph, directed, unweighted)
    sources, shape = _sources(indices, arcs.n)
    starts = sources if own is scipys.bellman_ford else np.arange(arcs.n)
    found = _with_potentials(arcs, starts, sources, want, place(device))
    if found is None:
        return own(csgraph, directed, indices, want, unweighted)
    return _shaped(found, shape, want)


def _with_potentials(
    arcs: _Arcs, starts: Any, sources: Any, want: bool, where: str
) -> tuple[Any, Any] | None:
    """Return what :func:`_trees` does for weights of any sign, or None if only SciPy takes them.

    A negative cycle that one of `starts` reaches is an error.
    """
    potentials = np.zeros(arcs.n)
    if arcs.has_negative:
        found = _potentials(arcs, starts, where) if arcs.directed else None
        if found is None:
            return None
        arcs, potentials = found
    if where == "cpu":
        found = scipys.dijkstra(arcs.matrix, arcs.directed, sources, want)
        distance, predecessor = found if want else (found, None)
    else:
        distance, predecessor = _trees(arcs.graph(), arcs.problem, sources, want, np.inf, where)
    distance += potentials
    distance -= potentials[sources, np.newaxis]
    return distance, predecessor


def _potentials(arcs: _Arcs, starts: Any, where: str) -> tuple[_Arcs, Any] | None:
    """Return arcs with the same shortest paths and no negative weight, and Johnson's potentials.

    None if weights are not integers, or their sums may not be exact. NegativeCycleError if one of `starts`
    reaches a negative cycle.
    """
    matrix, tails, n = arcs.matrix, arcs.tails, arcs.n
    if not _is_integral(matrix.data, LENGTHS["int32"].largest):
        return None
    arcs_in_32_bits = matrix.indptr, matrix.indices, matrix.data.astype(np.int32)
    rooted = Graph.from_csr(*with_source(*arcs_in_32_bits, np.unique(starts)))
    variant = "bellman-ford-cpu" if where == "cpu" else "bellman-ford-queue"
    tree = prepare(rooted, variant=variant, device=where).search(n)
    if len(cycle := np.flatnonzero(tree.distance == ON_CYCLE)):
        raise NegativeCycleError(f"Negative cycle detected on node {cycle[0]}")
    potentials = np.where(tree.reached, tree.distance, 0)[:n].astype(np.float64)
    weights = matrix.data + potentials[tails] - potentials[matrix.indices]
    weights[~tree.reached[tails]] = 0  # no search comes there
    if tree.overflowed or n * weights.max() > EXACT:
        return None
    matrix = csr_array((weights, matrix.indices, matrix.indptr), shape=matrix.shape)
    return arcs._replace(matrix=matrix), potentials
